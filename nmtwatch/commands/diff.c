/* nmtwatch diff: two recordings, or two moments of one, side by side. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/record/recording.h"
#include "reports/soak/difference.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define WINDOW_MS 60000

/* One recording up to a moment, with what was read of it. */
struct side {
    char file[PATH_MAX];
    int64_t at_ms; /* < 0: the end, or the baseline for the first of a single recording */
    struct trial *trial;
    struct story *story;
    int64_t last_ms;
};

/* --- FILE[@TIME] ------------------------------------------------------------------------------ */

/* A file whose name holds an @ is a file. */
static int split_moment(const char *operand, struct side *side)
{
    char why[200];
    const char *mark = strrchr(operand, '@');
    side->at_ms = -1;
    snprintf(side->file, sizeof side->file, "%s", operand);
    if (mark == NULL || access(operand, F_OK) == 0)
        return 0;
    snprintf(side->file, sizeof side->file, "%.*s", (int)(mark - operand), operand);
    if (!units_parse_duration(mark + 1, &side->at_ms, why, sizeof why))
        return options_error(&command_diff, "%s", why);
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Feeds what happened up to the moment; the moment becomes the end when it lies behind it. */
static void feed(struct replay *replay, struct side *side)
{
    struct judge_view view;
    if (side->at_ms >= 0)
        replay->until_ms = side->at_ms;
    while (replay_next(replay)) {
        for (int i = 0; i < replay->alerts.count; i++)
            story_alert(side->story, &replay->alerts.alert[i]);
        judge_view(replay->judge, &view);
        trial_event(side->trial, &replay->event, &view);
        story_event(side->story, &replay->event);
    }
    judge_view(replay->judge, &view);
    story_finish(side->story, &view);
    side->last_ms = trial_last_ms(side->trial);
}

static int read_side(struct side *side)
{
    char error[512];
    struct replay replay;
    if (!replay_open(&replay, side->file, error, sizeof error))
        return print_failure(EXIT_IO, "nmtwatch diff: %s\n", error);
    const struct recording_header *header = replay.header;
    side->story = story_create(&header->target, header->wall_start_ms, &header->thresholds);
    side->trial = trial_create(&header->target, NULL);
    int code = 0;
    if (side->story != NULL && side->trial != NULL) {
        feed(&replay, side);
        if (recording_damage(replay.recording) != NULL)
            print_error("nmtwatch diff: warning: %s\n", recording_damage(replay.recording));
    } else {
        print_error("nmtwatch diff: out of memory\n");
        code = EXIT_IO;
    }
    if (code == 0 && side->last_ms == 0 && side->story->point_count == 0) {
        print_error("nmtwatch diff: %s holds no sample%s\n", escape_name(side->file).text,
                    side->at_ms >= 0 ? " up to that moment" : "");
        code = EXIT_IO;
    }
    replay_close(&replay);
    return code;
}

static void free_side(struct side *side)
{
    trial_destroy(side->trial);
    story_destroy(side->story);
}

/* --- the verb --------------------------------------------------------------------------------- */

static int print(const struct side *a, const struct side *b, int64_t window_ms, bool json, bool all,
                 bool no_color)
{
    const struct side *sides[] = {a, b};
    struct difference_side both[2];
    for (int i = 0; i < 2; i++)
        both[i] = (struct difference_side){.file = sides[i]->file,
                                           .trial = sides[i]->trial,
                                           .story = sides[i]->story,
                                           .at_ms = sides[i]->last_ms,
                                           .window_ms = window_ms};
    struct difference *difference = difference_make(&both[0], &both[1]);
    if (difference == NULL)
        return print_failure(EXIT_IO, "nmtwatch diff: out of memory\n");
    if (json) {
        struct json_out out = {0};
        if (difference_json(&out, difference) != NULL)
            fwrite(out.text, 1, out.length, stdout);
        json_out_free(&out);
    } else {
        const struct terminal terminal = {.out = stdout, .colour = options_colour(no_color)};
        struct page page;
        difference_page(difference, all, &page);
        if (!page_terminal(&page, &terminal) && page.failed)
            print_error("nmtwatch diff: out of memory\n");
        page_free(&page);
    }
    difference_destroy(difference);
    return 0;
}

static int run(int argc, char **argv)
{
    int64_t from_ms = -1, to_ms = -1, window_ms = WINDOW_MS;
    bool json = false, all = false, no_color = false;
    const struct option_row rows[] = {
        {0, "from", "TIME", option_take_duration_ms, &from_ms, "the first moment, as FILE@TIME"},
        {0, "to", "TIME", option_take_duration_ms, &to_ms, "the second one (the end)"},
        {0, "window", "TIME", option_take_duration_ms, &window_ms,
         "before each moment, from which levels and noise are taken (1m)"},
        {0, "all", NULL, NULL, &all, "rows that did not change, too"},
        OPTION_NO_COLOR(&no_color),
        OPTION_JSON(&json),
    };
    struct side a = {.at_ms = -1}, b = {.at_ms = -1};
    int operands, code;
    if (!options_parse(&command_diff, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands < 1 || operands > 2)
        return options_error(&command_diff, "two recordings are needed, or one with --from");
    if (window_ms <= 0)
        return options_error(&command_diff, "--window: a time above 0 is needed");
    code = split_moment(argv[1], &a);
    if (code == 0)
        code = split_moment(argv[operands], &b);
    if (code != 0)
        return code;
    if (from_ms >= 0)
        a.at_ms = from_ms;
    if (to_ms >= 0)
        b.at_ms = to_ms;
    if (operands == 1 && from_ms < 0)
        return options_error(&command_diff, "one recording needs --from TIME");
    if (strcmp(a.file, "-") == 0 || strcmp(b.file, "-") == 0)
        return options_error(&command_diff, "recordings are files here: each is read by itself");
    code = read_side(&a);
    if (code == 0)
        code = read_side(&b);
    if (code == 0)
        code = print(&a, &b, window_ms, json, all, no_color);
    free_side(&a);
    free_side(&b);
    return code;
}

const struct command command_diff = {
    .name = "diff",
    .usage = "Usage: nmtwatch diff A[@TIME] B[@TIME] [options]\n"
             "       nmtwatch diff FILE --from TIME [--to TIME] [options]\n"
             "\n"
             "Compares series, NMT categories, class families and class loaders at two\n"
             "moments; TIME counts from the start of the recording, and without one it is the\n"
             "end. Largest change first; the interval separates a change from the noise\n"
             "within the window before each moment.\n"
             "\n"
             "Exit: 0 done, 64 usage, 74 a recording cannot be read.\n",
    .run = run,
};
