/*
 * sigprof: our SIGPROF handler, and living with other people's.
 *
 * A signal is ours when it carries our mark (posix timers, wall clock), comes from the perf
 * descriptor of this thread, or from the itimer when that is what we use. Every other one goes to
 * the handler that was there before, and is counted. When the profiler stops, our handler goes
 * passive first; it is taken away only while it is still the one installed and no thread has a
 * SIGPROF pending: the default action would end the process.
 *
 * sigprof_install, _release: setup. The handler itself is in threads_signal.c.
 */
#ifndef AGENT_SAMPLING_SIGPROF_H
#define AGENT_SAMPLING_SIGPROF_H

#include "agent/sampling/thread_registry.h"

#include <pthread.h>
#include <signal.h>

/* What the handler reads. Written while it is not active, but for the counters. */
struct sigprof {
    _Atomic bool active;
    struct handlers handlers;
    _Atomic uint32_t start; /* counts starts: what a thread remembers of an earlier one is void */
    bool itimer;
    JavaVM *vm;
    bool have_jvm_key;
    pthread_key_t jvm_key; /* where the JVM keeps what GetEnv reads: jvm_key.h */
    struct thread_registry *registry;
    threads_sample_fn *sample;
    void *context;
    struct sigaction previous;
    bool have_previous;      /* a handler, not SIG_DFL or SIG_IGN */
    _Atomic int64_t signals; /* = ours, foreign, late and nested ones, added up */
    _Atomic int64_t foreign, late, nested;
};
extern struct sigprof sigprof;

/* threads_signal.c */
void sigprof_handler(int number, siginfo_t *info, void *ucontext);
/* What the calling thread remembers of itself; for a forked child. */
void sigprof_forget_self(void);

/* sigprof.c. False with a sentence. */
bool sigprof_install(char *error, size_t error_size);
/* The kernel still has our handler. */
bool sigprof_is_ours(void);
/* Waits until no handler is inside; timers are stopped, active is false. Then gives the signal back
 * if that is safe. False: the passive handler stays. */
bool sigprof_release(void);

/* From /proc/self/task/TID/status. False: the thread is gone. */
struct thread_signals {
    char comm[16];
    bool blocked, pending;
};
bool sigprof_thread_signals(int tid, struct thread_signals *out);

#endif
