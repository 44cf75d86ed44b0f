#include "nmtwatch/watch/pause_budget.h"

#include <string.h>

/* A measurement holds for a JVM of the same size; a busy machine may need half as long again. */
#define MEASURED_MARGIN_PERCENT  150
#define RUNNABLE_PRESSED_PERCENT 150
#define QUEUE_MAX_PERCENT        100000
#define HAND_OVERS               4
#define SLICE_US                 4000 /* of the Linux scheduler, upper end of its default */

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
           (drivers->heap_bytes > 0 ? drivers->heap_bytes / 1048576 : 0) *
               COMMANDS[command].heap_mb_us;
}

struct pause_drivers pause_drivers_of(const struct sample *sample, int64_t arenas)
{
    struct pause_drivers now = {.heap_bytes = -1};
    int64_t loaded = 0, unloaded = 0;
    sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded);
    sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
    now.classes = loaded > unloaded ? loaded - unloaded : 0;
    /* Each class may have a loader of its own; each loader has an arena. */
    now.loaders = arenas >= 0 && arenas < now.classes ? arenas : now.classes;
    struct nmt_amount heap;
    if (sample_get_nmt(sample, NMT_JAVA_HEAP, &heap))
        now.heap_bytes = heap.committed_bytes;
    else
        sample_get(sample, SAMPLE_RSS_BYTES, &now.heap_bytes);
    return now;
}

bool pause_pressed(const struct pause_pressure *pressure)
{
    if (pressure->throttle_us > 0)
        return true;
    if (pressure->stalled_percent >= 0)
        return pressure->stalled_percent >= PAUSE_STALLED_PERCENT;
    return pressure->runnable_percent > RUNNABLE_PRESSED_PERCENT;
}

/* Work shares its core with the threads that wait for it, and each hand-over (to the attach
 * listener, to the VM's thread, of the Java threads to the safepoint, and back) waits for their
 * time slices. */
static int64_t under_pressure(int64_t quiet_us, const struct pause_pressure *pressure)
{
    if (!pause_pressed(pressure))
        return quiet_us;
    int64_t queue = pressure->runnable_percent;
    int64_t least = 100 + (pressure->stalled_percent > 0 ? pressure->stalled_percent : 0);
    if (queue < least) /* somebody waits: two threads for a core at times */
        queue = least;
    if (queue > QUEUE_MAX_PERCENT)
        queue = QUEUE_MAX_PERCENT;
    return quiet_us / 100 * queue + quiet_us % 100 * queue / 100 +
           HAND_OVERS * SLICE_US * (queue - 100) / 100 + pressure->throttle_us;
}

int64_t pause_predict(const struct pause_budget *budget, enum dear_command command,
                      const struct pause_drivers *drivers)
{
    if (drivers->heap_bytes < 0 && COMMANDS[command].heap_mb_us > 0)
        return PAUSE_UNKNOWN_US;
    int64_t by_formula = estimate(command, drivers);
    if (!budget->measured[command].known)
        return under_pressure(by_formula, &drivers->pressure);
    /* Scale what was measured by what the formula says about the growth since. */
    int64_t then = estimate(command, &budget->measured[command].drivers);
    double growth = by_formula > then ? (double)by_formula / (double)then : 1.0;
    return under_pressure((int64_t)((double)budget->measured[command].us * growth) *
                              MEASURED_MARGIN_PERCENT / 100,
                          &drivers->pressure);
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
    if (!pause_pressed(&drivers->pressure)) { /* else it measured the others */
        budget->measured[command].known = true;
        budget->measured[command].us = us;
        budget->measured[command].drivers = *drivers;
    }
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
