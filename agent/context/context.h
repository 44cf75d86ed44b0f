/*
 * context: the inside of nmtagent_context.h: where the records live, how a handler reads them, and
 * what the writer (context.c) and the reader in a signal handler (context_read.c) have in common.
 *
 * context_read: signal context.
 */
#pragma once

#include "agent/context/nmtagent_context.h"
#include "agent/dict/dictionary.h"

#include <stdbool.h>
#include <stddef.h>

struct context_record {
    uint64_t span_id;
    uint64_t root_span_id;
    uint64_t checksum;
    uint32_t tags[NMTAGENT_CONTEXT_TAGS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct context_record) == 64, "one cache line");
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

/* The dictionary of values and the names of the tags ("a;b;c", may be NULL), for the life of the
 * process. */
bool context_setup(const char *tag_names);
struct dictionary *context_values(void);
int context_tag_count(void);
const char *context_tag_name(int tag);

enum context_result { CONTEXT_NONE, CONTEXT_READ, CONTEXT_TORN };
/* Copy of this thread's record. */
enum context_result context_read(struct context_record *out);
/* ThreadEnd: gives this thread's record back. */
void context_thread_ended(void);
