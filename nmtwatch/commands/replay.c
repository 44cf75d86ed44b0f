/* nmtwatch replay: the judge over a recording: the alerts of the live run, raised again. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/config.h"
#include "nmtwatch/record/reader.h"
#include "nmtwatch/watch/session.h"
#include "reports/terminal.h"
#include "reports/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct replay {
    struct terminal terminal;
    struct json_out json;
    bool as_json;
    const struct target_identity *target;
    int64_t alerts;
};

static void on_alert(void *context, const struct alert *alert)
{
    struct replay *replay = context;
    replay->alerts++;
    if (!replay->as_json) {
        terminal_alert(&replay->terminal, replay->target, alert);
        return;
    }
    const char *line = event_json_alert(&replay->json, replay->target->pid, alert);
    if (line != NULL)
        fwrite(line, 1, replay->json.length, stdout);
}

static void print_end(struct replay *replay, int64_t ms, int64_t events,
                      const struct judge_view *view, const struct recording *recording)
{
    static const struct watch_cost none;
    if (replay->as_json) {
        const struct watch_cost *cost = recording_cost(recording);
        const char *line = event_json_end(&replay->json, ms, cost != NULL ? cost : &none);
        if (line != NULL)
            fwrite(line, 1, replay->json.length, stdout);
        return;
    }
    printf("%" PRId64 " events over %s, %" PRId64
           " alerts raised or cleared, %d active at the end\n",
           events, units_duration(ms).text, replay->alerts, view->active_alerts);
}

/* Alerts at the thresholds of the recording, unless a config file says otherwise. */
static int replay_file(const char *path, const char *config, struct replay *replay)
{
    char error[512];
    struct recording *recording = recording_open(path, error, sizeof error);
    if (recording == NULL) {
        fprintf(stderr, "nmtwatch replay: %s\n", error);
        return EXIT_IO;
    }
    const struct recording_header *header = recording_header(recording);
    struct watch_options options;
    watch_options_default(&options);
    options.thresholds = header->thresholds;
    options.warmup_s = header->warmup_s;
    if (config != NULL && !config_load(config, &options, error, sizeof error)) {
        fprintf(stderr, "nmtwatch replay: %s\n", error);
        recording_close(recording);
        return EXIT_USAGE;
    }
    replay->target = &header->target;
    struct judge *judge =
        judge_create(&header->target, &options.thresholds, options.warmup_s, on_alert, replay);
    if (judge == NULL) {
        recording_close(recording);
        return EXIT_IO;
    }
    struct event event;
    int64_t events = 0, last_ms = 0;
    while (recording_next(recording, &event)) {
        judge_feed(judge, &event);
        events++;
        if (event.ms > last_ms)
            last_ms = event.ms;
    }
    struct judge_view view;
    judge_view(judge, &view);
    print_end(replay, last_ms, events, &view, recording);
    if (recording_damage(recording) != NULL)
        fprintf(stderr, "nmtwatch replay: warning: %s\n", recording_damage(recording));
    judge_destroy(judge);
    recording_close(recording);
    return (int)view.worst_ever; /* INFO 0, WARNING 1, CRITICAL 2 */
}

static int run(int argc, char **argv)
{
    const char *config = NULL;
    bool json = false, no_color = false;
    const struct option_row rows[] = {
        {0, "config", "FILE", option_take_text, &config, "other thresholds than the recording's"},
        {0, "no-color", NULL, NULL, &no_color, "no colours"},
        {0, "json", NULL, NULL, &json, "one JSON object per line"},
    };
    int operands, code;
    if (!options_parse(&command_replay, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_replay, "one recording is needed");
    struct replay replay = {
        .as_json = json,
        .terminal = {.out = stdout, .colour = options_colour(no_color), .width = 0},
    };
    code = replay_file(argv[1], config, &replay);
    json_out_free(&replay.json);
    return code;
}

const struct command command_replay = {
    .name = "replay",
    .summary = "judge a recording: the alerts of the live run again",
    .usage =
        "Usage: nmtwatch replay FILE [options]\n"
        "\n"
        "Feeds a recording (gzip or plain JSON lines, - for standard input) to the same judge\n"
        "that judged the live run, at the thresholds the recording was made with: the same\n"
        "alerts come out. A damaged tail is read up to the damage, with a warning that names\n"
        "the byte.\n"
        "\n"
        "Exit: 0 no alert, 1 a WARNING, 2 a CRITICAL one, 64 usage, 74 the file cannot be read.\n",
    .run = run,
};
