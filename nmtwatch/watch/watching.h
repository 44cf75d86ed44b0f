/*
 * watching: JVMs under watch by one loop, for watch, record, soak, triage and serve alike. Their
 * sinks differ.
 *
 *   watching_open -> watching_add, watching_turn ... -> watching_stop -> watching_close
 *
 * One thread and poll(2). A turn waits for the descriptors of those JVMs that owe an answer, for a
 * signal (process/signals.h) and for the next due time, then steps whom it concerns: a JVM that is
 * stuck costs a descriptor in the list, and delays no other JVM.
 *
 * Times are CLOCK_BOOTTIME in milliseconds. The time of a JVM's events begins with its watch, which
 * may have been in an earlier process (serve): origin_ms ties it to the loop's. */
#pragma once

#include "nmtwatch/jvm/target.h"
#include "nmtwatch/watch/watcher.h"
#include "reports/json/event_json.h"

struct recorder;
struct pollfd;

/* One of the JVMs; for reading. */
struct watched {
    struct watching *watching;
    struct watcher *watcher;
    int64_t origin_ms; /* the loop's time at ms 0 of the watch */
    int64_t due_ms;
    int fd; /* what an answer is waited for on, for fd_events of poll(2); -1: none */
    short fd_events;
    bool ended;                /* watcher_ended, after its last step */
    struct recorder *recorder; /* NULL: none */
    bool record_failed;
    struct watch_cost cost; /* of the commands that have stopped it */
    void *owner;            /* whatever stands for it where it was added */
};

struct watching_sink {
    void *context;
    /* Judged and recorded already, with the alerts it raised and cleared. Valid during the call. */
    void (*event)(void *context, struct watched *jvm, const struct event *event,
                  const struct alerts *alerts);
    /* Its recording has ended, once; the watch goes on. NULL: not requested. */
    void (*record_failed)(void *context, struct watched *jvm, const char *sentence);
    /* While the watch winds down: there is more to wait for than JVMs. NULL: no. */
    bool (*busy)(void *context);
};

struct watching {
    const struct watch_options *options; /* as they are when a JVM is added */
    struct watching_sink sink;
    int64_t now_ms; /* at the last turn */
    int count;
    size_t capacity, fd_capacity, owner_capacity;
    struct watched **jvms; /* in the order they came */
    struct pollfd *fds;
    struct watched **fd_owner;
};

#define WATCHING_OTHERS_MAX 4

/* It has to stay where it is until watching_close. */
void watching_open(struct watching *watching, const struct watch_options *options,
                   const struct watching_sink *sink);

/* Takes the target over (closes it when that fails: NULL with errno). first_poll_ms: from now, to
 * spread the ticks of JVMs that come together. */
struct watched *watching_add(struct watching *watching, const struct target *target,
                             int64_t origin_ms, int64_t first_poll_ms, void *owner);
static inline int64_t watched_ms(const struct watched *jvm)
{
    return jvm->watching->now_ms - jvm->origin_ms;
}
/* The same process is watched already. */
bool watching_knows(const struct watching *watching, const struct target *target);
/* Begins a recording of it. False with one sentence in error. */
bool watched_record(struct watched *jvm, const char *path, bool force, char *error,
                    size_t error_size);
/* Ends its recording, with what its watch has cost. */
void watched_end_recording(struct watched *jvm);
/* Its watch winds down and ends in a later turn. */
void watched_stop(struct watched *jvm);
void watching_remove(struct watched *jvm);

/* Waits at most so long, also for the others (WATCHING_OTHERS_MAX at most; revents are left in
 * them), and steps whoever is ready or due. */
void watching_turn(struct watching *watching, int64_t at_most_ms, struct pollfd *others,
                   int other_count);
bool watching_all_ended(const struct watching *watching);
/* Winds all watches down (a load log is switched off), for WATCH_STOP_MS at most. */
void watching_stop(struct watching *watching);
/* Ends recordings and watches. */
void watching_close(struct watching *watching);

/* What the watching has cost up to now: all JVMs, and CPU time and memory of this process. */
struct watch_cost watching_cost(const struct watching *watching);
int64_t watch_cost_cpu_us(void);
/* 0: not known. */
int64_t watch_cost_rss_bytes(void);

/* identify: completes who a target is before it is watched: the recording's first line and the
 * judge need the JDK's version.
 *
 * A JVM in its first second has no hsperfdata yet: waited for, up to a second. One without
 * hsperfdata at all (-XX:-UsePerfData, PerfDisableSharedMem) is asked VM.version unless it is
 * stopped. Unknown values stay unknown. Setup context; blocks for at most about two seconds.
 */
void identify_target(struct target *target, int timeout_ms);
