/*
 * put_times: how long a walk and the put of its stack take, in the agent as it samples a JVM. Linked into
 * an agent of its own (build/bench/times/libnmtagent.so) around the calls of agent/sampling/sampler.c: the walk is what
 * lies between the claim of a buffer and the put.
 *
 * When the JVM ends, one line for each sample into the file that PUT_TIMES names: nanoseconds of the walk and
 * of the put, without what looking at the clock takes, and frames. Wall clock: what another process takes
 * meanwhile is in it, so only medians say something.
 */
#include "agent/buffer/recording_buffers.h"
#include "agent/calltrace/calltrace.h"
#include "agent/mem/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLES 200000

static struct {
    int32_t walk_ns, put_ns, frames;
} times[SAMPLES];
static _Atomic int used;
static __thread int64_t claimed_ns __attribute__((tls_model("initial-exec")));

uint8_t *__real_recording_buffer_claim(struct recording_buffers *buffers, int tid, int *index);
uint8_t *__wrap_recording_buffer_claim(struct recording_buffers *buffers, int tid, int *index);
uint32_t __real_calltrace_put(struct calltrace_storage *storage, int slot,
                              const struct frame *frames, int depth, bool truncated);
uint32_t __wrap_calltrace_put(struct calltrace_storage *storage, int slot,
                              const struct frame *frames, int depth, bool truncated);

uint8_t *__wrap_recording_buffer_claim(struct recording_buffers *buffers, int tid, int *index)
{
    uint8_t *out = __real_recording_buffer_claim(buffers, tid, index);
    claimed_ns = clock_now_ns();
    return out;
}

uint32_t __wrap_calltrace_put(struct calltrace_storage *storage, int slot,
                              const struct frame *frames, int depth, bool truncated)
{
    int64_t walked_ns = clock_now_ns();
    uint32_t trace = __real_calltrace_put(storage, slot, frames, depth, truncated);
    int64_t put_ns = clock_now_ns() - walked_ns;
    int i = atomic_fetch_add_explicit(&used, 1, memory_order_relaxed);
    if (i >= 0 && i < SAMPLES) {
        times[i].walk_ns = (int32_t)(walked_ns - claimed_ns);
        times[i].put_ns = (int32_t)put_ns;
        times[i].frames = depth;
    }
    return trace;
}

static __attribute__((destructor)) void write_times(void)
{
    const char *path = getenv("PUT_TIMES");
    FILE *out = path == NULL ? NULL : fopen(path, "w");
    int32_t clock_ns = INT32_MAX;
    if (out == NULL)
        return;
    for (int i = 0; i < 1000; i++) {
        int64_t began_ns = clock_now_ns();
        int32_t took_ns = (int32_t)(clock_now_ns() - began_ns);
        clock_ns = took_ns < clock_ns ? took_ns : clock_ns;
    }
    for (int i = 0; i < used && i < SAMPLES; i++)
        fprintf(out, "%d %d %d\n", times[i].walk_ns - clock_ns, times[i].put_ns - clock_ns,
                times[i].frames);
    fclose(out);
}
