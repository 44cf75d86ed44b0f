#include "nmtwatch/jvm/privileged.h"

#include "nmtwatch/process/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX 4 /* more than any caller sends: what is too much is closed */

static int helper_fd = -1;

void privileged_begin(int fd)
{
    helper_fd = fd;
}

bool privileged_apart(void)
{
    return helper_fd >= 0;
}

/* --- messages --------------------------------------------------------------------------------- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

bool privileged_send(int socket_fd, const void *bytes, size_t length, int fd, int flags)
{
    union control control = {0};
    struct iovec text = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
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
    return sent == (ssize_t)length;
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

ssize_t privileged_receive(int socket_fd, void *bytes, size_t size, int *fd, int flags)
{
    union control control = {0};
    struct iovec text = {bytes, size};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do {
        got = recvmsg(socket_fd, &message, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR && (flags & MSG_DONTWAIT) == 0);
    *fd = got >= 0 ? take_first(&message) : -1;
    return got;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* It was killed, and so is this process in a moment (PR_SET_PDEATHSIG); who killed it knows. */
_Noreturn static void helper_gone(void)
{
    _exit(EXIT_IO);
}

static bool send_request(const struct privileged_request *request, int fd)
{
    return privileged_send(helper_fd, request,
                           offsetof(struct privileged_request, text) + request->length, fd, 0);
}

/* False with errno. */
static bool ask(const struct privileged_request *request, struct privileged_answer *answer, int *fd)
{
    int none;
    if (fd == NULL)
        fd = &none;
    *fd = -1;
    if (!send_request(request, -1) ||
        privileged_receive(helper_fd, answer, sizeof *answer, fd, 0) != (ssize_t)sizeof *answer)
        helper_gone();
    if (fd == &none && none >= 0)
        close(none);
    errno = answer->error;
    return answer->error == 0;
}

static bool put_text(struct privileged_request *request, const char *text, size_t length)
{
    if (length > sizeof request->text) {
        errno = E2BIG;
        return false;
    }
    memcpy(request->text, text, length);
    request->length = (uint32_t)length;
    return true;
}

enum failure_kind privileged_look(struct target *target, pid_t pid, struct failure *failure)
{
    struct privileged_request request = {.kind = PRIVILEGED_LOOK, .pid = pid};
    struct privileged_answer answer;
    ask(&request, &answer, NULL);
    *target = answer.target;
    *failure = answer.failure;
    return failure->kind;
}

void privileged_filter(const struct target *target, struct syscall_filter *filter)
{
    struct privileged_request request = {.kind = PRIVILEGED_FILTER,
                                         .pid = target->pid,
                                         .start_time_ticks = target->start_time_ticks};
    struct privileged_answer answer;
    if (ask(&request, &answer, NULL))
        *filter = answer.filter;
    else
        syscall_filter_unknown(filter, strerror(errno));
}

bool privileged_exe(pid_t pid, uint64_t *device, uint64_t *inode)
{
    struct privileged_request request = {.kind = PRIVILEGED_EXE, .pid = pid};
    struct privileged_answer answer;
    bool good = ask(&request, &answer, NULL);
    *device = answer.device;
    *inode = answer.inode;
    return good;
}

static bool do_or_open(enum privileged_kind kind, pid_t pid, uint64_t start_time_ticks,
                       const char *text, int *fd)
{
    struct privileged_request request = {
        .kind = kind, .pid = pid, .start_time_ticks = start_time_ticks};
    struct privileged_answer answer;
    return put_text(&request, text, strlen(text)) && ask(&request, &answer, fd);
}

int privileged_open(enum privileged_kind kind, pid_t pid, uint64_t start_time_ticks,
                    const char *text)
{
    int fd = -1;
    if (!do_or_open(kind, pid, start_time_ticks, text, &fd)) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (fd < 0)
        errno = EIO;
    return fd;
}

bool privileged_do(enum privileged_kind kind, pid_t pid, uint64_t start_time_ticks,
                   const char *text)
{
    return do_or_open(kind, pid, start_time_ticks, text, NULL);
}

/* Our end of the socket that goes with the request, or -1 with errno. */
static int send_with_socket(struct privileged_request *request, const void *bytes, size_t length)
{
    int ends[2];
    if (!put_text(request, bytes, length) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    bool sent = send_request(request, ends[1]);
    close(ends[1]);
    if (!sent)
        helper_gone();
    return ends[0];
}

int privileged_connect(const struct target *target, bool as_owner, int64_t milliseconds,
                       const char *request_bytes, size_t length)
{
    struct privileged_request request = {.kind = PRIVILEGED_CONNECT,
                                         .pid = target->pid,
                                         .start_time_ticks = target->start_time_ticks,
                                         .milliseconds = (int32_t)milliseconds,
                                         .as_owner = as_owner};
    return send_with_socket(&request, request_bytes, length);
}

int privileged_observe(const struct target *target, const void *request_bytes, size_t size)
{
    struct privileged_request request = {.kind = PRIVILEGED_OBSERVE,
                                         .pid = target->pid,
                                         .start_time_ticks = target->start_time_ticks};
    return send_with_socket(&request, request_bytes, size);
}

bool privileged_config(void *options, size_t size, char *error, size_t error_size)
{
    struct privileged_request request = {.kind = PRIVILEGED_CONFIG};
    struct privileged_answer answer;
    int fd = -1;
    bool good =
        ask(&request, &answer, &fd) && fd >= 0 && pread(fd, options, size, 0) == (ssize_t)size;
    if (fd >= 0)
        close(fd);
    if (!good)
        snprintf(error, error_size, "%s",
                 answer.error != 0 ? answer.sentence : "the configuration did not come whole");
    return good;
}

FILE *privileged_fopen(const char *path)
{
    if (!privileged_apart())
        return fopen(path, "re");
    int fd = privileged_open(PRIVILEGED_SECRET, 0, 0, path);
    return fd >= 0 ? fdopen(fd, "re") : NULL;
}
