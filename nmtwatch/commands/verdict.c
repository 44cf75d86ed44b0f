/* nmtwatch verdict: does a series of numbers grow? For any series, not only for those of a JVM. */
#include "nmtwatch/commands/options.h"

#include "reports/text/units.h"
#include "nmtwatch/process/files.h"
#include "reports/text/escape.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* verdict_csv: a series of numbers from a text that people and scripts write.
 *
 *     seconds,bytes[,classes_loaded_total]
 *
 * Tolerated: a header line, blank lines, lines that begin with '#', spaces, CR LF, decimal seconds
 * and bytes, an empty value and nan (missing), further columns, a last line without its end, gzip.
 * Every other line is bad: it is counted, and the first one is kept for the error message. */
#define VERDICT_CSV_LINE_MAX 4096 /* a longer line is a bad one */

struct verdict_csv {
    int64_t lines;
    int64_t values;  /* lines with a value */
    int64_t missing; /* lines without */
    int64_t bad, first_bad_line;
    char first_bad[48]; /* its beginning, fit for a terminal */
    char damage[400];   /* why it was not read to its end; empty when it was */
};

/* bytes and regressor may be VERDICT_MISSING. False: stop, it cannot be kept. */
typedef bool verdict_csv_point_fn(void *context, int64_t ms, int64_t bytes, int64_t regressor);

enum column { FIELD_NUMBER, FIELD_EMPTY, FIELD_BAD };

/* One column of a line that ends with NUL; *at moves behind its comma, to NULL after the last. */
static enum column take_field(char **at, double *number)
{
    char *text = *at;
    if (text == NULL)
        return FIELD_EMPTY;
    char *comma = strpbrk(text, ",;\t");
    *at = comma != NULL ? comma + 1 : NULL;
    if (comma != NULL)
        *comma = '\0';
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    if (length == 0)
        return FIELD_EMPTY;
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    if (*end != '\0' || strpbrk(text, "xXpP") != NULL)
        return FIELD_BAD;
    return isfinite(*number) ? FIELD_NUMBER : FIELD_EMPTY;
}

/* Numbers beyond what 64 bits hold are cut to the largest. */
static int64_t whole(double number)
{
    const double far = 9.2e18;
    return number >= far ? INT64_MAX : number <= -far ? -INT64_MAX : (int64_t)llround(number);
}

/* Bytes as an integer where it is one: a double would round beyond 2^53. */
static int64_t whole_text(const char *text, double number)
{
    char *end;
    errno = 0;
    long long exact = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    bool integer = errno == 0 && (*end == '\0' || *end == ',') && exact != INT64_MIN;
    return integer ? exact : whole(number);
}

static void remember_bad(struct verdict_csv *csv, const char *line)
{
    if (csv->bad++ > 0)
        return;
    csv->first_bad_line = csv->lines;
    snprintf(csv->first_bad, sizeof csv->first_bad, "%.40s", escape_name(line).text);
}

static bool take_line(char *line, bool regressor_column, verdict_csv_point_fn *on_point,
                      void *context, struct verdict_csv *csv)
{
    char shown[64], *at = line;
    csv->lines++;
    line[strcspn(line, "\r\n")] = '\0';
    if (csv->lines == 1 && strncmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; /* what spreadsheets put before UTF-8 */
    while (isspace((unsigned char)*at))
        at++;
    if (*at == '\0' || *at == '#')
        return true;
    snprintf(shown, sizeof shown, "%.60s", at);
    /* A header: the first line that is no comment and begins like a word. */
    bool first = csv->values + csv->missing + csv->bad == 0;
    if (first && (isalpha((unsigned char)*at) || *at == '"' || *at == '_') &&
        strncasecmp(at, "nan", 3) != 0 && strncasecmp(at, "inf", 3) != 0)
        return true;
    double seconds, bytes = 0, regressor = 0;
    char *second;
    enum column have_seconds = take_field(&at, &seconds);
    second = at;
    char exact[64] = "";
    if (second != NULL)
        snprintf(exact, sizeof exact, "%.60s", second);
    enum column have_bytes = take_field(&at, &bytes);
    enum column have_regressor = regressor_column ? take_field(&at, &regressor) : FIELD_EMPTY;
    if (have_seconds != FIELD_NUMBER || have_bytes == FIELD_BAD || have_regressor == FIELD_BAD ||
        second == NULL) {
        remember_bad(csv, shown);
        return true;
    }
    csv->values += have_bytes == FIELD_NUMBER;
    csv->missing += have_bytes != FIELD_NUMBER;
    return on_point(context, whole(seconds * 1000),
                    have_bytes == FIELD_NUMBER ? whole_text(exact, bytes) : VERDICT_MISSING,
                    have_regressor == FIELD_NUMBER ? whole(regressor) : VERDICT_MISSING);
}

static bool verdict_csv_read(const char *path, bool regressor_column,
                             verdict_csv_point_fn *on_point, void *context, struct verdict_csv *csv,
                             char *error, size_t error_size)
{
    memset(csv, 0, sizeof *csv);
    bool standard_input = strcmp(path, "-") == 0;
    const char *name = standard_input ? "standard input" : path;
    int fd = standard_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    gzFile file = fd >= 0 ? gzdopen(fd, "rb") : NULL; /* plain text passes unchanged */
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s", escape_name(name).text, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    char line[VERDICT_CSV_LINE_MAX];
    bool good = true, inside_long = false;
    while (good && gzgets(file, line, sizeof line) != NULL) {
        bool whole_line = strchr(line, '\n') != NULL || gzeof(file);
        if (csv->values == 0 && gztell(file) > (z_off_t)ENDLESS_BYTES) {
            snprintf(error, error_size, "%s: no value in its first 64 MiB", escape_name(name).text);
            good = false;
            break;
        }
        if (inside_long) {
            inside_long = !whole_line;
        } else if (!whole_line) {
            inside_long = true;
            csv->lines++;
            remember_bad(csv, line);
        } else if (!take_line(line, regressor_column, on_point, context, csv)) {
            snprintf(error, error_size, "out of memory");
            good = false;
        }
    }
    int code = Z_OK;
    const char *reason = gzerror(file, &code);
    if (good && code != Z_OK && code != Z_STREAM_END)
        snprintf(csv->damage, sizeof csv->damage, "%.200s: read up to line %lld only: %.100s",
                 escape_name(name).text, (long long)csv->lines,
                 code == Z_ERRNO       ? strerror(errno)
                 : code == Z_BUF_ERROR ? "it ends in the middle of a gzip member"
                                       : reason);
    gzclose_r(file);
    return good;
}

/* --- the verb --------------------------------------------------------------------------------- */

static bool feed(void *context, int64_t ms, int64_t bytes, int64_t regressor)
{
    return verdict_feed(context, ms, bytes, regressor);
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
    return json_out_print(&out, stdout);
}

/* Skipped lines are always reported. */
static void warn(const struct verdict_csv *csv)
{
    if (csv->bad > 0)
        print_error(
            "nmtwatch verdict: warning: %lld of %lld lines are no `seconds,bytes`; the first is"
            " line %lld: %s\n",
            (long long)csv->bad, (long long)csv->lines, (long long)csv->first_bad_line,
            csv->first_bad);
    if (csv->damage[0] != '\0')
        print_error("nmtwatch verdict: warning: %s\n", csv->damage);
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
        print_error("nmtwatch verdict: %s\n", error);
        verdict_destroy(series);
        return EXIT_IO;
    }
    warn(&csv);
    if (csv.values == 0 && (csv.bad > 0 || csv.damage[0] != '\0')) {
        print_error("nmtwatch verdict: no line that can be used\n");
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
        {0, "sparse", NULL, NULL, &options.sparse,
         "points are rare (minutes apart): eight may decide, by a test that takes them for a "
         "random walk"},
        OPTION_JSON(&json),
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
    .usage = "Usage: nmtwatch verdict FILE.csv|- [--limit BYTES] [--regressor-column]\n"
             "                        [--sparse] [--json]\n"
             "\n"
             "Reads lines `seconds,bytes[,classes_loaded_total]` and says whether the series\n"
             "grows now:\n"
             "  CONVERGED, SAWTOOTH (level), STEPPED            it does not          exit 0\n"
             "  LINEAR, ACCELERATING, SLOWING                   it does              exit 1\n"
             "  TOO_SHORT, WARMING, RESTARTED (too recently)    not known yet        exit 3\n"
             "with the slope and its 95 % interval, judged for the newest window without a\n"
             "change of trend. An empty value is a gap. A header line, blank lines, #\n"
             "comments, CR LF, decimal seconds and gzip are understood; bad lines are counted\n"
             "and reported.\n"
             "\n"
             "Exit: 0, 1 and 3 as above, 64 usage, 74 the file cannot be read or has no\n"
             "usable line.\n",
    .run = run,
};
