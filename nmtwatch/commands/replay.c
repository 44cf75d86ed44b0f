/* nmtwatch replay: the judge over a recording: the alerts of the live run, raised again. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/record/recording.h"
#include "reports/text/units.h"

#include <inttypes.h>

struct printing {
    struct terminal terminal;
    struct json_out json;
    bool as_json;
    const struct target_identity *target;
    int64_t alerts;
};

static void print_alert(struct printing *printing, const struct alert *alert)
{
    printing->alerts++;
    if (!printing->as_json) {
        terminal_alert(&printing->terminal, printing->target, alert);
        return;
    }
    const char *line = event_json_alert(&printing->json, printing->target->pid, alert);
    if (line != NULL)
        fwrite(line, 1, printing->json.length, stdout);
}

static void print_end(struct printing *printing, int64_t ms, int64_t events,
                      const struct judge_view *view, const struct recording *recording)
{
    static const struct watch_cost none;
    if (printing->as_json) {
        const struct watch_cost *cost = recording_cost(recording);
        const char *line = event_json_end(&printing->json, ms, cost != NULL ? cost : &none);
        if (line != NULL)
            fwrite(line, 1, printing->json.length, stdout);
        return;
    }
    printf("%" PRId64 " events over %s, %" PRId64
           " alerts raised or cleared, %d active at the end\n",
           events, units_duration(ms).text, printing->alerts, view->active_alerts);
}

/* Alerts at the thresholds of the recording, unless a config file says otherwise. */
static int replay_file(const char *path, const char *config, struct printing *printing)
{
    char error[512];
    struct replay replay;
    struct watch_options options;
    if (!replay_open(&replay, path, error, sizeof error))
        return print_failure(EXIT_IO, "nmtwatch replay: %s\n", error);
    watch_options_default(&options);
    options.thresholds = replay.header->thresholds;
    options.warmup_s = replay.header->warmup_s;
    if (config != NULL && !config_load(config, &options, error, sizeof error)) {
        print_error("nmtwatch replay: %s\n", error);
        replay_close(&replay);
        return EXIT_USAGE;
    }
    if (!replay_judge_with(&replay, &options.thresholds, options.warmup_s)) {
        replay_close(&replay);
        return EXIT_IO;
    }
    int64_t events = 0, last_ms = 0;
    printing->target = &replay.header->target;
    for (; replay_next(&replay); events++) {
        for (int i = 0; i < replay.alerts.count; i++)
            print_alert(printing, &replay.alerts.alert[i]);
        if (replay.event.ms > last_ms)
            last_ms = replay.event.ms;
    }
    struct judge_view view;
    judge_view(replay.judge, &view);
    print_end(printing, last_ms, events, &view, replay.recording);
    if (recording_damage(replay.recording) != NULL)
        print_error("nmtwatch replay: warning: %s\n", recording_damage(replay.recording));
    replay_close(&replay);
    return (int)view.worst_ever; /* INFO 0, WARNING 1, CRITICAL 2 */
}

static int run(int argc, char **argv)
{
    const char *config = NULL;
    bool json = false, no_color = false;
    const struct option_row rows[] = {
        {0, "config", "FILE", option_take_text, &config, "other thresholds than the recording's"},
        OPTION_NO_COLOR(&no_color),
        {0, "json", NULL, NULL, &json, "one JSON object per line"},
    };
    int operands, code;
    if (!options_parse(&command_replay, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_replay, "one recording is needed");
    struct printing printing = {
        .as_json = json,
        .terminal = {.out = stdout, .colour = options_colour(no_color), .width = 0},
    };
    code = replay_file(argv[1], config, &printing);
    json_out_free(&printing.json);
    return code;
}

const struct command command_replay = {
    .name = "replay",
    .usage = "Usage: nmtwatch replay FILE [options]\n"
             "\n"
             "Feeds a recording (gzip or plain JSON lines, - for standard input) to the same\n"
             "judge that judged the live run, at the thresholds the recording was made with:\n"
             "it raises the same alerts. A damaged tail is read up to the damage, with a\n"
             "warning that names the byte.\n"
             "\n"
             "Exit: 0 no alert, 1 a WARNING, 2 a CRITICAL one, 64 usage, 74 the file cannot\n"
             "be read.\n",
    .run = run,
};
