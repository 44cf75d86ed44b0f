#include "agent/sampling/threads_state.h"

#include "agent/mem/mem.h"
#include "agent/sampling/sigprof.h"
#include "agent/sampling/proc_numbers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#define WALL_ROUNDS 1000

/* For the fork handlers, which cannot be taken away again. */
static struct threads *of_this_process;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* --- entries ---------------------------------------------------------------------------------- */

/* A thread that blocks our signal would keep it pending forever: it gets its timer when it does
 * not. The profiler's own threads are such. */
static void start_timer(struct threads *threads, struct thread_entry *entry, bool blocked)
{
    entry->blocked = blocked;
    if (blocked || threads->paused || entry->timer.kind != TIMER_NONE)
        return;
    int why = timer_start(&threads->timers, &entry->timer, entry_tid(entry));
    if (why != 0 && why != ESRCH)
        threads->failed_timers++;
}

static void forget(struct threads *threads, struct thread_entry *entry)
{
    timer_stop(&threads->timers, &entry->timer);
    if (entry->name == NULL)
        entry->name = mem_copy_text(COMPONENT_THREADS, entry->comm, strlen(entry->comm));
    if (atomic_load_explicit(&entry->sampled, memory_order_relaxed))
        ended_threads_add(&threads->ended, entry_tid(entry), entry->name, entry->java_id);
    else
        mem_free(entry->name);
    entry->name = NULL;
    registry_remove(&threads->registry, entry);
}

static void forget_ended(struct threads *threads)
{
    struct thread_entry *entry;
    for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++) {
        if (entry_tid(entry) != 0 && entry->ended)
            forget(threads, entry);
    }
}

static struct thread_entry *add(struct threads *threads, int tid,
                                const struct thread_signals *signals)
{
    struct thread_entry *entry = registry_add(&threads->registry, tid, &sigprof.handlers);
    if (entry == NULL) { /* room may be taken by those that have ended since the last scan */
        forget_ended(threads);
        entry = registry_add(&threads->registry, tid, &sigprof.handlers);
    }
    if (entry == NULL) {
        threads->failed_timers++;
        return NULL;
    }
    entry->seen = threads->scan;
    memcpy(entry->comm, signals->comm, sizeof entry->comm);
    start_timer(threads, entry, signals->blocked);
    return entry;
}

static void scan(struct threads *threads)
{
    struct proc_numbers tasks;
    struct thread_entry *entry;
    int tid, own = gettid();
    /* No descriptor: nobody is new and nobody gone, until the next scan. */
    if (!proc_numbers_open(&tasks, "/proc/self/task"))
        return;
    threads->scan++;
    while ((tid = proc_numbers_next(&tasks)) >= 0) {
        struct thread_signals signals;
        entry = registry_find(&threads->registry, tid);
        if (entry == NULL) {
            if (sigprof_thread_signals(tid, &signals))
                add(threads, tid, &signals);
            continue;
        }
        entry->seen = threads->scan;
        if (tid == own && entry->blocked) /* the agent's, for good */
            continue;
        /* Ended, and still here: it is on its way out, or has left the JVM and goes on without. */
        if ((entry->blocked || entry->ended) && sigprof_thread_signals(tid, &signals)) {
            entry->ended = false;
            start_timer(threads, entry, signals.blocked);
        } else if (entry->timer.kind == TIMER_PERF) {
            threads->revived_timers += timer_revive(&threads->timers, &entry->timer, tid);
        }
    }
    proc_numbers_close(&tasks);
    for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++) {
        if (entry_tid(entry) != 0 && entry->seen != threads->scan)
            forget(threads, entry);
    }
}

void threads_scan(struct threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    if (threads->running) {
        scan(threads);
        threads->handler_replaced = !sigprof_is_ours();
    }
    pthread_mutex_unlock(&threads->lock);
}

/* --- threads that report ---------------------------------------------------------------------- */

void threads_started(struct threads *threads, JNIEnv *env, jthread thread)
{
    char text[THREAD_NAME_BYTES], *name = NULL;
    int64_t java_id;
    int tid = gettid();
    struct thread_signals signals;
    if (thread_names_of(&threads->names, env, thread, text, &java_id))
        name = mem_copy_text(COMPONENT_THREADS, text, strlen(text));
    bool have_signals = sigprof_thread_signals(tid, &signals);
    pthread_mutex_lock(&threads->lock);
    struct thread_entry *entry = NULL;
    if (threads->running && have_signals) {
        entry = registry_find(&threads->registry, tid);
        if (entry != NULL &&
            entry->left_jvm) { /* of one that had this number, or of its own past */
            forget(threads, entry);
            entry = NULL;
        }
        if (entry == NULL)
            entry = add(threads, tid, &signals);
    }
    if (entry != NULL) {
        mem_free(entry->name);
        entry->name = name;
        entry->java_id = java_id;
        atomic_store_explicit(&entry->env, (void *)env, memory_order_relaxed);
        memcpy(entry->comm, signals.comm, sizeof entry->comm);
        name = NULL;
    }
    pthread_mutex_unlock(&threads->lock);
    mem_free(name);
}

void threads_ended(struct threads *threads)
{
    JNIEnv *env = NULL;
    char text[THREAD_NAME_BYTES], *name = NULL;
    int64_t java_id = 0;
    int tid = gettid();
    if (threads->names.jvmti != NULL &&
        (*threads->names.vm)->GetEnv(threads->names.vm, (void **)&env, JNI_VERSION_1_6) == JNI_OK &&
        thread_names_of(&threads->names, env, NULL, text, &java_id))
        name = mem_copy_text(COMPONENT_THREADS, text, strlen(text));
    pthread_mutex_lock(&threads->lock);
    struct thread_entry *entry = registry_find(&threads->registry, tid);
    if (entry != NULL && threads->running) {
        if (name != NULL) {
            mem_free(entry->name);
            entry->name = name;
            entry->java_id = java_id;
            name = NULL;
        }
        /* Its entry stays until the kernel has no such thread any more: a scan that comes before
         * would take it for a new one without a name. */
        timer_stop(&threads->timers, &entry->timer);
        entry->ended = entry->left_jvm = true;
    }
    pthread_mutex_unlock(&threads->lock);
    mem_free(name);
}

/* --- life ------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    if (of_this_process != NULL)
        pthread_mutex_lock(&of_this_process->lock);
}

static void after_fork(void)
{
    if (of_this_process != NULL)
        pthread_mutex_unlock(&of_this_process->lock);
}

/* The child has our handler and the descriptors of perf, and nothing that would send a signal. */
static void in_child(void)
{
    struct threads *threads = of_this_process;
    struct thread_entry *entry;
    if (threads == NULL)
        return;
    atomic_store(&sigprof.active, false);
    sigprof.handlers = (struct handlers){.epoch = 0};
    sigprof_forget_self();
    for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++)
        timer_forget_in_child(&entry->timer);
    threads->running = false;
    threads->wall = NULL; /* its thread is not here; its memory is the child's smallest worry */
    threads->timers.kind = TIMER_NONE;
    pthread_mutex_unlock(&threads->lock);
}

static void listen_to_fork(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

struct threads *threads_create(JavaVM *vm, jvmtiEnv *jvmti)
{
    struct threads *threads = mem_alloc(COMPONENT_THREADS, sizeof *threads);
    if (threads == NULL)
        return NULL;
    pthread_mutex_init(&threads->lock, NULL);
    thread_names_open(&threads->names, vm, jvmti);
    sigprof.vm = vm;
    of_this_process = threads;
    pthread_once(&fork_once, listen_to_fork);
    return threads;
}

void threads_on_sample(struct threads *threads, threads_sample_fn *sample, void *context)
{
    pthread_mutex_lock(&threads->lock);
    if (!threads->running) {
        sigprof.sample = sample;
        sigprof.context = context;
        if (sample == NULL) {
            registry_clear(&threads->registry);
            ended_threads_clear(&threads->ended);
        }
    }
    pthread_mutex_unlock(&threads->lock);
}

/* getrusage, because a JVM calls it anyway: a system call filter may kill for the clock of the process. */
static int64_t process_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t us = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                 usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    return us * 1000;
}

/* The handler first: what the timers send while they are tried is late and dropped. */
static bool open_timers(struct threads *threads, enum timer_kind forced, int64_t interval_ns,
                        char *error, size_t error_size)
{
    if (!sigprof_install(forced == TIMER_ITIMER, error, error_size))
        return false;
    if (interval_ns == 0 || timers_open(&threads->timers, forced, sigprof.signal, interval_ns,
                                        &sigprof, error, error_size))
        return true;
    sigprof_release();
    return false;
}

void threads_set_stack(struct threads *threads, size_t bytes)
{
    threads->stack_bytes = bytes;
}

static bool start(struct threads *threads, enum timer_kind forced, int64_t interval_ns, char *error,
                  size_t error_size)
{
    if (threads->running || sigprof.sample == NULL) {
        snprintf(error, error_size, threads->running ? "already running" : "nobody takes samples");
        return false;
    }
    registry_clear(&threads->registry);
    ended_threads_clear(&threads->ended);
    threads->failed_timers = threads->revived_timers = 0;
    threads->handler_replaced = false;
    threads->paused = false;
    threads->timers = (struct timers){.kind = TIMER_NONE};
    threads->forced = forced;
    if (!open_timers(threads, forced, interval_ns, error, error_size)) {
        threads->forced = TIMER_ITIMER;
        if (forced != TIMER_NONE ||
            !open_timers(threads, TIMER_ITIMER, interval_ns, error, error_size))
            return false;
    }
    atomic_store(&sigprof.perf_batch, timer_perf_batch(interval_ns));
    atomic_store(&sigprof.interval_ns, interval_ns);
    atomic_store(&sigprof.cpu_ns, 0);
    threads->process_cpu_ns = -process_cpu_ns();
    /* A fault may interrupt the walk: one more frame of the kernel's, which is 3.6 KB with
     * AVX-512. */
    sigprof.stack_bytes = threads->stack_bytes + getauxval(AT_MINSIGSTKSZ);
    sigprof.itimer = threads->timers.kind == TIMER_ITIMER;
    sigprof.registry = &threads->registry;
    atomic_store(&sigprof.signals, 0);
    atomic_store(&sigprof.foreign, 0);
    atomic_store(&sigprof.late, 0);
    atomic_store(&sigprof.nested, 0);
    atomic_store(&sigprof.small_stacks, 0);
    atomic_fetch_add(&sigprof.start, 1);
    threads->running = true;
    /* Sequentially consistent, after all of the above; partner: the handler's load of active. */
    atomic_store_explicit(&sigprof.active, true, memory_order_seq_cst);
    scan(threads);
    return true;
}

bool threads_start(struct threads *threads, enum timer_kind forced, int64_t interval_ns,
                   char *error, size_t error_size)
{
    /* Not under the lock: it asks the JVM. */
    int64_t own_address = sigprof.have_jvm_key ? 0 : thread_names_own_address(&threads->names);
    pthread_mutex_lock(&threads->lock);
    if (own_address != 0 && !threads->running)
        sigprof.have_jvm_key = jvm_key_find(own_address, &sigprof.jvm_key);
    bool started = start(threads, forced, interval_ns, error, error_size);
    pthread_mutex_unlock(&threads->lock);
    return started;
}

/* Real-time signals queue: a thread that blocks them for a while is sent one, and another one only
 * when that was to be found for so many rounds. */
static bool is_on_its_way(struct thread_entry *entry)
{
    uint32_t rounds = atomic_load_explicit(&entry->wall_rounds, memory_order_relaxed);
    atomic_store_explicit(&entry->wall_rounds, rounds < WALL_ROUNDS ? rounds + 1 : 1,
                          memory_order_relaxed);
    return rounds != 0 && rounds < WALL_ROUNDS;
}

static void set_paused(struct threads *threads, bool pause)
{
    struct thread_entry *entry;
    threads->paused = pause;
    timers_pause(&threads->timers, pause);
    for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++) {
        if (entry_tid(entry) == 0 || entry->ended)
            continue;
        if (pause)
            timer_stop(&threads->timers, &entry->timer);
        else
            start_timer(threads, entry, entry->blocked);
    }
}

void threads_pause(struct threads *threads, bool wanted)
{
    pthread_mutex_lock(&threads->lock);
    if (threads->running && threads->paused != wanted)
        set_paused(threads, wanted);
    pthread_mutex_unlock(&threads->lock);
}

/* Timers are off meanwhile; what they had sent before is late and dropped. */
static bool set_interval(struct threads *threads, int64_t interval_ns, char *error,
                         size_t error_size)
{
    bool paused = threads->paused, good = true;
    set_paused(threads, true);
    struct timers before = threads->timers;
    threads->timers = (struct timers){.kind = TIMER_NONE};
    if (interval_ns != 0)
        good = timers_open(&threads->timers, threads->forced, sigprof.signal, interval_ns, &sigprof,
                           error, error_size);
    if (!good)
        threads->timers = before;
    atomic_store(&sigprof.perf_batch, timer_perf_batch(threads->timers.interval_ns));
    atomic_store(&sigprof.interval_ns, threads->timers.interval_ns);
    sigprof.itimer = threads->timers.kind == TIMER_ITIMER;
    set_paused(threads, paused);
    return good;
}

bool threads_set_interval(struct threads *threads, int64_t interval_ns, char *error,
                          size_t error_size)
{
    pthread_mutex_lock(&threads->lock);
    bool good = threads->running;
    if (!good)
        snprintf(error, error_size, "not running");
    else if (interval_ns != threads->timers.interval_ns)
        good = set_interval(threads, interval_ns, error, error_size);
    pthread_mutex_unlock(&threads->lock);
    return good;
}

static int pick(void *context, int *tids, int max)
{
    struct threads *threads = context;
    struct thread_entry *entry;
    int count = 0;
    pthread_mutex_lock(&threads->lock);
    int all = threads->registry.slabs * THREAD_SLAB;
    for (int i = 0; i < all && count < max && !threads->paused; i++) {
        entry = registry_at(&threads->registry, threads->wall_at++ % all);
        if (entry_tid(entry) != 0 && !entry->blocked && !is_on_its_way(entry))
            tids[count++] = entry_tid(entry);
    }
    threads->wall_at = all > 0 ? threads->wall_at % all : 0;
    pthread_mutex_unlock(&threads->lock);
    return count;
}

bool threads_start_wall(struct threads *threads, int64_t interval_ns, int max_threads, char *error,
                        size_t error_size)
{
    if (threads->wall != NULL || !threads->running) {
        snprintf(error, error_size, "wall clock: %s",
                 threads->running ? "already running" : "start the profiler first");
        return false;
    }
    threads->wall = wall_start(interval_ns, max_threads, sigprof.signal, &sigprof, pick, threads,
                               error, error_size);
    return threads->wall != NULL;
}

bool threads_set_wall(struct threads *threads, int64_t interval_ns)
{
    pthread_mutex_lock(&threads->lock);
    bool there = threads->wall != NULL;
    if (there)
        wall_set_interval(threads->wall, interval_ns);
    pthread_mutex_unlock(&threads->lock);
    return there;
}

void threads_stop_wall(struct threads *threads)
{
    pthread_mutex_lock(&threads->lock); /* the breaker and a command may stop it at once */
    struct wall *wall = threads->wall;
    threads->wall = NULL;
    pthread_mutex_unlock(&threads->lock);
    if (wall != NULL)
        wall_stop(wall); /* not under the lock: it picks under it */
}

void threads_stop(struct threads *threads)
{
    struct thread_entry *entry;
    threads_stop_wall(threads);
    pthread_mutex_lock(&threads->lock);
    if (threads->running) {
        for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++)
            timer_stop(&threads->timers, &entry->timer);
        timers_close(&threads->timers);
        /* Sequentially consistent; partner: the handler, which counts itself and then reads it. */
        atomic_store_explicit(&sigprof.active, false, memory_order_seq_cst);
        sigprof_release();
        threads->process_cpu_ns += process_cpu_ns();
        threads->running = false;
    }
    pthread_mutex_unlock(&threads->lock);
}

void threads_destroy(struct threads *threads)
{
    threads_stop(threads);
    threads_on_sample(threads, NULL, NULL);
    of_this_process = NULL;
    pthread_mutex_destroy(&threads->lock);
    mem_free(threads);
}

/* --- what people ask -------------------------------------------------------------------------- */

enum timer_kind threads_timer(const struct threads *threads)
{
    return threads->timers.kind;
}

int64_t threads_interval_ns(const struct threads *threads)
{
    return threads->timers.interval_ns;
}

int64_t threads_wall_interval_ns(const struct threads *threads)
{
    return threads->wall != NULL ? wall_interval_ns(threads->wall) : 0;
}

void threads_counts(const struct threads *threads, struct threads_counts *counts)
{
    struct threads *writable = (struct threads *)(uintptr_t)threads; /* for the lock */
    const struct thread_entry *entry;
    pthread_mutex_lock(&writable->lock);
    *counts = (struct threads_counts){
        .threads = threads->registry.threads,
        .failed_timers = threads->failed_timers,
        .revived_timers = threads->revived_timers,
        .signals = atomic_load(&sigprof.signals),
        .foreign_signals = atomic_load(&sigprof.foreign),
        .late_signals = atomic_load(&sigprof.late),
        .nested_signals = atomic_load(&sigprof.nested),
        .small_stacks = atomic_load(&sigprof.small_stacks),
        .posix_instead = threads->timers.posix_instead,
        .wall_signals = threads->wall != NULL ? wall_signals(threads->wall) : 0,
        .sampled_cpu_ns = atomic_load(&sigprof.cpu_ns),
        .process_cpu_ns = threads->process_cpu_ns + (threads->running ? process_cpu_ns() : 0),
        .user_only = threads->timers.user_only,
        .handler_replaced = threads->handler_replaced,
    };
    for (int i = 0; (entry = registry_at(&writable->registry, i)) != NULL; i++)
        counts->timers += entry_tid(entry) != 0 && entry->timer.kind != TIMER_NONE;
    pthread_mutex_unlock(&writable->lock);
}
