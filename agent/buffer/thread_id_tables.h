/*
 * thread_id_tables: which threads have events in the present chunk: 16 (one a recording buffer) x 2
 * (double buffer) x 256 slots x 4 bytes. A full table counts what it could not take.
 *
 * add: signal context. The others: drain thread.
 */
#ifndef AGENT_BUFFER_THREAD_ID_TABLES_H
#define AGENT_BUFFER_THREAD_ID_TABLES_H

#include <stdint.h>

struct thread_id_tables;

struct thread_id_tables *thread_id_tables_create(void);
void thread_id_tables_add(struct thread_id_tables *tables, int index, int tid);
/* Turns the double buffer and reports each id once; ids that found no room: *missed. */
typedef void thread_id_visit_fn(void *context, int tid);
void thread_id_tables_collect(struct thread_id_tables *tables, thread_id_visit_fn *visit,
                              void *context, int64_t *missed);
void thread_id_tables_destroy(struct thread_id_tables *tables);

#endif
