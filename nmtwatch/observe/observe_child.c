#include "nmtwatch/observe/observe_child.h"

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROWS          30
#define LATE_S        45 /* after its time: symbols, stacks and texts of the largest JVMs take seconds */
#define DURATION_MAX  600000
#define INTERVAL_MIN  1000000 /* ns */
#define STOP_MS       10000   /* from the request to end to its result, where it works */
/* Without work, where there is work to do. A process that closes its probes waits for the kernel, for more than 1.2 s
 * at a load of 30 on two cores (4 of 4 observations of triage_test there). */
#define STILL_MS      5000
#define OOM_SCORE_ADJ "500" /* rather this process than the JVM */

struct observe_child {
    pid_t pid; /* 0: a worker's, or ended */
    int fd, texts_fd, format_count;
    int64_t start_ms, end_ms;    /* then it is left behind */
    int64_t due_ms;              /* its result is; from then on it works and does not wait */
    pid_t reader;                /* its pid, by itself; 0: not known */
    int64_t cpu_ticks, still_ms; /* as it was last seen at work, and when */
    bool ended;
    struct observe_result result;
};

/* --- in the child ----------------------------------------------------------------------------- */

/* A process that reads untrusted memory may do no more than that: IPC_LOCK is for rings, SYS_RESOURCE
 * for descriptors of many threads. */
static bool give_up_rights(void)
{
    static const int KEPT[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_PERFMON,     CAP_BPF,
                               CAP_SYS_ADMIN,  CAP_IPC_LOCK,        CAP_SYS_RESOURCE};
    return as_target_keep(KEPT, (int)(sizeof KEPT / sizeof *KEPT));
}

static void bound_itself(const struct observe_request *request)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); /* a JVM's data would be in it */
    int64_t seconds = request->options.duration_ms / 1000 + LATE_S;
    alarm(seconds < INT_MAX ? (unsigned)seconds : 0);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, OOM_SCORE_ADJ, sizeof OOM_SCORE_ADJ - 1) < 0) {
        /* then it stays as it is */
    }
    close(fd);
}

static int write_text(FILE *out, long *before, uint64_t *bytes)
{
    long now = fflush(out) == 0 ? ftell(out) : -1;
    if (now < *before)
        return EXIT_IO;
    *bytes = (uint64_t)(now - *before);
    *before = now;
    return 0;
}

int observe_failure_code(const struct target *target)
{
    return failure_exit_code(!target->libjvm_mapped            ? FAILURE_NOT_A_JVM
                             : target_is_other_machine(target) ? FAILURE_OTHER_MACHINE
                                                               : FAILURE_SYSTEM);
}

static void observe_it(const struct target *target, const struct observe_request *request,
                       struct observe_result *result, FILE *out)
{
    bool methods = request->options.mode == OBSERVE_METHODS;
    struct observe_report report = {0};
    struct loaded_methods loaded = {0};
    long at = 0;
    int64_t start = clock_ms(CLOCK_MONOTONIC);
    if (methods ? !loaded_methods_read(target, &loaded, result->sentence, sizeof result->sentence)
                : !observe_run(target, &request->options, &report, result->sentence,
                               sizeof result->sentence)) {
        result->code = observe_failure_code(target);
    } else {
        for (int i = 0; i < request->format_count && result->code == 0; i++) {
            enum profile_format format = request->format[i];
            bool good = methods ? loaded_methods_write(&loaded, target, format, out)
                                : observe_report_write(&report, format, ROWS, out);
            result->code = good ? write_text(out, &at, &result->bytes[i]) : EXIT_IO;
        }
        if (result->code != 0)
            snprintf(result->sentence, sizeof result->sentence, "the result could not be written");
        else if (methods)
            loaded_methods_sentence(&loaded, result->sentence, sizeof result->sentence);
        else
            observe_report_sentence(&report, result->sentence, sizeof result->sentence);
    }
    result->count = methods ? loaded.methods : report.count;
    result->elapsed_ms = clock_ms(CLOCK_MONOTONIC) - start;
    if (methods)
        loaded_methods_free(&loaded);
    else
        observe_report_free(&report);
}

_Noreturn static void be_child(const struct target *target, struct observe_request request, int fd)
{
    struct observe_result result = {0};
    struct rusage used;
    bound_itself(&request);
    request.options.stop_fd = fd;
    pid_t own = getpid();
    privileged_send(fd, &own, sizeof own, -1, MSG_DONTWAIT);
    int texts = memfd_create("observed", MFD_CLOEXEC);
    FILE *out = texts >= 0 ? fdopen(texts, "w") : NULL;
    if (out == NULL || !give_up_rights()) {
        result.code = EXIT_IO;
        snprintf(result.sentence, sizeof result.sentence, "%s", strerror(errno));
    } else {
        observe_it(target, &request, &result, out);
    }
    getrusage(RUSAGE_SELF, &used);
    result.cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L +
                    used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    bool sent = privileged_send(fd, &result, sizeof result, result.code == 0 ? texts : -1, 0);
    _exit(sent ? 0 : EXIT_IO);
}

pid_t observe_child_fork(const struct target *target, const struct observe_request *request, int fd)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        /* A socket of the attached JVM, a pipe whose end is a message: none may stay open here.
         * Before signals are caught, which opens a descriptor. */
        close_range(3, (unsigned)fd - 1, 0);
        close_range((unsigned)fd + 1, ~0U, 0);
        if (!signals_catch_in_child())
            _exit(EXIT_IO);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        be_child(target, *request, fd);
    }
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return pid;
}

bool observe_request_valid(const void *bytes, size_t size, bool trusted)
{
    struct observe_request request;
    if (size != sizeof request)
        return false;
    memcpy(&request, bytes, size);
    bool good =
        (unsigned)request.options.mode < OBSERVE_MODES && request.format_count >= 0 &&
        request.format_count <= OBSERVE_FORMATS_MAX &&
        (trusted ||
         (request.options.duration_ms >= 0 && request.options.duration_ms <= DURATION_MAX &&
          request.options.interval_ns >= INTERVAL_MIN &&
          /* Nothing is written into a JVM for a stranger; not read as a bool, it may be none. */
          memcmp(&request.options.activate, &(bool){false}, sizeof(bool)) == 0));
    for (int i = 0; good && i < request.format_count; i++)
        good = (unsigned)request.format[i] <= PROFILE_PPROF && request.format[i] != PROFILE_JFR;
    return good;
}

/* --- here ------------------------------------------------------------------------------------- */

static bool start(struct observe_child *child, const struct target *target,
                  const struct observe_request *request)
{
    int ends[2];
    if (privileged_apart()) {
        child->fd = privileged_observe(target, request, sizeof *request);
        return child->fd >= 0;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    child->fd = ends[0];
    child->pid = observe_child_fork(target, request, ends[1]);
    close(ends[1]);
    return child->pid > 0;
}

struct observe_child *observe_child_start(const struct target *target,
                                          const struct observe_request *request, char *error,
                                          size_t error_size)
{
    struct observe_child *child = calloc(1, sizeof *child);
    if (child != NULL) {
        child->fd = child->texts_fd = -1;
        child->format_count = request->format_count;
        child->start_ms = clock_ms(CLOCK_MONOTONIC);
        child->due_ms = child->start_ms + request->options.duration_ms;
        child->end_ms = child->start_ms + request->options.duration_ms + LATE_S * 1000;
        if (start(child, target, request))
            return child;
        child->pid = 0;
    }
    snprintf(error, error_size, "no process to observe it: %s", strerror(errno));
    observe_child_close(child);
    return NULL;
}

int observe_child_fd(const struct observe_child *child)
{
    return child->fd;
}

/* It went without a result, or does not come back: what it may have cost is the time that has passed. */
static void no_result(struct observe_child *child, const char *why)
{
    struct observe_result *result = &child->result;
    left_behind(child->pid);
    child->pid = 0;
    *result = (struct observe_result){.code = failure_exit_code(FAILURE_SYSTEM)};
    result->elapsed_ms = clock_ms(CLOCK_MONOTONIC) - child->start_ms;
    result->cpu_us = result->elapsed_ms * 1000;
    snprintf(result->sentence, sizeof result->sentence, "%s", why);
}

/* Whether it waits for something although it has nothing to wait for. */
static bool stands_still(struct observe_child *child, int64_t now_ms)
{
    struct proc_stat stat;
    if (now_ms < child->due_ms || child->reader <= 0 || !proc_stat_read(child->reader, &stat))
        return false;
    int64_t ticks = stat.utime_ticks + stat.stime_ticks;
    if (child->still_ms == 0 || stat.state == 'R' || ticks != child->cpu_ticks)
        child->still_ms = now_ms;
    child->cpu_ticks = ticks;
    return now_ms - child->still_ms >= STILL_MS;
}

bool observe_child_ended(struct observe_child *child, struct observe_result *result)
{
    if (!child->ended) {
        ssize_t got = privileged_receive(child->fd, &child->result, sizeof child->result,
                                         &child->texts_fd, MSG_DONTWAIT);
        if (got == (ssize_t)sizeof child->reader) {
            memcpy(&child->reader, &child->result, sizeof child->reader);
            got = privileged_receive(child->fd, &child->result, sizeof child->result,
                                     &child->texts_fd, MSG_DONTWAIT);
        }
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
            if (now_ms < child->end_ms && !stands_still(child, now_ms))
                return false;
            no_result(child,
                      "the observing process does not come back: the JVM holds its memory or "
                      "its files");
        } else if (got != (ssize_t)sizeof child->result) {
            no_result(child, "the observing process ended without a result");
        }
        child->result.sentence[sizeof child->result.sentence - 1] = '\0';
        child->ended = true;
    }
    *result = child->result;
    return true;
}

void observe_child_wait(struct observe_child *child, struct observe_result *result)
{
    while (!observe_child_ended(child, result)) {
        struct pollfd fds[] = {{.fd = child->fd, .events = POLLIN},
                               {.fd = signals_fd(), .events = POLLIN}};
        poll(fds, 2, 200);
        if (fds[1].revents != 0)
            signals_seen();
        if (signals_asked() > 0)
            observe_child_stop(child);
        if (signals_asked() > 1)
            child->end_ms = 0;
    }
}

void observe_child_stop(struct observe_child *child)
{
    int64_t soon_ms = clock_ms(CLOCK_MONOTONIC) + STOP_MS;
    if (child->end_ms > soon_ms)
        child->end_ms = soon_ms;
    child->due_ms = 0;
    shutdown(child->fd, SHUT_WR);
}

char *observe_child_text(const struct observe_child *child, int index, size_t *bytes)
{
    uint64_t from = 0, length = child->result.bytes[index];
    char *text;
    for (int i = 0; i < index; i++)
        from += child->result.bytes[i];
    if (!child->ended || child->texts_fd < 0 || index >= child->format_count ||
        length > OBSERVE_TEXT_MAX || (text = malloc(length + 1)) == NULL)
        return NULL;
    for (uint64_t at = 0; at < length;) {
        ssize_t got = pread(child->texts_fd, text + at, length - at, (off_t)(from + at));
        if (got <= 0) {
            free(text);
            return NULL;
        }
        at += (uint64_t)got;
    }
    text[length] = '\0';
    *bytes = length;
    return text;
}

void observe_child_close(struct observe_child *child)
{
    if (child == NULL)
        return;
    if (child->fd >= 0)
        close(child->fd);
    if (child->texts_fd >= 0)
        close(child->texts_fd);
    left_behind(child->pid); /* one that waits for memory which its owner withholds does not end */
    free(child);
}
