#include "tests/verdict/shape.h"

#include <math.h>
#include <string.h>

#define MB            1048576.0
#define MS_PER_H      3600000.0
#define EVERY_S       5.0
#define FLOOR_MB      1.0 /* less than this left of a start-up: over (verdict_options_default) */
#define STOPPED_H     6.0 /* how long a leak that stopped may still be called one */
#define START_WALL_MS 1000000

/* What shapes.def is written in. */
#define WHITE(kb)            .noise = NOISE_WHITE, .noise_kb = (kb)
#define LAPLACE(kb)          .noise = NOISE_LAPLACE, .noise_kb = (kb)
#define STUDENT(kb)          .noise = NOISE_STUDENT, .noise_kb = (kb)
#define AR1(kb, tau_s)       .noise = NOISE_AR1, .noise_kb = (kb), .noise_tau_s = (tau_s)
#define PINK(kb, tau_s)      .noise = NOISE_PINK, .noise_kb = (kb), .noise_tau_s = (tau_s)
#define TELEGRAPH(kb, tau_s) .noise = NOISE_TELEGRAPH, .noise_kb = (kb), .noise_tau_s = (tau_s)
#define WALK(kb, tau_s)      .noise = NOISE_WALK, .noise_kb = (kb), .noise_tau_s = (tau_s)
#define HISTOGRAMS           .sparse = true, .every_s = 600

const struct shape shapes[] = {
#define SHAPE(set_, id_, kind_, truth_, ...)                                                       \
    {.set = set_, .id = id_, .kind = kind_, .truth = TRUTH_##truth_, __VA_ARGS__},
#include "tests/verdict/shapes.def"
#undef SHAPE
};
const int shape_count = (int)(sizeof shapes / sizeof *shapes);

static const struct {
    const char *name;
    enum verdict_answer answer;
    unsigned states;
} truths[] = {
#define CALLED(state)                      (1u << VERDICT_##state)
#define TRUTH(id, answer, states, meaning) {#id, VERDICT_##answer, states},
#include "tests/verdict/truths.def"
#undef TRUTH
#undef CALLED
};

const char *truth_name(enum truth truth)
{
    return truths[truth].name;
}

enum verdict_answer truth_answer(enum truth truth)
{
    return truths[truth].answer;
}

bool truth_is_called(enum truth truth, enum verdict_state state)
{
    return (truths[truth].states >> state & 1) != 0;
}

const struct shape *shape_find(int set, const char *id)
{
    for (int i = 0; i < shape_count; i++) {
        if (shapes[i].set == set && strcmp(shapes[i].id, id) == 0)
            return &shapes[i];
    }
    return NULL;
}

/* --- parts that are functions of the time since the start ------------------------------------- */

static double approach_mb(double mb, double tau_h, double h)
{
    return tau_h > 0 ? mb * (1 - exp(-h / tau_h)) : 0;
}

static double start_up_mb(const struct series *series, double h)
{
    const struct shape *s = series->shape;
    double stretched_h = h / series->window, sum = 0;
    sum += approach_mb(s->warm_mb, s->warm_h, stretched_h);
    sum += approach_mb(s->warm2_mb, s->warm2_h, stretched_h);
    if (s->fill_h > 0)
        sum += s->fill_mb * fmin(1, stretched_h / s->fill_h);
    if (s->cache_width_h > 0)
        sum += s->cache_mb / (1 + exp((s->cache_middle_h - stretched_h) / s->cache_width_h));
    return sum * series->window;
}

static double leak_mb(const struct shape *s, double h)
{
    double until_h = s->leak_until_h > 0 && h > s->leak_until_h ? s->leak_until_h : h;
    double grown_h = until_h - s->leak_from_h;
    if (grown_h <= 0)
        return 0;
    return grown_h * s->leak_mb_per_h + grown_h * grown_h / 2 * s->leak_mb_per_h2;
}

static double clean_mb(const struct series *series, double h)
{
    const struct shape *s = series->shape;
    double creep_mb = s->creep_h > 0 ? s->creep_mb * log1p(h / s->creep_h) : 0;
    return s->base_mb + start_up_mb(series, h) + leak_mb(s, h) + creep_mb;
}

/* The load rises as half a cosine. */
static double classes_loaded(const struct shape *s, double h)
{
    double ramp = s->ramp_h > 0 && h < s->ramp_h ? (1 - cos(M_PI * h / s->ramp_h)) / 2 : 1;
    double waved_h = h + s->class_wave * sin(2 * M_PI * h) / (2 * M_PI);
    return 5000 + s->classes * ramp + s->classes_per_h * waved_h;
}

/* Hours since the last restart. */
static double age_h(const struct shape *s, double h)
{
    if (s->restart_h <= 0 || h < s->restart_h)
        return h;
    return s->restart_again ? fmod(h, s->restart_h) : h - s->restart_h;
}

/* --- parts that come back --------------------------------------------------------------------- */

static double day_shape(const struct shape *s, double days)
{
    double x = days - floor(days);
    double office = 1 / (1 + exp((0.33 - x) * 60)) - 1 / (1 + exp((0.67 - x) * 60));
    switch (s->day_kind) {
    case DAY_SINUS:
        return (1 - cos(2 * M_PI * x)) / 2;
    case DAY_OFFICE:
        return office;
    case DAY_HARMONICS:
        return (1 - cos(2 * M_PI * x)) * 0.35 + (1 - cos(4 * M_PI * x)) * 0.15;
    case DAY_WEEK:
        return fmod(floor(days), 7) < 5 ? office : 0;
    }
    return 0;
}

static double day_mb(struct series *series, double h)
{
    const struct shape *s = series->shape;
    if (s->day_h <= 0)
        return 0;
    double days = h / s->day_h + series->phase;
    if ((int)days != series->day) { /* at the lowest point, where its height does not show */
        series->day = (int)days;
        series->day_top = 1 + s->day_vary * random_between(&series->random, -1, 1);
    }
    double job = days - floor(days) < s->batch_h / s->day_h ? s->batch_mb : 0;
    return s->day_mb * day_shape(s, days) * series->day_top + job;
}

static double cycle_mb(struct series *series, struct saw_cycle *cycle, double mb, double length_s,
                       double h)
{
    const struct shape *s = series->shape;
    if (length_s <= 0)
        return 0;
    if (h >= cycle->from_h + cycle->length_h) {
        cycle->from_h = h;
        cycle->length_h =
            length_s / 3600 * (1 + s->saw_vary * random_between(&series->random, -1, 1));
        cycle->height_mb = mb * (1 + s->saw_vary * random_between(&series->random, -1, 1));
    }
    double x = (h - cycle->from_h) / cycle->length_h;
    if (s->saw_curve > 0)
        x = (1 - exp(-s->saw_curve * x)) / (1 - exp(-s->saw_curve));
    return cycle->height_mb * x;
}

/* --- events ----------------------------------------------------------------------------------- */

static double next_stair_h(struct series *series)
{
    const struct shape *s = series->shape;
    return s->stair_random ? random_exponential(&series->random, s->stair_every_h)
                           : s->stair_every_h * random_between(&series->random, 0.8, 1.2);
}

static double stairs_mb(struct series *series, double h)
{
    const struct shape *s = series->shape;
    while (s->stair_every_h > 0 && h >= series->next_stair_h) {
        series->stairs_mb +=
            s->stair_random ? random_exponential(&series->random, s->stair_mb) : s->stair_mb;
        series->next_stair_h += next_stair_h(series);
    }
    return series->stairs_mb;
}

static double steps_mb(const struct series *series, double h)
{
    double sum = 0;
    for (int i = 0; i < series->shape->steps; i++)
        sum += h >= series->step_at_h[i] ? series->step_mb[i] : 0;
    return sum;
}

static double spikes_mb(struct series *series, double h)
{
    const struct shape *s = series->shape;
    if (s->spikes_per_h <= 0)
        return 0;
    if (h >= series->next_spike_h) {
        series->spike_until_h = h + random_exponential(&series->random, s->spike_s / 3600);
        series->next_spike_h = h + random_exponential(&series->random, 1 / s->spikes_per_h);
    }
    return h < series->spike_until_h ? s->spike_mb : 0;
}

/* --- the series ------------------------------------------------------------------------------- */

/* By search: what is left of the start-up has no closed form. */
static double settles_h(const struct series *series)
{
    const struct shape *s = series->shape;
    double end_mb = start_up_mb(series, 10 * s->hours + 100), h = 0;
    while (h < s->hours && end_mb - start_up_mb(series, h) > FLOOR_MB)
        h += 0.01;
    if (h > 0)
        h *= 1.1; /* and a while to see that it is so */
    if (s->day_h > 0)
        h += s->day_h * (s->day_kind == DAY_WEEK ? 8 : 1.1);
    double tooth_h = fmax(s->saw_s, s->saw2_s) / 3600 * (1 + s->saw_vary);
    return fmax(fmax(h, s->ramp_h * 1.2), 1.5 * tooth_h);
}

void series_init(struct series *series, const struct shape *shape, unsigned seed)
{
    uint64_t name = 14695981039346656037u; /* FNV-1a: each shape its own numbers */
    for (const char *c = shape->id; *c != '\0'; c++)
        name = (name ^ (uint64_t)*c) * 1099511628211u;
    memset(series, 0, sizeof *series);
    series->shape = shape;
    random_init(&series->random, name + (uint64_t)shape->set * 1000003u + seed);
    struct random *random = &series->random;
    series->window = exp(random_between(random, -0.2, 0.2));
    series->phase = random_uniform(random);
    if (shape->day_kind == DAY_WEEK)
        series->phase *= 7;
    series->day = (int)series->phase;
    series->day_top = 1 + shape->day_vary * random_between(random, -1, 1);
    noise_init(&series->noise, shape->noise, shape->noise_kb / 1024, shape->noise_tau_s, random);
    series->saw = (struct saw_cycle){-series->phase * shape->saw_s / 3600, shape->saw_s / 3600,
                                     shape->saw_mb};
    series->saw2 = (struct saw_cycle){-series->phase * shape->saw2_s / 3600, shape->saw2_s / 3600,
                                      shape->saw2_mb};
    for (int i = 0; i < shape->steps; i++) {
        bool down = shape->step_back && i % 2 == 1;
        series->step_at_h[i] = shape->hours * (i + random_between(random, 0.2, 0.8)) / shape->steps;
        series->step_mb[i] =
            down ? -series->step_mb[i - 1] : shape->step_mb * random_between(random, 0.5, 1.5);
    }
    series->next_stair_h = shape->leak_from_h;
    if (shape->stair_every_h > 0)
        series->next_stair_h += next_stair_h(series);
    if (shape->spikes_per_h > 0)
        series->next_spike_h = random_exponential(random, 1 / shape->spikes_per_h);
    series->next_gap_h =
        shape->gaps_per_day > 0 ? random_exponential(random, 24 / shape->gaps_per_day) : INFINITY;
    series->settled_h = settles_h(series);
}

static double advance_s(struct series *series)
{
    const struct shape *s = series->shape;
    double every_s = s->every_s > 0 ? s->every_s : EVERY_S;
    double dt_s = s->irregular ? 0.1 + random_exponential(&series->random, every_s) : every_s;
    if (series->t_h >= series->next_gap_h) {
        dt_s += 3600 * random_exponential(&series->random, s->gap_h);
        series->next_gap_h =
            series->t_h + dt_s / 3600 + random_exponential(&series->random, 24 / s->gaps_per_day);
    }
    return dt_s;
}

static int64_t clock_ms(const struct series *series)
{
    const struct shape *s = series->shape;
    int64_t ms = START_WALL_MS + (int64_t)llround(series->t_h * MS_PER_H);
    if (s->odd_clock && series->points % 1000 == 999)
        ms -= (int64_t)((s->every_s > 0 ? s->every_s : EVERY_S) * 1000);
    if (s->odd_clock && series->t_h > s->hours / 3)
        ms -= 120000;
    return ms;
}

bool series_next(struct series *series, struct point *point)
{
    const struct shape *s = series->shape;
    double dt_s = series->points == 0 ? 0 : advance_s(series);
    series->t_h += dt_s / 3600;
    double h = series->t_h;
    if (h > s->hours)
        return false;
    double age = age_h(s, h);
    double mb = clean_mb(series, age);
    mb += day_mb(series, h);
    mb += cycle_mb(series, &series->saw, s->saw_mb, s->saw_s, h);
    mb += cycle_mb(series, &series->saw2, s->saw2_mb, s->saw2_s, h);
    mb += stairs_mb(series, h) + steps_mb(series, h) + spikes_mb(series, h);
    mb += noise_next(&series->noise, dt_s, &series->random);
    point->regressor = VERDICT_MISSING;
    if (s->bytes_per_class > 0) {
        point->regressor = (int64_t)classes_loaded(s, age);
        mb += (double)point->regressor * s->bytes_per_class / MB;
    }
    double quantum = (s->quantum_kb > 0 ? s->quantum_kb : 1) * 1024;
    point->bytes = (int64_t)(floor(fmax(mb, 0) * MB / quantum + 0.5) * quantum);
    if (s->missing > 0 && random_uniform(&series->random) < s->missing)
        point->bytes = VERDICT_MISSING;
    point->ms = clock_ms(series);
    series->points++;
    return true;
}

enum series_truth series_truth(const struct series *series, double h)
{
    const struct shape *s = series->shape;
    double age = age_h(s, h);
    bool leaks = truth_answer(s->truth) == VERDICT_GROWING || s->truth == TRUTH_STOPPED;
    if (leaks && age >= s->leak_from_h) {
        if (s->leak_until_h <= 0 || age < s->leak_until_h)
            return SERIES_GROWS;
        if (age < s->leak_until_h + STOPPED_H)
            return SERIES_OPEN;
    }
    return age < series->settled_h ? SERIES_OPEN : SERIES_CONVERGED;
}

bool series_clean_bytes(const struct series *series, double h, double *bytes)
{
    const struct shape *s = series->shape;
    if (s->steps > 0 || s->stair_every_h > 0 || s->day_h > 0 || s->restart_h > 0 ||
        s->bytes_per_class > 0)
        return false;
    *bytes = clean_mb(series, h) * MB;
    return true;
}

double shape_leak_bytes_per_h(const struct shape *s)
{
    return s->leak_mb_per_h * MB;
}

double shape_explained_share(const struct shape *s)
{
    double by_classes = s->classes_per_h * s->bytes_per_class;
    return by_classes / (by_classes + shape_leak_bytes_per_h(s));
}
