#include "analyzers/soak/estimate.h"

#include "analyzers/model/texts.h"
#include "analyzers/trend/trend_line.h"
#include "analyzers/native/internal.h"

#include <math.h>
#include <stdlib.h>
#include <ctype.h>

#define BLOCKS_MAX      48
#define BLOCKS_MIN      6
#define AGREEMENT_MAX   0.3
#define AGREEMENT_CLAMP 0.9
#define HOUR_MS         3600000.0
#define COUNTER_MIN     3.0

/* Medians of the window's blocks. */
struct blocks {
    int count;
    double x[BLOCKS_MAX]; /* ms, or the counter */
    double y[BLOCKS_MAX];
};

/* The points of the window in at most `wanted` blocks of equal time; empty ones are left out. */
static void cut(const struct points *points, int first, int last, int wanted, struct blocks *blocks)
{
    static const int LARGEST = POINTS_MAX;
    double values[POINTS_MAX];
    double from = (double)points->at[first].ms, span = (double)points->at[last].ms - from + 1;
    blocks->count = 0;
    for (int i = first; i <= last;) {
        int block = (int)(((double)points->at[i].ms - from) / span * wanted), n = 0;
        double ms = 0;
        while (i <= last && n < LARGEST &&
               (int)(((double)points->at[i].ms - from) / span * wanted) == block) {
            values[n++] = points->at[i].value;
            ms += (double)points->at[i++].ms;
        }
        blocks->x[blocks->count] = ms / n;
        blocks->y[blocks->count++] = trend_median(values, n);
    }
}

/* Lag-1 autocorrelation of the residuals from a line; 0 where there are none. */
static double agreement(const struct blocks *blocks, double slope)
{
    double residual[BLOCKS_MAX], mean = 0, variance = 0, together = 0;
    for (int i = 0; i < blocks->count; i++) {
        residual[i] = blocks->y[i] - slope * (blocks->x[i] - blocks->x[0]);
        mean += residual[i] / blocks->count;
    }
    for (int i = 0; i < blocks->count; i++) {
        variance += (residual[i] - mean) * (residual[i] - mean);
        if (i > 0)
            together += (residual[i] - mean) * (residual[i - 1] - mean);
    }
    return variance > 0 ? together / variance : 0;
}

static double widening(double r)
{
    r = r < 0 ? 0 : r > AGREEMENT_CLAMP ? AGREEMENT_CLAMP : r;
    return sqrt((1 + r) / (1 - r));
}

/* First and last index inside of the window; false when fewer than BLOCKS_MIN points are. */
static bool window(const struct points *points, int64_t from_ms, int64_t to_ms, int *first,
                   int *last)
{
    *first = 0;
    *last = points->count - 1;
    while (*first <= *last && points->at[*first].ms < from_ms)
        ++*first;
    while (*last >= *first && points->at[*last].ms > to_ms)
        --*last;
    return *last - *first + 1 >= BLOCKS_MIN;
}

static int blocks_wanted(int points)
{
    return points < BLOCKS_MAX ? points : BLOCKS_MAX;
}

/* x in blocks -> Theil-Sen, blocks doubled in length until neighbours disagree. */
static bool fit(const struct points *points, int first, int last,
                bool (*translate)(struct blocks *, const struct points *),
                const struct points *counter, struct theil_sen *line, double *wider,
                struct blocks *blocks)
{
    int wanted = blocks_wanted(last - first + 1);
    for (;; wanted /= 2) {
        cut(points, first, last, wanted, blocks);
        if ((translate != NULL && !translate(blocks, counter)) ||
            !theil_sen(blocks->x, blocks->y, blocks->count, line))
            return false;
        double r = agreement(blocks, line->slope);
        *wider = widening(r);
        if (r < AGREEMENT_MAX || wanted / 2 < BLOCKS_MIN + 2)
            return true;
    }
}

static struct estimate around(double value, double low, double high, double wider, double least)
{
    double below = (value - low) * wider, above = (high - value) * wider;
    return (struct estimate){true, value, value - (below > least ? below : least),
                             value + (above > least ? above : least)};
}

struct estimate estimate_slope(const struct points *points, int64_t from_ms, int64_t to_ms,
                               double quantum)
{
    struct blocks blocks;
    struct theil_sen line;
    double wider;
    int first, last;
    if (!window(points, from_ms, to_ms, &first, &last) ||
        !fit(points, first, last, NULL, NULL, &line, &wider, &blocks))
        return (struct estimate){0};
    double span = (double)(points->at[last].ms - points->at[first].ms);
    return around(line.slope * HOUR_MS, line.low * HOUR_MS, line.high * HOUR_MS, wider,
                  quantum / span * HOUR_MS);
}

/* Student's t at 97.5 %. */
static double student(int freedom)
{
    static const double T[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
                               2.365,  2.306, 2.262, 2.228, 2.201};
    int rows = (int)(sizeof T / sizeof T[0]);
    return freedom < 1 ? T[0] : freedom <= rows ? T[freedom - 1] : 2.2;
}

struct estimate estimate_level(const struct points *points, int64_t from_ms, int64_t to_ms,
                               double quantum)
{
    struct blocks blocks;
    struct theil_sen line;
    double wider, value = 0, variance = 0, residual[BLOCKS_MAX];
    int first, last;
    if (!window(points, from_ms, to_ms, &first, &last) ||
        !fit(points, first, last, NULL, NULL, &line, &wider, &blocks))
        return (struct estimate){0};
    bool flat = line.low <= 0 && line.high >= 0;
    double slope = flat ? 0 : line.slope, end = (double)points->at[last].ms;
    for (int i = 0; i < blocks.count; i++) {
        residual[i] = blocks.y[i] + slope * (end - blocks.x[i]);
        value += residual[i] / blocks.count;
    }
    for (int i = 0; i < blocks.count; i++)
        variance += (residual[i] - value) * (residual[i] - value);
    int freedom = blocks.count - (flat ? 1 : 2);
    double half = student(freedom) * sqrt(variance / freedom / blocks.count) * (flat ? 1 : 2);
    return around(value, value - half, value + half, wider, quantum / 2);
}

/* The counter at a time: straight between its points, level outside of them. */
static double counter_at(const struct points *counter, double ms)
{
    int i = 0;
    while (i < counter->count && (double)counter->at[i].ms < ms)
        i++;
    if (i == 0)
        return counter->at[0].value;
    if (i == counter->count)
        return counter->at[i - 1].value;
    const struct point *a = &counter->at[i - 1], *b = &counter->at[i];
    return a->value + (b->value - a->value) * (ms - (double)a->ms) / (double)(b->ms - a->ms);
}

static bool to_counter(struct blocks *blocks, const struct points *counter)
{
    for (int i = 0; i < blocks->count; i++)
        blocks->x[i] = counter_at(counter, blocks->x[i]);
    return blocks->count > 1 && blocks->x[blocks->count - 1] - blocks->x[0] >= COUNTER_MIN;
}

struct estimate estimate_per_step(const struct points *points, const struct points *counter,
                                  int64_t from_ms, int64_t to_ms, double quantum)
{
    struct blocks blocks;
    struct theil_sen line;
    double wider;
    int first, last;
    if (counter->count < 2)
        return (struct estimate){0};
    /* Outside of what is known of the counter nothing can be said. */
    from_ms = MAX(from_ms, counter->at[0].ms);
    to_ms = MIN(to_ms, counter->at[counter->count - 1].ms);
    if (!window(points, from_ms, to_ms, &first, &last) ||
        !fit(points, first, last, to_counter, counter, &line, &wider, &blocks))
        return (struct estimate){0};
    double moved = counter_at(counter, (double)points->at[last].ms) -
                   counter_at(counter, (double)points->at[first].ms);
    /* The ends of the counter are known to one step. */
    return around(line.slope, line.low, line.high, wider, (quantum + fabs(line.slope)) / moved);
}

struct estimate estimate_difference(struct estimate a, struct estimate b)
{
    if (!a.known || !b.known)
        return (struct estimate){0};
    double value = b.value - a.value;
    return (struct estimate){true, value, value - hypot(b.value - b.low, a.high - a.value),
                             value + hypot(b.high - b.value, a.value - a.low)};
}

/* --- points of a series ----------------------------------------------------------------------- */

static void halve(struct points *points)
{
    int kept = 0;
    for (int i = 0; i + 1 < points->count; i += 2, kept++) {
        const struct point *a = &points->at[i], *b = a + 1;
        points->at[kept] = (struct point){a->ms + (b->ms - a->ms) / 2, (a->value + b->value) / 2};
    }
    points->count = kept;
    points->each *= 2;
}

bool points_add(struct points *points, int64_t ms, double value)
{
    if (points->each == 0)
        points->each = 1;
    if (points->count > 0 && ms <= points->at[points->count - 1].ms)
        return true;
    if (points->pending == 0)
        points->sum = (struct point){ms, 0};
    points->sum.value += value;
    if (++points->pending < points->each)
        return true;
    if (points->count == POINTS_MAX)
        halve(points);
    if (!array_room(&points->at, &points->capacity, (size_t)points->count + 1, sizeof *points->at))
        return false;
    points->at[points->count++] = (struct point){points->sum.ms + (ms - points->sum.ms) / 2,
                                                 points->sum.value / points->pending};
    points->pending = 0;
    return true;
}

void points_free(struct points *points)
{
    free(points->at);
    *points = (struct points){0};
}

/* --- budgets ---------------------------------------------------------------------------------- */

#define NEEDS_MAX_MS 1e12

static int64_t span_needed(double amount, struct estimate measured, int64_t span_ms)
{
    double distance = fabs(amount - measured.value);
    double half =
        measured.value > amount ? measured.value - measured.low : measured.high - measured.value;
    if (distance <= 0 || half <= 0)
        return 0;
    double needs_ms = (double)span_ms * pow(half / distance, 2.0 / 3.0);
    return needs_ms > (double)span_ms && needs_ms < NEEDS_MAX_MS ? (int64_t)needs_ms : 0;
}

struct budget_outcome budget_judge_slope(const struct budget *budget, struct estimate measured,
                                         int64_t span_ms)
{
    struct budget_outcome outcome = {budget, SOAK_UNDECIDED, measured, 0};
    if (!measured.known)
        return outcome;
    if (measured.low > budget->amount)
        outcome.answer = SOAK_FAIL;
    else if (measured.high <= budget->amount)
        outcome.answer = SOAK_PASS;
    else
        outcome.needs_ms = span_needed(budget->amount, measured, span_ms);
    return outcome;
}

struct budget_outcome budget_judge_amount(const struct budget *budget, bool known, double value)
{
    struct budget_outcome outcome = {
        budget, SOAK_UNDECIDED, {.known = known, value, value, value}, 0};
    if (known)
        outcome.answer = value > budget->amount ? SOAK_FAIL : SOAK_PASS;
    return outcome;
}

/* --- series ----------------------------------------------------------------------------------- */

#define VALUE_MAX (INT64_C(1) << 50)

static const struct {
    const char *key;
    const char *title;
    enum soak_unit unit;
    enum soak_role role;
} rows[] = {
#define SOAK_SERIES(id, key, title, unit, role) {key, title, SOAK_UNIT_##unit, SOAK_ROLE_##role},
#include "analyzers/soak/soak_series.def"
};

static enum nmt_category category_of(enum soak_series series)
{
    return (enum nmt_category)(series - SOAK_FIRST_CATEGORY);
}

void soak_series_key(enum soak_series series, char *out)
{
    const char *name =
        series < SOAK_FIRST_CATEGORY ? rows[series].key : nmt_category_name(category_of(series));
    /* Two sums are called as the categories they begin with. */
    bool taken = series == SOAK_FIRST_CATEGORY + NMT_INTERNAL ||
                 series == SOAK_FIRST_CATEGORY + NMT_METASPACE;
    size_t length = taken ? 4 : 0;
    memcpy(out, "nmt-", 4);
    for (; *name != '\0' && length + 1 < SOAK_KEY_MAX; name++, length++)
        out[length] = *name == ' ' ? '-' : (char)tolower((unsigned char)*name);
    out[length] = '\0';
}

enum soak_series soak_series_from_key(struct span key)
{
    char known[SOAK_KEY_MAX];
    for (int series = 0; series < SOAK_SERIES_COUNT; series++) {
        soak_series_key((enum soak_series)series, known);
        if (strlen(known) == key.len && memcmp(known, key.ptr, key.len) == 0)
            return (enum soak_series)series;
    }
    return SOAK_SERIES_COUNT;
}

const char *soak_series_title(enum soak_series series, int jdk_major)
{
    if (series == SOAK_INTERNAL)
        return internal_meaning(jdk_major);
    return series < SOAK_FIRST_CATEGORY ? rows[series].title
                                        : nmt_category_name(category_of(series));
}

enum soak_unit soak_series_unit(enum soak_series series)
{
    return series < SOAK_FIRST_CATEGORY ? rows[series].unit : SOAK_UNIT_BYTES;
}

enum soak_role soak_series_role(enum soak_series series)
{
    if (series < SOAK_FIRST_CATEGORY)
        return rows[series].role;
    switch (category_of(series)) {
    case NMT_JAVA_HEAP: /* the heap's own business, and bounded by -Xmx */
    case NMT_GC:        /* follows the heap */
    case NMT_GC_CARD_SET:
    case NMT_CODE: /* bounded by ReservedCodeCacheSize, and fills for long */
    case NMT_COMPILER:
    case NMT_ARENA_CHUNK:
    case NMT_NMT: /* what the tracking itself takes: follows the others */
    case NMT_SHARED_CLASS_SPACE:
    case NMT_INTERNAL: /* these three are in the sums above */
    case NMT_CLASS:
    case NMT_METASPACE:
        return SOAK_ROLE_SHOWN;
    default:
        return SOAK_ROLE_WATCHED;
    }
}

static bool plausible(int64_t value)
{
    return value >= 0 && value <= VALUE_MAX;
}

/* NMT's total without the committed heap, which the GC moves as it likes. */
static bool without_heap(const struct sample *sample, int64_t *value)
{
    struct nmt_amount heap;
    if (!sample_get(sample, SAMPLE_NMT_COMMITTED_BYTES, value) ||
        !sample_get_nmt(sample, NMT_JAVA_HEAP, &heap) || !plausible(*value) ||
        !plausible(heap.committed_bytes) || heap.committed_bytes > *value)
        return false;
    *value -= heap.committed_bytes;
    return true;
}

static bool live_classes(const struct sample *sample, int64_t *value)
{
    int64_t unloaded;
    if (!sample_get(sample, SAMPLE_CLASSES_LOADED, value) ||
        !sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded) || !plausible(*value) ||
        !plausible(unloaded))
        return false;
    *value -= unloaded;
    return true;
}

bool soak_series_value(enum soak_series series, const struct sample *sample, int jdk_major,
                       int64_t *value)
{
    bool known = false;
    struct nmt_amount amount;
    switch (series) {
    case SOAK_INTERNAL:
        known = internal_bytes(sample, jdk_major, value);
        break;
    case SOAK_METASPACE:
        known = class_metaspace_bytes(sample, value);
        break;
    case SOAK_TOTAL:
        known = without_heap(sample, value);
        break;
    case SOAK_RSS:
        known = sample_get(sample, SAMPLE_RSS_BYTES, value);
        break;
    case SOAK_CLASSES:
        known = live_classes(sample, value);
        break;
    case SOAK_LOADED:
        known = sample_get(sample, SAMPLE_CLASSES_LOADED, value);
        break;
    case SOAK_THREADS:
        known = sample_get(sample, SAMPLE_THREADS, value);
        break;
    default:
        known = series < SOAK_SERIES_COUNT && sample_get_nmt(sample, category_of(series), &amount);
        if (known)
            *value = amount.committed_bytes;
        break;
    }
    return known && plausible(*value);
}
