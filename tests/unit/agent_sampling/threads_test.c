/* Timers, handler and registry on plain threads: no JVM, so every sample's env is NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/sampling/threads.h"
#include "tests/unit/skip.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000

static _Atomic int64_t samples, wall_samples;

/* One thread's samples, and the time of its timer's clock at the first and at the latest of
 * them. */
static struct {
    _Atomic int tid;
    _Atomic bool ended;
    _Atomic int64_t samples, first_ns, latest_ns;
    const struct rate_clocks *clocks;
    int64_t interval_ns;
    int64_t unseen_ns; /* of the clock, when the kernel could not have sent a signal */
} watched;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* By which clock a kind of timer counts, and which one moves on whenever the kernel looks whether
 * the timer is due. */
struct rate_clocks {
    clockid_t counted, looked;
};
/* CPU time by the clock's ticks: whoever runs at a tick is booked with all of it. Not in glibc. */
#define PROCESS_TICKS ((clockid_t)-8)
#define THREAD_TICKS  ((clockid_t)-4)

static void watch_sample(void)
{
    int64_t now_ns = clock_ns(watched.clocks->counted);
    if (atomic_fetch_add(&watched.samples, 1) == 0)
        atomic_store(&watched.first_ns, now_ns);
    atomic_store(&watched.latest_ns, now_ns);
}

static void on_sample(void *context, int tid, JNIEnv *env, void *ucontext)
{
    if (context != &samples || env != NULL || ucontext == NULL)
        abort();
    errno = EDOM; /* must not be seen outside */
    atomic_fetch_add(&samples, 1);
    if (threads_sample_is_wall())
        atomic_fetch_add(&wall_samples, 1);
    if (tid == atomic_load(&watched.tid))
        watch_sample();
}

static void spin(int64_t ns)
{
    int64_t end = cpu_ns() + ns;
    while (cpu_ns() < end)
        continue;
}

static int64_t open_descriptors(void)
{
    int64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* 0 too where the kernel does not list them. */
static int posix_timers(void)
{
    char line[128];
    int count = 0;
    FILE *timers = fopen("/proc/self/timers", "r");
    while (timers != NULL && fgets(line, sizeof line, timers) != NULL)
        count += strncmp(line, "ID:", 3) == 0;
    if (timers != NULL)
        fclose(timers);
    return count;
}

static struct threads *begin(enum timer_kind kind, int64_t interval_ns)
{
    char error[200] = "";
    struct threads *threads = threads_create(NULL, NULL);
    assert_non_null(threads);
    atomic_store(&samples, 0);
    atomic_store(&wall_samples, 0);
    threads_on_sample(threads, on_sample, &samples);
    if (!threads_start(threads, kind, interval_ns, error, sizeof error)) {
        threads_destroy(threads);
        print_message("%s\n", error);
        return NULL;
    }
    return threads;
}

static void assert_signal_is_default(void)
{
    struct sigaction now;
    assert_int_equal(sigaction(SIGPROF, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, SIG_DFL);
}

/* --- rate ------------------------------------------------------------------------------------- */

static void *spinning(void *argument)
{
    (void)argument;
    int64_t give_up_ns = cpu_ns() + INT64_C(5000) * MS;
    int64_t seen_ns = 0, looked_ns = 0;
    atomic_store(&watched.tid, gettid());
    while (cpu_ns() < give_up_ns) {
        int64_t now_ns = clock_ns(watched.clocks->counted);
        int64_t look_ns = clock_ns(watched.clocks->looked);
        if (atomic_load(&watched.samples) > 0 && look_ns != looked_ns) {
            /* Of several signals that were due since the last look only one is sent. */
            if (seen_ns != 0 && now_ns - seen_ns > watched.interval_ns)
                watched.unseen_ns += now_ns - seen_ns - watched.interval_ns;
            seen_ns = now_ns;
            if (now_ns - watched.unseen_ns >= atomic_load(&watched.first_ns) + 800 * MS)
                break;
        }
        looked_ns = look_ns;
    }
    atomic_store(&watched.ended, true);
    return NULL;
}

/* Against the CPU time that the thread really got between its first sample and its last, and in
 * which the kernel looked at its timer. On a busy machine the scan that gives it a timer comes
 * late, a virtual processor stands still while its time goes on, and a thread that shares a
 * processor is seldom the one that runs when the clock ticks, which is when two of the kinds are
 * looked at. */
static void rate_is_what_was_asked(enum timer_kind kind, int64_t interval_ns)
{
    static const struct rate_clocks CLOCKS[] = {
        [TIMER_PERF] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID},
        [TIMER_POSIX] = {CLOCK_THREAD_CPUTIME_ID, THREAD_TICKS},
        [TIMER_ITIMER] = {PROCESS_TICKS, PROCESS_TICKS},
    };
    pthread_t thread;
    int64_t descriptors = open_descriptors();
    struct threads *threads = begin(kind, interval_ns);
    if (threads == NULL)
        skip_because("refused: timers of this kind");
    assert_int_equal(threads_timer(threads), kind);
    atomic_store(&watched.tid, 0);
    atomic_store(&watched.samples, 0);
    atomic_store(&watched.ended, false);
    watched.interval_ns = interval_ns;
    watched.unseen_ns = 0;
    watched.clocks = &CLOCKS[kind];
    pthread_create(&thread, NULL, spinning, NULL);
    while (atomic_load(&watched.samples) == 0 && !atomic_load(&watched.ended)) {
        usleep(1000);
        threads_scan(threads); /* it may not be there yet, or block signals still */
    }
    pthread_join(thread, NULL);
    threads_stop(threads);
    assert_true(atomic_load(&watched.samples) > 1);
    int64_t got_ns =
        atomic_load(&watched.latest_ns) - atomic_load(&watched.first_ns) - watched.unseen_ns;
    double rate =
        (double)(atomic_load(&watched.samples) - 1) * (double)interval_ns / (double)got_ns;
    struct threads_counts counts;
    threads_counts(threads, &counts);
    assert_true(rate > 0.95 && rate < 1.05);
    assert_int_equal(counts.timers, 0);
    assert_int_equal(counts.failed_timers, 0);
    assert_int_equal(counts.foreign_signals, 0);
    assert_int_equal(counts.nested_signals, 0);
    assert_int_equal(counts.signals, atomic_load(&samples) + counts.late_signals);
    assert_signal_is_default();
    threads_destroy(threads);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(posix_timers(), 0);
}

static void perf_keeps_its_rate(void **state)
{
    (void)state;
    rate_is_what_was_asked(TIMER_PERF, 1 * MS);
}

static void posix_keeps_its_rate(void **state)
{
    (void)state;
    rate_is_what_was_asked(TIMER_POSIX, 20 * MS);
}

static void itimer_keeps_its_rate(void **state)
{
    (void)state;
    rate_is_what_was_asked(TIMER_ITIMER, 20 * MS);
    struct itimerval now;
    getitimer(ITIMER_PROF, &now);
    assert_int_equal(now.it_value.tv_sec + now.it_value.tv_usec, 0);
}

/* --- many threads ----------------------------------------------------------------------------- */

struct waiting {
    pthread_barrier_t all;
    _Atomic bool stop;
    _Atomic int tid; /* of the last that came */
};

static void *short_life(void *argument)
{
    struct threads *threads = argument;
    threads_started(threads, NULL, NULL);
    spin(MS / 2);
    threads_ended(threads);
    return NULL;
}

static void two_thousand_threads_leave_nothing(void **state)
{
    (void)state;
    struct mem_snapshot before, after;
    int64_t descriptors = open_descriptors();
    mem_snapshot(&before);
    struct threads *threads = begin(TIMER_NONE, 200000);
    assert_non_null(threads);
    for (int round = 0; round < 100; round++) {
        pthread_t thread[20];
        for (int i = 0; i < 20; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, short_life, threads), 0);
        if (round % 10 == 0) {
            threads_scan(threads);
            threads_chunk_written(threads); /* their names are given back at the second one */
        }
        for (int i = 0; i < 20; i++)
            pthread_join(thread[i], NULL);
    }
    threads_scan(threads);
    struct threads_counts counts;
    threads_counts(threads, &counts);
    assert_int_equal(counts.threads, 1);
    assert_int_equal(counts.timers, 1);
    assert_int_equal(counts.failed_timers, 0);
    assert_true(atomic_load(&samples) > 1000);
    /* Entries are used again: those alive at once and the few waiting for a quiet moment. */
    mem_snapshot(&after);
    assert_in_range(after.component[COMPONENT_THREADS].requested_bytes -
                        before.component[COMPONENT_THREADS].requested_bytes,
                    1, 100000);
    threads_destroy(threads);
    mem_snapshot(&after);
    assert_int_equal(after.component[COMPONENT_THREADS].requested_bytes,
                     before.component[COMPONENT_THREADS].requested_bytes);
    assert_int_equal(open_descriptors(), descriptors);
}

static void *wait_for_stop(void *argument)
{
    struct waiting *waiting = argument;
    prctl(PR_SET_NAME, "patient");
    atomic_store(&waiting->tid, gettid());
    pthread_barrier_wait(&waiting->all);
    while (!atomic_load(&waiting->stop))
        usleep(2000);
    threads_mark_self(NULL);
    return NULL;
}

static void descriptors_are_left_for_the_application(void **state)
{
    (void)state;
    enum { THREADS = 60 };
    pthread_t thread[THREADS];
    struct waiting waiting = {.stop = false};
    struct rlimit limit, tight;
    getrlimit(RLIMIT_NOFILE, &limit);
    tight = limit;
    tight.rlim_cur = (rlim_t)open_descriptors() + 40;
    setrlimit(RLIMIT_NOFILE, &tight);
    pthread_barrier_init(&waiting.all, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, wait_for_stop, &waiting);
    pthread_barrier_wait(&waiting.all);
    struct threads *threads = begin(TIMER_PERF, 10 * MS);
    struct threads_counts counts = {.timers = 0};
    int64_t used = -1;
    char name[40] = "";
    int64_t java_id = -1;
    if (threads != NULL) {
        used = open_descriptors();
        threads_counts(threads, &counts);
    }
    atomic_store(&waiting.stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    setrlimit(RLIMIT_NOFILE, &limit);
    pthread_barrier_destroy(&waiting.all);
    if (threads == NULL)
        skip_because("refused: timers of this kind");
    bool described = threads_describe(threads, gettid(), name, sizeof name, &java_id);
    threads_destroy(threads);
    assert_int_equal(counts.timers, THREADS + 1);
    assert_in_range(counts.posix_instead, THREADS + 1 - 22, THREADS + 1 - 15);
    assert_in_range((int64_t)tight.rlim_cur - used, 18, 40);
    assert_true(described);
    assert_string_equal(name, "threads_test");
    assert_int_equal(java_id, 0);
}

static void an_ended_thread_keeps_its_name_for_the_chunk(void **state)
{
    (void)state;
    pthread_t thread;
    char name[40] = "";
    int64_t java_id;
    struct waiting waiting = {.stop = false};
    struct threads *threads = begin(TIMER_NONE, MS);
    pthread_barrier_init(&waiting.all, NULL, 2);
    pthread_create(&thread, NULL, wait_for_stop, &waiting);
    pthread_barrier_wait(&waiting.all);
    threads_scan(threads);
    struct threads_counts counts;
    threads_counts(threads, &counts);
    assert_int_equal(counts.threads, 2);
    int tid = atomic_load(&waiting.tid);
    atomic_store(&waiting.stop, true);
    pthread_join(thread, NULL);
    usleep(1000); /* joined is a little before gone */
    threads_scan(threads);
    threads_counts(threads, &counts);
    assert_int_equal(counts.threads, 1);
    assert_true(threads_describe(threads, tid, name, sizeof name, &java_id));
    assert_string_equal(name, "patient");
    threads_destroy(threads);
    pthread_barrier_destroy(&waiting.all);
}

/* --- other people's signals ------------------------------------------------------------------- */

static _Atomic int foreign_seen;

static void foreign_count(int number)
{
    (void)number;
    atomic_fetch_add(&foreign_seen, 1);
}

static void foreign_handler(int number, siginfo_t *info, void *ucontext)
{
    (void)number, (void)info, (void)ucontext;
    atomic_fetch_add(&foreign_seen, 1);
}

/* An itimer sends the application's signal, so it comes by us; the others send one of their own. */
static void a_handler_before_ours_gets_its_signals(void **state)
{
    static const enum timer_kind KINDS[] = {TIMER_NONE, TIMER_ITIMER};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sigaction theirs = {.sa_flags = SA_SIGINFO}, now;
        theirs.sa_sigaction = foreign_handler;
        sigaction(SIGPROF, &theirs, NULL);
        atomic_store(&foreign_seen, 0);
        struct threads *threads = begin(KINDS[i], MS);
        assert_non_null(threads);
        raise(SIGPROF);
        raise(SIGPROF);
        spin(100 * MS);
        threads_stop(threads);
        struct threads_counts counts;
        threads_counts(threads, &counts);
        assert_int_equal(atomic_load(&foreign_seen), 2);
        assert_int_equal(counts.foreign_signals, i == 0 ? 0 : 2);
        assert_true(atomic_load(&samples) > 0);
        sigaction(SIGPROF, NULL, &now);
        assert_ptr_equal(now.sa_sigaction, foreign_handler);
        threads_destroy(threads);
        signal(SIGPROF, SIG_DFL);
    }
}

static void a_signal_nobody_wanted_does_not_kill(void **state)
{
    (void)state;
    struct threads *threads = begin(TIMER_ITIMER, MS);
    raise(SIGPROF);
    struct threads_counts counts;
    threads_counts(threads, &counts);
    assert_int_equal(counts.foreign_signals, 1);
    threads_destroy(threads);
}

static void a_handler_after_ours_is_told_and_left_alone(void **state)
{
    (void)state;
    struct threads_counts counts;
    struct sigaction now;
    struct threads *threads = begin(TIMER_ITIMER, MS);
    threads_scan(threads);
    threads_counts(threads, &counts);
    assert_false(counts.handler_replaced);
    signal(SIGPROF, SIG_IGN);
    threads_scan(threads);
    threads_counts(threads, &counts);
    assert_true(counts.handler_replaced);
    threads_destroy(threads);
    sigaction(SIGPROF, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    signal(SIGPROF, SIG_DFL);
}

/* The kernel keeps one SIGPROF a thread: one of ours that waits would swallow theirs. */
static void none_of_theirs_is_lost(void **state)
{
    enum { RAISED = 20000 };
    static const enum timer_kind KINDS[] = {TIMER_PERF, TIMER_POSIX};
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool after = i % 2 != 0;
        if (!after)
            signal(SIGPROF, foreign_count);
        struct threads *threads = begin(KINDS[i / 2], MS / 2);
        if (threads == NULL)
            continue; /* perf is refused */
        char error[100];
        assert_true(threads_start_wall(threads, MS, 8, error, sizeof error));
        if (after)
            signal(SIGPROF, foreign_count);
        atomic_store(&foreign_seen, 0);
        for (int n = 0; n < RAISED; n++)
            raise(SIGPROF);
        assert_int_equal(atomic_load(&foreign_seen), RAISED);
        assert_true(atomic_load(&samples) > 10);
        threads_destroy(threads);
        signal(SIGPROF, SIG_DFL);
    }
}

/* A thread that blocks the signal gets no timer; one that is pending all the same keeps our passive
 * handler in place, because the default action would end the process. */
static void a_pending_signal_keeps_the_handler(void **state)
{
    (void)state;
    sigset_t prof;
    struct sigaction now;
    struct threads *threads = begin(TIMER_ITIMER, MS);
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &prof, NULL);
    raise(SIGPROF);
    spin(20 * MS);
    threads_stop(threads);
    sigaction(SIGPROF, NULL, &now);
    assert_ptr_not_equal(now.sa_handler, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &prof, NULL); /* and lives */
    struct threads_counts counts;
    threads_counts(threads, &counts);
    assert_in_range(counts.late_signals + counts.foreign_signals, 1, 2);
    char error[100];
    assert_true(threads_start(threads, TIMER_ITIMER, MS, error, sizeof error));
    threads_destroy(threads);
    assert_signal_is_default();
}

/* --- wall clock beside CPU time --------------------------------------------------------------- */

static int64_t cpu_samples(enum timer_kind kind, int64_t cpu_interval_ns, int64_t wall_interval_ns)
{
    char error[100];
    struct threads_counts counts;
    struct threads *threads = begin(kind, cpu_interval_ns);
    if (threads == NULL)
        return -1;
    if (wall_interval_ns != 0)
        assert_true(threads_start_wall(threads, wall_interval_ns, 8, error, sizeof error));
    spin(200 * MS);
    threads_counts(threads, &counts);
    int64_t found = atomic_load(&samples) - atomic_load(&wall_samples);
    assert_true(wall_interval_ns == 0 || atomic_load(&wall_samples) > 10);
    assert_int_equal(counts.revived_timers, 0);
    threads_destroy(threads);
    return found;
}

/* Below a millisecond perf's events are enabled one by one, by the handler. */
static void wall_clock_takes_no_cpu_samples_away(void **state)
{
    static const enum timer_kind KINDS[] = {TIMER_PERF, TIMER_POSIX};
    static const int64_t CPU_NS[] = {MS / 2, MS, 4 * MS}, WALL_NS[] = {MS / 2, 2 * MS};
    (void)state;
    for (int i = 0; i < 12; i++) {
        int64_t cpu_ns = CPU_NS[i / 2 % 3], alone = cpu_samples(KINDS[i / 6], cpu_ns, 0);
        int64_t both = cpu_samples(KINDS[i / 6], cpu_ns, WALL_NS[i % 2]);
        print_message("%s %.1f ms: %lld samples, %lld with wall %.1f ms\n",
                      timer_kind_name(KINDS[i / 6]), (double)cpu_ns / MS, (long long)alone,
                      (long long)both, (double)WALL_NS[i % 2] / MS);
        /* Posix timers are looked at by the tick, if it finds this thread running and not the
         * sender. */
        assert_true(alone < 0 || (alone > 0 && both > 0));
        assert_true(i >= 6 || both * 10 >= alone * 8);
    }
}

static int disable_events(void)
{
    int disabled = 0;
    for (int fd = 0; fd < 256; fd++) {
        char link[64], name[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, name, sizeof name - 1);
        if (length > 0 && memmem(name, (size_t)length, "perf_event", 10) != NULL)
            disabled += ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
    }
    return disabled;
}

/* The signal that should have made the handler enable it again was lost. */
static void an_event_that_is_off_is_found_and_counted(void **state)
{
    struct threads_counts counts;
    (void)state;
    struct threads *threads = begin(TIMER_PERF, MS / 2);
    if (threads == NULL)
        skip_because("refused: perf_event_open");
    spin(10 * MS);
    int64_t before;
    do { /* the handler of a signal under way enables it again */
        assert_true(disable_events() > 0);
        before = atomic_load(&samples);
        spin(3 * MS);
    } while (atomic_load(&samples) != before);
    threads_scan(threads);
    for (int i = 0; i < 3; i++) {
        spin(20 * MS);
        threads_scan(threads);
    }
    threads_counts(threads, &counts);
    assert_int_equal(counts.revived_timers, 1);
    assert_true(atomic_load(&samples) > before + 10);
    threads_destroy(threads);
}

static void an_itimer_of_somebody_else_is_refused(void **state)
{
    (void)state;
    const struct itimerval hour = {.it_value = {.tv_sec = 3800}}, off = {.it_value = {.tv_sec = 0}};
    setitimer(ITIMER_PROF, &hour, NULL);
    assert_null(begin(TIMER_ITIMER, MS));
    setitimer(ITIMER_PROF, &off, NULL);
    assert_signal_is_default();
}

/* --- errno, fork, exec ------------------------------------------------------------------------ */

static void errno_survives(void **state)
{
    (void)state;
    struct threads *threads = begin(TIMER_NONE, MS / 5);
    errno = ERANGE;
    for (int64_t end = cpu_ns() + 50 * MS; cpu_ns() < end;)
        assert_int_equal(errno, ERANGE);
    assert_true(atomic_load(&samples) > 10);
    threads_destroy(threads);
}

static int child_lives(bool exec)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        int64_t before = atomic_load(&samples);
        if (exec) {
            execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7",
                  (char *)NULL);
            _exit(1);
        }
        spin(20 * MS);
        _exit(atomic_load(&samples) == before && posix_timers() == 0 ? 7 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

static void a_forked_child_is_left_in_peace(void **state)
{
    (void)state;
    static const enum timer_kind KINDS[] = {TIMER_PERF, TIMER_POSIX, TIMER_ITIMER};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        struct threads *threads = begin(KINDS[i], MS);
        if (threads == NULL)
            continue;
        assert_int_equal(child_lives(false), 7 << 8);
        assert_int_equal(child_lives(true), 7 << 8);
        int64_t before = atomic_load(&samples);
        spin(50 * MS); /* the parent goes on */
        assert_true(atomic_load(&samples) > before);
        threads_destroy(threads);
    }
}

/* --- wall clock, restart ---------------------------------------------------------------------- */

static void wall_clock_reaches_waiting_threads(void **state)
{
    (void)state;
    char error[100];
    enum { THREADS = 6 };
    pthread_t thread[THREADS];
    struct waiting waiting = {.stop = false};
    pthread_barrier_init(&waiting.all, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, wait_for_stop, &waiting);
    pthread_barrier_wait(&waiting.all);
    struct threads *threads = begin(TIMER_NONE, 0);
    assert_int_equal(threads_timer(threads), TIMER_NONE);
    assert_false(threads_start_wall(threads, 5 * MS, 0, error, sizeof error));
    assert_true(threads_start_wall(threads, 5 * MS, 2, error, sizeof error));
    assert_false(threads_start_wall(threads, 5 * MS, 2, error, sizeof error));
    for (int i = 0; i < 100; i++)
        usleep(5000);
    struct threads_counts counts;
    threads_counts(threads, &counts);
    threads_stop(threads);
    atomic_store(&waiting.stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    /* 2 threads each 5 ms, for 500 ms or a little more; a pending one is not sent twice. */
    assert_in_range(counts.wall_signals, 60, 2000);
    assert_int_equal(atomic_load(&wall_samples), atomic_load(&samples));
    assert_in_range(atomic_load(&wall_samples), 50, 2000);
    threads_destroy(threads);
    pthread_barrier_destroy(&waiting.all);
    assert_signal_is_default();
}

static bool sampled_again(void)
{
    int64_t before = atomic_load(&samples), give_up_ns = cpu_ns() + INT64_C(5000) * MS;
    while (atomic_load(&samples) == before && cpu_ns() < give_up_ns)
        continue;
    return atomic_load(&samples) > before;
}

static void another_interval(enum timer_kind forced, const int64_t *intervals_ns, size_t count)
{
    char error[200];
    int64_t descriptors = open_descriptors();
    struct threads *threads = begin(forced, intervals_ns[0]);
    if (threads == NULL)
        skip_because("refused: timers of this kind");
    for (size_t i = 1; i < count; i++) {
        assert_true(threads_set_interval(threads, intervals_ns[i], error, sizeof error));
        assert_int_equal(threads_interval_ns(threads), intervals_ns[i]);
        struct threads_counts counts;
        threads_counts(threads, &counts);
        int64_t before = atomic_load(&samples);
        spin(3 * MS);
        if (intervals_ns[i] != 0)
            assert_true(sampled_again());
        else
            assert_int_equal(atomic_load(&samples), before);
        assert_int_equal(counts.failed_timers, 0);
        assert_int_equal(counts.timers == 0, forced == TIMER_ITIMER || intervals_ns[i] == 0);
    }
    threads_pause(threads, true);
    assert_true(threads_set_interval(threads, 2 * MS, error, sizeof error));
    int64_t before = atomic_load(&samples);
    spin(5 * MS);
    assert_int_equal(atomic_load(&samples), before); /* and stays paused */
    threads_pause(threads, false);
    assert_true(sampled_again());
    threads_stop(threads);
    assert_false(threads_set_interval(threads, MS, error, sizeof error));
    assert_signal_is_default();
    threads_destroy(threads);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(posix_timers(), 0);
}

static _Atomic int short_lived;
static pthread_barrier_t have_timers;

static void *living_shortly(void *argument)
{
    (void)argument;
    atomic_fetch_add(&short_lived, 1);
    pthread_barrier_wait(&have_timers);
    int64_t end_ns = cpu_ns() + MS;
    while (cpu_ns() < end_ns)
        ;
    return NULL;
}

/* Samples of threads that live for a quarter of an interval, with each a millisecond of CPU time. */
static int64_t samples_of_short_lives(enum timer_kind kind, int count)
{
    pthread_t *thread = calloc((size_t)count, sizeof *thread);
    struct threads *threads = begin(kind, 4 * MS);
    if (threads == NULL)
        skip_because("refused: timers of this kind");
    atomic_store(&short_lived, 0);
    pthread_barrier_init(&have_timers, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, living_shortly, NULL), 0);
    while (atomic_load(&short_lived) < count)
        usleep(1000);
    threads_scan(threads);
    int64_t before = atomic_load(&samples);
    pthread_barrier_wait(&have_timers);
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    int64_t found = atomic_load(&samples) - before;
    threads_stop(threads);
    struct threads_counts counts;
    threads_counts(threads, &counts);
    assert_int_equal(counts.sampled_cpu_ns, atomic_load(&samples) * 4 * MS);
    assert_true(counts.process_cpu_ns >= count * MS);
    threads_destroy(threads);
    pthread_barrier_destroy(&have_timers);
    free(thread);
    print_message("%s: %" PRId64 " samples of %d threads of a quarter of an interval\n",
                  timer_kind_name(kind), found, count);
    return found;
}

/* With a whole interval before the first sample there is none. By perf 100 +- 9 are expected. Posix timers expire at
 * clock ticks, at which a thread on a busy machine seldom runs. */
static void short_lives_have_their_share(void **state)
{
    (void)state;
    assert_in_range(samples_of_short_lives(TIMER_POSIX, 400), 5, 150);
    assert_in_range(samples_of_short_lives(TIMER_PERF, 400), 60, 150);
}

static void another_interval_begins_at_once(void **state)
{
    static const int64_t INTERVALS_NS[] = {10 * MS, MS, MS / 10, 20 * MS, 0, 0, MS, 10 * MS};
    (void)state;
    another_interval(TIMER_NONE, INTERVALS_NS, sizeof INTERVALS_NS / sizeof *INTERVALS_NS);
    another_interval(TIMER_NONE, INTERVALS_NS + 4, 4);
}

static void another_interval_of_an_itimer(void **state)
{
    static const int64_t INTERVALS_NS[] = {0, 10 * MS, 20 * MS, 0, 5 * MS};
    (void)state;
    another_interval(TIMER_ITIMER, INTERVALS_NS, sizeof INTERVALS_NS / sizeof *INTERVALS_NS);
}

static void two_hundred_starts_and_stops(void **state)
{
    (void)state;
    char error[100];
    int64_t descriptors = open_descriptors();
    struct threads *threads = begin(TIMER_NONE, MS / 10);
    for (int i = 0; i < 200; i++) {
        spin(MS);
        threads_stop(threads);
        assert_false(threads_start_wall(threads, MS, 1, error, sizeof error));
        threads_on_sample(threads, NULL, NULL);
        assert_false(threads_start(threads, TIMER_NONE, MS, error, sizeof error));
        threads_on_sample(threads, on_sample, &samples);
        assert_true(threads_start(threads, TIMER_NONE, MS / 10, error, sizeof error));
    }
    threads_destroy(threads);
    assert_true(atomic_load(&samples) > 200);
    assert_int_equal(open_descriptors(), descriptors);
    assert_signal_is_default();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perf_keeps_its_rate),
        cmocka_unit_test(posix_keeps_its_rate),
        cmocka_unit_test(itimer_keeps_its_rate),
        cmocka_unit_test(two_thousand_threads_leave_nothing),
        cmocka_unit_test(descriptors_are_left_for_the_application),
        cmocka_unit_test(an_ended_thread_keeps_its_name_for_the_chunk),
        cmocka_unit_test(a_handler_before_ours_gets_its_signals),
        cmocka_unit_test(a_signal_nobody_wanted_does_not_kill),
        cmocka_unit_test(a_handler_after_ours_is_told_and_left_alone),
        cmocka_unit_test(a_pending_signal_keeps_the_handler),
        cmocka_unit_test(none_of_theirs_is_lost),
        cmocka_unit_test(wall_clock_takes_no_cpu_samples_away),
        cmocka_unit_test(an_event_that_is_off_is_found_and_counted),
        cmocka_unit_test(an_itimer_of_somebody_else_is_refused),
        cmocka_unit_test(errno_survives),
        cmocka_unit_test(a_forked_child_is_left_in_peace),
        cmocka_unit_test(wall_clock_reaches_waiting_threads),
        cmocka_unit_test(short_lives_have_their_share),
        cmocka_unit_test(another_interval_begins_at_once),
        cmocka_unit_test(another_interval_of_an_itimer),
        cmocka_unit_test(two_hundred_starts_and_stops),
    };
    return cmocka_run_group_tests_name("sampling/threads", tests, NULL, NULL);
}
