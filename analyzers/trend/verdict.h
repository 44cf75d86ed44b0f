/*
 * verdict: does this series converge? One state, one slope with its interval, one sentence.
 *
 * The problem: "it grew by X" cries wolf after every deployment and passes every slow leak. A verdict is
 * about the last homogeneous segment of a series only, requires that growth is certain (interval),
 * relevant (detection limit) and new (above all former levels), and says "cannot tell" otherwise.
 *
 * Shapes and units: times in milliseconds of a monotonic or wall clock (steps backwards are mended,
 * gaps are gaps), values in bytes, the regressor is a cumulative counter (classes loaded in all);
 * missing is VERDICT_MISSING, not zero. Slopes are bytes per hour.
 *
 * Cost: feeding is O(1) amortised; memory is bounded (history.h: resolution proportional to age);
 * asking costs a fraction of a millisecond whatever the length.
 *
 *   verdict_create -> verdict_feed ... -> verdict_ask (any number of times) -> verdict_destroy
 *
 * Deterministic: no clock, no randomness. Calling context: one thread a verdict.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VERDICT_MISSING INT64_MIN

enum verdict_state {
#define VERDICT_STATE(id, answer, meaning) VERDICT_##id,
#include "analyzers/trend/verdict_states.def"
    VERDICT_STATE_COUNT,
};

/* Values are the exit codes of `nmtwatch verdict`. */
enum verdict_answer {
    VERDICT_NOT_GROWING = 0,
    VERDICT_GROWING = 1,
    VERDICT_UNDECIDED = 3,
};

struct verdict_options {
    int64_t limit_bytes;       /* <= 0: none */
    const char *limit_name;    /* "container limit"; borrowed, may be NULL */
    int64_t floor_bytes;       /* growth over the segment below this is never called growth ... */
    double floor_percent;      /* ... nor below this share of the level */
    int64_t floor_bytes_per_h; /* a slope whose lower bound is below this is not called growth */
    int64_t min_span_ms;       /* shorter is TOO_SHORT */
    bool sparse;               /* points are rare and expensive: eight may decide (drift) */
};

/* 1 MB, 0.5 %, the slope a long series must show, the shortest span. */
void verdict_options_default(struct verdict_options *options);

struct verdict_interval {
    double value;
    double low; /* 95 % */
    double high;
};

struct verdict {
    enum verdict_state state;
    enum verdict_answer answer;
    int64_t from_ms; /* the segment it speaks of */
    int64_t to_ms;
    int points; /* samples in all */
    bool have_slope;
    /* of the segment; of the low points for a sawtooth */
    struct verdict_interval slope_bytes_per_h;
    int64_t level_bytes; /* now */
    /* where the series stood when start-up had ended (or the first level) */
    int64_t baseline_bytes;
    int64_t growth_bytes; /* level - baseline */
    bool have_regressor;
    double bytes_per_class;                         /* regression on cumulative classes loaded */
    double explained_share;                         /* 0..1 of the growth */
    struct verdict_interval slope_left_bytes_per_h; /* after that regression */
    bool have_eta;
    double eta_s; /* until limit_bytes at slope; high may be INFINITY */
    double eta_low_s;
    double eta_high_s;
    int restarts; /* seen in all */
    int steps;
    char sentence[320]; /* for people; no newline */
};

struct verdict_series;

/* NULL when out of memory. */
struct verdict_series *verdict_create(const struct verdict_options *options);
/* bytes or regressor may be VERDICT_MISSING. False only when out of memory: the point is then not
 * kept, and what was there stays good. */
bool verdict_feed(struct verdict_series *series, int64_t ms, int64_t bytes, int64_t regressor);
void verdict_ask(const struct verdict_series *series, struct verdict *out);
void verdict_destroy(struct verdict_series *series);

const char *verdict_state_name(enum verdict_state state);
const char *verdict_state_meaning(enum verdict_state state);

/*
 * growth_alarm: verdicts of one series in, one alarm an episode out.
 *
 * A judge asks for a verdict again and again; acting on each would ring on the first unlucky one. The alarm
 * is raised when `need` of the last `of` verdicts say GROWING, cleared when none of the last `of`
 * does.
 *
 * Where the series has stood level before, a CUSUM makes it faster. It adds up how far the level is
 * above where it stood (Page, Biometrika 41, 1954), in units of how much it moves from one verdict
 * to the next:
 *
 *     S = max(0, S + (level - mean) / sigma - 1/2)      out of control when S > 8
 *
 * mean and sigma follow the series slowly while it is in control. When both the sum and a verdict
 * say so, one verdict is enough: they are not wrong for the same reasons. S > 8 alone happens once
 * in 10^4 looks at independent normal noise, and never raises the alarm by itself.
 *
 *   growth_alarm_init -> growth_alarm_add ...
 *
 * Plain data, no ownership; any thread that owns it.
 */
/* The schedule for which docs/internals/error-rates.md gives error rates. Asked each minute, 12 of 20 is as
 * quiet. */
#define GROWTH_ALARM_ASK_MS 300000
#define GROWTH_ALARM_NEED   3
#define GROWTH_ALARM_OF     5

/* Page's sum over the level that verdicts report. */
struct cusum {
    int level_points; /* that made mean and variance */
    int out_points;   /* out of control in a row */
    double mean;
    double variance;
    double sum;
};

/* True: out of control. */
bool cusum_add(struct cusum *cusum, double level, bool in_control);

struct growth_alarm {
    int need;
    int of;
    uint32_t recent; /* bit 0 the newest: said GROWING */
    int seen;
    bool active;
    struct cusum cusum;
};

enum growth_alarm_change { GROWTH_ALARM_NONE, GROWTH_ALARM_RAISED, GROWTH_ALARM_CLEARED };

/* need <= of <= 32. */
void growth_alarm_init(struct growth_alarm *alarm, int need, int of);
enum growth_alarm_change growth_alarm_add(struct growth_alarm *alarm,
                                          const struct verdict *verdict);
