/*
 * judge_internal: the inside of a judge, shared by judge.c (events, view, what outlives a restart),
 * episode.c (episodes), judge_classes.c (counters, churn, class loaders), judge_names.c (families),
 * judge_heap.c (objects), judge_growth.c (convergence) and judge_memory.c (growth, the agent). No other file includes it.
 */
#pragma once

#include "analyzers/judge/growth.h"
#include "analyzers/judge/judge.h"
#include "analyzers/trend/verdict.h"
#include "analyzers/trend/rate.h"

#define FAMILIES_MAX      64 /* families under observation within one load log */
#define FAMILY_POINTS     48
#define LOADER_TYPES_MAX  64
#define HEAP_TRACKS_MAX   128
#define FLOOR_POINTS      5 /* NMT readings whose minimum is the floor under a GC's sawtooth */
#define MEMORY_POINTS_MAX 8

/* From the first sign to the all-clear of one finding. Keyed by kind and subject. */
struct episode {
    bool active;
    enum finding_kind kind;
    char subject[EVENT_FAMILY_MAX]; /* family, loader type, or "" */
    int64_t raised_ms;
    int64_t below_since_ms; /* -1: at or above its threshold */
    struct finding finding;
    struct texts texts; /* of the finding */
};

/* One family within the present load log: its cumulative counters over time. */
struct family_track {
    char family[EVENT_FAMILY_MAX];
    int count;
    struct {
        int64_t ms;
        int64_t repeating;
    } point[FAMILY_POINTS];
    /* Live classes in an earlier stock census: [0] of class lists, [1] of loaders, which count
     * differently; -1 none. */
    struct {
        int64_t classes;
        int64_t ms;
    } stock[2];
};

struct loader_track {
    char type[EVENT_NAME_MAX];
    int64_t baseline;
    int64_t recent[3]; /* the last three censuses, newest first; -1 none */
};

/* Minimum of the last few readings: what a GC cannot take away. */
struct floor_window {
    int count;
    int64_t value[FLOOR_POINTS];
};

/* A series of memory and what is thought of it. Asking costs a tenth of a millisecond: once a
 * minute is enough for growth that takes many. */
struct watched {
    struct verdict_series *series; /* NULL: no memory for it, no verdict */
    struct growth_alarm alarm;
    int64_t asked_ms;
    int64_t alarm_ms; /* when the alarm was last fed */
    int ended;        /* verdicts in a row that it does not grow */
    struct verdict verdict;
};

/* Objects of one class, from histogram to histogram. */
struct heap_track {
    char name[EVENT_NAME_MAX];
    char family[EVENT_FAMILY_MAX];
    int64_t seen_ms; /* the last histogram that had it */
    int64_t growth_bytes;
    struct watched watched;
};

/* A histogram that was judged. */
#define HEAP_MOMENTS 64
struct heap_moment {
    int64_t ms;
    int64_t gc_old; /* old collections so far; -1 unknown */
};

struct judge {
    struct target_identity identity;
    struct thresholds thresholds;
    struct alerts *alerts; /* of the event that is being judged */
    struct texts texts;    /* of findings that are being made, and of those alerts */

    int64_t now_ms;
    /* The JVM's own time: without the time in which it could not run because others had the CPUs. A start that is
     * stretched by others' load is no explosion: how long a family must keep its rate is counted in it. */
    int64_t own_ms, starved_ms, starved_seen_ms;
    double pace; /* own time a ms, by the last sample */
    int64_t sampled_ms, sampled_own_ms;
    struct warmup warmup;
    int64_t baseline_ms, baseline_own_ms; /* -1 until taken */

    /* classes */
    struct rate loaded;
    struct rate unloaded;
    struct rate own_loaded, own_unloaded; /* by own_ms */
    int64_t classes_loaded; /* newest, -1 unknown */
    int64_t classes_unloaded;
    int64_t gc_young; /* newest, -1 unknown; so the next */
    int64_t gc_old;
    int64_t suspicious_own_ms;
    int64_t suspicious_ms; /* since when the load rate is suspicious; -1 it is not */
    struct {               /* counters when the suspicion began, and at the last unload since */
        int64_t loaded, unloaded, gc_old;
        int64_t loaded_at_unload, unloaded_at_unload;
        int64_t unload_events;
    } turnover;
    int load_log;
    int64_t load_log_from_ms, load_log_from_own_ms;
    int64_t names_ms; /* of the last census; -1 none */
    int family_count;
    struct family_track *families; /* FAMILIES_MAX; NULL until there are names */
    struct family_track all_loads; /* of the load log, whatever was loaded */
    int caller_count;
    /* of the last observation; EVENT_ROWS_MAX, NULL until there is one */
    struct caller_row *callers;
    int64_t callers_until_ms; /* an observation is under way, until then at most; 0: none is */
    bool callers_wanted;      /* one more: the last did not see a family that explodes */
    int64_t callers_again_ms; /* no other is wanted before that */
    int loader_count;
    bool loaders_have_baseline;
    struct loader_track loaders[LOADER_TYPES_MAX];

    /* memory per class: (live classes, bytes) pairs of the present suspicion */
    bool have_cost_start, have_cost_end;
    struct {
        int64_t live, bytes;
    } cost_start, cost_end;

    /* memory */
    bool have_internal, have_internal_baseline;
    int64_t internal_bytes, internal_baseline_bytes;
    struct watched growth[GROWTH_RULES];
    int64_t old_gc_ms, old_gcs, gcs; /* the last old collection; how many of them, and of all */
    bool have_class_metaspace, have_class_metaspace_baseline;
    int64_t class_metaspace_bytes, class_metaspace_baseline_bytes;
    struct watched class_metaspace_series;
    struct floor_window class_metaspace_floor;
    struct floor_window metaspace_committed_floor;
    struct rate metaspace_rate; /* of what is committed */
    int64_t metaspace_left_s;   /* to MaxMetaspaceSize; -1: not on its way there */
    int heap_count;
    struct heap_track *heap;  /* HEAP_TRACKS_MAX; NULL until there is a histogram */
    int64_t heap_collections; /* in all, at the last one */
    int64_t heap_moments;
    struct heap_moment heap_moment[HEAP_MOMENTS]; /* the last ones, at number % HEAP_MOMENTS */

    int episode_count;
    struct episode episodes[EPISODES_MAX];
    enum severity worst_ever;
};

/* Counts and bytes of a real JVM are far below 2^50; what a damaged recording or a hostile JVM says
 * beyond that is cut, so that no sum or product here can overflow. */
#define JUDGE_VALUE_MAX (INT64_C(1) << 50)
static inline int64_t judge_value(int64_t value)
{
    return value < 0 ? 0 : value > JUDGE_VALUE_MAX ? JUDGE_VALUE_MAX : value;
}

/* episode.c */
/* The episode of (kind, subject), or NULL when there is none active. */
struct episode *judge_episode(struct judge *judge, enum finding_kind kind, const char *subject);
/* True while any episode of the kind is active, whatever its subject. */
bool judge_episode_of_kind(const struct judge *judge, enum finding_kind kind);
/* Raises unless active already. */
void judge_raise(struct judge *judge, const struct finding *finding, const char *subject,
                 int64_t started_ms);
/* True while it is up; then `below` says that its figure is below its clear level (judge_hold). */
bool judge_is_up(struct judge *judge, enum finding_kind kind, const char *subject, bool below);
/* Called while an episode's figure is below its clear level (below true) or above it; clears after
 * CLEAR_AFTER_S. */
void judge_hold(struct judge *judge, struct episode *episode, bool below);
void judge_clear(struct judge *judge, struct episode *episode);
int64_t judge_threshold(const struct judge *judge, enum threshold which);
/* CLEAR_PERCENT of a threshold. */
int64_t judge_clear_level(const struct judge *judge, enum threshold which);

#define SUSPICION_WINDOW_MS 6000

/* judge_classes.c */
void judge_classes_sample(struct judge *judge, const struct sample *sample);
/* Share of the classes loaded since the suspicion began that the GCs gave back; -1: no unload yet. */
int judge_unloaded_percent(const struct judge *judge);
bool judge_is_churn(const struct judge *judge);
bool judge_had_chance_to_unload(const struct judge *judge);
/* What a class costs, from the growth since the suspicion began; false when too little is known. */
bool judge_bytes_per_class(const struct judge *judge, int64_t *bytes);
void judge_describe_unloading(const struct judge *judge, char *out, size_t size);

/* Methods of all classes, counted; the families that they are of. */
void judge_methods(struct judge *judge, const struct methods_event *methods);

/* Class loaders of one type whose number grows. */
void judge_loaders(struct judge *judge, const struct loaders_event *loaders);

/* judge_names.c */
void judge_names(struct judge *judge, const struct names_event *names);
/* Whose code asks for classes. */
void judge_callers(struct judge *judge, const struct callers_event *callers);

/* judge_heap.c */
void judge_heap(struct judge *judge, const struct histogram_event *histogram);
void judge_heap_destroy(struct judge *judge);

/* judge_growth.c */
bool judge_watched_create(struct watched *watched, const struct verdict_options *options);
/* Feeds a value and asks at once, for the alarm as well. */
void judge_watched_add(const struct judge *judge, struct watched *watched, int64_t bytes);
bool judge_growth_create(struct judge *judge);
void judge_growth_destroy(struct judge *judge);
void judge_growth_sample(struct judge *judge, const struct sample *sample);

/* judge_memory.c */
void judge_memory_sample(struct judge *judge, const struct sample *sample);
void judge_memory_baseline(struct judge *judge);
void judge_agent_sample(struct judge *judge, const struct sample *sample);
