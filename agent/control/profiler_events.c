/* The JVM's events, as long as profiling runs. Any thread. */
#include "agent/context/context.h"
#include "agent/control/profiler_parts.h"
#include "agent/sampling/sampler.h"

void profiler_class_load(JNIEnv *env, jclass class)
{
    if (!callback_enter(&profiler.gate))
        return;
    recording_class_loaded(profiler.recording);
    if (profiler.classes != NULL)
        class_definitions_loaded(profiler.classes, &profiler.recording->sampler, env, class);
    callback_leave(&profiler.gate);
}

void profiler_class_prepare(JNIEnv *env, jclass class)
{
    if (!callback_enter(&profiler.gate))
        return;
    recording_class_loaded(profiler.recording);
    if (profiler.ids != NULL)
        jmethod_ids_prepare(profiler.ids, env, class);
    callback_leave(&profiler.gate);
}

void profiler_class_unload(const char *name)
{
    if (!callback_enter(&profiler.gate))
        return;
    recording_class_unloaded(profiler.recording, name);
    if (profiler.classes != NULL)
        class_definitions_unloaded(profiler.classes, name);
    if (profiler.ids != NULL)
        jmethod_ids_unloaded(profiler.ids);
    callback_leave(&profiler.gate);
}

void profiler_object_sampled(JNIEnv *env, jobject object, jclass class, jlong size)
{
    struct alloc_seen seen;
    struct live_seen live;
    struct sampler_here here;
    if (!callback_enter(&profiler.gate))
        return;
    if (profiler.allocs != NULL) {
        struct sampler *sampler = &profiler.recording->sampler;
        alloc_profile_see(profiler.allocs, env, class, size, &seen);
        if (profiler.live != NULL)
            live_objects_see(profiler.live, env, object, class, size, &live);
        bool stack = sampler_here_begin(sampler, env, true, &here);
        alloc_profile_sample(profiler.allocs, env, &seen, here.tid, stack ? here.trace : 0);
        bool kept = profiler.live == NULL ||
                    live_objects_sample(profiler.live, &live, stack ? &here : NULL);
        if (stack)
            sampler_here_end(sampler, &here, 0);
        /* The JVM may hold the thread here, for a safepoint or a debugger: not inside a table. */
        if (!kept)
            live_objects_forget(env, &live);
    }
    callback_leave(&profiler.gate);
}

void profiler_gc_finished(void)
{
    if (!callback_enter(&profiler.gate))
        return;
    if (profiler.live != NULL)
        live_objects_gc_finished(profiler.live);
    callback_leave(&profiler.gate);
}

void profiler_thread_start(JNIEnv *env, jthread thread)
{
    if (!callback_enter(&profiler.gate))
        return;
    threads_started(profiler.threads, env, thread);
    if (profiler.allocs != NULL)
        alloc_profile_thread_started(profiler.allocs, env, thread);
    callback_leave(&profiler.gate);
}

void profiler_thread_end(JNIEnv *env)
{
    context_thread_ended();
    if (!callback_enter(&profiler.gate))
        return;
    threads_ended(profiler.threads);
    if (profiler.allocs != NULL)
        alloc_profile_thread_ended(profiler.allocs, env);
    callback_leave(&profiler.gate);
}
