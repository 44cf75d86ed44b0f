/*
 * growth_alarm: verdicts of one series in, one alarm an episode out.
 *
 * A verdict is asked again and again; acting on each would ring on the first unlucky one. The alarm
 * is raised when `need` of the last `of` verdicts say GROWING, cleared when none of the last `of`
 * does. After convergence a CUSUM of the residuals (Page, Biometrika 41, 1954) re-alarms faster
 * than a new segment can be judged.
 *
 *   growth_alarm_init -> growth_alarm_add ...
 *
 * Plain data, no ownership; any thread that owns it.
 */
#ifndef ANALYZERS_TREND_GROWTH_ALARM_H
#define ANALYZERS_TREND_GROWTH_ALARM_H

#include "analyzers/trend/verdict.h"

struct growth_alarm {
    int need;
    int of;
    uint32_t recent; /* bit 0 the newest: said GROWING */
    int seen;
    bool active;
};

enum growth_alarm_change { GROWTH_ALARM_NONE, GROWTH_ALARM_RAISED, GROWTH_ALARM_CLEARED };

/* need <= of <= 32. */
void growth_alarm_init(struct growth_alarm *alarm, int need, int of);
enum growth_alarm_change growth_alarm_add(struct growth_alarm *alarm,
                                          const struct verdict *verdict);

#endif
