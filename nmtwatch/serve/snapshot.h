/* snapshot: what `serve` knows of all its targets at one moment, for those who read it over HTTP.
 *
 *   loop:    snapshot_create -> fill -> board_publish
 *   others:  board_take -> read -> snapshot_release
 *
 * Immutable once published, counted references: a slow reader keeps its own moment, the loop never
 * waits for one, and no reader ever touches a JVM or a watcher. The lock is held for the exchange
 * of a pointer.
 *
 * About 4 KB a target. Plain data inside; texts are what the JVMs say of themselves and have to be
 * escaped where they go. */
#pragma once

#include "nmtwatch/serve/target_rules.h"
#include "nmtwatch/watch/watcher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* sparkline: the shape of a few series over the whole life of a watch, in constant memory.
 *
 * Up to SPARK_POINTS points at equal distances. When they are full every other one goes and the
 * distance doubles: a minute is shown by the second, a week by the quarter of an hour. Missing is
 * SPARK_MISSING, not zero. Plain data, copy freely; any thread that owns it. */
#define SPARK_POINTS   96
#define SPARK_FIRST_MS 2000
#define SPARK_MISSING  (-1.0F)

enum spark_series { SPARK_RSS, SPARK_INTERNAL, SPARK_CLASS_METASPACE, SPARK_CLASSES, SPARK_COUNT };

struct sparkline {
    int count;
    int64_t step_ms; /* 0: nothing yet */
    int64_t next_ms;
    float value[SPARK_COUNT][SPARK_POINTS];
};

/* The values at this moment; taken when a point is due. */
bool sparkline_due(const struct sparkline *spark, int64_t ms);
void sparkline_add(struct sparkline *spark, int64_t ms, const float value[SPARK_COUNT]);

#define TOP_VIEWS 8 /* types of class loaders, and families of methods, distinguished in metrics */

/* The judge's verdict on one series. */
struct verdict_view {
    bool known; /* there is a verdict at all */
    enum verdict_state state;
    enum verdict_answer answer;
    bool have_slope;
    struct verdict_interval slope_bytes_per_h;
    bool have_level;
    int64_t level_bytes;
    int64_t growth_bytes; /* since the baseline */
    char sentence[320];
};

/* Those with most of something, by name. */
struct top_view {
    bool have;
    int count;
    struct {
        char name[96];
        int64_t number;
    } rows[TOP_VIEWS];
    int64_t others; /* all other names together */
};

struct target_view {
    char label[TARGET_LABEL_MAX], main[EVENT_NAME_MAX], jdk[64], user[64], cgroup[128];
    struct target_place place;
    char nmt_level[16];
    char recording[128]; /* file within the folder of recordings; "" none */
    int64_t pid;
    int64_t start_unix_ms; /* of the JVM */
    int64_t since_unix_ms; /* of the watch, restarts of serve included */
    bool up;               /* it answers */
    struct sample latest;
    struct watcher_counts counts;
    bool warm, have_rates;
    double load_per_s, unload_per_s;
    struct verdict_view internal, class_metaspace;
    int active_alerts;
    enum severity worst_active;
    int64_t raised[SEVERITY_CRITICAL + 1]; /* alerts since serve knows it */
    struct sparkline spark;
    char note[256]; /* the newest; "" none */
    int first_finding, finding_count, first_family, family_count;
    struct top_view loaders, methods; /* by type, by family */
};

struct finding_view {
    int target; /* index */
    int64_t started_unix_ms;
    struct finding finding;
};

struct family_view {
    int target;
    int family; /* index in families.def; FAMILY_COUNT: unknown ones */
    int64_t loads, unloads;
};

/* A JVM that has ended. */
#define ENDED_MAX     32
#define ENDED_KEEP_MS INT64_C(86400000)
struct ended_view {
    char label[TARGET_LABEL_MAX], main[EVENT_NAME_MAX], recording[128];
    char how[160];      /* one clause */
    bool out_of_memory; /* the kernel killed it */
    int64_t pid, ended_unix_ms, lived_ms;
    struct sample latest;
    int active_alerts;
    enum severity worst;
    char findings[512]; /* titles of those that were active, the worst first */
};

/* The result of one observation (observer.h). */
struct observation_view {
    int target;
    char file[128]; /* within the folder of results */
    char section[32], what[16];
    char sentence[300]; /* what was seen; raw */
    int64_t unix_ms;
    uint32_t about; /* findings that its section is for: 1 << kind */
};
_Static_assert(FINDING_WATCH_COUNT <= 32, "a bit for each finding of a watch");

enum observe_refusal {
    OBSERVE_OVER_BUDGET,
    OBSERVE_BUSY,
    OBSERVE_COOLDOWN,
    OBSERVE_NO_PROCESS,
    OBSERVE_REFUSALS
};

/* serve itself. */
struct own_view {
    int64_t started_unix_ms, cpu_us, children_cpu_us, rss_bytes, open_fds;
    int processes, unreadable, held, refused;
    int workers, passed_by;
    int64_t workers_late, workers_died;
    int64_t scans, scan_cpu_us, targets_seen;
    int over_limit;    /* JVMs that found no room */
    int64_t postponed; /* examinations of processes whose user had used up his time */
    int64_t reply_bytes, replies_refused;
    int64_t displaced; /* connections */
    int64_t recording_bytes, recording_errors, state_errors;
    bool notifying;
    int64_t notified, notify_failed;
    bool delivering;
    int64_t queued, delivered, delivery_retried, delivery_refused, delivery_overflow;
    bool observing; /* there are sections [observe NAME] */
    int observations_running;
    int64_t observations_started, observations_failed, observations_cpu_us;
    int64_t observations_refused[OBSERVE_REFUSALS];
    int64_t observations_bytes, observations_errors; /* of the folder of results */
    bool config_good;                                /* of the last reload */
    int64_t reloads;
    int64_t http_answers[6]; /* by the first digit of the status */
    char runbooks[512];      /* in front of class-explosion.md; "" */
};

struct snapshot {
    atomic_int references;
    int64_t number, unix_ms;
    struct own_view own;
    int target_count;
    struct target_view *targets; /* by label */
    int finding_count;
    struct finding_view *findings;
    struct texts texts; /* theirs */
    int family_count;
    struct family_view *families;
    int observation_count;
    struct observation_view *observations; /* by target, newest first */
    int ended_count;
    struct ended_view ended[ENDED_MAX]; /* newest first */
};

/* Room for so many targets, one reference, zeroed. NULL when out of memory. */
struct snapshot *snapshot_create(int targets);
/* Room for what is listed apart from them. False when out of memory. */
bool snapshot_make_room(struct snapshot *snapshot, int findings, int families, int observations);
void snapshot_release(struct snapshot *snapshot);

struct board {
    pthread_mutex_t lock;
    struct snapshot *newest;
};
void board_init(struct board *board);
/* Takes the caller's reference over. */
void board_publish(struct board *board, struct snapshot *snapshot);
/* A reference to the newest; NULL before the first. Any thread. */
struct snapshot *board_take(struct board *board);
void board_destroy(struct board *board);
