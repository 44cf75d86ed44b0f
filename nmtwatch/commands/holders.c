/* nmtwatch holders: what keeps class loaders alive that should have been unloaded. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/heap/holders_run.h"
#include "nmtwatch/process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct settings {
    bool json, markdown, html, timing, allow_pause, keep, gzip;
    const char *baseline_name; /* NULL: none */
    struct holders_baseline baseline;
};

static int print(const struct holders_answer *answer, const char *name,
                 const struct settings *settings)
{
    struct holders_report report = holders_answer_report(answer, name);
    report.baseline = settings->baseline_name != NULL ? &settings->baseline : NULL;
    report.baseline_name = settings->baseline_name;
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
        ok = settings->markdown ? page_markdown(&page, stdout)
             : settings->html   ? page_html(&page, stdout)
                                : page_terminal(&page, &terminal);
        page_free(&page);
    }
    return ok && fflush(stdout) == 0 ? holders_status(&answer->holders) : EXIT_IO;
}

static struct holders_run_options run_options(const struct settings *settings)
{
    return (struct holders_run_options){
        .progress = isatty(STDERR_FILENO),
        .timing = settings->timing,
    };
}

/* fd is taken over. baseline: it is kept as one, instead of being printed. */
static int answer_of(int fd, const char *name, const struct settings *settings,
                     struct holders_baseline *baseline)
{
    const struct holders_run_options options = run_options(settings);
    char error[600];
    struct holders_answer *answer = malloc(sizeof *answer);
    int code = EXIT_IO;
    if (answer == NULL) {
        print_error("nmtwatch holders: out of memory\n");
        close(fd);
        return EXIT_IO;
    }
    if (!holders_run(answer, fd, &options, error, sizeof error))
        print_error("nmtwatch holders: %s: %s\n", name, error);
    else if (baseline == NULL)
        code = print(answer, name, settings);
    else if (holders_baseline_take(baseline, &answer->holders))
        code = 0;
    else
        print_error("nmtwatch holders: out of memory\n");
    holders_answer_free(answer);
    free(answer);
    return code;
}

static int of_file(const char *path, const struct settings *settings,
                   struct holders_baseline *baseline)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return print_failure(EXIT_IO, "nmtwatch holders: %s: %s\n", path, strerror(errno));
    return answer_of(fd, path, settings, baseline);
}

static int of_target(const struct target *target, const struct settings *settings)
{
    const struct holders_take_options options = {
        .verb = "holders",
        .allow_pause = settings->allow_pause,
        .keep = settings->keep,
        .gzip = settings->gzip,
        .run = run_options(settings),
    };
    struct failure failure;
    char sentence[600], name[64];
    int code = EXIT_IO;
    struct holders_answer *answer = malloc(sizeof *answer);
    if (answer == NULL)
        return print_failure(EXIT_IO, "nmtwatch holders: out of memory\n");
    enum holders_taken taken =
        holders_take(answer, target, &options, &failure, sentence, sizeof sentence);
    snprintf(name, sizeof name, "pid %d", (int)target->pid);
    if (taken == HOLDERS_TAKEN)
        code = print(answer, name, settings);
    else if (taken == HOLDERS_NOT_ALLOWED)
        code = options_error(&command_holders, "%s; --allow-pause allows it", sentence);
    else
        print_error("nmtwatch holders: %s\n", sentence);
    if (taken == HOLDERS_REFUSED)
        code = failure_exit_code(failure.kind);
    holders_answer_free(answer);
    free(answer);
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
        OPTION_UNDER_SECCOMP,
        {0, "allow-pause", NULL, NULL, &settings.allow_pause,
         "for a PID: a full GC and the writing of a heap dump may stop the application"},
        {0, "keep", NULL, NULL, &settings.keep, "for a PID: keep the dump, and say where"},
        {0, "gzip", NULL, NULL, &settings.gzip,
         "for a PID: the JVM packs the dump (JDK 17 and later): less disk, more pause"},
        OPTION_JSON(&settings.json),
        OPTION_MARKDOWN(&settings.markdown),
        {0, "html", NULL, NULL, &settings.html, "one page of HTML, the paths drawn"},
        {0, "baseline", "DUMP", option_take_text, &settings.baseline_name,
         "an earlier dump: which loaders are new, which paths grew"},
        {0, "timing", NULL, NULL, &settings.timing, "what each step took, on standard error"},
    };
    struct target target;
    int operands, code;
    if (!options_parse(&command_holders, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands == 2 && settings.baseline_name == NULL)
        settings.baseline_name = argv[1];
    else if (operands != 1)
        return options_error(&command_holders, "one heap dump or process id is needed, or two "
                                               "dumps, the earlier first");
    if (settings.json + settings.markdown + settings.html > 1)
        return options_error(&command_holders, "either --json, --markdown or --html");
    const char *of = argv[operands];
    bool pid = is_number(of);
    signals_catch(SIGNALS_END);
    if (pid) {
        code = target_option_open(&command_holders, of, &target);
        if (code != 0)
            return code;
        identify_target(&target, 5000);
    }
    code = settings.baseline_name == NULL
               ? 0
               : of_file(settings.baseline_name, &settings, &settings.baseline);
    if (code == 0)
        code = pid ? of_target(&target, &settings) : of_file(of, &settings, NULL);
    if (pid)
        target_close(&target);
    holders_baseline_free(&settings.baseline);
    return code;
}

const struct command command_holders = {
    .name = "holders",
    .usage = "Usage: nmtwatch holders [EARLIER.hprof] HEAP.hprof[.gz] [options]\n"
             "       nmtwatch holders PID --allow-pause [--keep] [options]\n"
             "\n"
             "Reads a heap dump (HPROF 1.0.1 and 1.0.2 of JDK 8 to 27, plain or gzipped) and\n"
             "says which class loaders exist more often than they should, what they retain,\n"
             "the shortest strong path from a GC root to each, and where to cut it.\n"
             "\n"
             "With an earlier dump it also says which loaders are new and which paths hold\n"
             "more.\n"
             "\n"
             "Of a PID a dump is taken first, into a private folder in its /tmp, and removed\n"
             "again. It stops the application: what that costs is predicted and said, and\n"
             "done only with --allow-pause.\n"
             "\n"
             "Exit: 0 nothing is held that should have been unloaded (what only soft\n"
             "references hold is reported, the JVM lets go of it before memory runs out), 1\n"
             "WARNING: something is, 3 UNKNOWN: nothing was found, but the dump is cut or\n"
             "damaged, 10-36 the JVM could not be asked, 64 usage, or --allow-pause is\n"
             "missing, 74 the dump cannot be read, there is no room for it, or it was\n"
             "interrupted.\n",
    .run = run,
    .apart = true,
};
