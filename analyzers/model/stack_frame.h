/* stack_frame: one frame of a stack as data, whatever it was read from: a recording, a JVM seen from outside. A label
 * ("malloc [libc]", "com.acme.Rules.eval:88") is made where frames are printed, and is never read again. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* CALL_FRAME_CLASS: what was allocated, in place of a callee. CALL_FRAME_STATE: what the thread was
 * doing, in place of the outermost caller. CALL_FRAME_THREAD: the thread, as the outermost caller where
 * there is no Java frame (call_frames_of_thread). */
enum call_frame_kind {
    CALL_FRAME_JAVA,
    CALL_FRAME_NATIVE,
    CALL_FRAME_CLASS,
    CALL_FRAME_STATE,
    CALL_FRAME_THREAD,
    CALL_FRAME_KINDS
};

/* Where the code of a Java frame comes from, as far as the JVM tells. */
enum code_origin {
    ORIGIN_UNKNOWN,
    ORIGIN_JDK,         /* its own modules */
    ORIGIN_LIBRARY,     /* a jar among other jars */
    ORIGIN_GENERATED,   /* made in memory: no file has it */
    ORIGIN_APPLICATION, /* a folder of classes, or the file that the main class is from */
};

struct stack_frame {
    const char *name; /* "com.acme.Rules.eval", "malloc", "[unknown]" */
    enum call_frame_kind kind;
    const char *library; /* of native code: "libc.so.6"; NULL: not known */
    int line;            /* of Java code; <= 0: not known */
    enum code_origin origin;
};

static inline bool stack_frame_is_of(const struct stack_frame *frame, const char *library)
{
    return frame->library != NULL && strcmp(frame->library, library) == 0;
}
