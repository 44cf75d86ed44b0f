/* watcher: one JVM under watch: polling from free sources to expensive ones, as a state machine that
 * never blocks.
 *
 *   each tick            hsperfdata and /proc                    no safepoint, not even a question
 *   each --methods       methods of all classes, counted by a child process that reads the JVM's memory
 *   each NMT tick        VM.native_memory summary, VM.metaspace basic                no safepoint
 *   every few ticks      VM.classloader_stats         a safepoint: only when cheap by prediction
 *   each --histogram     GC.class_histogram -all        a safepoint: when asked for; pause budget
 *   above trigger rate   the class-load log (JDK 9+)                                 no safepoint
 *   when that fails      VM.classes, VM.class_hierarchy, GC.class_histogram -all  pause budget
 *
 * What it learns goes to its judge and, as the same events, to the sink (output, recording).
 *
 *   watcher_create -> watcher_step (whenever its fd is ready or watcher_wait_ms is over) ...
 *                  -> watcher_stop (a load log is switched off; step until watcher_ended) -> _destroy
 *
 * Calling context: the event loop's thread. `now_ms` is monotonic, since the watch began. */
#pragma once

#include "analyzers/judge/judge.h"
#include "nmtwatch/jvm/target.h"
#include "nmtwatch/watch/pause_budget.h"
#include "nmtwatch/watch/watch_options.h"

struct watcher;

/* Where what was learned goes: an event, judged already, with the alerts it raised and cleared. All
 * pointers are valid during the call only. */
struct watch_sink {
    void (*event)(void *context, struct watcher *watcher, const struct event *event,
                  const struct alerts *alerts);
    void *context;
};

/* Takes the target over (closed by watcher_destroy). NULL with errno. */
struct watcher *watcher_create(const struct target *target, const struct watch_options *options,
                               const struct watch_sink *sink, int64_t now_ms);

void watcher_step(struct watcher *watcher, int64_t now_ms);
/* poll(2): descriptor (-1: none) and what to wait for; and how long at most. */
int watcher_fd(const struct watcher *watcher, short *events);
int64_t watcher_wait_ms(const struct watcher *watcher, int64_t now_ms);

/* Something about this JVM that the watch has done: a note among its events. Not from inside of the
 * sink. */
void watcher_add_note(struct watcher *watcher, const char *text, int64_t now_ms);
/* Growth is counted from now on. Not from inside of the sink. */
void watcher_begin_anew(struct watcher *watcher, int64_t now_ms);

/* How long a loop steps watchers that were stopped, for their load logs to be switched off. */
#define WATCH_STOP_MS 8000
/* Winds down: no more questions but the one that switches a load log off. */
void watcher_stop(struct watcher *watcher, int64_t now_ms);
/* The target is gone, or the winding down is done. */
bool watcher_ended(const struct watcher *watcher);

const struct target *watcher_target(const struct watcher *watcher);
const struct judge *watcher_judge(const struct watcher *watcher);
/* The latest value of each field: values of different ages, for the live table. */
const struct sample *watcher_latest(const struct watcher *watcher);

/* Why a question that stops the application was not asked. */
enum left_out {
    LEFT_OUT_BUDGET,   /* more than is left of the pause budget */
    LEFT_OUT_BUSY,     /* the same, because the machine is busy */
    LEFT_OUT_TOO_LONG, /* too long while nothing is suspicious */
    LEFT_OUT_COUNT
};
const char *left_out_reason(enum left_out why);

struct watcher_counts {
    int64_t polls;     /* samples taken */
    int64_t questions; /* exchanges with the JVM that were answered */
    int64_t failures;  /* and that were not */
    int64_t pause_us;  /* spent in safepoints, an upper bound */
    bool nmt_seen;     /* at least one NMT summary was read */
    enum failure_kind last_failure;
    enum failure_kind failing; /* why it does not answer now; FAILURE_NONE: it does */
    int64_t answer_us;         /* wall time of all exchanges that were answered */
    int64_t failed[FAILURE_KIND_COUNT];
    int64_t observed_cpu_us; /* spent by processes that looked from outside */
    int64_t left_out[EXPENSIVE_COMMAND_COUNT][LEFT_OUT_COUNT];
    int methods_failed;      /* counts of methods in succession */
    int64_t methods_wait_ms; /* until the next, then */
    char methods_why[120];   /* why the last one did, raw */
};
struct watcher_counts watcher_counts(const struct watcher *watcher);
/* observed_cpu_us of all watchers that there were. */
int64_t watcher_children_cpu_us(void);

/* A watch goes on where another process left it (judge_resume.h), with what that one had spent of
 * the pause budget. Right after watcher_create, with a now_ms that continues. */
void watcher_resume(struct watcher *watcher, const struct judge_memory *memory, int64_t pause_us);
/* Spent within the budget's window. */
int64_t watcher_pause_spent_us(const struct watcher *watcher);
void watcher_destroy(struct watcher *watcher);
