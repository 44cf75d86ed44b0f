/*
 * libraries: which of the loaded libraries are there because of the agent: itself, and what it
 * opened that nobody had opened before. Their pages are its component `agent_code`.
 *
 * Setup context, one thread at a time.
 */
#ifndef AGENT_MEM_LIBRARIES_H
#define AGENT_MEM_LIBRARIES_H

#include <stdint.h>

#define LIBRARIES_SEEN_MAX 500 /* a process with more has none that are told to be new */

struct libraries {
    uintptr_t base[LIBRARIES_SEEN_MAX];
    int count;
};

/* Counts the library this function is part of. Once. */
void libraries_count_own(void);

/* What is loaded now; and, after a dlopen that stays for good, counts what was not. What another
 * thread opens between the two is taken for ours. */
void libraries_look(struct libraries *before);
void libraries_count_new(const struct libraries *before);

#endif
