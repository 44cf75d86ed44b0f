#include "nmtwatch/watch/watch_cost.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void watch_cost_event(struct watch_cost *cost, const struct event *event)
{
    int at = 0;
    if (event->kind != EVENT_COST)
        return;
    while (at < cost->command_count && strcmp(cost->commands[at].command, event->cost.command) != 0)
        at++;
    if (at == WATCH_COST_COMMANDS_MAX)
        return;
    struct watch_command_cost *command = &cost->commands[at];
    if (at == cost->command_count) {
        cost->command_count++;
        memcpy(command->command, event->cost.command, sizeof command->command);
    }
    if (event->cost.measured_us < 0) {
        command->skipped++;
    } else {
        command->runs++;
        command->measured_us += event->cost.measured_us;
    }
}

void watch_cost_watcher(struct watch_cost *cost, const struct watcher *watcher)
{
    struct watcher_counts counts = watcher_counts(watcher);
    cost->polls += counts.polls;
    cost->pause_us += counts.pause_us;
}

int64_t watch_cost_cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

int64_t watch_cost_rss_bytes(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm == NULL)
        return 0;
    if (fscanf(statm, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(statm);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

void watch_cost_process(struct watch_cost *cost)
{
    cost->cpu_ms = watch_cost_cpu_us() / 1000;
    cost->rss_bytes = watch_cost_rss_bytes();
}
