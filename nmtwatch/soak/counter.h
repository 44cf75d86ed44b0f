/*
 * counter: `--per CMD`: a command that prints a number (requests served, deployments done), run
 * again and again beside a soak without ever waiting for it.
 *
 *   counter_create -> counter_fd / counter_step ... -> counter_destroy
 *
 * `sh -c CMD` in a process group of its own, with NMTWATCH_PID, the JVM's pid, in its environment;
 * killed after COUNTER_TIMEOUT_MS. Its output is the first number it prints; its standard error is
 * ours. Event loop, one thread.
 */
#ifndef NMTWATCH_SOAK_COUNTER_H
#define NMTWATCH_SOAK_COUNTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNTER_TIMEOUT_MS 10000

struct counter;

/* NULL when out of memory. */
struct counter *counter_create(const char *command, int64_t interval_ms);
/* For poll(2); -1: not running. */
int counter_fd(const struct counter *counter);
/* When it wants to be stepped again. */
int64_t counter_wait_ms(const struct counter *counter, int64_t now_ms);
/* True when there is a new reading. jvm: for its environment; 0: there is none yet, and it is not
 * run. */
bool counter_step(struct counter *counter, pid_t jvm, int64_t now_ms, double *value);
struct counter_counts {
    int64_t readings;
    int64_t failed;
    char last_failure[160]; /* one sentence, empty when none */
};
struct counter_counts counter_counts(const struct counter *counter);
void counter_destroy(struct counter *counter);

#endif
