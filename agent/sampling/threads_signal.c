/*
 * Signal context: everything between the kernel and the profiler's sample function. Reaches the
 * system calls gettid and ioctl, pthread_getspecific, and the JVM's GetEnv, which reads a
 * thread-local variable (jvm_key_find in sigprof.h).
 */
#include "agent/sampling/sigprof.h"
#include "agent/sampling/thread_registry.h"
#include "agent/stack/engine.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct sigprof sigprof = {.signal = SIGPROF};

/* Initial-exec: reading it takes no call and never allocates, also in a library opened late. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
    int tid;
    uint32_t start;
    struct thread_entry *entry;
    bool busy;
    bool wall;
} self;

void sigprof_forget_self(void)
{
    self.tid = 0;
    self.entry = NULL;
    self.busy = false;
}

bool threads_sample_is_wall(void)
{
    return self.wall;
}

static void count(_Atomic int64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* A thread never changes its id, so an entry with our id is ours, also when it was given away and
 * came back. */
static struct thread_entry *own_entry(void)
{
    uint32_t start = atomic_load_explicit(&sigprof.start, memory_order_relaxed);
    if (self.tid == 0)
        self.tid = gettid();
    if (self.start != start) {
        self.start = start;
        self.entry = NULL;
    }
    if (self.entry == NULL ||
        atomic_load_explicit(&self.entry->tid, memory_order_relaxed) != self.tid)
        self.entry = registry_find(sigprof.registry, self.tid);
    return self.entry;
}

/* It has an event in the recording. Written only when it changes: the entry is read by others. */
static void mark(struct thread_entry *entry, JNIEnv *env)
{
    if (env != NULL && atomic_load_explicit(&entry->env, memory_order_relaxed) != env)
        atomic_store_explicit(&entry->env, (void *)env, memory_order_relaxed);
    if (!atomic_load_explicit(&entry->sampled, memory_order_relaxed))
        atomic_store_explicit(&entry->sampled, true, memory_order_relaxed);
}

void threads_mark_self(JNIEnv *env)
{
    uint32_t epoch = handlers_enter(&sigprof.handlers);
    if (atomic_load_explicit(&sigprof.active, memory_order_seq_cst)) {
        struct thread_entry *entry = own_entry();
        if (entry != NULL)
            mark(entry, env);
    }
    handlers_leave(&sigprof.handlers, epoch);
}

enum origin { OURS, OURS_PERF, OURS_WALL, FOREIGN };

/* Only while active: the registry may be gone otherwise. */
static enum origin origin_of(const siginfo_t *info, const struct thread_entry *entry)
{
    bool marked = info->si_value.sival_ptr == &sigprof;
    switch (info->si_code) {
    case SI_TIMER:
        return marked ? OURS : FOREIGN;
    case SI_QUEUE:
        return marked ? OURS_WALL : FOREIGN;
    case SI_KERNEL:
        return sigprof.itimer ? OURS : FOREIGN;
    case POLL_IN:
    case POLL_HUP:
        return entry != NULL && info->si_fd == atomic_load_explicit(&entry->timer.perf_fd,
                                                                    memory_order_relaxed)
                   ? OURS_PERF
                   : FOREIGN;
    default:
        return FOREIGN;
    }
}

/* NULL: no Java thread. The JVM is asked only where jvm_key_find says that it may be. */
static JNIEnv *own_env(const struct thread_entry *entry)
{
    JNIEnv *env = NULL;
    if (!sigprof.have_jvm_key)
        return entry != NULL ? atomic_load_explicit(&entry->env, memory_order_relaxed) : NULL;
    if (pthread_getspecific(sigprof.jvm_key) == NULL ||
        (*sigprof.vm)->GetEnv(sigprof.vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return NULL;
    return env;
}

static void take(enum origin origin, struct thread_entry *entry, void *ucontext)
{
    JNIEnv *env = own_env(entry);
    if (entry != NULL)
        mark(entry, env);
    self.wall = origin == OURS_WALL;
    if (!self.wall)
        atomic_fetch_add_explicit(&sigprof.cpu_ns,
                                  atomic_load_explicit(&sigprof.interval_ns, memory_order_relaxed),
                                  memory_order_relaxed);
    sigprof.sample(sigprof.context, self.tid, env, ucontext);
    self.wall = false;
}

/* Of this thread alone: no read-modify-write. */
static void count_perf(struct timer *timer)
{
    uint32_t signals = atomic_load_explicit(&timer->perf_signals, memory_order_relaxed);
    atomic_store_explicit(&timer->perf_signals, signals + 1, memory_order_relaxed);
}

static void go_on(struct timer *timer, int perf_fd)
{
    uint64_t period_ns = (uint64_t)atomic_load_explicit(&sigprof.interval_ns, memory_order_relaxed);
    if (atomic_load_explicit(&timer->perf_begins, memory_order_relaxed)) {
        ioctl(perf_fd, PERF_EVENT_IOC_PERIOD, &period_ns);
        atomic_store_explicit(&timer->perf_begins, false, memory_order_relaxed);
    }
    ioctl(perf_fd, PERF_EVENT_IOC_REFRESH,
          atomic_load_explicit(&sigprof.perf_batch, memory_order_relaxed));
}

/* True: it was for us. */
static bool handle(const siginfo_t *info, void *ucontext)
{
    bool done = false;
    /* Sequentially consistent; partner: threads_stop clears active and then waits for handlers.
     * One of the two sees the other. Forbidden: we go on in a registry that is being taken down. */
    uint32_t epoch = handlers_enter(&sigprof.handlers);
    if (atomic_load_explicit(&sigprof.active, memory_order_seq_cst)) {
        struct thread_entry *entry = own_entry();
        enum origin origin = origin_of(info, entry);
        if (origin == OURS_PERF)
            count_perf(&entry->timer);
        if (origin == OURS_WALL && entry != NULL)
            atomic_store_explicit(&entry->wall_rounds, 0, memory_order_relaxed);
        if (origin != FOREIGN && signal_stack_left(ucontext) < sigprof.stack_bytes)
            count(&sigprof.small_stacks);
        else if (origin != FOREIGN)
            take(origin, entry, ucontext);
        if (origin == OURS_PERF && info->si_code == POLL_HUP) /* the last one it was enabled for */
            go_on(&entry->timer, info->si_fd);
        done = origin != FOREIGN;
    }
    handlers_leave(&sigprof.handlers, epoch);
    return done;
}

/* A signal of a timer that is gone by now. Without a handler before us, what a descriptor sent can
 * only have been ours. */
static bool is_late(const siginfo_t *info)
{
    if (info->si_code == SI_TIMER || info->si_code == SI_QUEUE)
        return info->si_value.sival_ptr == &sigprof;
    if (info->si_code == SI_KERNEL)
        return sigprof.itimer;
    return (info->si_code == POLL_IN || info->si_code == POLL_HUP) &&
           (info->si_signo != SIGPROF || !sigprof.have_previous);
}

static void pass_on(int number, siginfo_t *info, void *ucontext)
{
    if (number != SIGPROF || !sigprof.have_previous)
        return;
    if ((sigprof.previous.sa_flags & SA_SIGINFO) != 0)
        sigprof.previous.sa_sigaction(number, info, ucontext);
    else
        sigprof.previous.sa_handler(number);
}

void sigprof_handler(int number, siginfo_t *info, void *ucontext)
{
    int saved_errno = errno;
    count(&sigprof.signals);
    /* Somebody's handler that unblocks the signal, or one that calls us and is called by us. */
    if (self.busy) {
        count(&sigprof.nested);
        return;
    }
    self.busy = true;
    if (!handle(info, ucontext)) {
        if (is_late(info)) {
            count(&sigprof.late);
        } else {
            count(&sigprof.foreign);
            errno = saved_errno;
            pass_on(number, info, ucontext);
        }
    }
    self.busy = false;
    errno = saved_errno;
}

/* Signal context: reaches no symbol outside of itself. */
struct thread_entry *registry_find(struct thread_registry *registry, int tid)
{
    /* Acquire; partner: registry_add's release. Forbidden: an entry is seen and not yet its tid. */
    struct thread_entry *entry =
        atomic_load_explicit(&registry->chain[(unsigned)tid % THREAD_CHAINS], memory_order_acquire);
    while (entry != NULL && atomic_load_explicit(&entry->tid, memory_order_relaxed) != tid)
        entry = atomic_load_explicit(&entry->next, memory_order_acquire);
    return entry;
}
