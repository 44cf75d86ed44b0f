/*
 * context: the inside of nmtagent_context.h: where the records live and how a handler reads them.
 * context_read: signal context.
 */
#ifndef AGENT_CONTEXT_CONTEXT_H
#define AGENT_CONTEXT_CONTEXT_H

#include "agent/context/nmtagent_context.h"
#include "agent/dict/dictionary.h"

#include <stdbool.h>

struct context_record {
    uint64_t span_id;
    uint64_t root_span_id;
    uint64_t checksum;
    uint32_t tags[NMTAGENT_CONTEXT_TAGS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct context_record) == 64, "one cache line");

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

#endif
