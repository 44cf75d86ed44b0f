#include "agent/sampling/wall.h"

#include "agent/mem/mem.h"
#include "agent/sampling/own_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

struct wall {
    int64_t interval_ns;
    int max_threads;
    int signal;
    void *mark;
    wall_pick_fn *pick;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, changed;
    _Atomic int64_t signals;
    int tids[WALL_THREADS_MAX];
};

static void signal_round(struct wall *wall)
{
    int count = wall->pick(wall->context, wall->tids, wall->max_threads);
    int sent = 0;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = wall->signal;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = wall->mark;
    for (int i = 0; i < count; i++) /* who has ended meanwhile is not there: ESRCH */
        sent += syscall(SYS_rt_tgsigqueueinfo, getpid(), wall->tids[i], wall->signal, &info) == 0;
    atomic_fetch_add_explicit(&wall->signals, sent, memory_order_relaxed);
}

static void *run(void *argument)
{
    struct wall *wall = argument;
    struct timespec next;
    prctl(PR_SET_NAME, "nmtagent-wall");
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&wall->lock);
    while (!wall->stop) {
        int64_t ns = next.tv_nsec + wall->interval_ns;
        next.tv_sec += ns / NS_PER_S;
        next.tv_nsec = ns % NS_PER_S;
        while (!wall->stop && !wall->changed &&
               pthread_cond_timedwait(&wall->wake, &wall->lock, &next) == 0)
            continue;
        if (wall->stop)
            break;
        if (wall->changed) { /* from now on */
            wall->changed = false;
            clock_gettime(CLOCK_MONOTONIC, &next);
            continue;
        }
        pthread_mutex_unlock(&wall->lock);
        signal_round(wall);
        /* Rounds that were missed (a machine that slept) are not made up for. */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > next.tv_sec + 1)
            next = now;
        pthread_mutex_lock(&wall->lock);
    }
    pthread_mutex_unlock(&wall->lock);
    return NULL;
}

struct wall *wall_start(int64_t interval_ns, int max_threads, int signal, void *mark,
                        wall_pick_fn *pick, void *context, char *error, size_t error_size)
{
    if (interval_ns <= 0 || max_threads < 1 || max_threads > WALL_THREADS_MAX) {
        snprintf(error, error_size, "wall clock: 1 to %d threads a round, interval above 0",
                 WALL_THREADS_MAX);
        return NULL;
    }
    struct wall *wall = mem_alloc(COMPONENT_THREADS, sizeof *wall);
    if (wall == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    wall->interval_ns = interval_ns;
    wall->max_threads = max_threads;
    wall->signal = signal;
    wall->mark = mark;
    wall->pick = pick;
    wall->context = context;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&wall->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&wall->lock, NULL);
    int failed = own_thread_start(&wall->thread, run, wall);
    if (failed == 0)
        return wall;
    snprintf(error, error_size, "no thread: %s", strerror(failed));
    wall_forget_in_child(wall);
    return NULL;
}

void wall_set_interval(struct wall *wall, int64_t interval_ns)
{
    pthread_mutex_lock(&wall->lock);
    wall->interval_ns = interval_ns;
    wall->changed = true;
    pthread_cond_signal(&wall->wake);
    pthread_mutex_unlock(&wall->lock);
}

int64_t wall_interval_ns(const struct wall *wall)
{
    return wall->interval_ns; /* whoever sets it asks */
}

int64_t wall_signals(const struct wall *wall)
{
    return atomic_load_explicit(&wall->signals, memory_order_relaxed);
}

void wall_stop(struct wall *wall)
{
    pthread_mutex_lock(&wall->lock);
    wall->stop = true;
    pthread_cond_signal(&wall->wake);
    pthread_mutex_unlock(&wall->lock);
    pthread_join(wall->thread, NULL);
    pthread_cond_destroy(&wall->wake);
    pthread_mutex_destroy(&wall->lock);
    mem_free(wall);
}

void wall_forget_in_child(struct wall *wall)
{
    mem_free(wall);
}
