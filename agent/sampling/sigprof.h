/*
 * sigprof: our signal and its handler, and living with other people's.
 *
 * The signal is a real-time one without another handler: the kernel keeps one SIGPROF for a
 * thread, and a second one that comes while it waits is lost, whosever it is. So an application
 * that uses SIGPROF gets all of its own, and we all of ours, before or after it installs its
 * handler. Only an itimer sends SIGPROF. (Neither the JVM nor its libraries use SIGPROF; the JDK's
 * network code wakes threads by SIGRTMAX - 2.)
 *
 * When the kernel has no room for another queued signal it sends SIGIO in place of perf's, which
 * would end the process: where SIGIO has its default action, it gets a handler that does nothing.
 *
 * A signal is ours when it carries our mark (posix timers, wall clock), comes from the perf
 * descriptor of this thread, or from the itimer when that is what we use. Every other one goes to
 * the handler that was there before, and is counted. When the profiler stops, our handler goes
 * passive first; it is taken away only while it is still the one installed and no thread has such
 * a signal pending: the default action would end the process.
 *
 * sigprof_install, _release: setup. The handler itself is in threads_signal.c.
 */
#pragma once

#include "agent/sampling/thread_registry.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What the handler reads. Written while it is not active, but for the counters, and for perf_batch, interval_ns
 * and itimer, which another interval changes while no timer runs. */
struct sigprof {
    _Atomic bool active;
    struct handlers handlers;
    _Atomic uint32_t start; /* counts starts: what a thread remembers of an earlier one is void */
    _Atomic bool itimer;
    int signal;                  /* its number */
    _Atomic int perf_batch;      /* how many signals of an event the handler enables */
    _Atomic int64_t interval_ns; /* of CPU time */
    size_t stack_bytes;          /* what the handler needs of an alternate stack */
    JavaVM *vm;
    bool have_jvm_key;
    pthread_key_t jvm_key; /* where the JVM keeps what GetEnv reads: jvm_key_find */
    struct thread_registry *registry;
    threads_sample_fn *sample;
    void *context;
    struct sigaction previous; /* of SIGPROF */
    bool have_previous;        /* a handler, not SIG_DFL or SIG_IGN */
    _Atomic int64_t signals;   /* = ours, foreign, late, nested and small-stack ones, added up */
    _Atomic int64_t foreign, late, nested, small_stacks;
    _Atomic int64_t cpu_ns; /* what the samples of CPU time stand for */
};
extern struct sigprof sigprof;

/* threads_signal.c */
void sigprof_handler(int number, siginfo_t *info, void *ucontext);
/* What the calling thread remembers of itself; for a forked child. */
void sigprof_forget_self(void);

/* sigprof.c. itimer: SIGPROF it must be. False with a sentence. */
bool sigprof_install(bool itimer, char *error, size_t error_size);
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

/*
 * jvm_key: may a signal handler ask the JVM whether this thread is one of its own?
 *
 * GetEnv reads a thread-local variable of libjvm.so. In a thread that has never touched one, the C
 * library allocates it at the first read; a handler that interrupted malloc would deadlock with
 * itself. HotSpot keeps the same pointer under a pthread key too, set after the variable was; and a
 * key is read without allocation. So: no value under the key, no question.
 *
 * The key is found by looking on a Java thread, whose value is known: Java keeps it in
 * java.lang.Thread. Setup context, on a Java thread in the live phase.
 */
/* thread_address: what the calling thread has under the key. False: there is no such key; only
 * threads that reported their JNIEnv themselves are known as Java threads then. */
bool jvm_key_find(int64_t thread_address, pthread_key_t *key);
