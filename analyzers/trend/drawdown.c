#include "analyzers/trend/drawdown.h"

#include <math.h>

/* How quickly the usual distance between falls follows the newest one. */
#define CYCLE_SHARE  0.3f
#define SPREAD_FALLS 10
#define FORGOTTEN    4 /* times smaller: it was another kind of fall */

/* So much larger than all before: what was called a fall so far was none. */
static bool dwarfs(float by, float fall)
{
    return by > 1.5f * fall;
}

static void begin_fall(struct drawdown_scale *scale, int64_t ms, float by)
{
    if (dwarfs(by, scale->size)) {
        scale->falls = 0;
        scale->cycle_ms = 0;
    }
    if (scale->falls > 0) {
        float apart_ms = (float)(ms - scale->last_fall_ms);
        if (scale->cycle_ms <= 0) {
            scale->cycle_ms = apart_ms;
            scale->cycle_spread = 0;
        }
        float off = fabsf(apart_ms - scale->cycle_ms) / scale->cycle_ms;
        float share =
            scale->falls < SPREAD_FALLS ? 1.0f / (float)scale->falls : 1.0f / SPREAD_FALLS;
        scale->cycle_spread += share * (off - scale->cycle_spread);
        scale->cycle_ms += CYCLE_SHARE * (apart_ms - scale->cycle_ms);
    }
    scale->falls++;
    scale->last_fall_ms = ms;
    scale->falling = true;
    scale->top = scale->extreme;
    scale->bottom = scale->extreme - by;
}

static void turn(struct drawdown_scale *scale, int64_t ms, float value)
{
    if (!scale->started) {
        scale->started = true;
        scale->extreme = value;
        return;
    }
    scale->fall *= 1 - 0.69f / DRAWDOWN_HALF_LIFE;
    scale->size = fminf(scale->size, FORGOTTEN * scale->fall);
    if (!scale->falling) {
        float by = scale->extreme - value;
        if (by <= 0)
            scale->extreme = value;
        if (by <= 0 || by < scale->fall / 2)
            return;
        begin_fall(scale, ms, by);
        scale->extreme = value;
    } else if (value < scale->extreme) {
        scale->extreme = value;
        scale->bottom = value;
    } else {
        if (value - scale->extreme >= scale->fall / 2) {
            scale->falling = false;
            scale->extreme = value;
        }
        return;
    }
    float depth = scale->top - scale->extreme;
    if (dwarfs(depth, scale->size)) { /* a small fall has turned into a large one */
        scale->falls = 1;
        scale->cycle_ms = 0;
        scale->last_fall_ms = ms;
    }
    scale->fall = fmaxf(scale->fall, depth);
    scale->size = fmaxf(scale->size, depth);
}

void drawdown_add(struct drawdown *drawdown, int64_t ms, double value)
{
    if (drawdown->count++ == 0)
        drawdown->first_ms = ms;
    drawdown->last_ms = ms;
    float average = (float)value;
    for (int i = 0; i < DRAWDOWN_SCALES; i++) {
        struct drawdown_scale *scale = &drawdown->scale[i];
        turn(scale, ms, average);
        if (!scale->have_pending) {
            scale->pending = average;
            scale->have_pending = true;
            return;
        }
        scale->have_pending = false;
        average = (scale->pending + average) / 2;
    }
}

double drawdown_width_ms(const struct drawdown *drawdown, int i)
{
    double usual_ms = drawdown->count > 1 ? (double)(drawdown->last_ms - drawdown->first_ms) /
                                                (double)(drawdown->count - 1)
                                          : 1;
    return usual_ms * (double)(INT64_C(1) << i);
}

const struct drawdown_scale *drawdown_at(const struct drawdown *drawdown, double width_ms)
{
    int i = 0;
    while (i < DRAWDOWN_SCALES - 1 && drawdown_width_ms(drawdown, i) < width_ms)
        i++;
    return &drawdown->scale[i];
}
