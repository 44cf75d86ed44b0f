#include "nmtwatch/process/apart.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"
#include "nmtwatch/process/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS  1000
#define STILL_MS 2000 /* longer than a child that works leaves a signal where it is */

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
#define CAUGHT (int)(sizeof caught / sizeof *caught)

/* The code; -1: it has not ended. */
static int outcome(pid_t child)
{
    int status;
    if (waitpid(child, &status, WNOHANG) != child)
        return -1;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

/* Whether it has not taken a request to end: it stands in a system call that SIGKILL alone would end. */
static bool stands_still(pid_t child)
{
    const unsigned long ending = 1UL << (SIGINT - 1) | 1UL << (SIGTERM - 1) | 1UL << (SIGHUP - 1);
    char path[32], line[256];
    unsigned long pending = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE *status = fopen(path, "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL &&
           sscanf(line, "ShdPnd: %lx", &pending) != 1) {
    }
    if (status != NULL)
        fclose(status);
    return (pending & ending) != 0;
}

static int wait_for(pid_t child, int64_t limit_ms)
{
    int64_t end_ms = limit_ms > 0 ? clock_ms(CLOCK_MONOTONIC) + limit_ms : INT64_MAX;
    int64_t look_ms = INT64_MAX;
    int asked = 0, code;
    while ((code = outcome(child)) < 0) {
        int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
        struct pollfd wake = {.fd = signals_fd(), .events = POLLIN};
        if (now_ms >= end_ms || (now_ms >= look_ms && stands_still(child))) {
            left_behind(child);
            return -1;
        }
        int64_t next_ms = end_ms < look_ms ? end_ms : look_ms;
        poll(&wake, 1,
             next_ms > now_ms && next_ms - now_ms < LOOK_MS ? (int)(next_ms - now_ms) : LOOK_MS);
        if (wake.revents != 0)
            signals_seen();
        for (int number; (number = signals_to_pass()) != 0;)
            kill(child, number);
        if (signals_asked() > asked) { /* a second time: at once */
            end_ms =
                clock_ms(CLOCK_MONOTONIC) + (asked == 0 && signals_asked() == 1 ? APART_END_MS : 0);
            if (asked == 0)
                look_ms = clock_ms(CLOCK_MONOTONIC) + STILL_MS;
            asked = signals_asked();
        }
    }
    return code;
}

int apart_run(int (*work)(void *context), void *context, int64_t limit_ms)
{
    sigset_t all, before;
    pid_t parent = getpid();
    fflush(NULL); /* what is buffered is not written twice */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() != parent)
            _exit(0);
        exit(work(context));
    }
    struct sigaction own[CAUGHT];
    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught[i], NULL, &own[i]);
    bool good = child > 0 && signals_catch(SIGNALS_COMMAND);
    sigprocmask(SIG_SETMASK, &before, NULL);
    int code = good ? wait_for(child, limit_ms) : -1;
    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught[i], &own[i], NULL);
    return good ? code : work(context);
}
