#include "analyzers/trend/history.h"

#include "analyzers/trend/trend_line.h"
#include "analyzers/trend/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bucket {
    int64_t ms; /* mean time */
    float mean;
    float low;
    float regressor;
    uint32_t count;
};

_Static_assert(sizeof(struct bucket) == 24, "the header says what a bucket costs");

/* A ring, oldest first. */
struct history_level {
    int head;
    int count;
    struct bucket bucket[HISTORY_LEVEL];
};

static struct bucket *at(struct history_level *level, int i)
{
    return &level->bucket[(level->head + i) % HISTORY_LEVEL];
}

static const struct bucket *at_const(const struct history_level *level, int i)
{
    return &level->bucket[(level->head + i) % HISTORY_LEVEL];
}

static struct bucket merged(const struct bucket *old, const struct bucket *young)
{
    double a = old->count, b = young->count, all = a + b;
    struct bucket both = {
        .ms = old->ms + (int64_t)((double)(young->ms - old->ms) * (b / all)),
        .mean = (float)((a * (double)old->mean + b * (double)young->mean) / all),
        .low = old->low < young->low ? old->low : young->low,
        .regressor = isnan(young->regressor) ? old->regressor : young->regressor,
        .count = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX,
    };
    return both;
}

/* Every level that is full needs the next one: it must be there before anything moves. */
static bool make_room(struct history *history)
{
    for (int k = 0; k < HISTORY_LEVELS; k++) {
        if (history->level[k] == NULL) {
            history->level[k] = calloc(1, sizeof *history->level[k]);
            return history->level[k] != NULL;
        }
        if (history->level[k]->count < HISTORY_LEVEL)
            return true;
    }
    return false;
}

bool history_add(struct history *history, int64_t ms, double value_from_origin, int64_t regressor)
{
    if (!make_room(history))
        return false;
    if (regressor != VERDICT_MISSING && !history->have_regressor) {
        history->have_regressor = true;
        history->regressor_origin = regressor;
    }
    struct bucket bucket = {
        .ms = ms,
        .mean = (float)value_from_origin,
        .low = (float)value_from_origin,
        .regressor = regressor == VERDICT_MISSING
                         ? NAN
                         : (float)((double)regressor - (double)history->regressor_origin),
        .count = 1,
    };
    for (int k = 0;; k++) {
        struct history_level *level = history->level[k];
        bool full = level->count == HISTORY_LEVEL;
        struct bucket moved = {0};
        if (full) {
            moved = merged(at(level, 0), at(level, 1));
            level->head = (level->head + 2) % HISTORY_LEVEL;
            level->count -= 2;
        }
        *at(level, level->count++) = bucket;
        if (!full)
            break;
        bucket = moved;
    }
    if (history->count++ == 0)
        history->first_ms = ms;
    history->last_ms = ms;
    return true;
}

int history_view(const struct history *history, int64_t from_ms, struct history_bin *bins, int max)
{
    if (history->count == 0 || max < 1)
        return 0;
    if (from_ms < history->first_ms)
        from_ms = history->first_ms;
    double width_ms = (double)(history->last_ms - from_ms) / max;
    int used = 0, current = -1;
    for (int k = HISTORY_LEVELS - 1; k >= 0; k--) {
        const struct history_level *level = history->level[k];
        for (int i = 0; level != NULL && i < level->count; i++) {
            const struct bucket *bucket = at_const(level, i);
            if (bucket->ms < from_ms)
                continue;
            int which = width_ms > 0 ? (int)((double)(bucket->ms - from_ms) / width_ms) : 0;
            double ms = (double)(bucket->ms - history->first_ms), count = bucket->count;
            if (which > max - 1)
                which = max - 1;
            struct history_bin *bin = &bins[used > 0 ? used - 1 : 0];
            if (which != current) {
                current = which;
                bin = &bins[used++];
                *bin = (struct history_bin){.low = INFINITY, .regressor = NAN};
            }
            bin->x_ms += count * ms;
            bin->mean += count * (double)bucket->mean;
            bin->low = (double)bucket->low < bin->low ? (double)bucket->low : bin->low;
            if (!isnan(bucket->regressor))
                bin->regressor = (double)bucket->regressor;
            bin->count += count;
        }
    }
    for (int i = 0; i < used; i++) {
        bins[i].x_ms /= bins[i].count;
        bins[i].mean /= bins[i].count;
    }
    return used;
}

int64_t history_count_since(const struct history *history, int64_t from_ms)
{
    int64_t count = 0;
    for (int k = 0; k < HISTORY_LEVELS && history->level[k] != NULL; k++) {
        const struct history_level *level = history->level[k];
        for (int i = level->count - 1; i >= 0; i--) {
            if (at_const(level, i)->ms < from_ms)
                return count;
            count += at_const(level, i)->count;
        }
    }
    return count;
}

size_t history_bytes(const struct history *history)
{
    size_t bytes = 0;
    for (int k = 0; k < HISTORY_LEVELS && history->level[k] != NULL; k++)
        bytes += sizeof *history->level[k];
    return bytes;
}

void history_forget_before(struct history *history, int64_t from_ms)
{
    history->count = 0;
    for (int k = HISTORY_LEVELS - 1; k >= 0; k--) {
        struct history_level *level = history->level[k];
        while (level != NULL && level->count > 0 && at(level, 0)->ms < from_ms) {
            level->head = (level->head + 1) % HISTORY_LEVEL;
            level->count--;
        }
        for (int i = 0; level != NULL && i < level->count; i++) {
            if (history->count == 0)
                history->first_ms = at(level, i)->ms;
            history->count += at(level, i)->count;
        }
    }
}

void history_free(struct history *history)
{
    for (int k = 0; k < HISTORY_LEVELS; k++)
        free(history->level[k]);
    memset(history, 0, sizeof *history);
}

/* --- despike ---------------------------------------------------------------------------------- */

#define DEVIATIONS 6
#define MIDDLE     (DESPIKE_WIDTH / 2)

/* Of the first n samples of the window the one at i, or their median. */
static double tamed(const struct despike *despike, int n, int i)
{
    double values[DESPIKE_WIDTH], away[DESPIKE_WIDTH];
    for (int j = 0; j < n; j++)
        values[j] = despike->window[j].value;
    double median = trend_median(values, n);
    for (int j = 0; j < n; j++)
        away[j] = fabs(despike->window[j].value - median);
    double own = fabs(despike->window[i].value - median);
    double usual = 1.4826 * trend_median(away, n);
    return own > DESPIKE_BYTES && own > DEVIATIONS * usual ? median : despike->window[i].value;
}

bool despike_push(struct despike *despike, const struct despike_point *in,
                  struct despike_point *out)
{
    if (despike->count == DESPIKE_WIDTH) {
        memmove(despike->window, despike->window + 1,
                (DESPIKE_WIDTH - 1) * sizeof despike->window[0]);
        despike->count--;
    }
    despike->window[despike->count++] = *in;
    int which = despike->count - 1 - MIDDLE;
    if (which < 0)
        return false;
    *out = despike->window[which];
    out->value = tamed(despike, despike->count, which);
    return true;
}
