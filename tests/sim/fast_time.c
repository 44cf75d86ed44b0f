/*
 * fast_time: LD_PRELOAD for a program whose time is to pass FAST_TIME (default 1000) times as fast:
 * the clocks run ahead, and waits for events end so much earlier. CPU clocks stay as they are. What the
 * program starts has the time of everybody, where FAST_TIME_ALONE is set.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void stay_alone(void)
{
    if (getenv("FAST_TIME_ALONE") != NULL)
        unsetenv("LD_PRELOAD");
}

static long factor(void)
{
    static long value;
    const char *text = getenv("FAST_TIME");
    if (value == 0)
        value = text != NULL && atol(text) > 0 ? atol(text) : 1000;
    return value;
}

static long long real_ns(clockid_t clock)
{
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static long long began[CLOCK_BOOTTIME + 1];
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
        return (int)syscall(SYS_clock_gettime, clock, out);
    long long now = real_ns(clock);
    long long first = __sync_val_compare_and_swap(&began[clock], 0, now);
    if (first == 0)
        first = now;
    now = first + (now - first) * factor();
    out->tv_sec = now / 1000000000;
    out->tv_nsec = now % 1000000000;
    return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    long long ns = (long long)timeout_ms * 1000000 / factor();
    struct timespec timeout = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}
