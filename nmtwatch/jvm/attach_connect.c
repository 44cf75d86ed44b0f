#include "nmtwatch/jvm/attach_connect.h"

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/room.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The socket appears 1-11 ms after SIGQUIT on an idle machine. */
#define SOCKET_RETRY_MS  4
#define OTHERS_MS        1000 /* what another attach may take until the socket is there */
#define OTHERS_RETRY_MS  20   /* another attach is under way, or a helper has no place */
#define HELPER_SOONER_MS 100

static enum connect_state fail(struct attach_connect *attempt, enum failure_kind kind,
                               const char *detail)
{
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)attempt->target->pid);
    failure_set(&attempt->failure, kind, who, detail);
    connect_cancel(attempt);
    return CONNECT_FAILED;
}

static enum connect_state fail_errno(struct attach_connect *attempt, const char *doing, int error)
{
    if (error == EACCES || error == EPERM) {
        target_not_permitted(attempt->target, &attempt->failure);
        connect_cancel(attempt);
        return CONNECT_FAILED;
    }
    if (error == EROFS)
        return fail(attempt, FAILURE_NO_TMP, "it is read-only");
    char detail[160];
    snprintf(detail, sizeof detail, "%s: %s", doing, strerror(error));
    return fail(attempt, FAILURE_SYSTEM, detail);
}

static enum connect_state retry_at(struct attach_connect *attempt, int64_t ms)
{
    attempt->retry_ms = ms;
    return CONNECT_BUSY;
}

/* --- the process, named by a pidfd ------------------------------------------------------------ */

void connect_init(struct attach_connect *attempt, const struct target *target)
{
    *attempt = (struct attach_connect){
        .target = target,
        .process_fd = (int)syscall(SYS_pidfd_open, target->pid, 0),
        .tmp_fd = -1,
        .child_fd = -1,
        .fd = -1,
    };
    /* The descriptor names the process that has the number now; keep it only if that is our target. */
    if (attempt->process_fd >= 0 && !target_still_same(target)) {
        close(attempt->process_fd);
        attempt->process_fd = -1;
    }
}

/* A process that ends gives back its memory before it closes its sockets, and is reported as ended
 * later than both: without memory it has no executable. */
static bool has_executable(pid_t pid)
{
    char path[32], target[1];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, target, sizeof target) >= 0 || errno != ENOENT;
}

bool connect_process_alive(const struct attach_connect *attempt)
{
    if (attempt->process_fd < 0)
        return target_still_same(attempt->target);
    struct pollfd ended = {.fd = attempt->process_fd, .events = POLLIN};
    return poll(&ended, 1, 0) == 0 && has_executable(attempt->target->pid);
}

static int send_sigquit(const struct attach_connect *attempt)
{
    if (attempt->process_fd >= 0)
        return (int)syscall(SYS_pidfd_send_signal, attempt->process_fd, SIGQUIT, NULL, 0);
    return kill(attempt->target->pid, SIGQUIT);
}

/* --- asking the JVM to open its socket -------------------------------------------------------- */

static bool trusted_owner(const struct attach_connect *attempt, uid_t owner)
{
    return owner == attempt->target->uid || owner == 0;
}

static void trigger_name(const struct attach_connect *attempt, char *name, size_t size)
{
    snprintf(name, size, ".attach_pid%d", (int)attempt->target->nspid);
}

/* HotSpot looks into its current folder first, and no further when there is such a file of another user. */
static bool foreign_trigger_in_cwd(const struct attach_connect *attempt)
{
    char cwd[48], name[32];
    struct stat status;
    snprintf(cwd, sizeof cwd, "/proc/%d/cwd", (int)attempt->target->pid);
    trigger_name(attempt, name, sizeof name);
    int fd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool foreign = fd >= 0 && fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   !trusted_owner(attempt, status.st_uid);
    if (fd >= 0)
        close(fd);
    return foreign;
}

static void remove_trigger(const struct attach_connect *attempt)
{
    char name[32];
    struct as_target self;
    trigger_name(attempt, name, sizeof name);
    if (!as_target_begin(&self, attempt->target->uid, attempt->target->gid))
        return;
    unlinkat(attempt->tmp_fd, name, 0);
    as_target_end(&self);
}

static bool is_recent(const struct stat *status)
{
    int64_t age_ms = clock_ms(CLOCK_REALTIME) - status->st_mtim.tv_sec * INT64_C(1000) -
                     status->st_mtim.tv_nsec / 1000000;
    return age_ms >= 0 && age_ms < OTHERS_MS;
}

/* The trigger file has to belong to the target's user or to root, or SIGQUIT means a thread dump.
 * It is made in its /tmp, where every HotSpot looks, with the rights of its user. Returns 0, or an
 * errno; EEXIST is a foreign one, EAGAIN: another attach is under way. */
static int create_trigger(struct attach_connect *attempt)
{
    char name[32];
    struct stat status;
    struct as_target self;
    if (foreign_trigger_in_cwd(attempt))
        return EEXIST;
    trigger_name(attempt, name, sizeof name);
    if (!as_target_begin(&self, attempt->target->uid, attempt->target->gid))
        return errno;
    int fd = openat(attempt->tmp_fd, name,
                    O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : 0;
    as_target_end(&self);
    if (error == EEXIST && fstatat(attempt->tmp_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && trusted_owner(attempt, status.st_uid))
        /* Left by an attach that came to nothing; or another process attaches right now, and a second signal
         * would be a thread dump once the first one has opened the socket. */
        error = is_recent(&status) ? EAGAIN : 0;
    if (fd >= 0) {
        if (fstat(fd, &status) != 0 || !trusted_owner(attempt, status.st_uid))
            error = EACCES; /* a network file system mapped its owner to nobody */
        close(fd);
    }
    attempt->triggered = error == 0;
    if (fd >= 0 && error != 0)
        remove_trigger(attempt);
    return error;
}

/* Always, whatever became of the attempt, as jcmd does. */
static void end_trigger(struct attach_connect *attempt)
{
    if (!attempt->triggered)
        return;
    remove_trigger(attempt);
    attempt->triggered = false;
}

static void socket_name(const struct target *target, char *out, size_t size)
{
    snprintf(out, size, ".java_pid%d", (int)target->nspid);
}

static bool socket_exists(const struct attach_connect *attempt)
{
    char name[32];
    struct stat status;
    socket_name(attempt->target, name, sizeof name);
    return fstatat(attempt->tmp_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Why HotSpot cannot open a socket in its /tmp, where it opens it and nowhere else; NULL: it can, or that cannot be
 * seen. The kernel is asked with the rights of its user. */
static const char *tmp_obstacle(const struct target *target)
{
    int fd = rooted_folder(target->root, "/tmp", O_PATH);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? "there is none" : NULL;
    const char *obstacle = NULL;
    struct statvfs tmp;
    struct as_target self;
    if (fstatvfs(fd, &tmp) == 0 && (tmp.f_flag & ST_RDONLY) != 0)
        obstacle = "it is read-only";
    else if (as_target_begin(&self, target->uid, target->gid)) {
        bool closed = faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES;
        as_target_end(&self);
        obstacle = closed ? "its user may not write there" : NULL;
    }
    close(fd);
    return obstacle;
}

enum failure_kind connect_obstacle(const struct target *target, const char **detail)
{
    *detail = NULL;
    if (!target->libjvm_mapped)
        return FAILURE_NOT_A_JVM;
    if (target->attach_disabled)
        return FAILURE_ATTACH_DISABLED;
    struct target_state state = target_state_now(target);
    if (state.stopped) { /* the signal would wait for it, and arrive without us */
        *detail = TARGET_STOPPED;
        return FAILURE_NO_ANSWER;
    }
    if (!state.handles_sigquit)
        return target_still_same(target) ? FAILURE_ATTACH_DISABLED : FAILURE_GONE;
    if (!user_map_has(target->pid, target->uid, target->gid))
        return FAILURE_NO_USER;
    if ((*detail = tmp_obstacle(target)) != NULL)
        return FAILURE_NO_TMP;
    *detail = room_for_thread(target);
    return *detail == NULL ? FAILURE_NONE : FAILURE_NO_ROOM;
}

static enum connect_state trigger(struct attach_connect *attempt, int64_t now_ms)
{
    const struct target *target = attempt->target;
    const char *detail;
    enum failure_kind obstacle = connect_obstacle(target, &detail);
    /* The first thread of a JVM that is ending may be gone before the process is. */
    if (obstacle == FAILURE_ATTACH_DISABLED && !target->attach_disabled &&
        !connect_process_alive(attempt))
        obstacle = FAILURE_GONE;
    if (obstacle != FAILURE_NONE)
        return fail(attempt, obstacle, detail);

    int error = create_trigger(attempt);
    if (error == EAGAIN)
        return retry_at(attempt, now_ms + OTHERS_RETRY_MS);
    if (error == EINVAL) /* its user has no number here */
        return fail(attempt, FAILURE_FOREIGN_USERS, NULL);
    if (error == EEXIST)
        return fail(attempt, FAILURE_SYSTEM,
                    "its .attach_pid file belongs to another user; remove it");
    if (error == EACCES)
        return fail(attempt, FAILURE_NO_TMP, "its user may not write there");
    if (error != 0)
        return fail_errno(attempt, "creating its .attach_pid file", error);

    if (!connect_process_alive(attempt))
        return fail(attempt, FAILURE_GONE, NULL);
    /* Another attach has come and gone since we looked: a signal would be a thread dump now. */
    if (socket_exists(attempt)) {
        end_trigger(attempt);
        return retry_at(attempt, now_ms);
    }
    if (send_sigquit(attempt) != 0)
        return errno == ESRCH ? fail(attempt, FAILURE_GONE, NULL)
                              : fail_errno(attempt, "sending SIGQUIT", errno);
    attempt->signalled = true;
    attempt->signalled_ms = now_ms;
    return retry_at(attempt, now_ms + SOCKET_RETRY_MS);
}

/* --- connecting ------------------------------------------------------------------------------- */

/* Through the descriptor of its folder: a path would not always fit, and could lead elsewhere by
 * now. */
static struct sockaddr_un socket_address(int folder_fd, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.32s", folder_fd, name);
    return address;
}

static void close_tmp(struct attach_connect *attempt)
{
    if (attempt->tmp_fd >= 0)
        close(attempt->tmp_fd);
    attempt->tmp_fd = -1;
}

/* The process that called listen(2) there; 0 is a process outside of our pid namespace. */
static bool is_of_target(const struct attach_connect *attempt, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid == 0 ||
           peer.pid == attempt->target->pid;
}

static enum connect_state opened(struct attach_connect *attempt, int fd)
{
    if (!is_of_target(attempt, fd)) {
        close(fd);
        return connect_process_alive(attempt) ? fail(attempt, FAILURE_FOREIGN_SOCKET, NULL)
                                              : fail(attempt, FAILURE_GONE, NULL);
    }
    end_trigger(attempt);
    close_tmp(attempt);
    attempt->fd = fd;
    return CONNECT_OPEN;
}

bool connect_may_become_owner(const struct target *target)
{
    return (target->uid != geteuid() || target->gid != getegid()) &&
           as_target_possible(target->uid, target->gid);
}

/* What a failed connect(2) means; fd is closed by the caller. */
static enum connect_state connect_refused(struct attach_connect *attempt, int error, int64_t now_ms)
{
    switch (error) {
    case EAGAIN: /* the backlog is full: others are being served */
    case ENOENT: /* removed since we looked */
        return retry_at(attempt, now_ms + CONNECT_RETRY_MS);
    case EACCES: /* its mode is 0600, which binds a root without CAP_DAC_OVERRIDE, too */
        if (attempt->as_owner || attempt->owner_only || !connect_may_become_owner(attempt->target))
            return fail_errno(attempt, "connecting to its attach socket", error);
        attempt->owner_only = true;
        return retry_at(attempt, now_ms);
    case ECONNREFUSED:
        if (attempt->target->attach_disabled) /* the socket is an earlier process's */
            return fail(attempt, FAILURE_ATTACH_DISABLED, NULL);
        return connect_process_alive(attempt) ? fail(attempt, FAILURE_STALE_SOCKET, NULL)
                                              : fail(attempt, FAILURE_GONE, NULL);
    default:
        return fail_errno(attempt, "connecting to its attach socket", error);
    }
}

static enum connect_state connect_directly(struct attach_connect *attempt, const char *name,
                                           int64_t now_ms)
{
    struct sockaddr_un address = socket_address(attempt->tmp_fd, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail_errno(attempt, "opening a socket", errno);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return opened(attempt, fd);
    int error = errno;
    close(fd);
    return connect_refused(attempt, error, now_ms);
}

/* The child's whole life. It takes the target's ids for good, so HotSpot sees its own at the other
 * end, and reaches the socket by a relative path: /proc may be closed to those ids. It keeps
 * nothing else of ours open: another JVM must not wait for this child to hang up. */
_Noreturn static void child_main(const struct target *target, int tmp_fd, const char *name,
                                 int answer_fd, int64_t timeout_ms)
{
    int error = 0, fd = -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    snprintf(address.sun_path, sizeof address.sun_path, "%.32s", name);
    if (fchdir(tmp_fd) != 0)
        error = errno;

    answer_fd = dup2(answer_fd, STDERR_FILENO + 1);
    syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0);
    if (error == 0 && (!as_target_for_good(target->uid, target->gid) ||
                       (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 ||
                       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0 ||
                       connect(fd, (struct sockaddr *)&address, sizeof address) != 0))
        error = errno;

    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec text = {&error, sizeof error};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
    if (error == 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    sendmsg(answer_fd, &message, MSG_NOSIGNAL);
    _exit(0);
}

static enum connect_state connect_by_child(struct attach_connect *attempt, const char *name,
                                           int64_t now_ms)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno(attempt, "opening a socket pair", errno);
    pid_t child = fork();
    if (child == 0)
        child_main(attempt->target, attempt->tmp_fd, name, ends[1], attempt->deadline_ms - now_ms);
    int error = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return fail_errno(attempt, "starting a child", error);
    }
    attempt->child = child;
    attempt->child_fd = ends[0];
    attempt->stage = CONNECT_AWAIT_CHILD;
    return CONNECT_BUSY;
}

static void reap_child(struct attach_connect *attempt)
{
    if (attempt->stage == CONNECT_AWAIT_HELPER) {
        close(attempt->child_fd);
        attempt->child_fd = -1;
        attempt->stage = CONNECT_LOOK;
    }
    if (attempt->child == 0)
        return;
    left_behind(attempt->child); /* it has answered, or is given up on */
    close(attempt->child_fd);
    attempt->child = 0;
    attempt->child_fd = -1;
    attempt->stage = CONNECT_LOOK;
}

static enum connect_state await_child(struct attach_connect *attempt, int64_t now_ms)
{
    int error = 0;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec text = {&error, sizeof error};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(attempt->child_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return CONNECT_BUSY;
    reap_child(attempt);
    if (got != sizeof error)
        return fail(attempt, FAILURE_SYSTEM, "the child that connects as its user died");
    if (error != 0)
        return connect_refused(attempt, error, now_ms);
    if (message.msg_controllen < CMSG_LEN(sizeof(int)) || control.header.cmsg_type != SCM_RIGHTS)
        return fail(attempt, FAILURE_SYSTEM, "the child that connects as its user sent no socket");

    int fd;
    memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return opened(attempt, fd);
}

/* --- by a helper that has the rights ------------------------------------------------------------ */

static enum connect_state ask_helper(struct attach_connect *attempt, int64_t now_ms)
{
    int64_t left_ms = attempt->deadline_ms - now_ms;
    if (left_ms > 2 * HELPER_SOONER_MS) /* its reason is better than ours: it has looked */
        left_ms -= HELPER_SOONER_MS;
    int fd = privileged_connect(attempt->target, attempt->as_owner, left_ms, attempt->request,
                                attempt->request_len);
    if (fd < 0 && errno == ETIMEDOUT)
        return fail(attempt, FAILURE_HELD, NULL);
    if (fd < 0)
        return fail_errno(attempt, "asking the worker", errno);
    attempt->child_fd = fd;
    attempt->stage = CONNECT_AWAIT_HELPER;
    return CONNECT_BUSY;
}

static enum connect_state await_helper(struct attach_connect *attempt, int64_t now_ms)
{
    struct privileged_connected answer;
    int fd;
    ssize_t got = privileged_receive(attempt->child_fd, &answer, sizeof answer, &fd, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return CONNECT_BUSY;
    reap_child(attempt);
    if (got == (ssize_t)sizeof answer && answer.failure.kind == FAILURE_NONE && fd >= 0) {
        attempt->sent_us = answer.sent_us;
        attempt->fd = fd;
        return CONNECT_OPEN;
    }
    if (fd >= 0)
        close(fd);
    if (got == 0) /* it has too many of them under way */
        return retry_at(attempt, now_ms + OTHERS_RETRY_MS);
    if (got != (ssize_t)sizeof answer)
        return fail(attempt, FAILURE_SYSTEM, "the worker's answer did not come whole");
    attempt->failure = answer.failure;
    connect_cancel(attempt);
    return CONNECT_FAILED;
}

/* --- the steps -------------------------------------------------------------------------------- */

static enum connect_state without_tmp(struct attach_connect *attempt, int error)
{
    if (!connect_process_alive(attempt))
        return fail(attempt, FAILURE_GONE, NULL);
    if (error == ENOENT || error == ENOTDIR)
        return fail(attempt, FAILURE_NO_TMP, strerror(error));
    return fail_errno(attempt, "opening its /tmp", error);
}

/* HotSpot takes root and its own user: who is neither, and may, becomes the latter. */
static bool as_owner(const struct attach_connect *attempt)
{
    return attempt->as_owner || attempt->owner_only ||
           ((geteuid() != 0 || !as_target_has(CAP_DAC_OVERRIDE)) &&
            connect_may_become_owner(attempt->target));
}

static enum connect_state look(struct attach_connect *attempt, int64_t now_ms)
{
    const struct target *target = attempt->target;
    char name[32];
    socket_name(target, name, sizeof name);
    if (attempt->tmp_fd < 0)
        attempt->tmp_fd = rooted_folder(target->root, "/tmp", O_PATH);
    if (attempt->tmp_fd < 0)
        return without_tmp(attempt, errno);

    struct stat status;
    if (fstatat(attempt->tmp_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        int error = errno;
        if (!connect_process_alive(attempt))
            return fail(attempt, FAILURE_GONE, NULL);
        if (error != ENOENT)
            return fail_errno(attempt, "looking for its attach socket", error);
        return attempt->signalled ? retry_at(attempt, now_ms + SOCKET_RETRY_MS)
                                  : trigger(attempt, now_ms);
    }
    if (!S_ISSOCK(status.st_mode) || !trusted_owner(attempt, status.st_uid)) {
        char detail[96];
        snprintf(detail, sizeof detail, "/tmp/%s is not a socket of its user; not touched", name);
        return fail(attempt, FAILURE_SYSTEM, detail);
    }
    if (!connect_process_alive(attempt))
        return fail(attempt, FAILURE_GONE, NULL);
    return as_owner(attempt) ? connect_by_child(attempt, name, now_ms)
                             : connect_directly(attempt, name, now_ms);
}

/* By its modes. A JVM with capabilities may write all the same, so it is only believed afterwards. */
static bool closed_to_target(const struct attach_connect *attempt)
{
    struct stat tmp;
    if (fstat(attempt->tmp_fd, &tmp) != 0)
        return false;
    mode_t needed = tmp.st_uid == attempt->target->uid   ? S_IWUSR
                    : tmp.st_gid == attempt->target->gid ? S_IWGRP
                                                         : S_IWOTH;
    return (tmp.st_mode & needed) == 0;
}

static enum connect_state timed_out(struct attach_connect *attempt)
{
    if (!connect_process_alive(attempt))
        return fail(attempt, FAILURE_GONE, NULL);
    if (target_state_now(attempt->target).stopped)
        return fail(attempt, FAILURE_NO_ANSWER, TARGET_STOPPED);
    if (attempt->signalled && closed_to_target(attempt))
        return fail(attempt, FAILURE_NO_TMP, "its user may not write there");
    return fail(attempt, FAILURE_NO_ANSWER,
                attempt->signalled ? "it was signalled and opened no attach socket in time"
                                   : "its attach socket takes no more connections");
}

void connect_request(struct attach_connect *attempt, const char *request, size_t length)
{
    attempt->request = request;
    attempt->request_len = length;
}

void connect_begin(struct attach_connect *attempt, bool as_owner, int64_t deadline_ms)
{
    connect_cancel(attempt);
    attempt->as_owner = as_owner;
    attempt->signalled = false;
    attempt->sent_us = 0;
    attempt->deadline_ms = deadline_ms;
    attempt->retry_ms = 0;
    attempt->failure.kind = FAILURE_NONE;
}

enum connect_state connect_step(struct attach_connect *attempt, int64_t now_ms)
{
    if (now_ms >= attempt->deadline_ms)
        return timed_out(attempt);
    if (attempt->stage == CONNECT_AWAIT_CHILD)
        return await_child(attempt, now_ms);
    if (attempt->stage == CONNECT_AWAIT_HELPER)
        return await_helper(attempt, now_ms);
    if (now_ms < attempt->retry_ms)
        return CONNECT_BUSY;
    return privileged_apart() ? ask_helper(attempt, now_ms) : look(attempt, now_ms);
}

int connect_fd(const struct attach_connect *attempt)
{
    return attempt->child_fd;
}

void connect_cancel(struct attach_connect *attempt)
{
    reap_child(attempt);
    end_trigger(attempt);
    close_tmp(attempt);
    attempt->stage = CONNECT_LOOK;
}

void connect_destroy(struct attach_connect *attempt)
{
    connect_cancel(attempt);
    if (attempt->process_fd >= 0)
        close(attempt->process_fd);
    attempt->process_fd = -1;
}
