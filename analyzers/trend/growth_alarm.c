#include "analyzers/trend/growth_alarm.h"

#include <math.h>
#include <string.h>

#define SLACK           0.5
#define LIMIT           8.0
#define STEP_MAX        4.0 /* one wild level is no trend */
#define LEVEL_LOOKS     20  /* before mean and sigma are believed */
#define NEW_LEVEL_LOOKS 40
#define FOLLOW          0.05 /* share of the newest level in the mean */
#define SIGMA_MIN       16384.0

bool cusum_add(struct cusum *cusum, double level, bool in_control)
{
    if (cusum->level_looks == 0)
        cusum->mean = level;
    double away = level - cusum->mean, sigma = fmax(sqrt(cusum->variance), SIGMA_MIN);
    bool known = cusum->level_looks >= LEVEL_LOOKS;
    if (known)
        cusum->sum = fmax(0, cusum->sum + fmin(away / sigma, STEP_MAX) - SLACK);
    bool out = known && cusum->sum > LIMIT;
    cusum->out_looks = out ? cusum->out_looks + 1 : 0;
    if (in_control && !out) {
        double share = fmax(FOLLOW, 1.0 / (cusum->level_looks + 1));
        cusum->variance += share * (away * away - cusum->variance);
        cusum->mean += share * away;
        cusum->level_looks += cusum->level_looks < LEVEL_LOOKS;
    } else if (in_control && cusum->out_looks > NEW_LEVEL_LOOKS) {
        *cusum = (struct cusum){0}; /* another level, and no growth: it is learnt anew */
    }
    return out;
}

void growth_alarm_init(struct growth_alarm *alarm, int need, int of)
{
    memset(alarm, 0, sizeof *alarm);
    alarm->need = need;
    alarm->of = of;
}

enum growth_alarm_change growth_alarm_add(struct growth_alarm *alarm, const struct verdict *verdict)
{
    bool growing = verdict->answer == VERDICT_GROWING;
    bool level = verdict->answer == VERDICT_NOT_GROWING;
    uint32_t window = alarm->of >= 32 ? UINT32_MAX : (UINT32_C(1) << alarm->of) - 1;
    alarm->recent = (alarm->recent << 1 | growing) & window;
    alarm->seen += alarm->seen < alarm->of;
    if (verdict->answer == VERDICT_UNDECIDED)
        alarm->cusum = (struct cusum){0}; /* a start-up or a restart */
    bool out_of_control = verdict->answer != VERDICT_UNDECIDED &&
                          cusum_add(&alarm->cusum, (double)verdict->level_bytes, level);
    int need = growing && out_of_control ? 1 : alarm->need;
    if (!alarm->active && growing && __builtin_popcount(alarm->recent) >= need) {
        alarm->active = true;
        return GROWTH_ALARM_RAISED;
    }
    if (alarm->active && alarm->recent == 0) {
        alarm->active = false;
        return GROWTH_ALARM_CLEARED;
    }
    return GROWTH_ALARM_NONE;
}
