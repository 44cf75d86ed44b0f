/* nmtwatch verdict: does a series of numbers grow? For any series, not only for those of a JVM. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/commands/verdict_csv.h"

#include "analyzers/trend/verdict.h"
#include "reports/json/json_out.h"
#include "reports/text/units.h"
#include "nmtwatch/process/tell.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

static bool feed(void *context, int64_t ms, int64_t bytes, int64_t regressor)
{
    return verdict_feed(context, ms, bytes, regressor);
}

static int64_t whole(double number)
{
    return number >= 9.2e18 ? INT64_MAX : number <= -9.2e18 ? -INT64_MAX : llround(number);
}

static void put_whole(struct json_out *out, const char *key, bool there, double number)
{
    json_out_int_if(out, key, there && isfinite(number), whole(number));
}

static void put_pair(struct json_out *out, const char *key, bool there, double low, double high)
{
    if (!there) {
        json_out_null(out, key);
        return;
    }
    json_out_begin(out, key, '[');
    put_whole(out, NULL, true, low);
    put_whole(out, NULL, true, high);
    json_out_end(out, ']');
}

static bool print_json(const struct verdict *verdict, const struct verdict_csv *csv)
{
    static const char *const answers[] = {
        [VERDICT_NOT_GROWING] = "not-growing",
        [VERDICT_GROWING] = "growing",
        [VERDICT_UNDECIDED] = "undecided",
    };
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    const struct verdict_interval *left = &verdict->slope_left_bytes_per_h;
    bool growing = verdict->answer == VERDICT_GROWING;
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "state", verdict_state_name(verdict->state));
    json_out_text(&out, "answer", answers[verdict->answer]);
    put_whole(&out, "slope_bytes_per_hour", verdict->have_slope, slope->value);
    put_pair(&out, "ci95", verdict->have_slope, slope->low, slope->high);
    json_out_int(&out, "growth_bytes", verdict->growth_bytes);
    json_out_int(&out, "level_bytes", verdict->level_bytes);
    json_out_int(&out, "baseline_bytes", verdict->baseline_bytes);
    json_out_int(&out, "segment_from_ms", verdict->from_ms);
    json_out_int(&out, "segment_to_ms", verdict->to_ms);
    json_out_real_if(&out, "explained_share", verdict->have_regressor, verdict->explained_share);
    put_whole(&out, "bytes_per_class", verdict->have_regressor, verdict->bytes_per_class);
    put_whole(&out, "slope_left_bytes_per_hour", verdict->have_regressor, left->value);
    put_pair(&out, "slope_left_ci95", verdict->have_regressor, left->low, left->high);
    put_whole(&out, "eta_seconds", growing && verdict->have_eta, verdict->eta_s);
    put_pair(&out, "eta_ci95", growing && verdict->have_eta, verdict->eta_low_s,
             verdict->eta_high_s);
    json_out_int(&out, "points", verdict->points);
    json_out_int(&out, "bad_lines", csv->bad);
    json_out_int(&out, "restarts", verdict->restarts);
    json_out_int(&out, "steps", verdict->steps);
    json_out_text(&out, "sentence", verdict->sentence);
    json_out_end(&out, '}');
    size_t length;
    const char *line = json_out_line(&out, &length);
    if (line != NULL)
        fwrite(line, 1, length, stdout);
    json_out_free(&out);
    return line != NULL;
}

/* What was passed over is never passed over in silence. */
static void warn(const struct verdict_csv *csv)
{
    if (csv->bad > 0)
        tell_error(
            "nmtwatch verdict: warning: %lld of %lld lines are no `seconds,bytes`; the first is"
            " line %lld: %s\n",
            (long long)csv->bad, (long long)csv->lines, (long long)csv->first_bad_line,
            csv->first_bad);
    if (csv->damage[0] != '\0')
        tell_error("nmtwatch verdict: warning: %s\n", csv->damage);
}

static int judge_file(const char *path, const struct verdict_options *options,
                      bool regressor_column, bool json)
{
    char error[700];
    struct verdict_csv csv;
    struct verdict_series *series = verdict_create(options);
    if (series == NULL)
        return EXIT_IO;
    if (!verdict_csv_read(path, regressor_column, feed, series, &csv, error, sizeof error)) {
        tell_error("nmtwatch verdict: %s\n", error);
        verdict_destroy(series);
        return EXIT_IO;
    }
    warn(&csv);
    if (csv.values == 0 && (csv.bad > 0 || csv.damage[0] != '\0')) {
        tell_error("nmtwatch verdict: no line that can be used\n");
        verdict_destroy(series);
        return EXIT_IO;
    }
    struct verdict verdict;
    verdict_ask(series, &verdict);
    verdict_destroy(series);
    if (!json)
        printf("%s: %s\n", verdict_state_name(verdict.state), verdict.sentence);
    else if (!print_json(&verdict, &csv))
        return EXIT_IO;
    return verdict.answer;
}

static int run(int argc, char **argv)
{
    bool json = false, regressor_column = false;
    struct verdict_options options;
    verdict_options_default(&options);
    const struct option_row rows[] = {
        {0, "limit", "BYTES", option_take_bytes, &options.limit_bytes,
         "say when this is reached (512M, 2G)"},
        {0, "regressor-column", NULL, NULL, &regressor_column,
         "the third column is the number of classes loaded in all"},
        {0, "json", NULL, NULL, &json, "one JSON object"},
    };
    int operands, code;
    if (!options_parse(&command_verdict, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_verdict, "one file is needed, or - for standard input");
    return judge_file(argv[1], &options, regressor_column, json);
}

const struct command command_verdict = {
    .name = "verdict",
    .summary = "does a series of numbers grow, and how",
    .usage =
        "Usage: nmtwatch verdict FILE.csv|- [--limit BYTES] [--regressor-column] [--json]\n"
        "\n"
        "Reads lines `seconds,bytes[,classes_loaded_total]` and says whether the series grows "
        "now:\n"
        "  CONVERGED, SAWTOOTH (level), STEPPED            it does not          exit 0\n"
        "  LINEAR, ACCELERATING, SLOWING                   it does              exit 1\n"
        "  TOO_SHORT, WARMING, RESTARTED (too recently)    not known yet        exit 3\n"
        "with the slope and its 95 % interval, judged for the newest window that is all of a "
        "piece.\n"
        "An empty value is a gap. A header line, blank lines, # comments, CR LF, decimal seconds "
        "and\n"
        "gzip are understood; bad lines are counted and reported.\n"
        "\n"
        "Exit: 0, 1 and 3 as above, 64 usage, 74 the file cannot be read or has no usable line.\n",
    .run = run,
};
