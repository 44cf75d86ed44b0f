/*
 * thread_id_tables: which threads have events in the present chunk: 16 (one a recording buffer) x 2
 * (double buffer) x 256 slots x 4 bytes. A full table counts what it could not take.
 *
 * An id is reported by the collect after it was added, and once more by the next one: it may belong
 * to an event that was committed while the chunk changed, and is in the next. So, with one collect
 * after each calltrace_rotate, and add before the event's commit, a chunk knows all of its threads,
 * and sometimes one too many.
 *
 * add: signal context, inside of calltrace_enter and _leave. The others: drain thread.
 */
#ifndef AGENT_BUFFER_THREAD_ID_TABLES_H
#define AGENT_BUFFER_THREAD_ID_TABLES_H

#include <stdint.h>

struct thread_id_tables;

struct thread_id_tables *thread_id_tables_create(void);
void thread_id_tables_add(struct thread_id_tables *tables, int index, int tid);
/* Turns the double buffer and reports each id once; how often one found no room: *missed. */
typedef void thread_id_visit_fn(void *context, int tid);
void thread_id_tables_collect(struct thread_id_tables *tables, thread_id_visit_fn *visit,
                              void *context, int64_t *missed);
void thread_id_tables_destroy(struct thread_id_tables *tables);

#endif
