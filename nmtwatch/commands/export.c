/* nmtwatch export: a recording in the format of another program: JFR (JMC, jfr view), OpenMetrics (promtool
 * tsdb create-blocks-from openmetrics), CSV. */
#include "nmtwatch/commands/options.h"
#include "reports/text/units.h"
#include "nmtwatch/jfr/history_jfr.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/record/recording.h"
#include "reports/metrics/exposition.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- OpenMetrics ------------------------------------------------------------------------------ */

/* Samples of a series have to stand together: each has a temporary file, until the end. */
#define SERIES_MAX  256
#define SPOOL_BYTES 65536

struct series {
    int family;
    char label[64];
    struct exposition text;
    FILE *spool;
};
struct metrics {
    struct series series[SERIES_MAX];
    int count, family; /* the one being written */
    int64_t unix_ms;
    char target[EVENT_NAME_MAX + 32];
    bool failed; /* errno */
};

static struct exposition *series_of(void *context, const char *label)
{
    struct metrics *metrics = context;
    bool first = true;
    for (int i = 0; i < metrics->count; i++) {
        struct series *series = &metrics->series[i];
        if (series->family != metrics->family)
            continue;
        first = false;
        if (strcmp(series->label, label) == 0) {
            exposition_timestamp(&series->text, metrics->unix_ms);
            return &series->text;
        }
    }
    if (metrics->count == SERIES_MAX) {
        errno = E2BIG;
        metrics->failed = true;
        return NULL;
    }
    struct series *series = &metrics->series[metrics->count++];
    series->family = metrics->family;
    snprintf(series->label, sizeof series->label, "%s", label);
    series->text.format = EXPOSITION_OPENMETRICS;
    sample_metrics_family(&series->text, metrics->family);
    series->text.header_written = !first;
    exposition_timestamp(&series->text, metrics->unix_ms);
    series->spool = tmpfile();
    metrics->failed |= series->spool == NULL;
    return &series->text;
}

static bool spool(struct series *series)
{
    struct exposition *text = &series->text;
    bool good = !text->failed && series->spool != NULL &&
                fwrite(text->text, 1, text->length, series->spool) == text->length;
    text->length = 0;
    return good;
}

static bool metrics_sample(struct metrics *metrics, int64_t unix_ms, const struct sample *sample)
{
    const struct sample_source source = {.target = metrics->target};
    metrics->unix_ms = unix_ms;
    for (int i = 0; i >= 0; i = sample_metrics_next(i)) {
        metrics->family = i;
        sample_metrics_write(i, sample, &source, series_of, metrics);
    }
    for (int i = 0; i < metrics->count; i++)
        if (metrics->series[i].text.length > SPOOL_BYTES)
            metrics->failed |= !spool(&metrics->series[i]);
    return !metrics->failed;
}

static bool unspool(struct series *series, int fd)
{
    return spool(series) && fflush(series->spool) == 0 &&
           lseek(fileno(series->spool), 0, SEEK_SET) == 0 && copy_all(fileno(series->spool), fd);
}

static bool metrics_end(struct metrics *metrics, int fd)
{
    static const char eof[] = "# EOF\n";
    bool good = true;
    for (int family = 0; family >= 0; family = sample_metrics_next(family)) {
        for (int i = 0; i < metrics->count && good; i++)
            if (metrics->series[i].family == family)
                good = unspool(&metrics->series[i], fd);
    }
    return good && write_all(fd, eof, sizeof eof - 1);
}

static void metrics_free(struct metrics *metrics)
{
    int error = errno;
    for (int i = 0; i < metrics->count; i++) {
        exposition_free(&metrics->series[i].text);
        if (metrics->series[i].spool != NULL)
            fclose(metrics->series[i].spool);
    }
    free(metrics);
    errno = error;
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* A row for each sample; an empty cell is a value that the sample does not have. */
static void csv_head(FILE *out)
{
    fputs("time,ms", out);
    for (int field = 0; field < SAMPLE_FIELD_COUNT; field++)
        fprintf(out, ",%s", sample_field_key((enum sample_field)field));
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        const char *name = nmt_category_name((enum nmt_category)i);
        fprintf(out, ",%s reserved_bytes,%s committed_bytes", name, name);
    }
    fputs(",other categories reserved_bytes,other categories committed_bytes\n", out);
}

static void csv_amount(FILE *out, bool known, const struct nmt_amount *amount)
{
    if (known)
        fprintf(out, ",%" PRId64 ",%" PRId64, amount->reserved_bytes, amount->committed_bytes);
    else
        fputs(",,", out);
}

static void csv_time(FILE *out, int64_t unix_ms, int64_t ms)
{
    fprintf(out, "%s.%03dZ,%" PRId64, units_utc(unix_ms, UNITS_ISO).text, (int)(unix_ms % 1000),
            ms);
}

static void csv_text(FILE *out, const char *text)
{
    fputs(",\"", out);
    escape_put(ESCAPE_CSV, text, out);
    fputc('"', out);
}

static void csv_histogram(FILE *out, int64_t unix_ms, int64_t ms,
                          const struct histogram_event *histogram)
{
    for (int i = 0; i < histogram->row_count; i++) {
        const struct histogram_class *row = &histogram->rows[i];
        csv_time(out, unix_ms, ms);
        csv_text(out, row->name);
        csv_text(out, row->family);
        fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", row->classes, row->instances,
                row->bytes);
    }
}

static void csv_sample(FILE *out, int64_t unix_ms, int64_t ms, const struct sample *sample)
{
    csv_time(out, unix_ms, ms);
    for (int field = 0; field < SAMPLE_FIELD_COUNT; field++) {
        int64_t value;
        if (sample_get(sample, (enum sample_field)field, &value))
            fprintf(out, ",%" PRId64, value);
        else
            fputc(',', out);
    }
    struct nmt_amount amount = {0}, other = {0};
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        bool known = sample_get_nmt(sample, (enum nmt_category)i, &amount);
        csv_amount(out, known, &amount);
    }
    for (int i = 0; i < sample->extra_count; i++) {
        other.reserved_bytes += sample->extra[i].amount.reserved_bytes;
        other.committed_bytes += sample->extra[i].amount.committed_bytes;
    }
    csv_amount(out, sample->extra_count > 0, &other);
    fputc('\n', out);
}

/* --- the recording ---------------------------------------------------------------------------- */

enum export_format { EXPORT_JFR, EXPORT_OPENMETRICS, EXPORT_CSV, EXPORT_FORMATS };
static const char *const format_names[] = {
    [EXPORT_JFR] = "jfr", [EXPORT_OPENMETRICS] = "openmetrics", [EXPORT_CSV] = "csv"};

struct export_how {
    bool profile_follows; /* JFR */
    bool histograms;      /* CSV: of classes instead of samples */
    const char *target;   /* OpenMetrics: the label, or NULL: the main class */
};

static bool to_jfr(struct replay *replay, int fd, const struct export_how *how)
{
    const struct recording_header *header = replay->header;
    struct history_jfr *history =
        history_jfr_create(fd, &header->target, header->wall_start_ms, how->profile_follows);
    if (history == NULL)
        return false;
    bool good = true;
    while (good && replay_next(replay)) {
        good = history_jfr_event(history, &replay->event);
        for (int i = 0; i < replay->alerts.count && good; i++)
            good = history_jfr_alert(history, &replay->alerts.alert[i]);
    }
    return history_jfr_end(history) && good;
}

static bool to_openmetrics(struct replay *replay, int fd, const struct export_how *how)
{
    const struct recording_header *header = replay->header;
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL)
        return false;
    snprintf(metrics->target, sizeof metrics->target, "%s",
             how->target != NULL              ? how->target
             : header->target.main[0] != '\0' ? header->target.main
                                              : "unknown");
    bool good = true;
    while (good && replay_next(replay)) {
        if (replay->event.kind == EVENT_SAMPLE)
            good = metrics_sample(metrics, header->wall_start_ms + replay->event.ms,
                                  &replay->event.sample);
    }
    good = good && metrics_end(metrics, fd);
    metrics_free(metrics);
    return good;
}

static bool to_csv(struct replay *replay, int fd, const struct export_how *how)
{
    int copy = dup(fd);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (out == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    if (how->histograms)
        fputs("time,ms,class,family,classes,instances,bytes\n", out);
    else
        csv_head(out);
    while (replay_next(replay) && !ferror(out)) {
        const struct event *event = &replay->event;
        int64_t unix_ms = replay->header->wall_start_ms + event->ms;
        if (event->kind == EVENT_SAMPLE && !how->histograms)
            csv_sample(out, unix_ms, event->ms, &event->sample);
        else if (event->kind == EVENT_HISTOGRAM && how->histograms)
            csv_histogram(out, unix_ms, event->ms, &event->histogram);
    }
    bool good = !ferror(out);
    return fclose(out) == 0 && good;
}

static bool export_events(struct replay *replay, enum export_format format, int fd,
                          const struct export_how *how, char *error, size_t size)
{
    static bool (*const writers[])(struct replay *, int, const struct export_how *) = {
        [EXPORT_JFR] = to_jfr, [EXPORT_OPENMETRICS] = to_openmetrics, [EXPORT_CSV] = to_csv};
    error[0] = '\0';
    errno = ENOMEM;
    bool good = writers[format](replay, fd, how);
    int failure = errno;
    const char *damage = recording_damage(replay->recording);
    if (!good)
        snprintf(error, size, "%s", strerror(failure));
    else if (damage != NULL)
        snprintf(error, size, "%s", damage);
    errno = failure;
    return good;
}

/* --- a profile beside it ------------------------------------------------------------------------ */

/* Its chunks behind those of the recording. True with a sentence: what is odd about it. */
static bool append_profile(const struct replay *replay, int profile, const char *name, int fd,
                           char *error, size_t size)
{
    struct jfr_copied copied;
    int64_t start_ns = replay->header->wall_start_ms * 1000000,
            end_ns = start_ns + replay->event.ms * 1000000;
    if (!jfr_copy_chunks(profile, name, fd, &copied, error, size))
        return false;
    if (copied.rest_bytes > 0)
        snprintf(error, size,
                 "%s: its end is no complete chunk, and was left out: %" PRId64 " bytes", name,
                 copied.rest_bytes);
    else if (copied.end_ns < start_ns || copied.start_ns > end_ns)
        snprintf(error, size, "%s is of another time than the recording", name);
    return true;
}

/* Whether that is the file behind a descriptor: it would be overwritten before it is read. */
static bool is_file_of(const char *path, int fd)
{
    struct stat one, other;
    return stat(path, &one) == 0 && fstat(fd, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool is_file(const char *path, const char *input)
{
    int fd = strcmp(input, "-") == 0 ? dup(STDIN_FILENO)
                                     : open(input, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool same = fd >= 0 && is_file_of(path, fd);
    if (fd >= 0)
        close(fd);
    return same;
}

/* --- the verb --------------------------------------------------------------------------------- */

static const char *take_format(const char *value, void *into)
{
    for (int i = 0; i < EXPORT_FORMATS; i++) {
        if (strcmp(value, format_names[i]) == 0) {
            *(int *)into = i;
            return NULL;
        }
    }
    return "jfr, openmetrics or csv";
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

/* By the name of a file; -1. */
static int format_of(const char *file)
{
    static const struct {
        const char *end;
        enum export_format format;
    } known[] = {{".jfr", EXPORT_JFR},
                 {".om", EXPORT_OPENMETRICS},
                 {".openmetrics", EXPORT_OPENMETRICS},
                 {".prom", EXPORT_OPENMETRICS},
                 {".csv", EXPORT_CSV}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(file, known[i].end))
            return (int)known[i].format;
    return -1;
}

static int run(int argc, char **argv)
{
    const char *output = NULL, *profile = NULL, *target = NULL;
    int format = -1, profile_fd = -1;
    bool histograms = false;
    const struct option_row rows[] = {
        {'o', "output", "FILE", option_take_text, &output, "where to write (standard output)"},
        {0, "format", "FORMAT", take_format, &format,
         "jfr, openmetrics, csv (by the end of FILE: .jfr .om .openmetrics .prom .csv)"},
        {0, "profile", "FILE.jfr", option_take_text, &profile,
         "with --format jfr: this profile of nmtwatch follows, so that one file shows both"},
        {0, "histograms", NULL, NULL, &histograms,
         "with --format csv: a row for each class of each histogram, no samples"},
        {0, "target", "NAME", option_take_text, &target,
         "with --format openmetrics: the label, as serve has it (the main class)"},
    };
    int operands, code;
    if (!options_parse(&command_export, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_export, "one recording is needed");
    bool file = output != NULL && strcmp(output, "-") != 0;
    if (format < 0 && file)
        format = format_of(output);
    if (format < 0)
        return options_error(&command_export, "--format is needed: jfr, openmetrics or csv");
    if (!file && format == EXPORT_JFR && isatty(STDOUT_FILENO))
        return options_error(&command_export, "a JFR file is binary: write it with -o FILE");

    if (profile != NULL && format != EXPORT_JFR)
        return options_error(&command_export, "--profile needs --format jfr");
    if (histograms && format != EXPORT_CSV)
        return options_error(&command_export, "--histograms needs --format csv");
    if (target != NULL && format != EXPORT_OPENMETRICS)
        return options_error(&command_export, "--target needs --format openmetrics");
    if (file && (is_file(output, argv[1]) || (profile != NULL && is_file(output, profile))))
        return options_error(&command_export, "-o names a file that is read");

    struct replay replay;
    char error[512];
    if (profile != NULL) {
        profile_fd = open(profile, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (profile_fd < 0)
            snprintf(error, sizeof error, "%s: %s", profile, strerror(errno));
        if (profile_fd < 0 || !jfr_has_our_clock(profile_fd, profile, error, sizeof error)) {
            print_error("nmtwatch export: %s\n", error);
            if (profile_fd >= 0)
                close(profile_fd);
            return EXIT_IO;
        }
    }
    if (!replay_open(&replay, argv[1], error, sizeof error)) {
        print_error("nmtwatch export: %s\n", error);
        if (profile_fd >= 0)
            close(profile_fd);
        return EXIT_IO;
    }
    FILE *out = file ? result_open(output, 0) : NULL;
    if (file && out == NULL) {
        print_error("nmtwatch export: %s: %s\n", output, strerror(errno));
        replay_close(&replay);
        if (profile_fd >= 0)
            close(profile_fd);
        return EXIT_IO;
    }
    int fd = file ? fileno(out) : STDOUT_FILENO;
    const struct export_how how = {
        .profile_follows = profile_fd >= 0, .histograms = histograms, .target = target};
    bool good = export_events(&replay, (enum export_format)format, fd, &how, error, sizeof error);
    if (good && profile_fd >= 0) {
        if (error[0] != '\0')
            print_error("nmtwatch export: warning: %s\n", error);
        error[0] = '\0';
        good = append_profile(&replay, profile_fd, profile, fd, error, sizeof error);
    }
    if (profile_fd >= 0)
        close(profile_fd);
    if (file && !result_close(out, output, good) && good) {
        snprintf(error, sizeof error, "%s", strerror(errno));
        good = false;
    }
    if (!good)
        print_error("nmtwatch export: %s: %s\n", file ? output : "standard output", error);
    else if (error[0] != '\0')
        print_error("nmtwatch export: warning: %s\n", error);
    replay_close(&replay);
    return good ? 0 : EXIT_IO;
}

const struct command command_export = {
    .name = "export",
    .usage = "Usage: nmtwatch export RECORDING -o FILE [--profile FILE.jfr]\n"
             "       nmtwatch export RECORDING --format jfr|openmetrics|csv\n"
             "\n"
             "  jfr          the JDK's own events (NativeMemoryUsage, NativeMemoryUsageTotal,\n"
             "               ResidentSetSize, ClassLoadingStatistics, MetaspaceSummary,\n"
             "               GCHeapMemoryUsage, ObjectCount of class histograms,\n"
             "               JVMInformation), also for JDK 8 to 17 that have no such events,\n"
             "               and nmtwatch.Finding, ClassFamily, ClassLoaders, Methods,\n"
             "               MethodFamily, ClassCaller, Note. For JMC, jfr print, jfr view\n"
             "               native-memory-committed and object-statistics (JDK 21 and\n"
             "               later). --profile puts what nmtwatch profile has recorded at the\n"
             "               same time into the same file: hot-methods beside\n"
             "               native-memory-committed.\n"
             "  openmetrics  the metrics that serve shows of a sample, with the time of each:\n"
             "               for promtool tsdb create-blocks-from openmetrics FILE; --target\n"
             "               keeps JVMs of one main class apart\n"
             "  csv          a row for each sample; an empty cell is a value that was not\n"
             "               taken. With --histograms a row for each class of each histogram\n"
             "               (--histogram of watch and record)\n"
             "\n"
             "RECORDING is a file of watch -o or record, - for standard input. A damaged tail\n"
             "is read up to the damage, with a warning.\n",
    .run = run,
};
