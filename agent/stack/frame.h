/*
 * frame: one entry of a sampled stack, as small as a signal handler wants it.
 *
 *   Java frame     method: jmethodID (agct)          bci >= 0, or FRAME_BCI_NATIVE_METHOD
 *   native frame   pc: return address                 bci = FRAME_BCI_PC
 *   error frame    code: why there are no frames      bci = FRAME_BCI_ERROR
 *
 * Innermost first. Plain data; any context.
 */
#ifndef AGENT_STACK_FRAME_H
#define AGENT_STACK_FRAME_H

#include <stdint.h>

#define FRAME_BCI_NATIVE_METHOD (-3) /* a Java method implemented natively, as AGCT marks it */
#define FRAME_BCI_PC            (-10)
#define FRAME_BCI_ERROR         (-11)

struct frame {
    uintptr_t value; /* jmethodID, pc or code */
    int32_t bci;
    int32_t pad; /* zero: frames are hashed as bytes */
};
_Static_assert(sizeof(struct frame) == 16, "hashed and stored as bytes");

#endif
