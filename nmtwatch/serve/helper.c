#include "nmtwatch/serve/helper.h"

#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/observe/observe.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN_REQUESTS 64
#define RATE_PER_S    20000 /* glances at 10 000 processes, twice a second; the rest waits */
#define SECRET_MAX    (1 << 20)

struct helper {
    int socket_fd;
    serve_configure_fn *configure;
    void *context;
    struct serve_options *options;
    int64_t second; /* of the monotonic clock, and what was asked in it */
    int requests;
    struct privileged_request request;
    struct privileged_answer answer;
};

/* --- workers ---------------------------------------------------------------------------------- */

/* Only what a section of the configuration requests is observed. */
static bool configuration_asks(const void *context, enum observe_mode mode)
{
    const struct serve_options *options = context;
    if (mode == OBSERVE_METHODS && options->watch.methods_interval_ms > 0)
        return true; /* each watch does */
    for (int i = 0; i < options->section_count; i++)
        if (strcmp(options->sections[i].what, observe_mode_name(mode)) == 0)
            return true;
    return false;
}

static int start_worker(struct helper *helper)
{
    const struct worker_rules rules = {.observes = configuration_asks, .context = helper->options};
    if (helper->request.pid >= 0)
        return worker_start_with((uid_t)helper->request.owner, &helper->answer.worker, &rules);
    worker_start_with((uid_t)helper->request.owner, NULL, &rules);
    return -2;
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* By the whole name that the configuration has. */
static int open_secret(const struct serve_options *options, const char *path)
{
    const char *named[3 + 2 * RECEIVERS_MAX] = {options->user_file, options->tls_cert,
                                                options->tls_key};
    int count = 3;
    for (int i = 0; i < options->receiver_count; i++) {
        named[count++] = options->receivers[i].user_file;
        named[count++] = options->receivers[i].token_file;
    }
    for (int i = 0; i < count; i++)
        if (path[0] != '\0' && strcmp(named[i], path) == 0)
            return rooted_reopen(open(path, O_PATH | O_CLOEXEC), SECRET_MAX, NULL);
    errno = EACCES;
    return -1;
}

static int open_config(struct helper *helper)
{
    struct serve_options *fresh = malloc(sizeof *fresh);
    int fd = -1;
    errno = ENOMEM;
    if (fresh != NULL && helper->configure(helper->context, fresh, helper->answer.sentence,
                                           sizeof helper->answer.sentence)) {
        fd = memfd_create("configuration", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd >= 0 && (write(fd, fresh, sizeof *fresh) != (ssize_t)sizeof *fresh ||
                        fcntl(fd, F_ADD_SEALS,
                              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
            close(fd);
            fd = -1;
        }
        if (fd >= 0) {
            *helper->options = *fresh;
            workers_end(); /* they have the configuration that was */
        } else
            snprintf(helper->answer.sentence, sizeof helper->answer.sentence, "%s",
                     strerror(errno));
    } else {
        errno = EINVAL;
    }
    free(fresh);
    return fd;
}

/* -1 with errno, a descriptor, or -2: done without one. */
static int serve_request(struct helper *helper, const char *text)
{
    switch (helper->request.kind) {
    case PRIVILEGED_WORKER:
        return start_worker(helper);
    case PRIVILEGED_EXE:
        errno = EINVAL;
        return helper->request.pid > 0 && proc_program(helper->request.pid, &helper->answer.program)
                   ? -2
                   : -1;
    case PRIVILEGED_CONFIG:
        return open_config(helper);
    case PRIVILEGED_SECRET:
        return open_secret(helper->options, text);
    case PRIVILEGED_NOTIFY:
        errno = EINVAL;
        return service_pass_on(text) ? -2 : -1;
    default:
        errno = EINVAL;
        return -1;
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Whether one more may be served in this second. */
static bool within_rate(struct helper *helper)
{
    int64_t second = clock_ms(CLOCK_MONOTONIC) / 1000;
    if (second != helper->second)
        helper->requests = 0;
    helper->second = second;
    return helper->requests++ < RATE_PER_S;
}

/* False when the other end has gone. */
static bool one_request(struct helper *helper, bool *nothing)
{
    struct privileged_request *request = &helper->request;
    char text[PRIVILEGED_TEXT_MAX + 1];
    const ssize_t head = offsetof(struct privileged_request, text);
    int fd, answer_fd = -1;
    memset(request, 0, (size_t)head);
    ssize_t got =
        privileged_receive(helper->socket_fd, request, sizeof *request, &fd, MSG_DONTWAIT);
    *nothing = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (*nothing)
        return true;
    if (got <= 0)
        return false;
    memset(&helper->answer, 0, sizeof helper->answer);
    errno = EINVAL;
    if (got >= head && request->length == (size_t)(got - head) && fd < 0) {
        memcpy(text, request->text, request->length);
        text[request->length] = '\0';
        answer_fd = serve_request(helper, text);
    }
    helper->answer.error = answer_fd == -1 ? (errno != 0 ? errno : EIO) : 0;
    if (fd >= 0)
        close(fd);
    /* Without waiting: a client that does not read gets no answers. */
    bool good = privileged_send(helper->socket_fd, &helper->answer, sizeof helper->answer,
                                answer_fd, MSG_DONTWAIT);
    if (answer_fd >= 0)
        close(answer_fd);
    return good;
}

bool helper_step(struct helper *helper, int64_t wait_ms)
{
    bool nothing = false;
    bool late =
        helper->requests >= RATE_PER_S && helper->second == clock_ms(CLOCK_MONOTONIC) / 1000;
    struct pollfd asked = {.fd = late ? -1 : helper->socket_fd, .events = POLLIN};
    if (poll(&asked, 1, (int)(late && wait_ms > 20 ? 20 : wait_ms)) < 0 && errno != EINTR)
        return false;
    for (int i = 0; !late && i < TURN_REQUESTS && !nothing && within_rate(helper); i++)
        if (!one_request(helper, &nothing))
            return false;
    return true;
}

struct helper *helper_create(int socket_fd, serve_configure_fn *configure, void *context,
                             struct serve_options *options)
{
    struct helper *helper = calloc(1, sizeof *helper);
    if (helper != NULL) {
        helper->socket_fd = socket_fd;
        helper->configure = configure;
        helper->context = context;
        helper->options = options;
    }
    return helper;
}

void helper_destroy(struct helper *helper)
{
    workers_end();
    free(helper);
}

/* --- two processes ---------------------------------------------------------------------------- */

static volatile sig_atomic_t service_pid;

/* The service knows what to do; systemd, the init script and people know this process. */
static void pass_on(int number)
{
    int saved = errno;
    if (service_pid > 0)
        kill((pid_t)service_pid, number);
    errno = saved;
}

static bool configure_by_helper(void *context, struct serve_options *options, char *error,
                                size_t error_size)
{
    (void)context;
    return privileged_config(options, sizeof *options, error, error_size);
}

_Noreturn static void be_service(const struct service_user *user,
                                 const struct serve_options *options, int fd, int64_t for_ms,
                                 helper_service_fn *service)
{
    char error[256], pid[16];
    pid_t parent = getppid();
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (getenv("WATCHDOG_PID") != NULL)
        setenv("WATCHDOG_PID", pid, 1);
    privileged_helper(fd);
    if (!confine(user, options->notify[0] != '\0', error, sizeof error)) {
        print_error("nmtwatch serve: %s\n", error);
        _exit(EXIT_IO);
    }
    /* After the change of user, which clears it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
        _exit(EXIT_IO);
    if (target_proc_hides_others()) {
        print_error("nmtwatch serve: /proc is mounted with hidepid: 'user' in [serve] has to be "
                    "empty, or a member of its gid=\n");
        _exit(EXIT_IO);
    }
    int code = service(configure_by_helper, NULL, for_ms);
    fflush(NULL);
    _exit(code);
}

static int outcome(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_IO;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    print_error("nmtwatch serve: the service was ended by signal %d\n", WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int helper_run(serve_configure_fn *configure, void *context, struct serve_options *options,
               int64_t for_ms, helper_service_fn *service)
{
    struct service_user user;
    char error[256];
    int ends[2];
    struct sigaction passing = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    if (!service_user_find(&user, options->user, error, sizeof error))
        return print_failure(EXIT_USAGE, "nmtwatch serve: %s\n", error);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return print_failure(EXIT_IO, "nmtwatch serve: %s\n", strerror(errno));
    struct helper *helper = helper_create(ends[0], configure, context, options);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    fflush(NULL);
    pid_t child = helper != NULL ? fork() : -1;
    if (child == 0) {
        close(ends[0]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        be_service(&user, options, ends[1], for_ms, service);
    }
    close(ends[1]);
    if (child < 0) {
        print_error("nmtwatch serve: %s\n", strerror(errno));
        helper_destroy(helper);
        return EXIT_IO;
    }
    service_pid = child;
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGHUP, &passing, NULL);
    sigaction(SIGTERM, &passing, NULL);
    sigaction(SIGINT, &passing, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (helper_step(helper, 10000)) {
    }
    helper_destroy(helper);
    close(ends[0]);
    return outcome(child);
}
