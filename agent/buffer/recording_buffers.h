/*
 * recording_buffers: encoded events between the signal handler and the file.
 *
 * Sixteen buffers of 65 536 bytes plus a guard of 8 192, so that an event of bounded size may be
 * written without a check per byte. A handler tries the buffer of its thread and two neighbours
 * (try-lock, never waits); if all are taken or full the event is dropped and counted.
 *
 * recording_buffer_claim, _commit: signal context. flush: drain thread.
 */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDING_BUFFERS      16
#define RECORDING_BUFFER_BYTES 65536
#define RECORDING_GUARD_BYTES  8192 /* the largest event */

struct recording_buffers;

struct recording_buffers *recording_buffers_create(void);
/* Room for one event of at most RECORDING_GUARD_BYTES; NULL: count a drop. *index for the commit
 * and for the thread-id table. */
uint8_t *recording_buffer_claim(struct recording_buffers *buffers, int tid, int *index);
/* length 0: nothing was written, nothing is counted. An event larger than the guard is not stored
 * and counts as dropped_full. */
void recording_buffer_commit(struct recording_buffers *buffers, int index, size_t length);
/* Hands each buffer's bytes to write (whole events) and empties it. False when write failed (the
 * bytes are then lost and counted). */
typedef bool recording_write_fn(void *context, const uint8_t *bytes, size_t length);
bool recording_buffers_flush(struct recording_buffers *buffers, recording_write_fn *write,
                             void *context);
struct recording_buffer_counts {
    int64_t offered, stored, dropped_busy, dropped_full; /* offered = sum of the rest */
    int64_t lost_on_write;                               /* of stored */
};
void recording_buffer_counts(const struct recording_buffers *buffers,
                             struct recording_buffer_counts *counts);
void recording_buffers_destroy(struct recording_buffers *buffers);

/*
 * The inside, shared by the signal part (buffers_signal.c)
 * and the drain part (recording_buffers.c).
 *
 *    buffer 0                 buffer 1                         x 16
 *    +-----------+-------+    +-----------+-------+
 *    |  65 536   | 8 192 |    |  65 536   | 8 192 |   an event that begins before 65 536 ends
 *    +-----------+-------+    +-----------+-------+   before 73 728
 *
 * The buffers are one map of their own; what is known of each is a cache line beside them.
 */
#define RECORDING_STRIDE_BYTES (RECORDING_BUFFER_BYTES + RECORDING_GUARD_BYTES)
#define RECORDING_TRIES        3
_Static_assert(RECORDING_BUFFERS *RECORDING_STRIDE_BYTES == 1179648, "the documented size");

struct recording_state {
    alignas(64) _Atomic bool taken;
    /* Written by the handler that has taken the buffer. */
    uint32_t used_bytes;
    uint32_t events; /* in those bytes */
    _Atomic int64_t stored;
};

struct recording_buffers {
    uint8_t *bytes;
    _Atomic int64_t dropped_busy, dropped_full, lost_on_write;
    struct recording_state state[RECORDING_BUFFERS];
};
