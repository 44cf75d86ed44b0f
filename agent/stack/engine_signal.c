/* Signal context. Reaches agent/hotspot's walk, seen_methods_put, and native.h. */
#include "floor/hotspot/layout.h"
#include "agent/hotspot/registers.h"
#include "agent/hotspot/thread_state.h"
#include "floor/hotspot/walk.h"
#include "agent/stack/engine_parts.h"
#include "agent/stack/native.h"

_Static_assert(sizeof(struct walked_frame) == sizeof(struct frame), "converted in place");

struct seen_methods *_Atomic engine_vm_seen;

static uintptr_t number_of(struct seen_methods *seen, uintptr_t method)
{
    return seen != NULL ? seen_methods_put(seen, method) : SEEN_UNKNOWN;
}

static void fetch_methods(const struct seen_methods *seen, const struct walked_frame *frames,
                          int count)
{
    uintptr_t methods[SEEN_FETCH_MAX];
    int fetched = 0;
    for (int i = 0; i < count && fetched < SEEN_FETCH_MAX; i++)
        methods[fetched++] = frames[i].method;
    seen_methods_fetch(seen, methods, fetched);
}

/* A method on this stack cannot be unloaded before the handler returns: its number is got here. */
static void number_methods(struct frame *frames, int depth)
{
    struct seen_methods *seen = atomic_load_explicit(&engine_vm_seen, memory_order_acquire);
    for (int i = 0; i < depth; i++) {
        if (seen != NULL && i % SEEN_FETCH_MAX == 0)
            fetch_methods(seen, (const struct walked_frame *)frames + i, depth - i);
        struct walked_frame walked = ((struct walked_frame *)frames)[i];
        frames[i] = (struct frame){
            .value = number_of(seen, walked.method),
            .bci = walked.bci,
            .kind = FRAME_SEEN,
            .type = (uint16_t)walked.type,
        };
    }
}

static uintptr_t thread_of(JNIEnv *env)
{
    return (uintptr_t)env - (uintptr_t)layout.env_offset;
}

static struct walk_start start_at(JNIEnv *env, const void *ucontext)
{
    struct registers registers;
    registers_read(ucontext, &registers);
    return (struct walk_start){
        .thread = thread_of(env),
        .pc = registers.pc,
        .sp = registers.sp,
        .fp = registers.fp,
        .link = registers.link,
        .entered = registers.entered,
        .sender_sp = registers.sender_sp,
        .entered_from = registers.entered_from,
        .thrown_at = registers.thrown_at,
    };
}

int walk_interrupted(JNIEnv *env, void *ucontext, struct walked_frame *out, int max,
                     enum walk_code *code)
{
    struct native_caller caller;
    if (env == NULL || max <= 0) {
        *code = env == NULL ? WALK_NOT_A_JAVA_THREAD : WALK_OK;
        return 0;
    }
    struct walk_start start = start_at(env, ucontext);
    int depth = walk_java(&start, out, max, code);
    if (depth > 0 || *code != WALK_UNKNOWN_NOT_JAVA || !native_find_java(ucontext, &caller))
        return depth;
    if (caller.interrupted != NULL) { /* the handler of another profiler, say */
        start = start_at(env, caller.interrupted);
        return walk_java(&start, out, max, code);
    }
    start.pc = caller.pc;
    start.sp = caller.sp;
    start.fp = caller.bp;
    return walk_java_from_call(&start, out, max, code);
}

enum thread_state engine_vm_state(JNIEnv *env, void *ucontext)
{
    struct registers registers;
    registers_read(ucontext, &registers);
    return thread_state(thread_of(env), &registers);
}

int walk_here(JNIEnv *env, struct walked_frame *out, int max, enum walk_code *code)
{
    if (env == NULL || max <= 0) {
        *code = env == NULL ? WALK_NOT_A_JAVA_THREAD : WALK_OK;
        return 0;
    }
    return walk_java_from_anchor(thread_of(env), out, max, code);
}

int engine_vm_walk(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code)
{
    int depth = walk_interrupted(env, ucontext, (struct walked_frame *)out, max, code);
    number_methods(out, depth);
    return depth;
}

int engine_vm_walk_here(JNIEnv *env, struct frame *out, int max, enum walk_code *code)
{
    int depth = walk_here(env, (struct walked_frame *)out, max, code);
    number_methods(out, depth);
    return depth;
}

/* Signal context: reaches AsyncGetCallTrace and no other symbol outside of itself. */
agct_fn *agct_function;
_Atomic int64_t agct_unnamed_frames;

static enum walk_code code_of(jint agct_code)
{
    switch (agct_code) {
#define WALK(id, number, name)                                                                     \
    case number:                                                                                   \
        return WALK_##id;
#include "floor/hotspot/walks.def"
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
