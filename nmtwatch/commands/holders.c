/* nmtwatch holders: who keeps class loaders alive that should be gone. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/heap/heap_dump.h"
#include "nmtwatch/heap/holders_run.h"
#include "nmtwatch/process/tell.h"
#include "nmtwatch/watch/watching.h"
#include "reports/diagnosis/holders_report.h"
#include "reports/text/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings {
    bool json, markdown, timing, allow_pause, keep, gzip;
};

static int print(const struct holders_answer *answer, const char *name,
                 const struct settings *settings)
{
    const struct holders_report report = {
        .name = name,
        .heap = &answer->heap,
        .holders = &answer->holders,
        .dump_bytes = (int64_t)answer->bytes,
        .took_ms = answer->took_ms,
    };
    bool ok;
    if (settings->json) {
        struct json_out out = {0};
        holders_report_json(&report, &out);
        ok = json_out_print(&out, stdout);
    } else {
        const struct terminal terminal = {
            .out = stdout, .colour = options_colour(false), .width = 100};
        struct page page;
        holders_report_page(&report, &page);
        ok = settings->markdown ? page_markdown(&page, stdout) : page_terminal(&page, &terminal);
        page_free(&page);
    }
    return ok && fflush(stdout) == 0 ? holders_status(&answer->holders) : EXIT_IO;
}

/* Set by the signals that end a program: a dump is removed first. */
static volatile bool interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    interrupted = true;
}

static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* fd is taken over. */
static int answer_of(int fd, const char *name, const struct settings *settings)
{
    const struct holders_run_options options = {
        .progress = isatty(STDERR_FILENO),
        .timing = settings->timing,
        .give_up = &interrupted,
    };
    char error[600];
    struct holders_answer *answer = malloc(sizeof *answer);
    int code = EXIT_IO;
    if (answer == NULL) {
        tell_error("nmtwatch holders: out of memory\n");
        close(fd);
        return EXIT_IO;
    }
    if (holders_run(answer, fd, &options, error, sizeof error))
        code = print(answer, name, settings);
    else
        tell_error("nmtwatch holders: %s: %s\n", name, error);
    holders_answer_free(answer);
    free(answer);
    return code;
}

static int of_file(const char *path, const struct settings *settings)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        tell_error("nmtwatch holders: %s: %s\n", path, strerror(errno));
        return EXIT_IO;
    }
    return answer_of(fd, path, settings);
}

static int of_target(const struct target *target, const struct settings *settings)
{
    struct heap_dump dump;
    struct failure failure;
    char words[300], name[64];
    int code = EXIT_IO;
    enum failure_kind kind = heap_dump_predict(&dump, target, &failure);
    if (kind == FAILURE_NONE) {
        snprintf(words, sizeof words,
                 "a heap dump of about %s is needed: a full GC, and a pause of about %s",
                 units_bytes(dump.predicted_bytes).text, units_duration(dump.predicted_ms).text);
        if (!settings->allow_pause) {
            code = options_error(&command_holders, "%s; --allow-pause allows it", words);
        } else if (!heap_dump_fits(&dump, target, words, sizeof words)) {
            tell_error("nmtwatch holders: no room for the dump: %s\n", words);
        } else if (!interrupted) {
            tell_error("nmtwatch holders: %s\n", words);
            kind = heap_dump_take(&dump, target, settings->gzip, &failure);
            if (kind == FAILURE_NONE) {
                tell_error("nmtwatch holders: %s of dump, a pause of at most %s\n",
                           units_bytes(dump.bytes).text, units_microseconds(dump.pause_us).text);
                snprintf(name, sizeof name, "pid %d", (int)target->pid);
                code = interrupted ? EXIT_IO : answer_of(dump.fd, name, settings);
                if (settings->keep)
                    tell_error("nmtwatch holders: the dump is kept: %s/%s\n", dump.exchange.theirs,
                               HEAP_DUMP_FILE);
            }
        }
    }
    if (kind != FAILURE_NONE) {
        tell_error("nmtwatch holders: %s\n", failure.sentence);
        code = failure_exit_code(kind);
    }
    heap_dump_end(&dump, settings->keep && kind == FAILURE_NONE && dump.fd >= 0);
    return code;
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int run(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_row rows[] = {
        {0, "allow-pause", NULL, NULL, &settings.allow_pause,
         "for a PID: a full GC and the writing of a heap dump may stop the application"},
        {0, "keep", NULL, NULL, &settings.keep, "for a PID: keep the dump, and say where"},
        {0, "gzip", NULL, NULL, &settings.gzip,
         "for a PID: the JVM packs the dump (JDK 17 and later): less disk, more pause"},
        {0, "json", NULL, NULL, &settings.json, "print JSON"},
        {0, "markdown", NULL, NULL, &settings.markdown, "print Markdown, for a ticket"},
        {0, "timing", NULL, NULL, &settings.timing, "what each step took, on standard error"},
    };
    struct target target;
    int operands, code;
    if (!options_parse(&command_holders, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 1)
        return options_error(&command_holders, "one heap dump or process id is needed");
    catch_signals();
    if (!is_number(argv[1]))
        return of_file(argv[1], &settings);
    code = target_option_open(&command_holders, argv[1], &target);
    if (code != 0)
        return code;
    identify_target(&target, 5000);
    code = of_target(&target, &settings);
    target_close(&target);
    return code;
}

const struct command command_holders = {
    .name = "holders",
    .summary = "who holds class loaders that should be gone: paths in a heap dump",
    .usage =
        "Usage: nmtwatch holders HEAP.hprof[.gz] | PID --allow-pause [--keep] [options]\n"
        "\n"
        "Reads a heap dump (HPROF 1.0.1 and 1.0.2 of JDK 8 to 27, plain or gzipped) and says\n"
        "which class loaders exist more often than they should, what they retain, the\n"
        "shortest strong path from a GC root to each, and where to cut it.\n"
        "\n"
        "Of a PID a dump is taken first, into a private folder in its /tmp, and removed again.\n"
        "It stops the application: what that costs is predicted and said, and done only with\n"
        "--allow-pause.\n"
        "\n"
        "Exit: 0 nothing is held that should be gone, 1 WARNING: something is, 10-31 the\n"
        "JVM could not be asked, 64 usage, or --allow-pause is missing, 74 the dump cannot be\n"
        "read, or there is no room for it.\n",
    .run = run,
};
