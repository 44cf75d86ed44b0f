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

static inline uint64_t context_mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return sum ^ sum >> 32;
}

/* Never 0, which says "being written". A change of any one field changes it; a mixture of two
 * writes fits with odds of 2^-63. */
static inline uint64_t context_checksum(const struct context_record *record)
{
    const uint32_t *tags = record->tags;
    uint64_t sum = context_mix(UINT64_C(0x9e3779b97f4a7c15), record->span_id);
    sum = context_mix(sum, record->root_span_id);
    for (int i = 0; i < NMTAGENT_CONTEXT_TAGS; i += 2)
        sum = context_mix(sum, (uint64_t)tags[i + 1] << 32 | tags[i]);
    return sum | 1;
}
_Static_assert(NMTAGENT_CONTEXT_TAGS % 2 == 0, "two tags are a word");

#endif
