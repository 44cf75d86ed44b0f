/*
 * thread_id_layout: the inside of thread_id_tables, shared by the signal part (thread_id_add.c) and
 * the drain part (thread_id_tables.c).
 */
#ifndef AGENT_BUFFER_THREAD_ID_LAYOUT_H
#define AGENT_BUFFER_THREAD_ID_LAYOUT_H

#include "agent/buffer/recording_buffers.h"
#include "agent/buffer/thread_id_tables.h"

#include <stdatomic.h>

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

#endif
