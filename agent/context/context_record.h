/*
 * context_record: what the writer (context.c) and the reader in a signal handler (context_read.c)
 * of a thread's record have in common: where it is, and the checksum.
 */
#ifndef AGENT_CONTEXT_CONTEXT_RECORD_H
#define AGENT_CONTEXT_CONTEXT_RECORD_H

#include "agent/context/context.h"

#include <stddef.h>

_Static_assert(offsetof(struct context_record, root_span_id) == 8 &&
                   offsetof(struct context_record, checksum) == 16 &&
                   offsetof(struct context_record, tags) == 24,
               "as drawn in nmtagent_context.h");

/* This thread's record; NULL before its first use. Initial-exec: a handler may read it, because the
 * access allocates nothing. */
extern _Thread_local struct context_record *context_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Never 0, which says "being written". Multiply-fold over the 64-bit words: a change of any one
 * field changes it, and a mixture of two writes fits with odds of 2^-64. */
static inline uint64_t context_checksum(const struct context_record *record)
{
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15);
    const uint32_t *tags = record->tags;
    const uint64_t words[] = {
        record->span_id,
        record->root_span_id,
        (uint64_t)tags[1] << 32 | tags[0],
        (uint64_t)tags[3] << 32 | tags[2],
        (uint64_t)tags[5] << 32 | tags[4],
        (uint64_t)tags[7] << 32 | tags[6],
        (uint64_t)tags[9] << 32 | tags[8],
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        sum = (sum ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
    }
    return sum | 1;
}

#endif
