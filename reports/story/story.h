/* story: a recording, replayed and kept in the shape that reports need: who, what over time, which
 * families, which alerts, what the watching cost. HTML, Markdown, JSON and charts all read it.
 *
 *   story_create -> story_event / story_alert ... -> (reports read the fields) -> story_destroy
 *
 * Points are decimated to STORY_POINTS_MAX by merging neighbours: memory is bounded for recordings
 * of any length. Of two merged values the later one wins, a value that only one of them has is
 * kept, the first and the last sample are always there. Ownership: the story owns everything it
 * points to. One thread. */
#pragma once

#include "analyzers/judge/judge.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"

#define STORY_POINTS_MAX   4096
#define STORY_FAMILIES_MAX 64
#define STORY_ALERTS_MAX   256

struct story_point {
    int64_t ms;
    struct sample sample;
};

struct story_family {
    struct family_row row; /* counters summed over load logs; the largest of stocks */
    enum census_method method;
    int64_t observed_ms; /* how long load logs looked: loads / observed = rate */
    int64_t alive;       /* the largest stock that was counted; -1 when none was taken */
};

struct story_cost {
    char command[64];
    int64_t runs, skipped;
    int64_t measured_us; /* sum over runs */
    int64_t worst_us;
    char last_skip_reason[128];
};

/* Objects of one class over time. A series that is full keeps every other point. */
#define STORY_HEAP_CLASSES_MAX HISTOGRAM_ROWS_MAX
#define STORY_HEAP_POINTS_MAX  512
struct story_heap_point {
    int64_t ms, instances, bytes;
};
struct story_heap_class {
    struct histogram_class last; /* as seen last */
    int point_count;
    struct story_heap_point *points;
};

struct story_heap {
    int64_t histograms; /* 0: none was taken */
    int64_t first_ms, last_ms;
    int64_t first_bytes, last_bytes; /* of all objects */
    int64_t first_instances, last_instances;
    int class_count;
    struct story_heap_class classes[STORY_HEAP_CLASSES_MAX]; /* most growth first */
};

struct story {
    struct target_identity identity;
    int64_t wall_start_ms; /* Unix epoch */
    struct thresholds thresholds;

    int point_count;
    struct story_point *points;

    int family_count;
    struct story_family families[STORY_FAMILIES_MAX]; /* most loads first */
    int64_t families_dropped;                         /* rows that found no room */
    int loader_count;
    struct loader_row loaders[EVENT_ROWS_MAX]; /* the latest census */
    /* of that type in the first of several; -1: unknown */
    int64_t loaders_at_first[EVENT_ROWS_MAX];

    struct story_heap heap;
    struct kept_methods methods; /* the latest count */

    int alert_count; /* raised and cleared, in order */
    struct alert alerts[STORY_ALERTS_MAX];
    struct texts texts; /* of their findings */
    int64_t alerts_dropped;

    int cost_count;
    struct story_cost costs[16];
    int note_count;
    struct {
        int64_t ms;
        char text[512];
    } notes[32]; /* NOTE and GONE events, first come; the last place is kept for GONE */
    int64_t notes_dropped;

    struct judge_view view; /* at the end of the recording */
    char damage[512];       /* where the recording was damaged, empty when whole */
    char watch_cost[320]; /* one sentence: CPU and RSS of the watcher, pause spent; may be empty */
};

struct story *story_create(const struct target_identity *identity, int64_t wall_start_ms,
                           const struct thresholds *thresholds);
void story_event(struct story *story, const struct event *event);
void story_alert(struct story *story, const struct alert *alert);
void story_finish(struct story *story, const struct judge_view *view); /* sorts, sums up */
void story_destroy(struct story *story);

/* What the whole recording says, by its gravest alert; UNKNOWN when it is too short or too blind
 * for a "no". */
enum story_status { STORY_OK, STORY_WARNING, STORY_CRITICAL, STORY_UNKNOWN };
enum story_status story_status(const struct story *story);
const char *story_status_name(enum story_status status); /* "OK" "WARNING" "CRITICAL" "UNKNOWN" */

/* First to last point. */
int64_t story_span_ms(const struct story *story);
/* A value at the first and at the last point that have it; false when none has. */
bool story_first_last(const struct story *story, enum sample_field field, int64_t *first,
                      int64_t *last);
/* Alerts raised, without the clearings. */
int story_raised(const struct story *story);
/* Of the classes how many have more bytes than in the first histogram: they come first. */
int story_heap_growing(const struct story *story);
/* A table of classes by the growth of their objects: head, then a row each. */
void heap_growth_head(struct page *page);
void heap_growth_row(struct page *page, const struct histogram_class *row);
/* When the episode of a raised alert was cleared; -1 when it lasted to the end. */
int64_t story_cleared_ms(const struct story *story, int alert);
/* Index of the raised alert that the verdict is about; -1 when there was none. */
int story_gravest(const struct story *story);
/* Classes a second over all load logs that saw the family; false when none looked long enough. */
bool story_family_rate(const struct story_family *family, double *per_s);

/* The verdict in plain words, for the top of every report: the headline says what happened, the
 * advice (empty when there is nothing to change) what to do, the verdict is both. */
void story_headline(const struct story *story, char *out, size_t size);
void story_advice(const struct story *story, char *out, size_t size);
void story_verdict(const struct story *story, char *out, size_t size);
/* Committed bytes of one category over the points is what charts draw: the categories worth a line
 * (largest growth first, at most max); returns how many. The Java heap is not among them: it dwarfs
 * the rest and has its own chart. */
int story_top_categories(const struct story *story, enum nmt_category *out, int max);

/* story_page: a story as a page (reports/page/page.h): the verdict on top; then who, alerts,
 * charts, families with their fixes, class loaders, what the watching cost, thresholds, notes. One
 * thread. */

/* A drawn chart: its SVG for HTML, the name of its file for Markdown; either may be NULL. */
struct story_chart {
    const char *title, *caption, *svg, *file;
    unsigned subjects; /* enum page_subject */
};

/* A section: how many methods there are, where the number comes from, and of which families they are.
 * Nothing where `latest` has no such number. For triage, too. */
void methods_section(struct page *page, const struct sample *latest,
                     const struct kept_methods *methods);

/* Begins the page and fills it; to be freed by the caller. no_charts: why there are none, when
 * count is 0; NULL: they were not asked for. */
void story_page(const struct story *story, const struct story_chart *charts, int count,
                const char *no_charts, struct page *page);

/* One object, '\n' at its end; the text is out's. NULL when memory ran out. */
const char *report_json(struct json_out *out, const struct story *story);
