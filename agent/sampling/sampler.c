#include "agent/sampling/sampler.h"

#include "agent/jfr/jfr_writer.h"
#include "agent/mem/mem.h"
#include "agent/sampling/threads.h"
#include "agent/stack/native.h"

#define CACHE_LINE_BYTES 64

static void count(_Atomic int64_t *counter)
{
    /* Relaxed: a counter orders nothing; the reader takes what it finds. */
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* The code of the walk (SIGNAL_TEXT in the Makefile). */
extern const char __start_signal_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_signal_text[] __attribute__((weak, visibility("hidden")));

/* The application has pushed it out of the caches since the last sample. Fetched all at once; executing it would
 * wait for one line after the other. */
static void fetch_code(void)
{
    for (const char *at = __start_signal_text; at < __stop_signal_text; at += CACHE_LINE_BYTES)
        __builtin_prefetch(at, 0, 2);
}

/* Native frames until the code cache begins, then Java. A stack without any frame says why. */
static int walk(struct sampler *sampler, JNIEnv *env, void *ucontext, struct frame *frames,
                bool *truncated)
{
    enum walk_code code;
    fetch_code();
    int depth = sampler->native ? native_walk(ucontext, frames, sampler->depth) : 0;
    int java = sampler->engine->walk(env, ucontext, frames + depth, sampler->depth - depth, &code);
    count(&sampler->walks[code]);
    depth += java;
    if (depth == 0 || (code != WALK_OK && env != NULL && depth < sampler->depth))
        frames[depth++] = (struct frame){.value = code, .bci = FRAME_BCI_ERROR};
    *truncated = depth >= sampler->depth;
    return depth;
}

static enum thread_state state_of(const struct sampler *sampler, JNIEnv *env, void *ucontext)
{
    if (env == NULL)
        return THREAD_IN_NATIVE;
    return sampler->engine->state != NULL ? sampler->engine->state(env, ucontext) : THREAD_UNKNOWN;
}

static size_t encode(struct sampler *sampler, int tid, enum thread_state state, uint32_t trace,
                     uint8_t *out)
{
    struct context_record record;
    enum context_result context = context_read(&record);
    if (context == CONTEXT_TORN)
        count(&sampler->torn_contexts);
    struct jfr_sample sample = {
        .kind = threads_sample_is_wall() ? SAMPLE_WALL : SAMPLE_CPU,
        .ticks = clock_now_ns(),
        .tid = tid,
        .trace_id = trace,
        .state = state,
        .have_context = context == CONTEXT_READ,
        .context = &record,
        .tag_count = sampler->tag_count,
    };
    return jfr_encode_sample(&sample, out);
}

/* Inside a table: the event and its stack belong to the same chunk. */
static void take(struct sampler *sampler, int slot, int tid, JNIEnv *env, void *ucontext)
{
    int index;
    uint8_t *out = recording_buffer_claim(sampler->buffers, tid, &index);
    if (out == NULL) {
        count(&sampler->dropped_buffers);
        return;
    }
    /* The buffer is ours, and so is the scratch space of its index. */
    struct frame *frames = sampler->scratch + (size_t)index * ((size_t)sampler->depth + 1);
    bool truncated;
    int depth = walk(sampler, env, ucontext, frames, &truncated);
    uint32_t trace = calltrace_put(sampler->traces, slot, frames, depth, truncated);
    if (trace == 0) {
        count(&sampler->without_trace);
        trace = CALLTRACE_OVER_BUDGET; /* a stack of one frame that says so */
    }
    thread_id_tables_add(sampler->thread_ids, index, tid);
    enum thread_state state = state_of(sampler, env, ucontext);
    recording_buffer_commit(sampler->buffers, index, encode(sampler, tid, state, trace, out));
    count(&sampler->stored);
}

void sampler_sample(void *context, int tid, JNIEnv *env, void *ucontext)
{
    struct sampler *sampler = context;
    wakeup_count(&sampler->wakeup,
                 atomic_fetch_add_explicit(&sampler->samples, 1, memory_order_relaxed));
    int slot = calltrace_enter(sampler->traces, tid);
    if (slot < 0) {
        count(&sampler->dropped_slots);
        return;
    }
    take(sampler, slot, tid, env, ucontext);
    calltrace_leave(sampler->traces, slot);
}
