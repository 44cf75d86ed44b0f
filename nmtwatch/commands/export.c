/* nmtwatch export: a recording in the format of another program: JFR (JMC, jfr view), OpenMetrics (promtool
 * tsdb create-blocks-from openmetrics), CSV. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/export/export_events.h"
#include "reports/text/units.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/record/recording.h"
#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const format_names[] = {
    [EXPORT_JFR] = "jfr", [EXPORT_OPENMETRICS] = "openmetrics", [EXPORT_CSV] = "csv"};

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
             "RECORDING is a file of record or watch --record, - for standard input. A\n"
             "damaged tail is read up to the damage, with a warning.\n",
    .run = run,
};
