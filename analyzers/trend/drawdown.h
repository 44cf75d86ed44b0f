/*
 * drawdown: how far a series falls by itself, and how often, at every time scale.
 *
 * The problem: the last rise of a sawtooth, the morning of a day and a leak look the same while
 * they last. The past distinguishes them: a series that has fallen by 50 MB before has to
 * rise by more than that to show anything new. But the falls of mere noise say nothing about a
 * growth of hours, over which noise is averaged away. So falls are measured on averages of 1, 2, 4,
 * 8, ... samples: a sawtooth is there at every scale up to its period, noise shrinks from scale to
 * scale.
 *
 * At each scale the turns are followed: a fall begins when the average is lower, by half the
 * largest fall so far, than the height before it. The weight of a fall decays: after
 * DRAWDOWN_HALF_LIFE averages of its scale it counts half.
 *
 *   struct drawdown {0} -> drawdown_add ... -> drawdown_at
 *
 * O(1) amortised, 1.4 KB. Plain data; any thread that owns it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DRAWDOWN_SCALES    24 /* averages of up to 2^23 samples: 97 days at 1 Hz */
#define DRAWDOWN_HALF_LIFE 1000

struct drawdown_scale {
    float pending; /* the first half of the next average */
    bool have_pending;
    bool started;
    bool falling;
    float extreme; /* highest since the last rise began, or lowest since the last fall began */
    float top;     /* where the newest fall began */
    float bottom;  /* the lowest since */
    float fall;    /* the largest so far, half forgotten */
    float size;    /* the same, as it was */
    int32_t falls; /* of about that size */
    int64_t last_fall_ms; /* when the newest fall began */
    float cycle_ms;       /* usual time from one fall to the next; 0: not known */
    float cycle_spread;   /* usual deviation from that, as a share of it */
};

struct drawdown {
    int64_t first_ms;
    int64_t last_ms;
    int64_t count;
    struct drawdown_scale scale[DRAWDOWN_SCALES];
};

void drawdown_add(struct drawdown *drawdown, int64_t ms, double value);
/* Of the averages of scale i. */
double drawdown_width_ms(const struct drawdown *drawdown, int i);
/* The scale whose averages are about width_ms long (the next longer one). */
const struct drawdown_scale *drawdown_at(const struct drawdown *drawdown, double width_ms);
