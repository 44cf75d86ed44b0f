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
#pragma once

#include "agent/buffer/recording_buffers.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct thread_id_tables;

struct thread_id_tables *thread_id_tables_create(void);
void thread_id_tables_add(struct thread_id_tables *tables, int index, int tid);
/* Turns the double buffer; *ids, each once, in order, until the next collect; how often one found
 * no room: *missed. Returns how many. */
size_t thread_id_tables_collect(struct thread_id_tables *tables, const int **ids, int64_t *missed);
/* Sorts, drops what is there twice, returns how many are left. */
size_t thread_ids_sort(int *ids, size_t count);
void thread_id_tables_destroy(struct thread_id_tables *tables);

/*
 * The inside, shared by the signal part (buffers_signal.c) and
 * the drain part (thread_id_tables.c).
 */
#define THREAD_ID_HALVES 2
#define THREAD_ID_SLOTS  256

struct thread_id_half {
    _Atomic int32_t tid[RECORDING_BUFFERS][THREAD_ID_SLOTS]; /* 0: free */
};
_Static_assert(THREAD_ID_HALVES * sizeof(struct thread_id_half) == 32768, "the documented size");

struct thread_id_tables {
    struct thread_id_half *half; /* THREAD_ID_HALVES of them */
    _Atomic int active;
    _Atomic int64_t missed;
    int *found; /* of collect: mapped, touched by as many ids as there are */
};
