/*
 * bench: what the measuring programs share. Each prints samples, one a line: a name, a space, a
 * number. scripts/bench/bench.sh makes minimum, median and maximum of them.
 *
 * CPU time is taken from the scheduler's own clocks (nanoseconds), not from clock ticks. One
 * thread.
 */
#pragma once

#include "nmtwatch/jvm/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* CPU this process has used. */
static inline double bench_cpu_us(void)
{
    return bench_us(CLOCK_PROCESS_CPUTIME_ID);
}

static inline void bench_sample(const char *name, double value)
{
    printf("%s %.10g\n", name, value);
    fflush(stdout);
}

_Noreturn static inline void bench_fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline struct target bench_target(const char *pid)
{
    struct target target;
    struct failure failure;
    if (target_open(&target, (pid_t)atoi(pid), &failure) != FAILURE_NONE)
        bench_fail(failure.sentence);
    return target;
}
