/*
 * timer_bench INTERVAL_US ROUNDS: what a sample costs before anything is sampled: the clock of a thread, its
 * interrupts, and the signal's way into the agent and back (agent/sampling), with a sample function that
 * does nothing.
 *
 * The same arithmetic with timers and without, in turns, half a second each. Prints for each round: nanoseconds of
 * the thread's CPU time with timers beyond those without, and how many samples there were.
 */
#include "agent/sampling/threads.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Atomic int64_t samples;
static volatile uint64_t sink;

static void on_sample(void *context, int tid, JNIEnv *env, void *ucontext)
{
    (void)context, (void)tid, (void)env, (void)ucontext;
    atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double work(int64_t amount)
{
    double began_ns = cpu_ns();
    uint64_t state = 1;
    for (int64_t i = 0; i < amount; i++) {
        state = (state + UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xBF58476D1CE4E5B9);
        state ^= state >> 31;
    }
    sink = state;
    return cpu_ns() - began_ns;
}

static double work_sampled(int64_t amount, int64_t interval_ns)
{
    char error[200];
    struct threads *threads = threads_create(NULL, NULL);
    if (threads == NULL)
        exit(1);
    threads_on_sample(threads, on_sample, &samples);
    if (!threads_start(threads, TIMER_NONE, interval_ns, error, sizeof error)) {
        fprintf(stderr, "timer_bench: %s\n", error);
        exit(1);
    }
    atomic_store(&samples, 0);
    double took_ns = work(amount);
    threads_destroy(threads);
    return took_ns;
}

int main(int argc, char **argv)
{
    int64_t amount = 1 << 20;
    if (argc != 3) {
        fprintf(stderr, "usage: timer_bench INTERVAL_US ROUNDS\n");
        return 1;
    }
    while (work(amount) < 0.3e9)
        amount *= 2;
    for (int round = atoi(argv[2]); round > 0; round--) {
        double without_ns = work(amount);
        double with_ns = work_sampled(amount, atoll(argv[1]) * 1000);
        printf("%.0f %lld\n", with_ns - without_ns, (long long)atomic_load(&samples));
    }
    return 0;
}
