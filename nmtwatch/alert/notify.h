/* notify: hands each alert to a command of the user's: `sh -c CMD`, the alert as one JSON object on
 * its standard input, NMTWATCH_* in its environment.
 *
 *   notifier_create -> notifier_send ... -> notifier_step (now and then) -> notifier_destroy
 *
 * Never waits for the command: it may run NOTIFY_TIMEOUT_MS and is killed after that, with its
 * process group. At most NOTIFY_RUNNING_MAX run at once. Whatever fails (cannot start, exit code
 * not 0, killed, too many) is counted and reported at the end. Event loop, one thread. */
#pragma once

#include "analyzers/judge/judge.h"

#include <stddef.h>

#define NOTIFY_TIMEOUT_MS  10000
#define NOTIFY_RUNNING_MAX 8

struct notifier;

struct notifier *notifier_create(const char *command);
/* json: the alert line, as in `watch --json`. */
void notifier_send(struct notifier *notifier, const struct alert *alert, const char *json,
                   size_t length, int64_t now_ms);
/* Reaps what has ended, kills what is late. */
void notifier_step(struct notifier *notifier, int64_t now_ms);

struct notifier_counts {
    int64_t sent, failed;
    char last_failure[128]; /* one sentence, empty when none */
};
/* Waits for what is still running, at most its time-out. */
void notifier_destroy(struct notifier *notifier, struct notifier_counts *counts);
