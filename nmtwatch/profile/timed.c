#include "nmtwatch/profile/timed.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/signals.h"
#include "reports/text/units.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS     200
#define PROGRESS_MS 1000

static void show_progress(const char *what, const struct target *const *targets, size_t count,
                          int64_t passed_ms, int64_t of_ms)
{
    char who[48];
    if (count == 1)
        snprintf(who, sizeof who, "pid %d", (int)targets[0]->pid);
    else
        snprintf(who, sizeof who, "%zu JVMs", count);
    fprintf(stderr, "\r%s %s: %s of %s ", what, who, units_duration(passed_ms / 1000 * 1000).text,
            units_duration(of_ms).text);
}

static bool any_left(const struct target *const *targets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (target_still_same(targets[i]))
            return true;
    }
    return false;
}

void timed_wait(const char *what, const struct target *const *targets, size_t count,
                int64_t duration_ms)
{
    bool terminal = isatty(STDERR_FILENO);
    int64_t began_ms = clock_ms(CLOCK_MONOTONIC), shown_ms = -PROGRESS_MS, passed_ms;
    while ((passed_ms = clock_ms(CLOCK_MONOTONIC) - began_ms) < duration_ms &&
           signals_asked() == 0 && any_left(targets, count)) {
        if (terminal && passed_ms - shown_ms >= PROGRESS_MS) {
            show_progress(what, targets, count, passed_ms, duration_ms);
            shown_ms = passed_ms;
        }
        int64_t left_ms = duration_ms - passed_ms;
        int64_t sleep_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
        nanosleep(&(struct timespec){.tv_nsec = sleep_ms * 1000000}, NULL);
    }
    if (terminal)
        fprintf(stderr, "\r%*s\r", 78, "");
}
