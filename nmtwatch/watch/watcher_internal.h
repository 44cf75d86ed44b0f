/*
 * watcher_internal: the inside of a watcher: watcher.c asks, and naming.c is its part for the load log and class lists.
 * No other file includes it.
 */
#pragma once

#include "analyzers/classes/census.h"
#include "analyzers/classes/heap_census.h"
#include "analyzers/native/rss_account.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/watch/pause_budget.h"
#include "nmtwatch/watch/load_log.h"
#include "nmtwatch/watch/watcher.h"

/* What is being asked of the JVM at this moment. */
enum question {
    QUESTION_NONE,
    QUESTION_MEMORY,
    QUESTION_LOADERS,
    QUESTION_HISTOGRAM,
    QUESTION_HEAP_INFO,
    QUESTION_LEFTOVERS, /* VM.log list: load logs of a run that was killed */
    QUESTION_LEFTOVER_OFF,
    QUESTION_LOAD_LOG_ON,
    QUESTION_LOAD_LOG_OFF,
    QUESTION_CLASS_LIST,
};

enum load_log_phase {
    LOAD_LOG_IS_OFF,
    LOAD_LOG_GOES_ON,
    LOAD_LOG_IS_ON,
    LOAD_LOG_MUST_GO_OFF,
    LOAD_LOG_GOES_OFF
};

struct watcher {
    struct target target;
    struct watch_options options;
    struct watch_sink sink;
    struct judge *judge;
    struct attach *attach;
    struct perfdata *perfdata;
    struct proc proc;
    struct pause_budget pause;
    struct sample latest;
    struct watcher_counts counts;

    int64_t now_ms, next_tick_ms, next_memory_ms, next_loaders_ms, next_histogram_ms;
    int64_t next_list_ms, next_identity_ms;
    int64_t next_attach_ms; /* after a failure: not before this */
    int64_t attach_backoff_ms;
    bool stopping, ended;
    enum failure_kind noted_failure;

    enum question question;
    bool asked_nmt, nmt_off, reply_odd_noted;
    int64_t next_leftovers_ms;
    char leftover[128];               /* a load log to be switched off */
    enum expensive_command expensive; /* of LOADERS, HISTOGRAM, CLASS_LIST */
    int64_t predicted_us;
    struct pause_inputs pause_inputs;
    struct {
        bool noted;
        enum left_out why;
        int64_t again_ms; /* not before this, for the same reason */
        int64_t times;    /* since it was noted */
    } skip[EXPENSIVE_COMMAND_COUNT];
    struct pause_pressure pressure; /* as read last */
    int64_t next_pressure_ms;
    int64_t wait_until_ms[EXPENSIVE_COMMAND_COUNT]; /* for a quiet machine; 0: does not wait */
    bool busy_noted;

    int64_t arenas; /* -1 unknown */

    struct rss_range heap;        /* where the Java heap is; high 0: not known */
    bool heap_asked, heap_shared; /* it is shared memory: with ZGC */
    int64_t heap_bytes;           /* resident of it; -1 not known */
    int64_t memory_limit;
    int64_t heap_rss_bytes, heap_next_ms; /* RSS when that was read; not again before */

    enum load_log_phase load_log_phase;
    bool load_log_unusable;
    int load_log_number, load_log_off_tries;
    int64_t load_log_from_ms, load_log_next_ms, load_log_backoff_ms;
    int64_t load_log_starved_ms;    /* SAMPLE_STARVED_MS when it began */
    int64_t load_log_idle_since_ms; /* names no longer wanted since; -1 still wanted */
    int64_t load_log_event_ms;
    int64_t load_log_grew_ms; /* when something was last read, or nothing was expected */
    struct load_log load_log;
    struct census *census;
    struct heap_census *heap_census; /* NULL until the first histogram */
    bool histogram_announced;        /* what each will cost */
    struct observe_child *methods;   /* counts them; NULL: none is at it */
    int64_t methods_late_ms;         /* until then it should be done */
    bool methods_late;
    uid_t counted_for; /* whose place among those that count it has */
    int64_t next_methods_ms;
    enum methods_source methods_source; /* of the last reported number */
    int64_t list_backoff_ms;
    bool callees_asked; /* who the reflection accessors call */

    struct observe_child *observing; /* who asks for classes, seen from outside; NULL: not now */
    bool observe_unusable;
    int64_t observe_from_ms, observe_next_ms;
};

/* watcher.c: judges the event, then hands it and its alerts to the sink. */
void watcher_emit(struct watcher *watcher, struct event *event);
/* Another process has looked into the JVM for it. */
void watcher_looked(struct watcher *watcher, int64_t cpu_us);
void watcher_note(struct watcher *watcher, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ask(struct watcher *watcher, enum question question, const char *command);
/* An expensive question has to wait, for a bounded time, because the machine is busy. Asked before
 * the question's schedule moves on. */
bool ask_waits(struct watcher *watcher, enum expensive_command command);
/* Predicts, checks the budget (and the cap), asks; or says why not: at first, when the reason changes, and each ten
 * minutes. */
bool ask_expensive(struct watcher *watcher, enum question question, enum expensive_command command,
                   int64_t cap_us);
/* Charges the answer of an expensive question, and emits what it cost. */
void ask_charge(struct watcher *watcher);

/* naming.c */
void naming_tick(struct watcher *watcher);
bool naming_ask(struct watcher *watcher);
/* A load log has to go off: even a JVM that has just failed to answer is asked. */
bool naming_is_urgent(const struct watcher *watcher);
void naming_answered(struct watcher *watcher, struct span reply, int result_code);
void naming_failed(struct watcher *watcher);
void naming_add_loaders(struct watcher *watcher, const struct loader_row *rows, int count);
/* Emits what the census holds as an event. */
void naming_emit(struct watcher *watcher, enum census_method method, bool last);
/* Ends an observation from outside. */
void naming_stop_observing(struct watcher *watcher);
/* The target is gone: the log died with it. */
void naming_abandon(struct watcher *watcher);
