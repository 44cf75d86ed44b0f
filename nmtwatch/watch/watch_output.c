#include "nmtwatch/watch/watch_output.h"

#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "nmtwatch/process/tell.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int columns(void)
{
    struct winsize window;
    if (isatty(1) && ioctl(1, TIOCGWINSZ, &window) == 0)
        return window.ws_col;
    return 0;
}

void watch_output_begin(struct watch_output *output, enum session_output kind, bool colour)
{
    memset(output, 0, sizeof *output);
    output->kind = kind;
    output->terminal = (struct terminal){.out = stdout, .colour = colour, .width = columns()};
}

/* Anything that is printed above the live table takes the table off the screen first. */
static void clear_table(struct watch_output *output)
{
    if (output->table_lines > 0)
        terminal_rewind(&output->terminal, output->table_lines);
    output->table_lines = 0;
}

static void put_json(struct watch_output *output, const char *line)
{
    if (line == NULL)
        return;
    fwrite(line, 1, output->json.length, stdout);
    fflush(stdout);
}

void watch_output_event(struct watch_output *output, const struct watcher *watcher,
                        const struct event *event)
{
    const struct target_identity *target = &watcher_target(watcher)->identity;
    if (output->kind == SESSION_JSON) {
        struct judge_view view;
        judge_view(watcher_judge(watcher), &view);
        put_json(output, event_json_event(&output->json, target->pid, event, &view));
        return;
    }
    switch (event->kind) {
    case EVENT_SAMPLE:
        /* A line a tick: what a reply brought in between is in the next one. */
        if (output->kind == SESSION_LINES && !sample_has_nmt(&event->sample) &&
            !sample_has(&event->sample, SAMPLE_METASPACE_USED_BYTES)) {
            struct judge_view view;
            judge_view(watcher_judge(watcher), &view);
            terminal_tick(&output->terminal, target, event->ms, watcher_picture(watcher), &view);
        }
        break;
    case EVENT_NAMES:
        if (event->names.last && event->names.row_count > 0) {
            clear_table(output);
            terminal_names(&output->terminal, &event->names, 5);
        }
        break;
    case EVENT_COST:
        clear_table(output);
        if (event->cost.measured_us < 0)
            printf("%s skipped: it %s\n", escape_name(event->cost.command).text,
                   escape_name(event->cost.skipped).text);
        else
            printf("%s took %s (predicted %s)\n", escape_name(event->cost.command).text,
                   units_microseconds(event->cost.measured_us).text,
                   units_microseconds(event->cost.predicted_us).text);
        break;
    case EVENT_NOTE:
    case EVENT_GONE:
        clear_table(output);
        terminal_note(&output->terminal, target, event->ms, event->text);
        break;
    case EVENT_LOADERS:
    case EVENT_KIND_COUNT:
        break;
    }
    if (output->kind != SESSION_TABLE)
        fflush(stdout);
}

void watch_output_alert(struct watch_output *output, const struct watcher *watcher,
                        const struct alert *alert)
{
    const struct target_identity *target = &watcher_target(watcher)->identity;
    if (output->kind == SESSION_JSON) {
        put_json(output, event_json_alert(&output->json, target->pid, alert));
        return;
    }
    clear_table(output);
    terminal_alert(&output->terminal, target, alert);
    fflush(stdout);
}

void watch_output_table(struct watch_output *output, const struct watching *watching,
                        int64_t now_ms)
{
    if (output->kind != SESSION_TABLE)
        return;
    clear_table(output);
    output->terminal.width = columns();
    terminal_table_head(&output->terminal);
    output->table_lines = 1;
    for (int i = 0; i < watching->count; i++) {
        const struct watcher *watcher = watching->jvms[i]->watcher;
        struct judge_view view;
        if (watcher_ended(watcher))
            continue;
        judge_view(watcher_judge(watcher), &view);
        terminal_table_row(&output->terminal, &watcher_target(watcher)->identity, now_ms,
                           watcher_picture(watcher), &view);
        output->table_lines +=
            1 + terminal_table_agent(&output->terminal, watcher_picture(watcher));
    }
    fflush(stdout);
}

void watch_output_say(struct watch_output *output, const char *text)
{
    if (output->kind == SESSION_TABLE) {
        clear_table(output);
        fflush(stdout);
    }
    tell_error("nmtwatch: %s\n", text);
}

void watch_output_end(struct watch_output *output, int64_t ms, const struct watch_cost *cost)
{
    if (output->kind == SESSION_JSON) {
        put_json(output, event_json_end(&output->json, ms, cost));
    } else {
        if (ms > 0)
            printf("watched for %s; cost here: %s of CPU (%.3f %% of a core), %s; in the JVMs: at "
                   "most "
                   "%s of pause\n",
                   units_duration(ms).text, units_duration(cost->cpu_ms).text,
                   (double)cost->cpu_ms * 100.0 / (double)ms, units_bytes(cost->rss_bytes).text,
                   units_microseconds(cost->pause_us).text);
        for (int i = 0; i < cost->command_count; i++) {
            if (cost->commands[i].runs > 0)
                printf("  %s: %lld times, %s\n", cost->commands[i].command,
                       (long long)cost->commands[i].runs,
                       units_microseconds(cost->commands[i].measured_us).text);
            if (cost->commands[i].skipped > 0)
                printf("  %s: skipped, over the pause budget\n", cost->commands[i].command);
        }
        fflush(stdout);
    }
    json_out_free(&output->json);
}
