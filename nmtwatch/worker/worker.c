#include "nmtwatch/worker/worker.h"

#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/attach_connect.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"
#include "nmtwatch/watch/load_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KNOWN_MAX      10000 /* JVMs: as many as max_targets may say */
#define CONNECTS_MAX   32    /* attaching at once, each with a guard where there is no socket yet */
#define GUARDS_MAX     64    /* class-load logs at once */
#define OBSERVERS_MAX  4     /* observations at once, each a process */
#define CONNECT_MAX_MS 60000
#define TURN_REQUESTS  64    /* then those who attach have their turn */
#define RATE_PER_S     20000 /* 1000 JVMs ask 3000 a second at most; the rest waits */
#define PROC_MAX       ((size_t)256 << 20)
#define MEMORY_MAX                                                                                 \
    ((rlim_t)768 << 20)     /* of private memory; a text of PROC_MAX that is being doubled fits */
#define OOM_SCORE_ADJ "500" /* rather this process than a JVM */

struct known {
    struct target target;
    int perfdata_fd;      /* -1: not opened */
    struct load_log *log; /* NULL: not opened */
};

struct connecting {
    int answer_fd; /* -1: free */
    struct target target;
    struct attach_connect attempt;
    size_t length;
    char request[PRIVILEGED_TEXT_MAX];
};

struct worker {
    int socket_fd;
    struct worker_rules rules;
    int known_count;
    pid_t known_pid[KNOWN_MAX];
    struct known *known[KNOWN_MAX];
    struct connecting *connecting[CONNECTS_MAX];
    pid_t guard[GUARDS_MAX], observer[OBSERVERS_MAX];
    int64_t second; /* of the monotonic clock, and what was asked in it */
    int requests;
    int64_t own_bytes, next_size_ms;
    struct privileged_request request;
    struct privileged_answer answer;
    unsigned char bytes[PRIVILEGED_BYTES_MAX]; /* behind the answer */
};

/* --- JVMs by our own look --------------------------------------------------------------------- */

static int find(const struct worker *worker, pid_t pid)
{
    for (int i = 0; i < worker->known_count; i++)
        if (worker->known_pid[i] == pid)
            return i;
    return -1;
}

static void close_perfdata(struct known *known)
{
    if (known->perfdata_fd >= 0)
        close(known->perfdata_fd);
    known->perfdata_fd = -1;
}

static void close_log(struct known *known)
{
    if (known->log != NULL && known->log->fd >= 0)
        close(known->log->fd);
    free(known->log);
    known->log = NULL;
}

static void forget(struct worker *worker, int at)
{
    close_perfdata(worker->known[at]);
    close_log(worker->known[at]);
    free(worker->known[at]);
    worker->known_count--;
    worker->known[at] = worker->known[worker->known_count];
    worker->known_pid[at] = worker->known_pid[worker->known_count];
}

static void forget_ended(struct worker *worker)
{
    for (int i = worker->known_count; i-- > 0;)
        if (!target_still_same(&worker->known[i]->target))
            forget(worker, i);
}

static bool same_process(const struct target *a, const struct target *b)
{
    return a->pid == b->pid && a->start_time_ticks == b->start_time_ticks;
}

static struct known *remember(struct worker *worker, const struct target *target)
{
    int at = find(worker, target->pid);
    if (at >= 0 && !same_process(&worker->known[at]->target, target)) {
        forget(worker, at);
        at = -1;
    }
    if (at < 0 && worker->known_count == KNOWN_MAX)
        forget_ended(worker);
    if (at < 0 && worker->known_count < KNOWN_MAX) {
        at = worker->known_count;
        worker->known[at] = malloc(sizeof *worker->known[at]);
        if (worker->known[at] == NULL)
            return NULL;
        *worker->known[at] = (struct known){.perfdata_fd = -1};
        worker->known_pid[at] = target->pid;
        worker->known_count++;
    }
    if (at < 0)
        return NULL;
    struct known *known = worker->known[at];
    if (strcmp(known->target.perfdata, target->perfdata) != 0)
        close_perfdata(known);
    known->target = *target;
    return known;
}

/* One that an earlier worker knew is looked at again. NULL with errno. */
static struct known *known_jvm(struct worker *worker, pid_t pid, uint64_t start_time_ticks)
{
    const pid_t first =
        worker->rules.trusting ? 1 : 2; /* a sidecar's JVM may be the first process */
    int at = pid >= first ? find(worker, pid) : -1;
    if (at >= 0 && !target_still_same(&worker->known[at]->target)) {
        forget(worker, at);
        at = -1;
    }
    struct known *known = at >= 0 ? worker->known[at] : NULL;
    if (known == NULL && pid >= first) {
        struct target target;
        struct failure failure;
        if (target_open(&target, pid, &failure) == FAILURE_NONE &&
            (target.libjvm_mapped || worker->rules.trusting))
            known = remember(worker, &target);
    }
    errno = ESRCH;
    return known != NULL &&
                   (start_time_ticks == 0 || known->target.start_time_ticks == start_time_ticks)
               ? known
               : NULL;
}

/* --- requests -------------------------------------------------------------------------------- */

static int look(struct worker *worker)
{
    struct privileged_answer *answer = &worker->answer;
    if (worker->request.pid <= 0 || (worker->request.pid == 1 && !worker->rules.trusting)) {
        failure_set(&answer->failure, FAILURE_NOT_A_JVM, "pid", NULL);
        return EINVAL;
    }
    if (target_open(&answer->target, worker->request.pid, &answer->failure) != FAILURE_NONE)
        return ESRCH;
    if (answer->target.libjvm_mapped && remember(worker, &answer->target) == NULL) {
        failure_set(&answer->failure, FAILURE_SYSTEM, "worker", strerror(ENOMEM));
        return ENOMEM;
    }
    return 0;
}

/* A copy in memory: to read it costs the reader no time of the process. -1 with errno. */
static int copy_proc(struct worker *worker, const char *name)
{
    if (!privileged_proc_may_wait(name) ||
        (!worker->rules.trusting && known_jvm(worker, worker->request.pid, 0) == NULL)) {
        errno = EINVAL;
        return -1;
    }
    struct span text = proc_read_most(worker->request.pid, name, PROC_MAX);
    if (text.ptr == NULL)
        return -1;
    int fd = memfd_create("proc", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < text.len) {
        ssize_t written = write(fd, text.ptr + at, text.len - at);
        if (written <= 0) {
            close(fd);
            fd = -1;
        }
        at += written > 0 ? (size_t)written : 0;
    }
    free((void *)(uintptr_t)text.ptr);
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* As many of the answer's bytes as are wanted. */
static size_t room(const struct worker *worker)
{
    return worker->request.size < sizeof worker->bytes ? worker->request.size
                                                       : sizeof worker->bytes;
}

/* Into the answer's bytes. False with errno. */
static bool got_bytes(struct worker *worker, ssize_t got)
{
    if (got >= 0)
        worker->answer.length = (uint32_t)got;
    return got >= 0;
}

/* Those that have room behind what is in the answer. */
static void add_figures(struct worker *worker, const struct known *known)
{
    struct privileged_answer *answer = &worker->answer;
    if (sizeof worker->bytes - answer->length < PRIVILEGED_FIGURES_MAX)
        return;
    int fd = agent_figures_file(&known->target);
    ssize_t got = fd >= 0 ? read(fd, worker->bytes + answer->length, PRIVILEGED_FIGURES_MAX) : 0;
    if (fd >= 0)
        close(fd);
    answer->figures = got > 0 ? (int32_t)got : 0;
    answer->length += (uint32_t)answer->figures;
}

static bool read_perfdata(struct worker *worker, struct known *known)
{
    struct stat status;
    if (known->target.perfdata[0] == '\0') {
        errno = ENOENT;
        return false;
    }
    if (known->perfdata_fd < 0)
        known->perfdata_fd = perfdata_file(&known->target, &status);
    if (known->perfdata_fd < 0 || fstat(known->perfdata_fd, &status) != 0)
        return false;
    worker->answer.size = status.st_size;
    worker->answer.figures = -1;
    if (worker->request.from >= 0 && got_bytes(worker, pread(known->perfdata_fd, worker->bytes,
                                                             room(worker), worker->request.from))) {
        if (worker->answer.length > 0 &&
            worker->request.from + worker->answer.length == status.st_size)
            add_figures(worker, known);
        return true;
    }
    close_perfdata(known);
    return false;
}

static bool read_figures(struct worker *worker, const struct known *known)
{
    int fd = agent_figures_file(&known->target);
    if (fd < 0)
        return false;
    bool good = got_bytes(worker, read(fd, worker->bytes, room(worker)));
    close(fd);
    return good;
}

static bool open_log(struct known *known, const char *file)
{
    close_log(known);
    known->log = malloc(sizeof *known->log);
    if (known->log != NULL && load_log_open(known->log, &known->target, file))
        return true;
    int reason = known->log == NULL ? ENOMEM : errno;
    free(known->log);
    known->log = NULL;
    errno = reason;
    return false;
}

static bool read_log(struct worker *worker, struct known *known)
{
    errno = EBADF;
    return known->log != NULL &&
           got_bytes(worker, load_log_next(known->log, worker->bytes, room(worker)));
}

static int begin_load_log(struct worker *worker, const struct target *target, const char *file)
{
    for (int i = 0; i < GUARDS_MAX; i++)
        if (worker->guard[i] == 0)
            return load_log_guard(target, file, &worker->guard[i]);
    errno = EAGAIN;
    return -1;
}

static void reap(pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        if (pids[i] > 0 && waitpid(pids[i], NULL, WNOHANG) != 0)
            pids[i] = 0;
}

static void reap_children(struct worker *worker)
{
    reap(worker->guard, GUARDS_MAX);
    reap(worker->observer, OBSERVERS_MAX);
    left_behind_count();
}

/* Done: with a descriptor in *fd, or -1. False with errno. */
static bool about_jvm(struct worker *worker, const char *text, int *fd)
{
    const struct privileged_request *request = &worker->request;
    struct known *known = known_jvm(worker, request->pid, request->start_time_ticks);
    if (known == NULL)
        return false;
    switch (request->kind) {
    case PRIVILEGED_FILTER:
        worker->answer.filter = *syscall_filter_of(&known->target);
        return true;
    case PRIVILEGED_PERFDATA:
        return read_perfdata(worker, known);
    case PRIVILEGED_FIGURES:
        return read_figures(worker, known);
    case PRIVILEGED_LOAD_LOG_BEGIN:
        *fd = begin_load_log(worker, &known->target, text);
        return *fd >= 0;
    case PRIVILEGED_LOAD_LOG_OPEN:
        return open_log(known, text);
    case PRIVILEGED_LOAD_LOG_READ:
        return read_log(worker, known);
    case PRIVILEGED_LOAD_LOG_REMOVE:
        errno = EINVAL;
        if (!load_log_name_is_for(&known->target, text) && !worker->rules.trusting)
            return false;
        close_log(known);
        load_log_remove_leftover(&known->target, text);
        return true;
    default: /* TIDY */
        worker->answer.size = agent_leftovers_remove(&known->target);
        return true;
    }
}

static bool serve_request(struct worker *worker, const char *text, int *fd)
{
    switch (worker->request.kind) {
    case PRIVILEGED_LOOK:
        errno = look(worker);
        return errno == 0;
    case PRIVILEGED_PROC:
        *fd = copy_proc(worker, text);
        return *fd >= 0;
    case PRIVILEGED_TIDY:
        if (worker->request.pid == 0) {
            worker->answer.size = agent_leftovers_remove_here();
            return true;
        }
        break;
    default:
        break;
    }
    errno = EINVAL;
    return worker->request.kind < PRIVILEGED_CONNECT && about_jvm(worker, text, fd);
}

/* --- observing -------------------------------------------------------------------------------- */

static const char *begin_observing(struct worker *worker, const void *bytes, int answer_fd)
{
    const struct privileged_request *asked = &worker->request;
    struct observe_request request;
    if (!observe_request_valid(bytes, asked->length, worker->rules.trusting))
        return "this is no observation that is made for another process";
    memcpy(&request, bytes, sizeof request);
    if (!worker->rules.trusting &&
        !worker->rules.observes(worker->rules.context, request.options.mode))
        return "no [observe NAME] of the configuration asks for this";
    const struct known *known = known_jvm(worker, asked->pid, asked->start_time_ticks);
    if (known == NULL)
        return "the process has gone";
    reap_children(worker);
    for (int i = 0; i < OBSERVERS_MAX; i++) {
        if (worker->observer[i] != 0)
            continue;
        pid_t pid = observe_child_fork(&known->target, &request, answer_fd);
        worker->observer[i] = pid > 0 ? pid : 0;
        return pid > 0 ? NULL : strerror(errno);
    }
    return "others of the same owner are under way";
}

static void observe(struct worker *worker, int answer_fd)
{
    const char *why = begin_observing(worker, worker->request.text, answer_fd);
    if (why != NULL) {
        struct observe_result result = {.code = failure_exit_code(FAILURE_SYSTEM)};
        snprintf(result.sentence, sizeof result.sentence, "%s", why);
        privileged_send(answer_fd, &result, sizeof result, -1, MSG_DONTWAIT);
    }
    close(answer_fd);
}

/* --- attaching -------------------------------------------------------------------------------- */

static void refuse_connect(int answer_fd, enum failure_kind kind, const char *detail)
{
    struct privileged_connected answer = {.sent_us = 0};
    failure_set(&answer.failure, kind, "worker", detail);
    privileged_send(answer_fd, &answer, sizeof answer, -1, MSG_DONTWAIT);
    close(answer_fd);
}

static void begin_connect(struct worker *worker, int answer_fd)
{
    const struct privileged_request *request = &worker->request;
    struct known *known = known_jvm(worker, request->pid, request->start_time_ticks);
    struct connecting **place = NULL;
    if (known == NULL) {
        refuse_connect(answer_fd, FAILURE_GONE, NULL);
        return;
    }
    const struct target *target = &known->target;
    if (!worker->rules.trusting &&
        (!permitted_request(target, request->text, request->length) || request->milliseconds < 0 ||
         (request->as_owner && target->uid == 0))) {
        refuse_connect(answer_fd, FAILURE_SYSTEM, "this question is not one that serve asks");
        return;
    }
    for (int i = 0; i < CONNECTS_MAX && place == NULL; i++)
        if (worker->connecting[i] == NULL)
            place = &worker->connecting[i];
    struct connecting *connecting = place != NULL ? malloc(sizeof *connecting) : NULL;
    if (connecting == NULL) {
        close(answer_fd); /* ask again */
        return;
    }
    connecting->answer_fd = answer_fd;
    connecting->target = *target;
    connecting->length = request->length;
    memcpy(connecting->request, request->text, request->length);
    int64_t ms = request->milliseconds < CONNECT_MAX_MS || worker->rules.trusting
                     ? request->milliseconds
                     : CONNECT_MAX_MS;
    connect_init(&connecting->attempt, &connecting->target);
    connect_begin(&connecting->attempt, request->as_owner, clock_ms(CLOCK_MONOTONIC) + ms);
    *place = connecting;
}

static void end_connect(struct worker *worker, int at)
{
    struct connecting *connecting = worker->connecting[at];
    connect_destroy(&connecting->attempt);
    close(connecting->answer_fd);
    free(connecting);
    worker->connecting[at] = NULL;
}

/* The question goes out whole, from here; what is handed over can only be read. */
static void hand_over(struct connecting *connecting)
{
    struct privileged_connected answer = {.sent_us = clock_us(CLOCK_MONOTONIC)};
    int fd = connecting->attempt.fd;
    ssize_t sent = send(fd, connecting->request, connecting->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 && sent != (ssize_t)connecting->length)
        failure_set(&answer.failure, FAILURE_SYSTEM, "worker",
                    "the JVM's socket takes no question");
    shutdown(fd, SHUT_WR);
    /* One that hung up is given by its end of file. */
    privileged_send(connecting->answer_fd, &answer, sizeof answer,
                    answer.failure.kind == FAILURE_NONE ? fd : -1, MSG_DONTWAIT);
    close(fd);
}

static void step_connects(struct worker *worker)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    struct privileged_connected refused = {.sent_us = 0};
    for (int i = 0; i < CONNECTS_MAX; i++) {
        struct connecting *connecting = worker->connecting[i];
        if (connecting == NULL)
            continue;
        struct pollfd asking = {.fd = connecting->answer_fd, .events = POLLIN};
        if (poll(&asking, 1, 0) > 0) { /* it says nothing more: it has given up */
            end_connect(worker, i);
            continue;
        }
        switch (connect_step(&connecting->attempt, now_ms)) {
        case CONNECT_BUSY:
            continue;
        case CONNECT_OPEN:
            hand_over(connecting);
            break;
        case CONNECT_FAILED:
            refused.failure = connecting->attempt.failure;
            privileged_send(connecting->answer_fd, &refused, sizeof refused, -1, MSG_DONTWAIT);
            break;
        }
        end_connect(worker, i);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Whether one more may be served in this second. */
static bool within_rate(struct worker *worker)
{
    int64_t second = clock_ms(CLOCK_MONOTONIC) / 1000;
    if (second != worker->second)
        worker->requests = 0;
    worker->second = second;
    return worker->requests++ < RATE_PER_S;
}

static int64_t own_bytes(struct worker *worker)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    if (now_ms < worker->next_size_ms)
        return worker->own_bytes;
    struct proc_statm statm;
    struct span text = proc_read(getpid(), "statm");
    if (text.ptr != NULL && proc_statm_parse(&statm, text) == PARSE_OK)
        worker->own_bytes = (statm.resident_pages - statm.shared_pages) * sysconf(_SC_PAGESIZE);
    free((void *)(uintptr_t)text.ptr);
    worker->next_size_ms = now_ms + 10000;
    return worker->own_bytes;
}

/* False when the other end has gone. */
static bool one_request(struct worker *worker, bool *nothing)
{
    struct privileged_request *request = &worker->request;
    char text[PRIVILEGED_TEXT_MAX + 1];
    const ssize_t head = offsetof(struct privileged_request, text);
    int fd;
    memset(request, 0, (size_t)head);
    ssize_t got =
        privileged_receive(worker->socket_fd, request, sizeof *request, &fd, MSG_DONTWAIT);
    *nothing = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (*nothing)
        return true;
    if (got <= 0)
        return false;
    bool well_formed = got >= head && request->length == (size_t)(got - head);
    if (well_formed && request->kind == PRIVILEGED_CONNECT && fd >= 0) {
        begin_connect(worker, fd);
        return true;
    }
    if (well_formed && request->kind == PRIVILEGED_OBSERVE && fd >= 0) {
        observe(worker, fd);
        return true;
    }
    memset(&worker->answer, 0, sizeof worker->answer);
    int answer_fd = -1;
    bool good = false;
    errno = EINVAL;
    if (well_formed && fd < 0) {
        memcpy(text, request->text, request->length);
        text[request->length] = '\0';
        good = serve_request(worker, text, &answer_fd);
    }
    worker->answer.error = good ? 0 : errno != 0 ? errno : EIO;
    worker->answer.length = good ? worker->answer.length : 0;
    worker->answer.cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    worker->answer.own_bytes = own_bytes(worker);
    if (fd >= 0)
        close(fd);
    /* Without waiting: a client that does not read gets no answers. */
    bool sent = privileged_send_both(worker->socket_fd, &worker->answer, sizeof worker->answer,
                                     worker->bytes, worker->answer.length, answer_fd, MSG_DONTWAIT);
    if (answer_fd >= 0)
        close(answer_fd);
    return sent;
}

static int64_t soonest_ms(const struct worker *worker, int64_t wait_ms, struct pollfd *fds,
                          nfds_t *count)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    for (int i = 0; i < CONNECTS_MAX; i++) {
        const struct connecting *connecting = worker->connecting[i];
        if (connecting == NULL)
            continue;
        int fd = connect_fd(&connecting->attempt);
        int64_t at_ms = fd >= 0 ? connecting->attempt.deadline_ms : connecting->attempt.retry_ms;
        if (fd >= 0)
            fds[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
        fds[(*count)++] = (struct pollfd){.fd = connecting->answer_fd, .events = POLLIN};
        if (at_ms - now_ms < wait_ms)
            wait_ms = at_ms > now_ms ? at_ms - now_ms : 0;
    }
    return wait_ms;
}

bool worker_step(struct worker *worker, int64_t wait_ms)
{
    struct pollfd fds[1 + 2 * CONNECTS_MAX];
    nfds_t count = 1;
    bool nothing = false;
    bool late =
        worker->requests >= RATE_PER_S && worker->second == clock_ms(CLOCK_MONOTONIC) / 1000;
    fds[0] = (struct pollfd){.fd = late ? -1 : worker->socket_fd, .events = POLLIN};
    wait_ms = soonest_ms(worker, late && wait_ms > 20 ? 20 : wait_ms, fds, &count);
    if (poll(fds, count, (int)wait_ms) < 0 && errno != EINTR)
        return false;
    reap_children(worker);
    for (int i = 0; !late && i < TURN_REQUESTS && !nothing && within_rate(worker); i++)
        if (!one_request(worker, &nothing))
            return false;
    step_connects(worker);
    return true;
}

struct worker *worker_create(int socket_fd, const struct worker_rules *rules)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker != NULL) {
        worker->socket_fd = socket_fd;
        worker->rules = *rules;
    }
    return worker;
}

/* Guards continue by themselves: the other end of their pipe ends them. */
void worker_destroy(struct worker *worker)
{
    if (worker == NULL)
        return;
    for (int i = 0; i < CONNECTS_MAX; i++)
        if (worker->connecting[i] != NULL)
            end_connect(worker, i);
    while (worker->known_count > 0)
        forget(worker, worker->known_count - 1);
    free(worker);
}

/* --- a process of its own --------------------------------------------------------------------- */

struct started {
    pid_t pid;
    uid_t owner;
    bool ended; /* it was killed; it stands still while it is in this table */
};

#define STARTED_MAX 256

#define LAST_MS 100

static struct started started[STARTED_MAX];
static int started_count;
static pid_t starter;

static void bound_itself(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); /* a JVM's data would be in it */
#ifndef __SANITIZE_ADDRESS__       /* its shadow is 16 TB */
    setrlimit(RLIMIT_DATA, &(struct rlimit){MEMORY_MAX, MEMORY_MAX});
#endif
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, OOM_SCORE_ADJ, sizeof OOM_SCORE_ADJ - 1) < 0) {
        /* then it stays as it is */
    }
    close(fd);
}

static bool any(const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        if (pids[i] > 0)
            return true;
    return false;
}

/* Those that end with this process: the init of a container may reap nothing. */
static void reap_last(struct worker *worker)
{
    for (int i = 0; i < CONNECTS_MAX; i++)
        if (worker->connecting[i] != NULL)
            end_connect(worker, i);
    for (int ms = 0; ms < LAST_MS; ms++) {
        reap_children(worker);
        if (left_behind_count() == 0 && !any(worker->guard, GUARDS_MAX) &&
            !any(worker->observer, OBSERVERS_MAX))
            return;
        poll(NULL, 0, 1);
    }
}

/* Nothing of the parent's stays open: a reader of its output does not wait for this process. */
_Noreturn static void be_worker(int fd, const struct worker_rules *rules)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
    static const int usual[] = {SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2, SIGWINCH};
    sigset_t no_signal;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        /* those of a terminal are for the parent, whose end ends this */
        signal(ignored[i], SIG_IGN);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        signal(usual[i], SIG_DFL);
    sigemptyset(&no_signal);
    sigprocmask(SIG_SETMASK, &no_signal, NULL);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int own = STDIN_FILENO; nothing >= 0 && own <= STDERR_FILENO; own++)
        dup2(nothing, own);
    fd = dup2(fd, STDERR_FILENO + 1);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    close_range(STDERR_FILENO + 2, ~0U, 0);
    prctl(PR_SET_NAME, "nmtwatch-worker");
    bound_itself();
    struct worker *worker = worker_create(fd, rules);
    while (worker != NULL && worker_step(worker, 10000)) {
    }
    if (worker != NULL)
        reap_last(worker);
    worker_destroy(worker);
    _exit(0);
}

static void reap_started(void)
{
    for (int i = started_count; i-- > 0;)
        if (waitpid(started[i].pid, NULL, WNOHANG) != 0)
            started[i] = started[--started_count];
}

static void end_started(uid_t owner, bool all)
{
    for (int i = 0; i < started_count; i++)
        if ((all || started[i].owner == owner) && !started[i].ended) {
            kill(started[i].pid, SIGKILL);
            started[i].ended = true;
        }
    reap_started();
}

void workers_end(void)
{
    end_started(0, true);
}

/* Of a process that ends: it closes their sockets, which ends them, and reaps them. */
static void at_exit(void)
{
    if (getpid() != starter)
        return;
    privileged_workers(NULL);
    for (int ms = 0; ms < 2 * LAST_MS && started_count > 0; ms++) {
        reap_started();
        if (started_count > 0)
            poll(NULL, 0, 1);
    }
    workers_end();
}

int worker_start_with(uid_t owner, pid_t *worker, const struct worker_rules *rules)
{
    int ends[2], of_owner = 0, of_all = 0;
    reap_started(); /* first: those of a parent that was forked without exec are not ours */
    end_started(owner, false);
    if (worker == NULL)
        return -1;
    for (int i = 0; i < started_count; i++) {
        of_all += started[i].ended;
        of_owner += started[i].ended && started[i].owner == owner;
    }
    if (of_owner >= WORKERS_LEFT_OWNER || of_all >= WORKERS_LEFT || started_count == STARTED_MAX) {
        errno = EAGAIN;
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    if (starter != getpid())
        atexit(at_exit);
    starter = getpid();
    pid_t pid = fork();
    if (pid == 0)
        be_worker(ends[1], rules);
    int reason = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = reason;
        return -1;
    }
    started[started_count++] = (struct started){.pid = pid, .owner = owner};
    *worker = pid;
    return ends[0];
}

int worker_start(uid_t owner, pid_t *worker)
{
    static const struct worker_rules rules = {.trusting = true};
    return worker_start_with(owner, worker, &rules);
}
