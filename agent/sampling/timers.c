#include "agent/sampling/timers.h"

#include "agent/mem/mem.h"
#include "agent/sampling/proc_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define NS_PER_S  1000000000
#define REVIVE_NS 1000000 /* of CPU time that the event should have counted */

const char *timer_kind_name(enum timer_kind kind)
{
    static const char *const NAMES[] = {
        [TIMER_NONE] = "none",
        [TIMER_PERF] = "perf",
        [TIMER_POSIX] = "posix",
        [TIMER_ITIMER] = "itimer",
    };
    return NAMES[kind];
}

/* --- the first expiry ------------------------------------------------------------------------- */

/* The kernel looks at posix timers at its clock tick: the coarse clock moves with it. */
static int64_t tick_ns(void)
{
    struct timespec tick;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return 0;
    return (int64_t)tick.tv_sec * NS_PER_S + tick.tv_nsec;
}

/* From 0 up to an interval. Were it a whole one, a thread that ends before has no sample, and all threads lose half
 * of one. */
static int64_t draw_first_ns(struct timers *timers)
{
    timers->random ^= timers->random << 13;
    timers->random ^= timers->random >> 7;
    timers->random ^= timers->random << 17;
    return (int64_t)(timers->random % (uint64_t)timers->interval_ns);
}

/* --- perf ------------------------------------------------------------------------------------- */

static int64_t free_descriptors(void)
{
    struct rlimit limit;
    struct proc_numbers open_ones;
    int64_t used = 0;
    if (!proc_numbers_open(&open_ones, "/proc/self/fd"))
        return 0;
    while (proc_numbers_next(&open_ones) >= 0)
        used++;
    proc_numbers_close(&open_ones);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    int64_t most = limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
    return most > used ? most - used : 0;
}

static int perf_open(struct timers *timers, int tid, int64_t period_ns)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = (uint64_t)period_ns,
        .disabled = 1,
        .wakeup_events = 1,
        .exclude_kernel = timers->user_only,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && !timers->user_only) {
        attributes.exclude_kernel = 1;
        fd = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
        timers->user_only = fd >= 0;
    }
    return fd;
}

/* Real-time signals queue, so an event that ran freely would fill the queue of a thread that blocks
 * them. Each event sends so many, then it is off until the handler enables it again. An enabling
 * costs the handler 10 us of 42, nearly all of it the kernel's and the hypervisor's (virtual
 * machine, 100 us), so there are several between two; but below this interval a handler on a deep
 * stack could be overrun by the next signal, and the thread get nowhere: there each signal is the
 * last one. */
#define BATCH_MIN_NS 1000000
#define BATCH        16

int timer_perf_batch(int64_t interval_ns)
{
    return interval_ns >= BATCH_MIN_NS ? BATCH : 1;
}

/* The first signal is the last of its batch, so that the handler sets the period before the event goes on. */
static int perf_run(const struct timers *timers, const struct timer *timer)
{
    return ioctl(atomic_load(&timer->perf_fd), PERF_EVENT_IOC_REFRESH,
                 atomic_load(&timer->perf_begins) ? 1 : timer_perf_batch(timers->interval_ns));
}

static int perf_start(struct timers *timers, struct timer *timer, int tid)
{
    if (timers->perf_left <= 0)
        return EMFILE;
    int fd = perf_open(timers, tid, draw_first_ns(timers) + 1);
    if (fd < 0)
        return errno;
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    /* The handler must know the descriptor before the first signal. */
    atomic_store(&timer->perf_begins, true);
    atomic_store(&timer->perf_fd, fd);
    if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 || fcntl(fd, F_SETSIG, timers->signal) != 0 ||
        fcntl(fd, F_SETOWN_EX, &owner) != 0 || perf_run(timers, timer) != 0) {
        int why = errno;
        atomic_store(&timer->perf_fd, -1);
        close(fd);
        return why;
    }
    timers->perf_left--;
    timer->kind = TIMER_PERF;
    return 0;
}

/* --- posix ------------------------------------------------------------------------------------ */

/* The clock id of a thread's CPU time, as the kernel makes it: ~tid << 3 | per thread | sched. The
 * system calls are made directly: the C library would want to know the thread's clock its way. */
static clockid_t thread_cpu_clock(int tid)
{
    return (clockid_t)((~(unsigned)tid << 3) | 4 | 2);
}

static bool is_thread(int tid)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/task/%d", tid);
    return access(path, F_OK) == 0;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static int posix_start(struct timers *timers, struct timer *timer, int tid)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = timers->signal};
    event.sigev_value.sival_ptr = timers->mark;
    event.sigev_notify_thread_id = tid;
    int id;
    if (syscall(SYS_timer_create, thread_cpu_clock(tid), &event, &id) != 0)
        /* For a thread that is not there the kernel says EINVAL of the clock or the event. */
        return errno == EINVAL && !is_thread(tid) ? ESRCH : errno;
    /* A timer is seen to have expired at the tick after it has, half a tick late in the mean: a first expiry at a
     * whole number of ticks is half a tick early. A thread that lives for less than a tick is sampled at each tick
     * that it meets with the share of a tick in an interval. */
    int64_t first_ns = draw_first_ns(timers), tick = tick_ns();
    first_ns = first_ns - (tick > 0 ? first_ns % tick : 0) + 1; /* 0 would disarm it */
    struct itimerspec setting = {.it_interval = timespec_of(timers->interval_ns),
                                 .it_value = timespec_of(first_ns)};
    if (syscall(SYS_timer_settime, id, 0, &setting, NULL) != 0) {
        int why = errno;
        syscall(SYS_timer_delete, id);
        return why;
    }
    timer->posix_id = id;
    timer->kind = TIMER_POSIX;
    return 0;
}

/* --- itimer ----------------------------------------------------------------------------------- */

static int itimer_start(int64_t interval_ns)
{
    struct itimerval now;
    if (getitimer(ITIMER_PROF, &now) != 0)
        return errno;
    if (now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0)
        return EBUSY;
    int64_t us = interval_ns < 1000 ? 1 : interval_ns / 1000;
    struct timeval interval = {.tv_sec = us / 1000000, .tv_usec = us % 1000000};
    struct itimerval setting = {.it_interval = interval, .it_value = interval};
    return setitimer(ITIMER_PROF, &setting, NULL) == 0 ? 0 : errno;
}

/* --- all kinds -------------------------------------------------------------------------------- */

/* Perf is only opened, not started: its signals carry nothing that says whose they are. */
static int try_kind(struct timers *timers, enum timer_kind kind)
{
    struct timer probe = TIMER_INIT;
    int why = 0;
    if (kind == TIMER_ITIMER) {
        why = itimer_start(timers->interval_ns);
    } else if (kind == TIMER_POSIX) {
        why = posix_start(timers, &probe, gettid());
        timer_stop(timers, &probe);
    } else {
        int fd = timers->perf_left > 0 ? perf_open(timers, gettid(), timers->interval_ns)
                                       : (errno = EMFILE, -1);
        if (fd < 0)
            return errno;
        close(fd);
    }
    return why;
}

/* The kernel looks at posix timers at its clock tick, which comes anyway; perf sets a timer of its
 * own for each sample (and at each switch to the thread), and interrupts once more to send the
 * signal: 11 to 15 us a sample against 36 to 56 in a virtual machine. From two ticks on the tick is
 * fine enough: samples come at ticks, in the long run as many as were asked for. */
#define TICKS_MIN 2

/* Why no event sends SIGTRAP (perf_event_attr.sigtrap), which saves that second interrupt, 10 us a sample: where a
 * fault meets a trap that waits because SIGTRAP is blocked, Linux delivers the trap all the same, and
 * the handler of SIGSEGV finds the first instruction of ours in place of the one that failed: a JVM
 * that reads guarded memory in its own handler would die of it. And HotSpot takes each trap for an
 * error in its error report, of which little is left. */

static bool is_long_for_a_tick(int64_t interval_ns)
{
    int64_t tick = tick_ns();
    return tick > 0 && interval_ns >= TICKS_MIN * tick;
}

bool timers_open(struct timers *timers, enum timer_kind forced, int signal, int64_t interval_ns,
                 void *mark, char *error, size_t error_size)
{
    enum timer_kind kinds[] = {TIMER_PERF, TIMER_POSIX};
    size_t count = sizeof kinds / sizeof *kinds;
    int why = 0;
    *timers = (struct timers){
        .kind = TIMER_NONE, .signal = signal, .interval_ns = interval_ns, .mark = mark};
    timers->random = (uint64_t)clock_now_ns() | 1;
    timers->perf_left = free_descriptors() / 2;
    if (forced != TIMER_NONE) {
        kinds[0] = forced;
        count = 1;
    } else if (is_long_for_a_tick(interval_ns)) {
        kinds[0] = TIMER_POSIX;
        kinds[1] = TIMER_PERF;
    }
    for (size_t i = 0; i < count; i++) {
        why = try_kind(timers, kinds[i]);
        if (why == 0) {
            timers->kind = kinds[i];
            return true;
        }
    }
    snprintf(error, error_size, "timer %s: %s",
             forced == TIMER_NONE ? "(any kind)" : timer_kind_name(forced),
             why == EBUSY ? "somebody else uses setitimer" : strerror(why));
    return false;
}

int timer_start(struct timers *timers, struct timer *timer, int tid)
{
    if (timers->kind == TIMER_PERF) {
        int why = perf_start(timers, timer, tid);
        if (why == 0 || why == ESRCH)
            return why;
        why = posix_start(timers, timer, tid);
        timers->posix_instead += why == 0;
        return why;
    }
    return timers->kind == TIMER_POSIX ? posix_start(timers, timer, tid) : 0;
}

void timer_stop(struct timers *timers, struct timer *timer)
{
    int fd = atomic_load(&timer->perf_fd);
    if (timer->kind == TIMER_PERF) {
        ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
        /* The handler must not know a number that may soon be somebody else's. */
        atomic_store(&timer->perf_fd, -1);
        close(fd);
        timers->perf_left++;
    } else if (timer->kind == TIMER_POSIX) {
        syscall(SYS_timer_delete, timer->posix_id);
    }
    timer->kind = TIMER_NONE;
    timer->posix_id = -1;
}

bool timer_revive(const struct timers *timers, struct timer *timer, int tid)
{
    struct timespec cpu;
    uint64_t counted;
    uint32_t signals = atomic_load_explicit(&timer->perf_signals, memory_order_relaxed);
    int fd = atomic_load_explicit(&timer->perf_fd, memory_order_relaxed);
    bool heard = signals != timer->perf_signals_before;
    timer->perf_signals_before = signals;
    if (timer->kind != TIMER_PERF || heard)
        return false;
    if (clock_gettime(thread_cpu_clock(tid), &cpu) != 0 ||
        read(fd, &counted, sizeof counted) != (ssize_t)sizeof counted)
        return false;
    int64_t cpu_ns = (int64_t)cpu.tv_sec * NS_PER_S + cpu.tv_nsec;
    bool dead = timer->cpu_ns != 0 && (int64_t)counted == timer->perf_ns &&
                cpu_ns - timer->cpu_ns > timers->interval_ns + REVIVE_NS;
    timer->cpu_ns = cpu_ns;
    timer->perf_ns = (int64_t)counted;
    return dead && perf_run(timers, timer) == 0;
}

void timer_forget_in_child(struct timer *timer)
{
    int fd = atomic_load(&timer->perf_fd);
    if (timer->kind == TIMER_PERF)
        close(fd);
    *timer = TIMER_INIT;
}

void timers_pause(const struct timers *timers, bool pause)
{
    static const struct itimerval OFF;
    if (timers->kind != TIMER_ITIMER)
        return;
    if (pause)
        setitimer(ITIMER_PROF, &OFF, NULL);
    else
        itimer_start(timers->interval_ns); /* refused: somebody else uses it by now */
}

void timers_close(struct timers *timers)
{
    static const struct itimerval OFF;
    if (timers->kind == TIMER_ITIMER)
        setitimer(ITIMER_PROF, &OFF, NULL);
    timers->kind = TIMER_NONE;
}
