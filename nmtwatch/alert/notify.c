#include "nmtwatch/alert/notify.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct running {
    pid_t pid; /* 0: free */
    int64_t since_ms;
};

struct notifier {
    char *command;
    struct running running[NOTIFY_RUNNING_MAX];
    struct notifier_counts counts;
};

struct notifier *notifier_create(const char *command)
{
    struct notifier *notifier = calloc(1, sizeof *notifier);
    if (notifier == NULL)
        return NULL;
    notifier->command = strdup(command);
    if (notifier->command == NULL) {
        free(notifier);
        return NULL;
    }
    return notifier;
}

static void failed(struct notifier *notifier, const char *what)
{
    notifier->counts.failed++;
    snprintf(notifier->counts.last_failure, sizeof notifier->counts.last_failure, "%s", what);
}

static void run_command(const struct notifier *notifier, const struct alert *alert, int input)
{
    setpgid(0, 0);
    setenv("NMTWATCH_ALERT", finding_row(alert->finding.kind)->id, 1);
    setenv("NMTWATCH_STATE", alert->state == ALERT_RAISED ? "raised" : "cleared", 1);
    setenv("NMTWATCH_SEVERITY", severity_name(alert->finding.severity), 1);
    setenv("NMTWATCH_FAMILY", alert->finding.family, 1);
    dup2(input, 0);
    /* Output of the command must not mix with ours on standard output. */
    dup2(2, 1);
    close_range(3, ~0U, 0);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl("/bin/sh", "sh", "-c", notifier->command, (char *)NULL);
    _exit(127);
}

void notifier_send(struct notifier *notifier, const struct alert *alert, const char *json,
                   size_t length, int64_t now_ms)
{
    notifier_step(notifier, now_ms);
    struct running *slot = NULL;
    for (int i = 0; i < NOTIFY_RUNNING_MAX && slot == NULL; i++)
        if (notifier->running[i].pid == 0)
            slot = &notifier->running[i];
    if (slot == NULL) {
        failed(notifier, "too many notify commands are still running");
        return;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        failed(notifier, "no pipe for the notify command");
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        run_command(notifier, alert, ends[0]);
    close(ends[0]);
    if (pid < 0) {
        failed(notifier, "the notify command could not be started");
    } else {
        notifier->counts.sent++;
        slot->pid = pid;
        slot->since_ms = now_ms;
        /* An alert is smaller than a pipe's buffer: this does not wait for the reader. */
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        if (write(ends[1], json, length) != (ssize_t)length)
            failed(notifier, "the notify command did not take its input");
    }
    close(ends[1]);
}

void notifier_step(struct notifier *notifier, int64_t now_ms)
{
    for (int i = 0; i < NOTIFY_RUNNING_MAX; i++) {
        struct running *running = &notifier->running[i];
        if (running->pid == 0)
            continue;
        int status;
        pid_t got = waitpid(running->pid, &status, WNOHANG);
        if (got == 0 && now_ms - running->since_ms >= NOTIFY_TIMEOUT_MS) {
            kill(-running->pid, SIGKILL);
            left_behind(running->pid);
            failed(notifier, "the notify command was killed after 10 s");
            running->pid = 0;
        } else if (got == running->pid) {
            char what[96];
            running->pid = 0;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                continue;
            snprintf(what, sizeof what, "the notify command ended with %s %d",
                     WIFEXITED(status) ? "exit code" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
            failed(notifier, what);
        } else if (got < 0) {
            running->pid = 0;
        }
    }
}

static bool any_running(const struct notifier *notifier)
{
    for (int i = 0; i < NOTIFY_RUNNING_MAX; i++)
        if (notifier->running[i].pid != 0)
            return true;
    return false;
}

void notifier_destroy(struct notifier *notifier, struct notifier_counts *counts)
{
    if (notifier == NULL)
        return;
    /* From here on each command has its whole time-out left, at most. */
    int64_t start_ms = clock_ms(CLOCK_MONOTONIC);
    for (int i = 0; i < NOTIFY_RUNNING_MAX; i++)
        notifier->running[i].since_ms = start_ms;
    while (any_running(notifier)) {
        notifier_step(notifier, clock_ms(CLOCK_MONOTONIC));
        if (any_running(notifier))
            poll(NULL, 0, 20);
    }
    if (counts != NULL)
        *counts = notifier->counts;
    free(notifier->command);
    free(notifier);
}
