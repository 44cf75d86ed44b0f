#include "agent/sampling/sampler.h"

#include "agent/sampling/threads.h"

#include <unistd.h>

static void walk(struct sampler *sampler, JNIEnv *env, struct sampler_here *here)
{
    const struct stack_engine *engine = sampler->engine;
    /* The buffer is ours, and so is the scratch space of its index. */
    struct frame *frames = sampler->scratch + (size_t)here->index * ((size_t)sampler->depth + 1);
    here->frames = frames;
    if (engine->walk_here == NULL)
        return;
    enum walk_code code = WALK_OTHER;
    here->depth = engine->walk_here(env, frames, sampler->depth, &code);
    if (here->depth == 0 || (code != WALK_OK && here->depth < sampler->depth))
        frames[here->depth++] = (struct frame){.value = code, .bci = FRAME_BCI_ERROR};
    here->truncated = here->depth >= sampler->depth;
    here->trace = calltrace_put(sampler->traces, here->slot, frames, here->depth, here->truncated);
}

bool sampler_here_begin(struct sampler *sampler, JNIEnv *env, bool stack, struct sampler_here *here)
{
    *here = (struct sampler_here){.tid = gettid()};
    here->slot = calltrace_enter(sampler->traces, here->tid);
    if (here->slot < 0)
        return false;
    here->out = recording_buffer_claim(sampler->buffers, here->tid, &here->index);
    if (here->out == NULL) {
        calltrace_leave(sampler->traces, here->slot);
        return false;
    }
    if (stack)
        walk(sampler, env, here);
    thread_id_tables_add(sampler->thread_ids, here->index, here->tid);
    threads_mark_self(env);
    return true;
}

void sampler_here_end(struct sampler *sampler, const struct sampler_here *here, size_t length)
{
    recording_buffer_commit(sampler->buffers, here->index, length);
    calltrace_leave(sampler->traces, here->slot);
    wakeup_count(&sampler->wakeup,
                 atomic_fetch_add_explicit(&sampler->here, 1, memory_order_relaxed));
}
