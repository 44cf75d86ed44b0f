#include "agent/control/breaker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MINUTE_MS 60000

const char *breaker_state_name(enum breaker_state state)
{
    static const char *const NAMES[] = {"normal", "warned", "shedding", "silent", "stopped"};
    return NAMES[state];
}

void breaker_init(struct breaker *breaker, const struct breaker_limits *limits)
{
    memset(breaker, 0, sizeof *breaker);
    breaker->limits = *limits;
}

/* --- sentences -------------------------------------------------------------------------------- */

struct amount {
    char text[24];
};

static struct amount amount(int64_t bytes)
{
    static const char *const UNITS[] = {"KB", "MB", "GB"};
    struct amount amount;
    double value = (double)bytes / 1024;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++)
        value /= 1024;
    snprintf(amount.text, sizeof amount.text, "%.1f %s", value, UNITS[unit]);
    return amount;
}

static bool step(struct breaker *breaker, enum breaker_state to, int64_t now_ms)
{
    breaker->state = to;
    breaker->since_ms = now_ms;
    return true;
}

static bool step_for_jvm(struct breaker *breaker, enum breaker_state to, const char *option,
                         int64_t limit, const struct breaker_input *input)
{
    snprintf(breaker->reason, sizeof breaker->reason,
             "jmethodIDs take %s in the JVM, more than %s=%s", amount(input->jvm_bytes).text,
             option, amount(limit).text);
    return step(breaker, to, input->now_ms);
}

static bool step_for_own(struct breaker *breaker, enum breaker_state to, const char *how,
                         const struct breaker_input *input)
{
    snprintf(breaker->reason, sizeof breaker->reason, "the agent's own memory is %s, %s memory=%s",
             amount(input->own_bytes).text, how, amount(breaker->limits.memory_bytes).text);
    return step(breaker, to, input->now_ms);
}

/* --- growth ----------------------------------------------------------------------------------- */

/* What the JVM's part grew by in the quietest of the last minutes; 0 before there are enough. */
static int64_t growth_per_minute(struct breaker *breaker, const struct breaker_input *input)
{
    enum { POINTS = BREAKER_MINUTES + 1 };
    if (breaker->minutes == 0 || input->now_ms - breaker->minute_ms >= MINUTE_MS) {
        if (breaker->minutes == POINTS)
            memmove(breaker->minute_bytes, breaker->minute_bytes + 1,
                    BREAKER_MINUTES * sizeof *breaker->minute_bytes);
        else
            breaker->minutes++;
        breaker->minute_bytes[breaker->minutes - 1] = input->jvm_bytes;
        breaker->minute_ms = input->now_ms;
    }
    if (breaker->minutes < POINTS)
        return 0;
    int64_t least = INT64_MAX;
    for (int i = 1; i < POINTS; i++) {
        int64_t growth = breaker->minute_bytes[i] - breaker->minute_bytes[i - 1];
        if (growth < least)
            least = growth;
    }
    return least > 0 ? least : 0;
}

static bool warn_of_growth(struct breaker *breaker, const struct breaker_input *input,
                           int64_t per_minute)
{
    int64_t limit = breaker->limits.shed_bytes;
    if (limit == 0 || per_minute <= 0 || input->jvm_bytes >= limit)
        return false;
    double minutes = (double)(limit - input->jvm_bytes) / (double)per_minute;
    if (minutes * MINUTE_MS > (double)BREAKER_HORIZON_MS)
        return false;
    bool named = input->family != NULL && input->family[0] != '\0';
    snprintf(breaker->reason, sizeof breaker->reason,
             "jmethodIDs grow by %s/min%s%.60s: shed=%s is %.0f min away", amount(per_minute).text,
             named ? ", mostly of " : "", named ? input->family : "", amount(limit).text, minutes);
    return step(breaker, BREAKER_WARNED, input->now_ms);
}

/* --- the judge -------------------------------------------------------------------------------- */

static bool above(int64_t value, int64_t limit)
{
    return limit > 0 && value > limit;
}

bool breaker_judge(struct breaker *breaker, const struct breaker_input *input)
{
    const struct breaker_limits *limits = &breaker->limits;
    int64_t per_minute = growth_per_minute(breaker, input);
    bool relieved = input->now_ms - breaker->since_ms < BREAKER_RELIEF_MS ||
                    !above(input->own_bytes, limits->memory_bytes);
    switch (breaker->state) {
    case BREAKER_NORMAL:
        /* A value beyond a later step is beyond this one: each step is taken. */
        if (above(input->jvm_bytes, limits->warn_bytes))
            return step_for_jvm(breaker, BREAKER_WARNED, "warn", limits->warn_bytes, input);
        if (above(input->jvm_bytes, limits->shed_bytes))
            return step_for_jvm(breaker, BREAKER_WARNED, "shed", limits->shed_bytes, input);
        if (above(input->jvm_bytes, limits->stop_bytes))
            return step_for_jvm(breaker, BREAKER_WARNED, "stop_at", limits->stop_bytes, input);
        if (above(input->own_bytes, limits->memory_bytes / 100 * BREAKER_WARN_PERCENT))
            return step_for_own(breaker, BREAKER_WARNED, "close to or above", input);
        return warn_of_growth(breaker, input, per_minute);
    case BREAKER_WARNED:
        if (above(input->jvm_bytes, limits->shed_bytes))
            return step_for_jvm(breaker, BREAKER_SHEDDING, "shed", limits->shed_bytes, input);
        if (above(input->jvm_bytes, limits->stop_bytes))
            return step_for_jvm(breaker, BREAKER_SHEDDING, "stop_at", limits->stop_bytes, input);
        if (above(input->own_bytes, limits->memory_bytes))
            return step_for_own(breaker, BREAKER_SHEDDING, "above", input);
        return false;
    case BREAKER_SHEDDING:
    case BREAKER_SILENT:
        if (above(input->jvm_bytes, limits->stop_bytes))
            return step_for_jvm(breaker, BREAKER_STOPPED, "stop_at", limits->stop_bytes, input);
        if (relieved)
            return false;
        return step_for_own(breaker,
                            breaker->state == BREAKER_SHEDDING ? BREAKER_SILENT : BREAKER_STOPPED,
                            "still above", input);
    case BREAKER_STOPPED:
        break;
    }
    return false;
}
