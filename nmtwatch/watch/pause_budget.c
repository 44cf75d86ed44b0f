#include "nmtwatch/watch/pause_budget.h"

#include <string.h>

/* A measurement holds for a JVM of the same size; a busy machine may need half as long again. */
#define MEASURED_MARGIN_PERCENT 150

static const struct {
    const char *command;
    int first_jdk;
    int64_t fixed_us, class_ns, loader_ns, heap_mb_us;
} COMMANDS[DEAR_COMMAND_COUNT] = {
#define DEAR_COMMAND(id, command, jdk, fixed, per_class, per_loader, per_mb)                       \
    [DEAR_##id] = {command, jdk, fixed, per_class, per_loader, per_mb},
#include "nmtwatch/watch/dear_commands.def"
#undef DEAR_COMMAND
};

const char *dear_command_text(enum dear_command command)
{
    return COMMANDS[command].command;
}

int dear_command_first_jdk(enum dear_command command)
{
    return COMMANDS[command].first_jdk;
}

void pause_budget_init(struct pause_budget *budget, int64_t budget_us, int64_t window_ms)
{
    memset(budget, 0, sizeof *budget);
    budget->budget_us = budget_us;
    budget->window_ms = window_ms;
}

static int64_t estimate(enum dear_command command, const struct pause_drivers *drivers)
{
    return COMMANDS[command].fixed_us +
           (drivers->classes * COMMANDS[command].class_ns +
            drivers->loaders * COMMANDS[command].loader_ns) /
               1000 +
           drivers->heap_bytes / 1048576 * COMMANDS[command].heap_mb_us;
}

int64_t pause_predict(const struct pause_budget *budget, enum dear_command command,
                      const struct pause_drivers *drivers)
{
    int64_t by_formula = estimate(command, drivers);
    if (!budget->measured[command].known)
        return by_formula;
    /* Scale what was measured by what the formula says about the growth since. */
    int64_t then = estimate(command, &budget->measured[command].drivers);
    double growth = by_formula > then ? (double)by_formula / (double)then : 1.0;
    return (int64_t)((double)budget->measured[command].us * growth) * MEASURED_MARGIN_PERCENT / 100;
}

int64_t pause_left_us(const struct pause_budget *budget, int64_t now_ms)
{
    int64_t left_us = budget->budget_us;
    for (int i = 0; i < budget->spend_count; i++) {
        if (now_ms - budget->spends[i].ms < budget->window_ms)
            left_us -= budget->spends[i].us;
    }
    return left_us > 0 ? left_us : 0;
}

void pause_spend(struct pause_budget *budget, enum dear_command command,
                 const struct pause_drivers *drivers, int64_t now_ms, int64_t us)
{
    budget->total_us += us;
    budget->measured[command].known = true;
    budget->measured[command].us = us;
    budget->measured[command].drivers = *drivers;
    if (budget->spend_count == PAUSE_SPENDS_MAX) {
        /* Merge the two oldest, at the later time: never more generous than the truth. */
        budget->spends[1].us += budget->spends[0].us;
        memmove(budget->spends, budget->spends + 1,
                (PAUSE_SPENDS_MAX - 1) * sizeof *budget->spends);
        budget->spend_count--;
    }
    budget->spends[budget->spend_count].ms = now_ms;
    budget->spends[budget->spend_count++].us = us;
}
