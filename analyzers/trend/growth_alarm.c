#include "analyzers/trend/growth_alarm.h"

#include <string.h>

void growth_alarm_init(struct growth_alarm *alarm, int need, int of)
{
    memset(alarm, 0, sizeof *alarm);
    alarm->need = need;
    alarm->of = of;
}

enum growth_alarm_change growth_alarm_add(struct growth_alarm *alarm, const struct verdict *verdict)
{
    uint32_t window = alarm->of >= 32 ? UINT32_MAX : (UINT32_C(1) << alarm->of) - 1;
    alarm->recent = (alarm->recent << 1 | (verdict->answer == VERDICT_GROWING)) & window;
    alarm->seen += alarm->seen < alarm->of;
    if (!alarm->active && __builtin_popcount(alarm->recent) >= alarm->need) {
        alarm->active = true;
        return GROWTH_ALARM_RAISED;
    }
    if (alarm->active && alarm->recent == 0) {
        alarm->active = false;
        return GROWTH_ALARM_CLEARED;
    }
    return GROWTH_ALARM_NONE;
}
