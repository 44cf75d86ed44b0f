/*
 * frame: one entry of a sampled stack, as small as a signal handler wants it.
 *
 *   Java frame     engine agct   value: jmethodID, kind 0              bci >= 0, or
 *                  engine vm     value: number of seen_methods,        FRAME_BCI_NATIVE_METHOD
 *                                kind FRAME_SEEN
 *   native frame   value: return address                               bci = FRAME_BCI_PC
 *   error frame    value: why there are no (more) frames               bci = FRAME_BCI_ERROR
 *
 * Innermost first. Plain data; any context.
 */
#pragma once

#include <stdint.h>

#define FRAME_BCI_NATIVE_METHOD (-3) /* a Java method implemented natively, as AGCT marks it */
#define FRAME_BCI_PC            (-10)
#define FRAME_BCI_ERROR         (-11)

enum frame_kind { FRAME_METHOD_ID, FRAME_SEEN };

/* How the code of a Java frame runs, where the engine knows. */
enum frame_type {
    FRAME_TYPE_UNKNOWN,
    FRAME_TYPE_INTERPRETED,
    FRAME_TYPE_COMPILED,
    FRAME_TYPE_INLINED,
    FRAME_TYPE_NATIVE,
};

struct frame {
    uintptr_t value;
    int32_t bci;
    uint16_t kind; /* frame_kind; zero but for Java frames: frames are hashed as bytes */
    uint16_t type; /* frame_type */
};
_Static_assert(sizeof(struct frame) == 16, "hashed and stored as bytes");

/* Why a walk failed: AsyncGetCallTrace's own codes and ours. WALK(enumerator, AsyncGetCallTrace's
 * code, name) in walks.def. */
enum walk_code {
#define WALK(id, code, name) WALK_##id,
#include "floor/hotspot/walks.def"
    WALK_CODE_COUNT,
};

/* What the thread of a sample was doing. */
enum thread_state {
#define THREAD_STATE(id, name) THREAD_##id,
#include "floor/hotspot/thread_states.def"
    THREAD_STATE_COUNT,
};
