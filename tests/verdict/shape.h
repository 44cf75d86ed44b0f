/*
 * shape: a kind of series whose truth is known, and the series made of it.
 *
 * A shape is a sum of parts (start-up, cache, leak, sawtooth, day, steps, noise, ...) listed in
 * shapes.def; a part that is not named is absent. A seed varies time constants, heights, phases and
 * the moments of events; what is asked about (rate and time of a leak) is exact. Set 1 is the one
 * the verdict was built against, set 2 has other parts, other noise and other seeds.
 *
 * Units: hours and MB (2^20 bytes) in the table, where people read them; milliseconds and bytes in
 * the points.
 *
 *   shape_find -> series_init -> series_next ... ; series_truth, series_clean_bytes at any time
 *
 * Deterministic. Plain data; any thread that owns it.
 */
#pragma once

#include "analyzers/trend/verdict.h"
#include "tests/verdict/noise.h"

enum truth {
#define TRUTH(id, answer, states, meaning) TRUTH_##id,
#include "tests/verdict/truths.def"
#undef TRUTH
    TRUTH_COUNT,
};

const char *truth_name(enum truth truth);
enum verdict_answer truth_answer(enum truth truth);
/* Does this state describe it? */
bool truth_is_called(enum truth truth, enum verdict_state state);

enum day_kind {
    DAY_SINUS,
    DAY_OFFICE,    /* eight hours at the top, quick ramps */
    DAY_HARMONICS, /* a second, smaller top */
    DAY_WEEK,      /* office hours, the last two days of seven off */
};

#define SHAPE_STEPS_MAX 16

struct shape {
    int set;
    const char *id;
    const char *kind; /* shapes of one kind share a row of the tables */
    enum truth truth;

    double hours;
    double every_s; /* 0: 5, what nmtwatch does */
    bool irregular; /* exponential distances with that mean */
    bool sparse;    /* points are expensive: verdict_options.sparse */
    bool odd_clock; /* repeats a time now and then, and once steps back */
    double base_mb;
    double quantum_kb; /* 0: 1 */
    enum noise_kind noise;
    double noise_kb;
    double noise_tau_s;

    double warm_mb; /* start-up: an exponential approach ... */
    double warm_h;  /* ... with this time constant */
    double warm2_mb;
    double warm2_h;
    double fill_mb; /* a cache that fills evenly to its bound */
    double fill_h;
    double cache_mb; /* a cache that fills in an S */
    double cache_middle_h;
    double cache_width_h;
    double creep_mb; /* per factor e of time */
    double creep_h;

    double leak_mb_per_h;
    double leak_mb_per_h2; /* acceleration */
    double leak_from_h;
    double leak_until_h; /* 0: forever */
    double stair_mb;     /* leaks in portions of this size ... */
    double stair_every_h;
    bool stair_random; /* ... at random times and of random size (exponential), not regular */

    int steps; /* single jumps at random times */
    double step_mb;
    bool step_back; /* down as often as up */
    double saw_mb;  /* rises and is collected */
    double saw_s;
    double saw_curve; /* 0 rises evenly; > 0 fast first */
    double saw_vary;  /* 0..1: heights and lengths differ by this share */
    double saw2_mb;
    double saw2_s;
    double day_mb;
    double day_h; /* 0: none */
    enum day_kind day_kind;
    double day_vary; /* the top of a day differs by this share */
    double batch_mb; /* a job each day_h hours */
    double batch_h;
    double spikes_per_h;
    double spike_mb;
    double spike_s;

    double restart_h; /* once, or each so many hours */
    bool restart_again;
    double classes; /* loaded with the load, which rises for ramp_h */
    double ramp_h;
    double classes_per_h; /* without end */
    double class_wave;    /* by this share more and less of them, hour by hour */
    double bytes_per_class;

    double gaps_per_day;
    double gap_h;
    double missing; /* share of samples without a value */
};

extern const struct shape shapes[];
extern const int shape_count;
/* NULL: none of that name in the set. */
const struct shape *shape_find(int set, const char *id);

struct saw_cycle {
    double from_h;
    double length_h;
    double height_mb;
};

struct series {
    const struct shape *shape;
    struct random random;
    struct noise noise;
    double t_h;
    double window; /* of heights and time constants of start-up and caches, by seed */
    double phase;
    double settled_h; /* since the (re)start: from here on what is left of start-up is < 1 MB */
    struct saw_cycle saw, saw2;
    double day_top;
    int day;
    double next_stair_h, stairs_mb;
    double step_at_h[SHAPE_STEPS_MAX], step_mb[SHAPE_STEPS_MAX];
    double next_spike_h, spike_until_h;
    double next_gap_h;
    int points;
};

struct point {
    int64_t ms;
    int64_t bytes;     /* or VERDICT_MISSING */
    int64_t regressor; /* or VERDICT_MISSING */
};

void series_init(struct series *series, const struct shape *shape, unsigned seed);
/* False: the series has ended. */
bool series_next(struct series *series, struct point *point);

/* What a verdict asked at this time should know. */
enum series_truth {
    SERIES_CONVERGED,
    SERIES_GROWS,
    SERIES_OPEN, /* starts up, first day or cycle, or a leak has just stopped: undecided */
};
enum series_truth series_truth(const struct series *series, double h);

/* Start-up, caches and even leaks only: the curve whose slope a verdict should find. False when the
 * series has other parts that move its level (steps, portions, days, restarts, classes). */
bool series_clean_bytes(const struct series *series, double h, double *bytes);
/* What it grows without end, and how much of that goes with the classes loaded. */
double shape_leak_bytes_per_h(const struct shape *shape);
double shape_explained_share(const struct shape *shape);
