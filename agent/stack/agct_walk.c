/* Signal context: reaches AsyncGetCallTrace and no other symbol outside of itself. */
#include "agent/stack/agct.h"

agct_fn *agct_function;
_Atomic int64_t agct_unnamed_frames;

static enum walk_code code_of(jint agct_code)
{
    switch (agct_code) {
#define WALK(id, number, name)                                                                     \
    case number:                                                                                   \
        return WALK_##id;
#include "agent/stack/walks.def"
#undef WALK
    }
    return WALK_OTHER;
}

int agct_walk(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code)
{
    if (env == NULL) {
        *code = WALK_NOT_A_JAVA_THREAD;
        return 0;
    }
    if (max <= 0 || agct_function == NULL) {
        *code = max <= 0 ? WALK_OK : WALK_OTHER;
        return 0;
    }
    struct agct_trace trace = {.env = env, .frames = (struct agct_frame *)out};
    agct_function(&trace, max, ucontext);
    if (trace.num_frames <= 0) {
        *code = code_of(trace.num_frames);
        return 0;
    }
    int64_t unnamed = 0;
    for (jint i = 0; i < trace.num_frames; i++) {
        struct agct_frame frame = trace.frames[i];
        unnamed += frame.method_id == NULL;
        out[i] = (struct frame){.value = (uintptr_t)frame.method_id, .bci = frame.lineno};
    }
    if (unnamed > 0)
        atomic_fetch_add_explicit(&agct_unnamed_frames, unnamed, memory_order_relaxed);
    *code = WALK_OK;
    return trace.num_frames;
}
