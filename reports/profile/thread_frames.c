/* Which thread a stack without Java frames is of: the names of HotSpot's own threads. */
#include "reports/profile/call_tree.h"

#include <string.h>

#define COMM_BYTES 15 /* of a name in the kernel */

/* HotSpot's threads whose names the kernel has not whole; a number may follow. Until JDK 25 the front is left
 * ("C2 CompilerThre"), in JDK 27 front and end ("C2 Comp..hread0"). */
static const char *const LONG_NAMES[] = {
    "C1 CompilerThread",       "C2 CompilerThread",        "JVMCI CompilerThread",
    "VM Periodic Task Thread", "Monitor Deflation Thread", "Reference Handler",
    "Signal Dispatcher",       "Notification Thread",      "G1 Young RemSet Sampling",
    "G1 Refine Control",       "G1 Refine Workers#",       "Shenandoah Control Thread",
    "Shenandoah GC Threads#",  "StringDedupProcessor",     "JFR Recorder Thread",
    "JFR Sampler Thread",      "JFR Periodic Tasks",
};

static bool is_front_and_end(const char *thread, const char *name, const char **number)
{
    size_t length = strlen(name);
    const char *end = thread + 9, *digits = thread + COMM_BYTES;
    if (strncmp(thread + 7, "..", 2) != 0 || strncmp(thread, name, 7) != 0)
        return false;
    while (digits > end && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    *number = digits;
    size_t tail = (size_t)(digits - end);
    return tail > 0 && tail <= length && strncmp(end, name + length - tail, tail) == 0;
}

static void whole_name(const char *thread, char name[CALL_THREAD_NAME_MAX])
{
    bool cut = strlen(thread) == COMM_BYTES;
    for (size_t i = 0; cut && i < sizeof LONG_NAMES / sizeof LONG_NAMES[0]; i++) {
        const char *number = "";
        if (strncmp(thread, LONG_NAMES[i], COMM_BYTES) == 0 ||
            is_front_and_end(thread, LONG_NAMES[i], &number)) {
            snprintf(name, CALL_THREAD_NAME_MAX, "%s%s", LONG_NAMES[i], number);
            return;
        }
    }
    snprintf(name, CALL_THREAD_NAME_MAX, "%s", thread);
}

/* A place of a library without a symbol; or the agent's mark for a stack that was not walked. */
static bool names_nothing(const struct stack_frame *frame)
{
    if (frame->kind != CALL_FRAME_NATIVE || frame->library == NULL)
        return false;
    if (strcmp(frame->library, "stack not walked") == 0)
        return strcmp(frame->name, "no_java_frame") == 0 ||
               strcmp(frame->name, "not_a_java_thread") == 0;
    return strcmp(frame->name, "[unknown]") == 0;
}

int call_frames_of_thread(struct stack_frame *frames, int depth, const char *thread,
                          char name[CALL_THREAD_NAME_MAX])
{
    if (thread == NULL || thread[0] == '\0')
        return depth;
    for (int i = 0; i < depth; i++)
        if (frames[i].kind == CALL_FRAME_JAVA)
            return depth;
    while (depth > 0 && names_nothing(&frames[depth - 1]))
        depth--;
    whole_name(thread, name);
    frames[depth] = (struct stack_frame){.name = name, .kind = CALL_FRAME_THREAD};
    return depth + 1;
}
