/*
 * context_slab: records of 64 bytes, given to threads and taken back when they end.
 *
 * A slab is one page of 64 records (never two threads in a cache line) and a word that says which
 * of them are taken. A page goes back to the kernel when its last record does, but for one. Any
 * thread, not in a signal handler.
 */
#ifndef AGENT_CONTEXT_CONTEXT_SLAB_H
#define AGENT_CONTEXT_CONTEXT_SLAB_H

#include "agent/context/context.h"

/* Zeroed; NULL when there is no memory. */
struct context_record *context_slab_take(void);
void context_slab_give_back(struct context_record *record);

#endif
