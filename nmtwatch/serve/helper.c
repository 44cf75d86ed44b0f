#include "nmtwatch/serve/helper.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/attach_connect.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/watch/load_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KNOWN_MAX      10000 /* JVMs: as many as max_targets may say */
#define CONNECTS_MAX   256   /* attaching at once, each with a guard where there is no socket yet */
#define CONNECTS_USER  64    /* ... to JVMs of one user */
#define GUARDS_MAX     128   /* class-load logs at once */
#define OBSERVERS_MAX  8     /* observations at once, each a process */
#define CONNECT_MAX_MS 60000
#define TURN_REQUESTS  64    /* then those who attach have their turn */
#define RATE_PER_S     20000 /* 1000 JVMs ask 3000 a second at most; the rest waits */
#define SECRET_MAX     (1 << 20)

struct connecting {
    int answer_fd; /* -1: free */
    struct target target;
    struct attach_connect attempt;
    size_t length;
    char request[PRIVILEGED_TEXT_MAX];
};

struct helper {
    int socket_fd;
    serve_configure_fn *configure;
    void *context;
    struct serve_options *options;
    int known_count;
    pid_t known_pid[KNOWN_MAX];
    struct target *known[KNOWN_MAX];
    struct connecting *connecting[CONNECTS_MAX];
    pid_t guard[GUARDS_MAX], observer[OBSERVERS_MAX];
    int64_t second; /* of the monotonic clock, and what was asked in it */
    int requests;
    struct privileged_request request;
    struct privileged_answer answer;
};

/* --- JVMs by our own look --------------------------------------------------------------------- */

static int find(const struct helper *helper, pid_t pid)
{
    for (int i = 0; i < helper->known_count; i++)
        if (helper->known_pid[i] == pid)
            return i;
    return -1;
}

static void forget(struct helper *helper, int at)
{
    free(helper->known[at]);
    helper->known_count--;
    helper->known[at] = helper->known[helper->known_count];
    helper->known_pid[at] = helper->known_pid[helper->known_count];
}

static void forget_ended(struct helper *helper)
{
    for (int i = helper->known_count; i-- > 0;)
        if (!target_still_same(helper->known[i]))
            forget(helper, i);
}

static bool remember(struct helper *helper, const struct target *target)
{
    int at = find(helper, target->pid);
    if (at < 0 && helper->known_count == KNOWN_MAX)
        forget_ended(helper);
    if (at < 0 && helper->known_count < KNOWN_MAX) {
        at = helper->known_count;
        helper->known[at] = malloc(sizeof *target);
        if (helper->known[at] == NULL)
            return false;
        helper->known_pid[at] = target->pid;
        helper->known_count++;
    }
    if (at >= 0)
        *helper->known[at] = *target;
    return at >= 0;
}

/* NULL with errno. */
static const struct target *known_jvm(struct helper *helper, pid_t pid, uint64_t start_time_ticks,
                                      bool any_start)
{
    int at = find(helper, pid);
    errno = ESRCH;
    if (at < 0)
        return NULL;
    if (!target_still_same(helper->known[at])) {
        forget(helper, at);
        errno = ESRCH;
        return NULL;
    }
    return any_start || helper->known[at]->start_time_ticks == start_time_ticks ? helper->known[at]
                                                                                : NULL;
}

/* --- what is asked ---------------------------------------------------------------------------- */

static int look(struct helper *helper)
{
    struct privileged_answer *answer = &helper->answer;
    if (helper->request.pid <= 1) {
        failure_set(&answer->failure, FAILURE_NOT_A_JVM, "pid", NULL);
        return EINVAL;
    }
    if (target_open(&answer->target, helper->request.pid, &answer->failure) != FAILURE_NONE)
        return ESRCH;
    if (answer->target.libjvm_mapped && !remember(helper, &answer->target)) {
        failure_set(&answer->failure, FAILURE_SYSTEM, "root helper", strerror(ENOMEM));
        return ENOMEM;
    }
    return 0;
}

static int exe(struct helper *helper)
{
    char path[32];
    struct stat status;
    if (helper->request.pid <= 0)
        return EINVAL;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)helper->request.pid);
    if (stat(path, &status) != 0)
        return errno;
    helper->answer.device = status.st_dev;
    helper->answer.inode = status.st_ino;
    return 0;
}

static int open_environ(const struct target *target)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)target->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || target_still_same(target))
        return fd;
    close(fd);
    errno = ESRCH;
    return -1;
}

static int begin_load_log(struct helper *helper, const struct target *target, const char *file)
{
    for (int i = 0; i < GUARDS_MAX; i++)
        if (helper->guard[i] == 0)
            return load_log_guard(target, file, &helper->guard[i]);
    errno = EAGAIN;
    return -1;
}

static void reap(pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        if (pids[i] > 0 && waitpid(pids[i], NULL, WNOHANG) != 0)
            pids[i] = 0;
}

static void reap_children(struct helper *helper)
{
    reap(helper->guard, GUARDS_MAX);
    reap(helper->observer, OBSERVERS_MAX);
}

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
        if (fd >= 0)
            *helper->options = *fresh;
        else
            snprintf(helper->answer.sentence, sizeof helper->answer.sentence, "%s",
                     strerror(errno));
    } else {
        errno = EINVAL;
    }
    free(fresh);
    return fd;
}

/* -1 with errno, a descriptor, or -2: done without one. */
static int about_jvm(struct helper *helper, const char *text)
{
    const struct privileged_request *request = &helper->request;
    const struct target *target = known_jvm(helper, request->pid, request->start_time_ticks,
                                            request->kind == PRIVILEGED_ENVIRON);
    struct stat status;
    if (target == NULL)
        return -1;
    switch (request->kind) {
    case PRIVILEGED_ENVIRON:
        return open_environ(target);
    case PRIVILEGED_FILTER:
        helper->answer.filter = *syscall_filter_of(target);
        return -2;
    case PRIVILEGED_PERFDATA:
        if (target->perfdata[0] != '\0')
            return perfdata_file(target, &status);
        errno = ENOENT;
        return -1;
    case PRIVILEGED_FIGURES:
        return agent_figures_file(target);
    case PRIVILEGED_LOAD_LOG_BEGIN:
        return begin_load_log(helper, target, text);
    case PRIVILEGED_LOAD_LOG_OPEN:
        return load_log_open(target, text);
    case PRIVILEGED_LOAD_LOG_REMOVE:
        errno = EINVAL;
        if (!load_log_name_is_for(target, text))
            return -1;
        load_log_remove_leftover(target, text);
        return -2;
    default: /* TIDY */
        agent_leftovers_remove(target);
        return -2;
    }
}

static int serve_request(struct helper *helper, const char *text)
{
    struct privileged_answer *answer = &helper->answer;
    int fd = -2;
    switch (helper->request.kind) {
    case PRIVILEGED_LOOK:
        answer->error = look(helper);
        return -1;
    case PRIVILEGED_EXE:
        answer->error = exe(helper);
        return -1;
    case PRIVILEGED_CONFIG:
        fd = open_config(helper);
        break;
    case PRIVILEGED_SECRET:
        fd = open_secret(helper->options, text);
        break;
    case PRIVILEGED_NOTIFY:
        errno = EINVAL;
        fd = service_pass_on(text) ? -2 : -1;
        break;
    case PRIVILEGED_TIDY:
        if (helper->request.pid == 0)
            agent_leftovers_remove_here();
        else
            fd = about_jvm(helper, text);
        break;
    default:
        if (helper->request.kind < PRIVILEGED_KINDS)
            fd = about_jvm(helper, text);
        else
            errno = EINVAL, fd = -1;
    }
    answer->error = fd == -1 ? (errno != 0 ? errno : EIO) : 0;
    return fd < 0 ? -1 : fd;
}

/* --- observing -------------------------------------------------------------------------------- */

/* Only what a section of the configuration requests is observed. */
static bool configuration_asks(const struct serve_options *options, enum observe_mode mode)
{
    if (mode == OBSERVE_METHODS && options->watch.methods_interval_ms > 0)
        return true; /* each watch does */
    for (int i = 0; i < options->section_count; i++)
        if (strcmp(options->sections[i].what, observe_mode_name(mode)) == 0)
            return true;
    return false;
}

static const char *begin_observing(struct helper *helper, const void *bytes, int answer_fd)
{
    const struct privileged_request *asked = &helper->request;
    const struct target *target = known_jvm(helper, asked->pid, asked->start_time_ticks, false);
    struct observe_request request;
    if (!observe_request_valid(bytes, asked->length))
        return "this is no observation that serve asks for";
    memcpy(&request, bytes, sizeof request);
    if (!configuration_asks(helper->options, request.options.mode))
        return "no [observe NAME] of the configuration asks for this";
    if (target == NULL)
        return "the process has gone";
    reap_children(helper);
    for (int i = 0; i < OBSERVERS_MAX; i++) {
        if (helper->observer[i] != 0)
            continue;
        pid_t pid = observe_child_fork(target, &request, answer_fd);
        helper->observer[i] = pid > 0 ? pid : 0;
        return pid > 0 ? NULL : strerror(errno);
    }
    return "others are under way";
}

static void observe(struct helper *helper, int answer_fd)
{
    const char *why = begin_observing(helper, helper->request.text, answer_fd);
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
    struct failure failure;
    failure_set(&failure, kind, "root helper", detail);
    privileged_send(answer_fd, &failure, sizeof failure, -1, MSG_DONTWAIT);
    close(answer_fd);
}

static void begin_connect(struct helper *helper, int answer_fd)
{
    const struct privileged_request *request = &helper->request;
    const struct target *target = known_jvm(helper, request->pid, request->start_time_ticks, false);
    struct connecting **place = NULL;
    if (target == NULL) {
        refuse_connect(answer_fd, FAILURE_GONE, NULL);
        return;
    }
    if (!permitted_request(target, request->text, request->length) || request->milliseconds < 0 ||
        (request->as_owner && target->uid == 0)) {
        refuse_connect(answer_fd, FAILURE_SYSTEM, "this question is not one that serve asks");
        return;
    }
    int of_user = 0;
    for (int i = 0; i < CONNECTS_MAX; i++)
        if (helper->connecting[i] == NULL)
            place = &helper->connecting[i];
        else
            of_user += helper->connecting[i]->target.uid == target->uid;
    struct connecting *connecting =
        place != NULL && of_user < CONNECTS_USER ? malloc(sizeof *connecting) : NULL;
    if (connecting == NULL) {
        close(answer_fd); /* ask again */
        return;
    }
    connecting->answer_fd = answer_fd;
    connecting->target = *target;
    connecting->length = request->length;
    memcpy(connecting->request, request->text, request->length);
    int64_t ms = request->milliseconds < CONNECT_MAX_MS ? request->milliseconds : CONNECT_MAX_MS;
    connect_init(&connecting->attempt, &connecting->target);
    connect_begin(&connecting->attempt, request->as_owner, clock_ms(CLOCK_MONOTONIC) + ms);
    *place = connecting;
}

static void end_connect(struct helper *helper, int at)
{
    struct connecting *connecting = helper->connecting[at];
    connect_destroy(&connecting->attempt);
    close(connecting->answer_fd);
    free(connecting);
    helper->connecting[at] = NULL;
}

/* The question goes out whole, from here; what is handed over can only be read. */
static void hand_over(struct connecting *connecting)
{
    struct failure none = {.kind = FAILURE_NONE};
    int fd = connecting->attempt.fd;
    ssize_t sent = send(fd, connecting->request, connecting->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 && sent != (ssize_t)connecting->length)
        failure_set(&none, FAILURE_SYSTEM, "root helper", "the JVM's socket takes no question");
    shutdown(fd, SHUT_WR);
    /* One that hung up is given by its end of file. */
    privileged_send(connecting->answer_fd, &none, sizeof none, none.kind == FAILURE_NONE ? fd : -1,
                    MSG_DONTWAIT);
    close(fd);
}

static void step_connects(struct helper *helper)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    for (int i = 0; i < CONNECTS_MAX; i++) {
        struct connecting *connecting = helper->connecting[i];
        if (connecting == NULL)
            continue;
        struct pollfd asking = {.fd = connecting->answer_fd, .events = POLLIN};
        if (poll(&asking, 1, 0) > 0) { /* it says nothing more: it has given up */
            end_connect(helper, i);
            continue;
        }
        switch (connect_step(&connecting->attempt, now_ms)) {
        case CONNECT_BUSY:
            continue;
        case CONNECT_OPEN:
            hand_over(connecting);
            break;
        case CONNECT_FAILED:
            privileged_send(connecting->answer_fd, &connecting->attempt.failure,
                            sizeof connecting->attempt.failure, -1, MSG_DONTWAIT);
            break;
        }
        end_connect(helper, i);
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
    int fd;
    memset(request, 0, (size_t)head);
    ssize_t got =
        privileged_receive(helper->socket_fd, request, sizeof *request, &fd, MSG_DONTWAIT);
    *nothing = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (*nothing)
        return true;
    if (got <= 0)
        return false;
    bool well_formed = got >= head && request->length == (size_t)(got - head);
    if (well_formed && request->kind == PRIVILEGED_CONNECT && fd >= 0) {
        begin_connect(helper, fd);
        return true;
    }
    if (well_formed && request->kind == PRIVILEGED_OBSERVE && fd >= 0) {
        observe(helper, fd);
        return true;
    }
    memset(&helper->answer, 0, sizeof helper->answer);
    helper->answer.error = EINVAL;
    int answer_fd = -1;
    if (well_formed && fd < 0 && request->kind != PRIVILEGED_CONNECT &&
        request->kind != PRIVILEGED_OBSERVE) {
        memcpy(text, request->text, request->length);
        text[request->length] = '\0';
        answer_fd = serve_request(helper, text);
    }
    if (fd >= 0)
        close(fd);
    /* Without waiting: a client that does not read gets no answers. */
    bool good = privileged_send(helper->socket_fd, &helper->answer, sizeof helper->answer,
                                answer_fd, MSG_DONTWAIT);
    if (answer_fd >= 0)
        close(answer_fd);
    return good;
}

static int64_t soonest_ms(const struct helper *helper, int64_t wait_ms, struct pollfd *fds,
                          nfds_t *count)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    for (int i = 0; i < CONNECTS_MAX; i++) {
        const struct connecting *connecting = helper->connecting[i];
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

bool helper_step(struct helper *helper, int64_t wait_ms)
{
    struct pollfd fds[1 + 2 * CONNECTS_MAX];
    nfds_t count = 1;
    bool nothing = false;
    bool late =
        helper->requests >= RATE_PER_S && helper->second == clock_ms(CLOCK_MONOTONIC) / 1000;
    fds[0] = (struct pollfd){.fd = late ? -1 : helper->socket_fd, .events = POLLIN};
    wait_ms = soonest_ms(helper, late && wait_ms > 20 ? 20 : wait_ms, fds, &count);
    if (poll(fds, count, (int)wait_ms) < 0 && errno != EINTR)
        return false;
    reap_children(helper);
    for (int i = 0; !late && i < TURN_REQUESTS && !nothing && within_rate(helper); i++)
        if (!one_request(helper, &nothing))
            return false;
    step_connects(helper);
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

/* Guards go on by themselves: the service's end of their pipe ends them. */
void helper_destroy(struct helper *helper)
{
    if (helper == NULL)
        return;
    for (int i = 0; i < CONNECTS_MAX; i++)
        if (helper->connecting[i] != NULL)
            end_connect(helper, i);
    while (helper->known_count > 0)
        forget(helper, helper->known_count - 1);
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
    privileged_begin(fd);
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

/* --- permitted ------------------------------------------------------------------------------- */

#define PIECES 6

static const char *const commands[] = {
    "VM.version",         "VM.native_memory summary scale=KB", "VM.native_memory summary scale=B",
    "VM.metaspace basic", "VM.metaspace basic scale=1",        "VM.log list",
#define EXPENSIVE_COMMAND(id, text, ...) text,
#include "nmtwatch/watch/expensive_commands.def"
#undef EXPENSIVE_COMMAND
};

static bool is_on_list(const char *command, size_t length)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strlen(commands[i]) == length && memcmp(commands[i], command, length) == 0)
            return true;
    return false;
}

/* On or off, of a file in the JVM's /tmp that is called as a watch calls it. */
static bool is_load_log(const struct target *target, const char *command, size_t length)
{
    static const char BEGINNING[] = "VM.log output=file=";
    struct load_log load_log;
    char wanted[2][256];
    size_t at = sizeof BEGINNING - 1, name = 0;
    if (length <= at || memcmp(command, BEGINNING, at) != 0)
        return false;
    while (at + name < length && command[at + name] != ' ')
        name++;
    if (name >= sizeof load_log.file)
        return false;
    memcpy(load_log.file, command + at, name);
    load_log.file[name] = '\0';
    if (!load_log_name_is_for(target, load_log.file))
        return false;
    load_log_on_command(&load_log, wanted[0], sizeof wanted[0]);
    load_log_off_command(&load_log, wanted[1], sizeof wanted[1]);
    for (int i = 0; i < 2; i++)
        if (strlen(wanted[i]) == length && memcmp(wanted[i], command, length) == 0)
            return true;
    return false;
}

/* One command a line. */
static bool all_permitted(const struct target *target, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "\n");
        if (!is_on_list(text, length) && !is_load_log(target, text, length))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* "1" operation arg arg arg, or "2" length operation arg arg arg; each ends with a NUL. */
bool permitted_request(const struct target *target, const char *request, size_t length)
{
    const char *piece[PIECES];
    int count = 0;
    if (length == 0 || request[length - 1] != '\0')
        return false;
    for (const char *at = request; at < request + length; at += strlen(at) + 1) {
        if (count == PIECES)
            return false;
        piece[count++] = at;
    }
    bool v2 = strcmp(piece[0], "2") == 0;
    if (count != (v2 ? PIECES : PIECES - 1) || (!v2 && strcmp(piece[0], "1") != 0))
        return false;
    const char **rest = piece + (v2 ? 2 : 1);
    char given[24];
    snprintf(given, sizeof given, "%zu", (size_t)(request + length - rest[0]));
    if ((v2 && strcmp(piece[1], given) != 0) || rest[2][0] != '\0' || rest[3][0] != '\0')
        return false;
    if (!v2 && strcmp(rest[0], "getversion") == 0)
        return strcmp(rest[1], "options") == 0;
    return strcmp(rest[0], v2 ? "jcmd streaming=0" : "jcmd") == 0 && all_permitted(target, rest[1]);
}
