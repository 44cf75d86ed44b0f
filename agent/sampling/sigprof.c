#include "agent/sampling/sigprof.h"

#include "agent/sampling/proc_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_TRIES   50
#define QUIET_WAIT_US 2000

/* Of the real-time signals: those at the ends have users (the C library, the JDK, tools). */
#define FREE_FROM (SIGRTMIN + 10)
#define FREE_TO   (SIGRTMAX - 4)

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == sigprof_handler;
}

bool sigprof_is_ours(void)
{
    struct sigaction now;
    return sigaction(sigprof.signal, NULL, &now) == 0 && is_ours(&now);
}

/* Ours since an earlier start, or nobody's. SIGPROF when there is none. */
static int free_signal(void)
{
    for (int number = FREE_FROM; number <= FREE_TO; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0 &&
            (is_ours(&now) || ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL)))
            return number;
    }
    return SIGPROF;
}

static void on_overflow(int number)
{
    (void)number;
}

/* Stays: taking it away would race with a signal under way, and it does nothing. */
static void take_overflow(void)
{
    struct sigaction now, ours = {.sa_handler = on_overflow, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGIO, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        now.sa_handler == SIG_DFL)
        sigaction(SIGIO, &ours, NULL);
}

bool sigprof_install(bool itimer, char *error, size_t error_size)
{
    struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    ours.sa_sigaction = sigprof_handler;
    sigemptyset(&ours.sa_mask);
    sigprof.signal = itimer ? SIGPROF : free_signal();
    if (sigprof.signal != SIGPROF)
        take_overflow();
    if (sigaction(sigprof.signal, NULL, &now) != 0) {
        snprintf(error, error_size, "signal %d: %s", sigprof.signal, strerror(errno));
        return false;
    }
    if (is_ours(&now)) /* passive since the last stop; previous is still true */
        return true;
    if (sigprof.signal == SIGPROF) {
        sigprof.previous = now;
        sigprof.have_previous = (now.sa_flags & SA_SIGINFO) != 0 ||
                                (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    }
    if (sigaction(sigprof.signal, &ours, NULL) == 0)
        return true;
    snprintf(error, error_size, "signal %d: %s", sigprof.signal, strerror(errno));
    return false;
}

/* --- what the kernel knows of a thread's signals ---------------------------------------------- */

static bool mask_has_ours(const char *status, const char *key)
{
    const char *at = strstr(status, key);
    return at != NULL &&
           (strtoull(at + strlen(key), NULL, 16) & (UINT64_C(1) << (sigprof.signal - 1)));
}

bool sigprof_thread_signals(int tid, struct thread_signals *out)
{
    char path[64], status[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, status, sizeof status - 1);
    close(fd);
    if (length <= 0)
        return false;
    status[length] = '\0';
    memset(out, 0, sizeof *out);
    sscanf(status, "Name:\t%15[^\n]", out->comm);
    out->blocked = mask_has_ours(status, "\nSigBlk:\t");
    out->pending = mask_has_ours(status, "\nSigPnd:\t") || mask_has_ours(status, "\nShdPnd:\t");
    return true;
}

static bool somebody_pending(void)
{
    struct proc_numbers tasks;
    bool pending = false;
    int tid;
    if (!proc_numbers_open(&tasks, "/proc/self/task"))
        return true;
    while (!pending && (tid = proc_numbers_next(&tasks)) >= 0) {
        struct thread_signals signals;
        pending = sigprof_thread_signals(tid, &signals) && signals.pending;
    }
    proc_numbers_close(&tasks);
    return pending;
}

bool sigprof_release(void)
{
    static const struct sigaction DEFAULT = {.sa_handler = SIG_DFL};
    const struct sigaction *before = sigprof.signal == SIGPROF ? &sigprof.previous : &DEFAULT;
    handlers_wait(&sigprof.handlers);
    /* The timers are gone, so what is pending now is all there will be, and goes soon unless a
     * thread blocks the signal. */
    for (int try = 0; try < QUIET_TRIES; try++) {
        if (!sigprof_is_ours())
            return false; /* whoever came after us may call us: stay, passive */
        if (!somebody_pending())
            return sigaction(sigprof.signal, before, NULL) == 0;
        usleep(QUIET_WAIT_US);
    }
    return false;
}

bool jvm_key_find(int64_t thread_address, pthread_key_t *key)
{
    if (thread_address == 0)
        return false;
    /* Keys that nobody made read as NULL in glibc. */
    for (pthread_key_t candidate = 0; candidate < PTHREAD_KEYS_MAX; candidate++) {
        if ((int64_t)(intptr_t)pthread_getspecific(candidate) == thread_address) {
            *key = candidate;
            return true;
        }
    }
    return false;
}
