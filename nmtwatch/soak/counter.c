#include "nmtwatch/soak/soak_run.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX 4096

struct counter {
    char *command;
    int64_t interval_ms, next_ms;
    pid_t pid; /* 0: not running */
    int fd;    /* its standard output; -1: at its end */
    int64_t since_ms;
    bool killed;
    size_t length;
    char output[OUTPUT_MAX];
    struct counter_counts counts;
};

struct counter *counter_create(const char *command, int64_t interval_ms)
{
    struct counter *counter = calloc(1, sizeof *counter);
    if (counter == NULL)
        return NULL;
    counter->fd = -1;
    counter->interval_ms = interval_ms;
    counter->command = strdup(command);
    if (counter->command == NULL) {
        free(counter);
        return NULL;
    }
    return counter;
}

__attribute__((format(printf, 2, 3))) static void failed(struct counter *counter, const char *what,
                                                         ...)
{
    va_list arguments;
    counter->counts.failed++;
    va_start(arguments, what);
    vsnprintf(counter->counts.last_failure, sizeof counter->counts.last_failure, what, arguments);
    va_end(arguments);
}

_Noreturn static void run_command(const struct counter *counter, pid_t jvm, int output)
{
    static const int restored[] = {SIGPIPE, SIGXFSZ, SIGINT,  SIGTERM,
                                   SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2};
    char text[24];
    setpgid(0, 0);
    snprintf(text, sizeof text, "%d", (int)jvm);
    setenv("NMTWATCH_PID", text, 1);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    close_range(3, ~0U, 0);
    for (size_t i = 0; i < sizeof restored / sizeof restored[0]; i++)
        signal(restored[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl("/bin/sh", "sh", "-c", counter->command, (char *)NULL);
    _exit(127);
}

static void start(struct counter *counter, pid_t jvm, int64_t now_ms)
{
    int ends[2];
    counter->next_ms = now_ms + counter->interval_ms;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        failed(counter, "no pipe for the --per command (error %d)", errno);
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        run_command(counter, jvm, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        failed(counter, "the --per command could not be started (error %d)", errno);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    counter->pid = pid;
    counter->fd = ends[0];
    counter->since_ms = now_ms;
    counter->killed = false;
    counter->length = 0;
}

static void read_output(struct counter *counter)
{
    char beyond[1024];
    for (;;) {
        bool room = counter->length + 1 < OUTPUT_MAX;
        ssize_t n = room ? read(counter->fd, counter->output + counter->length,
                                OUTPUT_MAX - 1 - counter->length)
                         : read(counter->fd, beyond, sizeof beyond);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            break;
        counter->length += room ? (size_t)n : 0;
    }
    close(counter->fd);
    counter->fd = -1;
}

/* The first number of the output. No locale: a point is a point. */
static bool take_number(const char *text, double *value)
{
    while (isspace((unsigned char)*text))
        text++;
    char *end;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || fabs(number) > 1e15 ||
        (*end != '\0' && !isspace((unsigned char)*end)))
        return false;
    *value = number;
    return true;
}

int counter_fd(const struct counter *counter)
{
    return counter->fd;
}

int64_t counter_wait_ms(const struct counter *counter, int64_t now_ms)
{
    if (counter->pid != 0)
        return 200;
    return counter->next_ms > now_ms ? counter->next_ms - now_ms : 0;
}

bool counter_step(struct counter *counter, pid_t jvm, int64_t now_ms, double *value)
{
    int status;
    if (counter->pid == 0) {
        if (jvm > 0 && now_ms >= counter->next_ms)
            start(counter, jvm, now_ms);
        return false;
    }
    if (counter->fd >= 0)
        read_output(counter);
    if (!counter->killed && now_ms - counter->since_ms >= COUNTER_TIMEOUT_MS) {
        kill(-counter->pid, SIGKILL);
        kill(counter->pid, SIGKILL);
        counter->killed = true;
    }
    pid_t got = waitpid(counter->pid, &status, WNOHANG);
    if (got == 0)
        return false;
    counter->pid = 0;
    if (counter->fd >= 0) {
        read_output(counter); /* what it wrote last */
        if (counter->fd >= 0)
            close(counter->fd); /* something it started holds the pipe open */
        counter->fd = -1;
    }
    counter->output[counter->length] = '\0';
    if (counter->killed)
        failed(counter, "the --per command was killed after %d s", COUNTER_TIMEOUT_MS / 1000);
    else if (got < 0 || !WIFEXITED(status))
        failed(counter, "the --per command ended by signal %d", got < 0 ? 0 : WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        failed(counter, "the --per command ended with exit code %d", WEXITSTATUS(status));
    else if (!take_number(counter->output, value))
        failed(counter, "the --per command printed no number (%d bytes)", (int)counter->length);
    else {
        counter->counts.readings++;
        return true;
    }
    return false;
}

struct counter_counts counter_counts(const struct counter *counter)
{
    return counter->counts;
}

void counter_destroy(struct counter *counter)
{
    if (counter == NULL)
        return;
    if (counter->pid != 0) {
        kill(-counter->pid, SIGKILL);
        kill(counter->pid, SIGKILL);
        waitpid(counter->pid, NULL, 0);
    }
    if (counter->fd >= 0)
        close(counter->fd);
    free(counter->command);
    free(counter);
}
