/*
 * growth_alarm: verdicts of one series in, one alarm an episode out.
 *
 * A verdict is asked again and again; acting on each would ring on the first unlucky one. The alarm
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
#ifndef ANALYZERS_TREND_GROWTH_ALARM_H
#define ANALYZERS_TREND_GROWTH_ALARM_H

#include "analyzers/trend/verdict.h"

/* The schedule for which docs/internals/error-rates.md gives error rates. Asked each minute, 12 of 20 is as
 * quiet. */
#define GROWTH_ALARM_ASK_MS 300000
#define GROWTH_ALARM_NEED   3
#define GROWTH_ALARM_OF     5

/* Page's sum over the level, told by verdicts. */
struct cusum {
    int level_looks; /* that made mean and variance */
    int out_looks;   /* out of control in a row */
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

#endif
