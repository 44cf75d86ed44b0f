/*
 * recording_layout: the inside of recording_buffers, shared by the signal part (recording_claim.c)
 * and the drain part (recording_buffers.c).
 *
 *    buffer 0                 buffer 1                         x 16
 *    +-----------+-------+    +-----------+-------+
 *    |  65 536   | 8 192 |    |  65 536   | 8 192 |   an event that begins before 65 536 ends
 *    +-----------+-------+    +-----------+-------+   before 73 728
 *
 * The buffers are one map of their own; what is known of each is a cache line beside them.
 */
#ifndef AGENT_BUFFER_RECORDING_LAYOUT_H
#define AGENT_BUFFER_RECORDING_LAYOUT_H

#include "agent/buffer/recording_buffers.h"

#include <stdalign.h>
#include <stdatomic.h>

#define RECORDING_STRIDE_BYTES (RECORDING_BUFFER_BYTES + RECORDING_GUARD_BYTES)
#define RECORDING_TRIES        3
_Static_assert(RECORDING_BUFFERS *RECORDING_STRIDE_BYTES == 1179648, "the documented size");

struct recording_state {
    alignas(64) _Atomic bool taken;
    /* Of whoever has taken the buffer. */
    uint32_t used_bytes;
    uint32_t events; /* in those bytes */
    _Atomic int64_t stored;
};

struct recording_buffers {
    uint8_t *bytes;
    _Atomic int64_t dropped_busy, dropped_full, lost_on_write;
    struct recording_state state[RECORDING_BUFFERS];
};

#endif
