/* saved_state: what a restart of `serve` has to know of each JVM, so that it neither loses nor
 * repeats an alert: a folder with one file for each JVM, PID-STARTTICKS.json.
 *
 *   saved_state_open (reads what an earlier process left) -> saved_state_recall (a JVM is found
 *   again) ... saved_state_write (something has changed) ... saved_state_forget -> _close
 *
 * A file is written beside its place and renamed: kill -9 at any moment leaves the one before or
 * the one after. An alert that has to be handed on is first in the file as pending, then handed on,
 * then the file is written without it: killed in between, the next process hands it on. (Killed
 * right after handing on it does so twice: receivers know an alert by target, finding and start.)
 * Files of an earlier boot are of no use and removed. One more file has the kinds of JVMs that a question killed. No fsync: a power cut takes the JVMs along.
 *
 * Event loop, one thread; a write is about 2 KB and 100 us. */
#pragma once

#include "analyzers/judge/judge.h"
#include "nmtwatch/jvm/target.h"
#include "nmtwatch/serve/target_rules.h"
#include "reports/json/json_out.h"

#define SAVED_PENDING_MAX 16

struct saved_target {
    int64_t pid, start_time_ticks;
    char label[TARGET_LABEL_MAX];
    int64_t wall_start_ms; /* of the watch, since the epoch */
    int64_t pause_us;      /* spent of the budget within its window */
    struct judge_memory judge;
    int pending_count; /* alerts that were raised or cleared and not handed on yet */
    struct alert pending[SAVED_PENDING_MAX];
    struct texts texts; /* of what was read: of the findings in judge and pending */
};
void saved_target_free(struct saved_target *target);

struct saved_state;

/* NULL with one sentence in error. */
struct saved_state *saved_state_open(const char *folder, char *error, size_t error_size);
/* What is known of this very process (pid and start); NULL: nothing. The caller frees it
 * (saved_target_free). It counts as
 * found from now on. */
struct saved_target *saved_state_recall(struct saved_state *state, const struct target *target);
/* A target of the last process that was not found again so far has this label. */
bool saved_state_waits_for(const struct saved_state *state, const char *label);
/* Those that were not found again and have ended, one by one, removed as they are given; the caller frees
 * (saved_target_free). On a loaded machine the first scan of all processes may miss one that lives. */
struct saved_target *saved_state_take_lost(struct saved_state *state);

bool saved_state_write(struct saved_state *state, const struct saved_target *target);
void saved_state_forget(struct saved_state *state, int64_t pid, int64_t start_time_ticks);
/* Writes that failed; the last reason. */
int64_t saved_state_errors(const struct saved_state *state, const char **last);
void saved_state_close(struct saved_state *state);

/* saved_json: a saved_target <-> one line of JSON, the content of a file of saved_state.h.
 *
 * A saved file may have been written by another program: every value is checked, and a sentence says what
 * is wrong. One thread.
 */

#define SAVED_SCHEMA 1

/* boot: the kernel's boot_id. NULL when memory ran out. */
const char *saved_json_write(struct json_out *out, const char *boot,
                             const struct saved_target *target);
/* False with a sentence; also when it is of another boot. */
bool saved_json_read(const char *text, size_t length, const char *boot, struct saved_target *target,
                     char *error, size_t error_size);
