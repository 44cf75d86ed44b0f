#include "nmtwatch/jvm/privileged.h"

#include "nmtwatch/jvm/accountable.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"
#include "nmtwatch/process/messages.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX       4 /* more than any caller sends: what is too much is closed */
#define WORKERS_MAX   64
/* A worker answers within a millisecond; one that is runnable and finds no processor (load 100) may take longer than
 * one that waits for something. */
#define LATE_MS       1000
#define LATE_BUSY_MS  3000
#define LOOK_MS       50
#define LATE_SMAPS_MS 20000 /* of 100 000 mappings: 5 s */
#define PASSED_MAX    256
#define PASSED_MS     30000 /* the first time; then twice as long each time */
#define PASSED_MAX_MS 600000
#define FIGURES_MS    200
#define OWNER_TIMES   10 /* an owner who held us is passed by for so many times as long */

static int helper_fd = -1;
static privileged_start_fn *start_worker;
static pid_t caller; /* not the children that were forked without exec: they do it themselves */

/* --- messages --------------------------------------------------------------------------------- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

bool privileged_send_both(int socket_fd, const void *head, size_t head_length, const void *bytes,
                          size_t length, int fd, int flags)
{
    union control control = {0};
    struct iovec text[] = {{(void *)(uintptr_t)head, head_length},
                           {(void *)(uintptr_t)bytes, length}};
    struct msghdr message = {.msg_iov = text, .msg_iovlen = length > 0 ? 2 : 1};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof fd);
        control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket_fd, &message, flags | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)(head_length + length);
}

bool privileged_send(int socket_fd, const void *bytes, size_t length, int fd, int flags)
{
    return privileged_send_both(socket_fd, bytes, length, NULL, 0, fd, flags);
}

static int take_first(struct msghdr *message)
{
    int first = -1;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (first < 0)
                first = fd;
            else
                close(fd);
        }
    }
    return first;
}

ssize_t privileged_receive_both(int socket_fd, void *head, size_t head_size, void *bytes,
                                size_t size, int *fd, int flags)
{
    union control control = {0};
    struct iovec text[] = {{head, head_size}, {bytes, size}};
    struct msghdr message = {.msg_iov = text,
                             .msg_iovlen = size > 0 ? 2 : 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do {
        got = recvmsg(socket_fd, &message, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR && (flags & MSG_DONTWAIT) == 0);
    *fd = got >= 0 ? take_first(&message) : -1;
    return got;
}

ssize_t privileged_receive(int socket_fd, void *bytes, size_t size, int *fd, int flags)
{
    return privileged_receive_both(socket_fd, bytes, size, NULL, 0, fd, flags);
}

/* --- targets that are passed by --------------------------------------------------------------- */

struct passed {
    pid_t pid; /* 0: all of the owner's */
    uid_t owner;
    uint64_t start_time_ticks;
    int64_t for_ms, until_ms;
};

static struct passed passed[PASSED_MAX];
static int passed_count;

static void forget_passed(int at)
{
    passed[at] = passed[--passed_count];
}

/* What ended long ago does not count when it comes again. */
static int find_passed(pid_t pid, uid_t owner, int64_t now_ms)
{
    struct proc_stat stat;
    for (int i = passed_count; i-- > 0;) {
        struct passed *one = &passed[i];
        if (now_ms - one->until_ms > PASSED_MAX_MS)
            forget_passed(i);
        else if (one->owner == owner && one->pid == pid) {
            if (pid == 0 || !proc_stat_read(pid, &stat) ||
                stat.start_time_ticks == one->start_time_ticks)
                return i;
            forget_passed(i);
        }
    }
    return -1;
}

static bool is_passed_by(pid_t pid, uid_t owner)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    int of_owner = passed_count > 0 ? find_passed(0, owner, now_ms) : -1;
    if (of_owner >= 0 && passed[of_owner].until_ms > now_ms)
        return true;
    int of_target = passed_count > 0 && pid != 0 ? find_passed(pid, owner, now_ms) : -1;
    return of_target >= 0 && passed[of_target].until_ms > now_ms;
}

static void pass_by(pid_t pid, uid_t owner, int64_t for_ms)
{
    struct proc_stat stat = {0};
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    int at = find_passed(pid, owner, now_ms);
    if (at < 0 &&
        passed_count == PASSED_MAX) /* they are evil's, whose owner is passed by as well */
        return;
    if (at < 0) {
        if (pid != 0 && !proc_stat_read(pid, &stat))
            return;
        at = passed_count++;
        passed[at] =
            (struct passed){.pid = pid, .owner = owner, .start_time_ticks = stat.start_time_ticks};
    } else if (pid != 0) {
        for_ms = passed[at].for_ms * 2;
    }
    passed[at].for_ms = for_ms < PASSED_MAX_MS ? for_ms : PASSED_MAX_MS;
    passed[at].until_ms = now_ms + passed[at].for_ms;
}

/* --- workers ---------------------------------------------------------------------------------- */

struct worker {
    uid_t owner;
    int fd;
    pid_t pid;
    int64_t used_ms, cpu_us, own_bytes;
};

static struct worker workers[WORKERS_MAX];
static int worker_count;
static struct privileged_counts counts;

void privileged_workers(privileged_start_fn *start)
{
    start_worker = start;
    caller = getpid();
    while (worker_count > 0)
        close(workers[--worker_count].fd);
    passed_count = 0;
}

bool privileged_apart(void)
{
    return start_worker != NULL && caller == getpid();
}

static void end_worker(struct worker *worker)
{
    close(worker->fd);
    counts.cpu_us += worker->cpu_us;
    *worker = workers[--worker_count];
}

static struct worker *worker_of(uid_t owner)
{
    struct worker *idle = NULL;
    for (int i = 0; i < worker_count; i++) {
        if (workers[i].owner == owner)
            return &workers[i];
        if (idle == NULL || workers[i].used_ms < idle->used_ms)
            idle = &workers[i];
    }
    if (worker_count == WORKERS_MAX) {
        start_worker(idle->owner, NULL);
        end_worker(idle);
    }
    pid_t pid = 0;
    int fd = start_worker(owner, &pid);
    if (fd < 0)
        return NULL;
    struct worker *worker = &workers[worker_count++];
    *worker = (struct worker){.owner = owner, .fd = fd, .pid = pid};
    return worker;
}

struct privileged_counts privileged_counts(void)
{
    struct privileged_counts now = counts;
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    for (int i = 0; i < worker_count; i++) {
        now.cpu_us += workers[i].cpu_us;
        now.own_bytes += workers[i].own_bytes;
    }
    for (int i = 0; i < passed_count; i++)
        now.passed_by += passed[i].pid != 0 && passed[i].until_ms > now_ms;
    now.workers = worker_count;
    now.left_behind = left_behind_count();
    return now;
}

bool privileged_passes_by(const struct target *target)
{
    return is_passed_by(target->pid, target->accountable);
}

/* A worker that did not answer. waited_ms is what it has cost us, and may have cost in CPU. */
static void left(struct worker *worker, pid_t pid, int64_t waited_ms, bool late, bool passes_by)
{
    uid_t owner = worker->owner;
    if (late)
        counts.late++;
    else
        counts.died++;
    worker->cpu_us += waited_ms * 1000;
    start_worker(owner, NULL);
    end_worker(worker);
    if (passes_by && pid != 0)
        pass_by(pid, owner, PASSED_MS);
    if (passes_by)
        pass_by(0, owner, waited_ms * OWNER_TIMES);
}

static bool is_late(const struct worker *worker, const struct privileged_request *request,
                    int64_t waited_ms)
{
    struct proc_stat stat;
    if (request->kind == PRIVILEGED_PROC && strncmp(request->text, "smaps", 5) == 0)
        return waited_ms >= LATE_SMAPS_MS;
    return waited_ms >= LATE_BUSY_MS ||
           (waited_ms >= LATE_MS && (!proc_stat_read(worker->pid, &stat) || stat.state != 'R'));
}

static unsigned char answered[PRIVILEGED_BYTES_MAX]; /* behind the last answer */

/* False: to be sent again. *ended: the worker had ended, or did meanwhile. The target is passed by for the second time
 * only: workers are ended when the configuration is read again, too. */
static bool await(struct worker *worker, const struct privileged_request *request,
                  struct privileged_answer *answer, int *fd, bool *ended)
{
    int64_t began_ms = clock_ms(CLOCK_MONOTONIC), waited_ms = 0;
    ssize_t got;
    bool late;
    do {
        struct pollfd wait = {.fd = worker->fd, .events = POLLIN};
        late = is_late(worker, request, waited_ms);
        poll(&wait, 1, late ? 0 : waited_ms < LATE_MS ? (int)(LATE_MS - waited_ms) : LOOK_MS);
        got = privileged_receive_both(worker->fd, answer, sizeof *answer, answered, sizeof answered,
                                      fd, MSG_DONTWAIT);
        waited_ms = clock_ms(CLOCK_MONOTONIC) - began_ms;
    } while (got < 0 && (errno == EAGAIN || errno == EINTR) && !late);
    if (got >= (ssize_t)sizeof *answer && answer->length == (size_t)got - sizeof *answer) {
        worker->cpu_us = answer->cpu_us;
        worker->own_bytes = answer->own_bytes;
        return true;
    }
    bool silent = got < 0 && errno == EAGAIN, again = !silent && !*ended;
    *ended = !silent;
    left(worker, request->pid, waited_ms, silent, !again);
    *answer = (struct privileged_answer){.error = silent ? ETIMEDOUT : EIO};
    return !again;
}

/* Sends a request to the worker of the owner, with the socket that goes with it (-1: none). NULL with errno. */
static struct worker *request_of(uid_t owner, const struct privileged_request *request, int fd)
{
    errno = ETIMEDOUT;
    if (is_passed_by(request->pid, owner))
        return NULL;
    struct worker *worker = worker_of(owner);
    if (worker == NULL)
        return NULL;
    worker->used_ms = clock_ms(CLOCK_MONOTONIC);
    for (int tries = 0; tries < 2; tries++) {
        if (privileged_send(worker->fd, request,
                            offsetof(struct privileged_request, text) + request->length, fd,
                            MSG_DONTWAIT))
            return worker;
        /* It was ended while nothing was asked of it. */
        counts.died++;
        start_worker(owner, NULL);
        end_worker(worker);
        worker = worker_of(owner);
        if (worker == NULL)
            return NULL;
    }
    errno = EIO;
    return NULL;
}

/* *fd is -1 where none came; fd may be NULL. False with errno, and answer->error. */
static bool ask(uid_t owner, const struct privileged_request *request,
                struct privileged_answer *answer, int *fd)
{
    int none = -1;
    int *into = fd != NULL ? fd : &none;
    *into = -1;
    struct worker *worker;
    bool ended = false;
    do {
        worker = request_of(owner, request, -1);
        if (worker == NULL)
            *answer = (struct privileged_answer){.error = errno};
    } while (worker != NULL && !await(worker, request, answer, into, &ended));
    if (none >= 0)
        close(none);
    errno = answer->error;
    return answer->error == 0;
}

static bool put_text(struct privileged_request *request, const void *text, size_t length)
{
    if (length > sizeof request->text) {
        errno = E2BIG;
        return false;
    }
    memcpy(request->text, text, length);
    request->length = (uint32_t)length;
    return true;
}

static struct privileged_request about(enum privileged_kind kind, const struct target *target)
{
    return (struct privileged_request){.kind = kind,
                                       .pid = target != NULL ? target->pid : 0,
                                       .start_time_ticks =
                                           target != NULL ? target->start_time_ticks : 0};
}

/* Of a process that is not known to be a JVM. One that is hidden is looked at all the same: the answer says so. */
static uid_t owner_of(pid_t pid)
{
    uid_t user = proc_user(pid);
    return user != (uid_t)-1 ? accountable_uid(pid, user) : geteuid();
}

enum failure_kind privileged_look(struct target *target, pid_t pid, struct failure *failure)
{
    struct privileged_request request = {.kind = PRIVILEGED_LOOK, .pid = pid};
    struct privileged_answer answer;
    ask(owner_of(pid), &request, &answer, NULL);
    *target = answer.target;
    *failure = answer.failure;
    if (answer.error != 0 && failure->kind == FAILURE_NONE) {
        char name[32];
        snprintf(name, sizeof name, "pid %d", (int)pid);
        bool held = answer.error == ETIMEDOUT;
        failure_set(failure, held ? FAILURE_HELD : FAILURE_SYSTEM, name,
                    held                  ? NULL
                    : answer.error == EIO ? "the process that reads it ended"
                                          : strerror(answer.error));
    }
    return failure->kind;
}

void privileged_filter(const struct target *target, struct syscall_filter *filter)
{
    struct privileged_request request = about(PRIVILEGED_FILTER, target);
    struct privileged_answer answer;
    if (ask(target->accountable, &request, &answer, NULL))
        *filter = answer.filter;
    else
        syscall_filter_unknown(filter, strerror(errno));
}

bool privileged_proc_may_wait(const char *name)
{
    static const char *const names[] = {"environ", "cmdline", "maps", "smaps", "smaps_rollup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int privileged_proc(pid_t pid, const char *name)
{
    struct privileged_request request = {.kind = PRIVILEGED_PROC, .pid = pid};
    struct privileged_answer answer;
    int fd = -1;
    if (put_text(&request, name, strlen(name)))
        ask(owner_of(pid), &request, &answer, &fd);
    return fd;
}

/* The agent's figures that came with a JVM's hsperfdata: for one reader, at once. */
static struct {
    pid_t pid; /* 0: none are kept */
    uint64_t start_time_ticks;
    int64_t at_ms;
    int32_t length;
    unsigned char bytes[PRIVILEGED_FIGURES_MAX];
} figures;

static void keep_figures(const struct target *target, const struct privileged_answer *answer)
{
    if (answer->figures < 0 || answer->figures > (int32_t)sizeof figures.bytes ||
        (uint32_t)answer->figures > answer->length)
        return;
    figures.pid = target->pid;
    figures.start_time_ticks = target->start_time_ticks;
    figures.at_ms = clock_ms(CLOCK_MONOTONIC);
    figures.length = answer->figures;
    memcpy(figures.bytes, answered + answer->length - figures.length, (size_t)figures.length);
}

static bool take_figures(const struct target *target, void *bytes, size_t size, ssize_t *got)
{
    bool good = figures.pid == target->pid &&
                figures.start_time_ticks == target->start_time_ticks &&
                clock_ms(CLOCK_MONOTONIC) - figures.at_ms < FIGURES_MS;
    figures.pid = 0;
    if (!good)
        return false;
    *got = (size_t)figures.length < size ? figures.length : (ssize_t)size;
    memcpy(bytes, figures.bytes, (size_t)*got);
    return true;
}

ssize_t privileged_read(enum privileged_kind kind, const struct target *target, int64_t from,
                        void *bytes, size_t size, int64_t *size_of_file)
{
    struct privileged_request request = about(kind, target);
    struct privileged_answer answer;
    request.from = from;
    request.size = size < PRIVILEGED_BYTES_MAX ? (uint32_t)size : PRIVILEGED_BYTES_MAX;
    ssize_t got;
    if (kind == PRIVILEGED_FIGURES && take_figures(target, bytes, size, &got))
        return got;
    if (!ask(target->accountable, &request, &answer, NULL))
        return -1;
    size_t length = answer.length;
    if (kind == PRIVILEGED_PERFDATA && answer.figures >= 0) {
        keep_figures(target, &answer);
        length -= (uint32_t)answer.figures <= answer.length ? (uint32_t)answer.figures : 0;
    }
    if (length > size) {
        errno = EIO;
        return -1;
    }
    if (size_of_file != NULL)
        *size_of_file = answer.size;
    memcpy(bytes, answered, length);
    return (ssize_t)length;
}

int privileged_open(enum privileged_kind kind, const struct target *target, const char *text)
{
    struct privileged_request request = about(kind, target);
    struct privileged_answer answer;
    int fd = -1;
    if (!put_text(&request, text, strlen(text)) ||
        !ask(target->accountable, &request, &answer, &fd))
        return -1;
    if (fd < 0)
        errno = EIO;
    return fd;
}

bool privileged_do(enum privileged_kind kind, const struct target *target, const char *text)
{
    struct privileged_request request = about(kind, target);
    struct privileged_answer answer;
    return put_text(&request, text, strlen(text)) &&
           ask(target->accountable, &request, &answer, NULL);
}

int privileged_tidy(const struct target *target)
{
    struct privileged_request request = about(PRIVILEGED_TIDY, target);
    struct privileged_answer answer;
    uid_t owner = target != NULL ? target->accountable : (uid_t)-2; /* nobody's: the host's /tmp */
    return ask(owner, &request, &answer, NULL) ? (int)answer.size : 0;
}

/* Our end of the socket that goes with the request, or -1 with errno. */
static int send_with_socket(uid_t owner, struct privileged_request *request, const void *bytes,
                            size_t length)
{
    int ends[2];
    if (!put_text(request, bytes, length) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    bool sent = request_of(owner, request, ends[1]) != NULL;
    int reason = errno;
    close(ends[1]);
    if (!sent)
        close(ends[0]);
    errno = reason;
    return sent ? ends[0] : -1;
}

int privileged_connect(const struct target *target, bool as_owner, int64_t milliseconds,
                       const char *request_bytes, size_t length)
{
    struct privileged_request request = about(PRIVILEGED_CONNECT, target);
    request.milliseconds = (int32_t)milliseconds;
    request.as_owner = as_owner;
    return send_with_socket(target->accountable, &request, request_bytes, length);
}

int privileged_observe(const struct target *target, const void *request_bytes, size_t size)
{
    struct privileged_request request = about(PRIVILEGED_OBSERVE, target);
    return send_with_socket(target->accountable, &request, request_bytes, size);
}

/* --- the helper ------------------------------------------------------------------------------- */

bool privileged_has_helper(void)
{
    return helper_fd >= 0;
}

/* It was killed, and so is this process in a moment (PR_SET_PDEATHSIG); who killed it knows. */
_Noreturn static void helper_gone(void)
{
    _exit(EXIT_IO);
}

/* It never waits for a target. False with errno. */
static bool ask_helper(const struct privileged_request *request, struct privileged_answer *answer,
                       int *fd)
{
    if (!privileged_send(helper_fd, request,
                         offsetof(struct privileged_request, text) + request->length, -1, 0) ||
        privileged_receive(helper_fd, answer, sizeof *answer, fd, 0) != (ssize_t)sizeof *answer)
        helper_gone();
    errno = answer->error;
    return answer->error == 0;
}

static int worker_by_helper(uid_t owner, pid_t *worker)
{
    struct privileged_request request = {
        .kind = PRIVILEGED_WORKER, .owner = owner, .pid = worker == NULL ? -1 : 0};
    struct privileged_answer answer;
    int fd = -1;
    if (!ask_helper(&request, &answer, &fd) || worker == NULL) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *worker = answer.worker;
    return fd;
}

void privileged_helper(int fd)
{
    helper_fd = fd;
    privileged_workers(fd >= 0 ? worker_by_helper : NULL);
}

bool privileged_exe(pid_t pid, uint64_t *program)
{
    struct privileged_request request = {.kind = PRIVILEGED_EXE, .pid = pid};
    struct privileged_answer answer;
    int none;
    if (!privileged_has_helper())
        return proc_program(pid, program);
    bool good = ask_helper(&request, &answer, &none);
    *program = answer.program;
    return good;
}

bool privileged_notify(const char *message)
{
    struct privileged_request request = {.kind = PRIVILEGED_NOTIFY};
    struct privileged_answer answer;
    int none;
    return put_text(&request, message, strlen(message)) && ask_helper(&request, &answer, &none);
}

bool privileged_config(void *options, size_t size, char *error, size_t error_size)
{
    struct privileged_request request = {.kind = PRIVILEGED_CONFIG};
    struct privileged_answer answer;
    int fd = -1;
    bool good = ask_helper(&request, &answer, &fd) && fd >= 0 &&
                pread(fd, options, size, 0) == (ssize_t)size;
    if (fd >= 0)
        close(fd);
    if (!good)
        snprintf(error, error_size, "%s",
                 answer.error != 0 ? answer.sentence : "the configuration did not come whole");
    return good;
}

FILE *privileged_fopen(const char *path)
{
    struct privileged_request request = {.kind = PRIVILEGED_SECRET};
    struct privileged_answer answer;
    int fd = -1;
    if (!privileged_has_helper())
        return fopen(path, "re");
    if (!put_text(&request, path, strlen(path)) || !ask_helper(&request, &answer, &fd))
        return NULL;
    return fd >= 0 ? fdopen(fd, "re") : NULL;
}
