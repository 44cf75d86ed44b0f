#include "tests/verdict/baselines.h"

#include "analyzers/trend/verdict.h"

#include <math.h>
#include <stdlib.h>

#define MINUTE_MS   60000
#define SPANS       96
#define POINTS_MIN  10
#define FLOOR_BYTES 1048576.0
#define FLOOR_SHARE 0.005
#define Z_95        1.959964

struct minute {
    int64_t index;
    double sum, low;
    int count;
    int64_t regressor;
};

struct line {
    int n;
    double x, y, xx, xy; /* sums, from the first point */
    double x0, y0, last_x;
};

static void line_add(struct line *line, double x, double y)
{
    if (line->n++ == 0) {
        line->x0 = x;
        line->y0 = y;
    }
    line->last_x = x;
    x -= line->x0;
    y -= line->y0;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
}

static void line_add_minute(struct line *line, const struct minute *minute)
{
    line_add(line, (double)minute->index, minute->sum / minute->count);
}

struct baselines {
    struct minute *minutes;
    int count, room;
    struct line all; /* but for the newest minute */
};

struct baselines *baselines_create(void)
{
    return calloc(1, sizeof(struct baselines));
}

void baselines_destroy(struct baselines *baselines)
{
    free(baselines->minutes);
    free(baselines);
}

bool baselines_feed(struct baselines *b, int64_t ms, int64_t bytes, int64_t regressor)
{
    if (bytes == VERDICT_MISSING)
        return true;
    int64_t index = ms / MINUTE_MS;
    if (b->count > 0 && index > b->minutes[b->count - 1].index)
        line_add_minute(&b->all, &b->minutes[b->count - 1]);
    if (b->count == 0 || index > b->minutes[b->count - 1].index) {
        if (b->count == b->room) {
            int room = b->room == 0 ? 1024 : b->room * 2;
            struct minute *more = realloc(b->minutes, (size_t)room * sizeof *more);
            if (more == NULL)
                return false;
            b->minutes = more;
            b->room = room;
        }
        b->minutes[b->count++] = (struct minute){.index = index, .low = INFINITY};
    }
    struct minute *minute = &b->minutes[b->count - 1]; /* a clock that stepped back: the newest */
    minute->sum += (double)bytes;
    minute->low = fmin(minute->low, (double)bytes);
    minute->count++;
    minute->regressor = regressor;
    return true;
}

/* The fitted line rises by more than the floor from the first point to the last. */
static bool line_grows(const struct line *line)
{
    double n = line->n, below = n * line->xx - line->x * line->x;
    if (line->n < POINTS_MIN || below <= 0)
        return false;
    double rise = (n * line->xy - line->x * line->y) / below * (line->last_x - line->x0);
    return rise > fmax(FLOOR_BYTES, FLOOR_SHARE * (line->y0 + line->y / n));
}

static bool last_hour(const struct baselines *b)
{
    struct line line = {0};
    int first = b->count;
    while (first > 0 && b->minutes[first - 1].index > b->minutes[b->count - 1].index - 60)
        first--;
    for (int i = first; i < b->count; i++)
        line_add_minute(&line, &b->minutes[i]);
    return line_grows(&line);
}

static bool everything(const struct baselines *b)
{
    struct line line = b->all;
    if (b->count > 0)
        line_add_minute(&line, &b->minutes[b->count - 1]);
    return line_grows(&line);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static bool mann_kendall(const struct baselines *b)
{
    double y[SPANS];
    int n = b->count < SPANS ? b->count : SPANS;
    if (n < POINTS_MIN)
        return false;
    for (int i = 0; i < n; i++) {
        int from = (int)((int64_t)b->count * i / n), to = (int)((int64_t)b->count * (i + 1) / n);
        double sum = 0;
        for (int j = from; j < to; j++)
            sum += b->minutes[j].sum / b->minutes[j].count;
        y[i] = sum / (to - from);
    }
    double s = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++)
            s += (y[j] > y[i]) - (y[j] < y[i]);
    }
    double variance = (double)n * (n - 1) * (2.0 * n + 5);
    qsort(y, (size_t)n, sizeof *y, compare);
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && y[j] == y[i]; j++)
            ;
        double t = j - i;
        variance -= t * (t - 1) * (2 * t + 5);
    }
    return variance > 0 && (s - 1) / sqrt(variance / 18) > Z_95;
}

static bool jmc(const struct baselines *b)
{
    if (b->count == 0)
        return false;
    int first = 0;
    int64_t loaded = b->minutes[b->count - 1].regressor;
    while (loaded != VERDICT_MISSING && first < b->count &&
           (double)b->minutes[first].regressor < 0.9 * (double)loaded)
        first++;
    int left = b->count - first, spans = left < SPANS ? left : SPANS;
    struct line line = {0};
    for (int i = 0; i < spans; i++) {
        int low = first + (int)((int64_t)left * i / spans);
        int to = first + (int)((int64_t)left * (i + 1) / spans);
        for (int j = low + 1; j < to; j++)
            low = b->minutes[j].low < b->minutes[low].low ? j : low;
        line_add(&line, (double)b->minutes[low].index, b->minutes[low].low);
    }
    return line_grows(&line);
}

void baselines_ask(const struct baselines *b, bool growing[BASELINE_COUNT])
{
    growing[BASELINE_LSQ_HOUR] = last_hour(b);
    growing[BASELINE_LSQ_ALL] = everything(b);
    growing[BASELINE_MK] = mann_kendall(b);
    growing[BASELINE_JMC] = jmc(b);
}
