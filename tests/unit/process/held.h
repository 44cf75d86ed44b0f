/*
 * held: a child that cannot be reaped although it was killed, as one that stands in a system call which a stranger
 * withholds: another process traces it, and the kernel tells a parent nothing of a traced child's end before its tracer
 * knows it.
 *
 *   pid_t holder = hold(child);  kill(child, SIGKILL); ... waitpid(child, ..., WNOHANG) == 0 ...  release(holder);
 */
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* -1: tracing is refused here. */
static inline pid_t hold(pid_t child)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return -1;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pid_t holder = fork();
    if (holder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0 || write(ends[1], "", 1) != 1)
            _exit(1);
        close(ends[0]);
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &byte, 1);
    close(ends[0]);
    if (got == 1)
        return holder;
    waitpid(holder, NULL, 0);
    return -1;
}

static inline void release(pid_t holder)
{
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
}
