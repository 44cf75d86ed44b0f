/* nmtwatch soak: a command or a JVM under watch, and at the end one answer that CI can trust. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/report/report_files.h"
#include "nmtwatch/soak/soak_run.h"
#include "reports/text/escape.h"
#include "reports/soak/soak_report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SOAK_EXIT_USAGE 2
#define PER_INTERVAL_MS 5000
#define RECORDING_NAME  "soak.nmt.gz"

struct soak_arguments {
    struct watch_given watch;
    struct soak_run_options run;
    const char *config;
    bool json, no_color;
    const char *junit, *report, *record, *against, *replay;
    bool tap, no_report;
    char report_path[PATH_MAX]; /* the default */
    char record_path[SOAK_PATH_MAX];
    int junit_fd; /* -1: none, or written */
};

/* --- options ---------------------------------------------------------------------------------- */

/* Read once all options are: only then may the sentence say what is wrong with one. */
struct budget_texts {
    int count;
    const char *text[BUDGETS_MAX];
};

static const char *take_budget(const char *value, void *into)
{
    struct budget_texts *texts = into;
    if (texts->count == BUDGETS_MAX)
        return "fewer budgets";
    texts->text[texts->count++] = value;
    return NULL;
}

static int read_budgets(const struct budget_texts *texts, struct budgets *budgets)
{
    char why[512];
    for (int i = 0; i < texts->count; i++)
        if (!budget_text_parse(texts->text[i], budgets, why, sizeof why))
            return options_error(&command_soak, "--budget: %s", why);
    return 0;
}

static int usage_code(int code)
{
    return code == EXIT_USAGE ? SOAK_EXIT_USAGE : code;
}

static int check_combination(const struct soak_arguments *arguments, int operands)
{
    bool command = arguments->run.command != NULL;
    int sources = (operands > 0) + command + (arguments->replay != NULL);
    if (sources > 1)
        return options_error(&command_soak, "a process id, -- COMMAND and --replay exclude each "
                                            "other");
    if (sources == 0)
        return options_error(&command_soak, "what? give -- COMMAND, or the process id of a JVM");
    if (operands > 1)
        return options_error(&command_soak, "one process id at a time; a command follows --");
    if (arguments->run.nmt && !command)
        return options_error(&command_soak, "--nmt is for commands: this JVM runs already");
    if (arguments->tap && arguments->json)
        return options_error(&command_soak, "--tap and --json exclude each other");
    if (arguments->report != NULL && arguments->no_report)
        return options_error(&command_soak, "--report and --no-report exclude each other");
    for (int i = 0; i < arguments->run.budgets.count; i++)
        if (arguments->run.budgets.budget[i].kind == BUDGET_ITERATION && arguments->run.per == NULL)
            return options_error(&command_soak, "a budget per iteration needs --per");
    if (arguments->record != NULL && strcmp(arguments->record, "-") == 0)
        return options_error(&command_soak, "--record: standard output is for the verdict");
    return 0;
}

/* --- where things go -------------------------------------------------------------------------- */

static int refuse(const char *path, const char *why)
{
    return print_failure(EXIT_IO, "nmtwatch soak: %s: %s\n", escape_name(path).text, why);
}

/* Before anything is started: a soak of hours must not end with a file that cannot be written. */
static int prepare_files(struct soak_arguments *arguments)
{
    struct stat status;
    if (arguments->junit != NULL) {
        arguments->junit_fd = open(arguments->junit, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (arguments->junit_fd < 0)
            return refuse(arguments->junit, strerror(errno));
    }
    if (arguments->no_report || (arguments->replay != NULL && arguments->report == NULL))
        arguments->report = NULL;
    else if (arguments->report == NULL) {
        time_t now = time(NULL);
        struct tm local;
        char stamp[32] = "";
        if (localtime_r(&now, &local) != NULL)
            strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
        snprintf(arguments->report_path, sizeof arguments->report_path, "nmtwatch-soak-%s-%d",
                 stamp, (int)getpid());
        arguments->report = arguments->report_path;
    }
    if (arguments->report != NULL && !report_make_directory(arguments->report))
        return refuse(arguments->report, strerror(errno));
    if (arguments->replay != NULL)
        return 0;
    if (arguments->record == NULL && arguments->report != NULL) {
        snprintf(arguments->record_path, sizeof arguments->record_path, "%s/%s", arguments->report,
                 RECORDING_NAME);
        arguments->record = arguments->record_path;
    }
    arguments->run.record = arguments->record;
    if (arguments->record != NULL && !arguments->run.record_force &&
        lstat(arguments->record, &status) == 0)
        return refuse(arguments->record, "it is there already (--force overwrites)");
    return 0;
}

/* --- the outcome ------------------------------------------------------------------------------ */

static bool write_junit(struct soak_arguments *arguments, const struct soak_summary *summary)
{
    FILE *out = arguments->junit_fd >= 0 && ftruncate(arguments->junit_fd, 0) == 0
                    ? fdopen(arguments->junit_fd, "w")
                    : NULL;
    bool good = out != NULL && junit_write(summary, out);
    int error = errno;
    if (out != NULL && fclose(out) != 0)
        good = false;
    arguments->junit_fd = -1;
    if (!good)
        refuse(arguments->junit, strerror(error));
    return good;
}

static void print(const struct soak_arguments *arguments, const struct soak_summary *summary,
                  const struct page *page)
{
    if (arguments->tap) {
        tap_write(summary, stdout);
    } else if (arguments->json) {
        struct json_out json = {0};
        if (soak_json(&json, summary) != NULL)
            fwrite(json.text, 1, json.length, stdout);
        json_out_free(&json);
    } else {
        const struct terminal terminal = {.out = stdout,
                                          .colour = options_colour(arguments->no_color)};
        if (!page_terminal(page, &terminal) && page->failed)
            print_error("nmtwatch soak: out of memory\n");
    }
    fflush(stdout);
}

/* The recording that the report is about: the one of the JVM that speaks for the soak. */
static void make_report(const struct soak_arguments *arguments, struct soak_summary *summary)
{
    const char *recording = arguments->replay;
    if (summary->chief >= 0)
        recording = summary->recordings[summary->chief];
    if (arguments->report == NULL || recording == NULL || recording[0] == '\0')
        return;
    if (report_make(recording, arguments->report))
        summary->report = arguments->report;
}

static int finish(struct soak_arguments *arguments, struct soak_outcome *outcome)
{
    if (outcome == NULL)
        return print_failure(EXIT_UNKNOWN, "nmtwatch soak: out of memory\n");
    outcome->summary.against = arguments->against;
    make_report(arguments, &outcome->summary);
    int code = (int)outcome->summary.answer;
    if (arguments->junit != NULL && !write_junit(arguments, &outcome->summary) && code == 0)
        code = EXIT_IO;
    struct page page;
    soak_page(&outcome->summary, &page);
    if (outcome->summary.report != NULL &&
        !report_add_page(outcome->summary.report, "soak", &page) && code == 0)
        code = EXIT_IO;
    print(arguments, &outcome->summary, &page);
    page_free(&page);
    soak_outcome_destroy(outcome);
    return code;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int judge_recording(struct soak_arguments *arguments, const struct trial *reference)
{
    char error[512];
    struct recorded_trial recorded;
    if (!recorded_trial_read(arguments->replay, &arguments->run.budgets, &recorded, error,
                             sizeof error))
        return print_failure(EXIT_IO, "nmtwatch soak: %s\n", error);
    if (recorded.damage[0] != '\0')
        print_error("nmtwatch soak: warning: %s\n", recorded.damage);
    struct soak_outcome *outcome =
        soak_outcome_of_trial(recorded.trial, arguments->replay, "", reference);
    if (outcome != NULL)
        outcome->summary.wall_start_ms = recorded.wall_start_ms;
    int code = finish(arguments, outcome);
    trial_destroy(recorded.trial);
    return code;
}

static int run_live(struct soak_arguments *arguments, const char *pid,
                    const struct trial *reference)
{
    struct target target;
    if (pid != NULL) {
        int code = target_option_open(&command_soak, pid, &target);
        if (code != 0)
            return code == EXIT_USAGE ? SOAK_EXIT_USAGE : EXIT_UNKNOWN;
        arguments->run.target = &target;
    }
    struct soak_run *run = calloc(1, sizeof *run);
    int code = run != NULL ? soak_run_create(run, &arguments->run) : EXIT_IO;
    if (code == 0) {
        soak_run_loop(run);
        if (run->jvms_missed > 0)
            print_error("nmtwatch soak: %d JVMs that ended early, or came beyond the %d that are "
                        "watched, were passed over\n",
                        run->jvms_missed, SOAK_JVMS_MAX);
        if (run->counter != NULL && counter_counts(run->counter).failed > 0)
            print_error("nmtwatch soak: %lld readings, and %lld failed: %s\n",
                        (long long)counter_counts(run->counter).readings,
                        (long long)counter_counts(run->counter).failed,
                        counter_counts(run->counter).last_failure);
        code = finish(arguments, soak_outcome_of_run(run, reference));
    }
    if (run != NULL)
        soak_run_destroy(run);
    free(run);
    arguments->run.target = NULL;
    return code;
}

static int run_checked(struct soak_arguments *arguments, const char *pid)
{
    struct recorded_trial reference = {0};
    char error[512];
    if (arguments->against != NULL &&
        !recorded_trial_read(arguments->against, NULL, &reference, error, sizeof error))
        return print_failure(EXIT_IO, "nmtwatch soak: %s\n", error);
    if (reference.damage[0] != '\0')
        print_error("nmtwatch soak: warning: %s\n", reference.damage);
    int code = prepare_files(arguments);
    if (code == 0)
        code = arguments->replay != NULL ? judge_recording(arguments, reference.trial)
                                         : run_live(arguments, pid, reference.trial);
    trial_destroy(reference.trial);
    /* What nothing came of. */
    struct stat status;
    if (arguments->report_path[0] != '\0')
        rmdir(arguments->report_path);
    if (arguments->junit_fd >= 0 && fstat(arguments->junit_fd, &status) == 0 && status.st_size == 0)
        unlink(arguments->junit);
    return code;
}

static int run(int argc, char **argv)
{
    struct soak_arguments arguments = {.run = {.per_interval_ms = PER_INTERVAL_MS}, .junit_fd = -1};
    struct soak_run_options *options = &arguments.run;
    struct budget_texts budgets = {0};
    const struct option_row own[] = {
        {0, "for", "TIME", option_take_span_ms, &options->for_ms,
         "then stop, and stop the command (when it ends)"},
        {0, "budget", "LIST", take_budget, &budgets,
         "KEY=5MB/h, KEY=1KB/iteration, KEY=500MB, KEY=+20MB, ..."},
        {0, "against", "FILE", option_take_text, &arguments.against,
         "compare with this recording of an earlier build"},
        {0, "per", "CMD", option_take_text, &options->per,
         "prints how often something was done: growth per iteration"},
        {0, "per-interval", "TIME", option_take_span_ms, &options->per_interval_ms,
         "between two runs of it (5s)"},
        {0, "nmt", NULL, NULL, &options->nmt,
         "switch Native Memory Tracking on in JVMs of the command"},
        {0, "fail-fast", NULL, NULL, &options->fail_fast, "stop as soon as it is certain to fail"},
        {0, "junit", "FILE", option_take_text, &arguments.junit, "write JUnit XML"},
        {0, "tap", NULL, NULL, &arguments.tap, "print TAP"},
        OPTION_JSON(&arguments.json),
        {0, "report", "DIR", option_take_text, &arguments.report,
         "recording and report (nmtwatch-soak-<time>-<pid>)"},
        {0, "no-report", NULL, NULL, &arguments.no_report, "no folder, no report"},
        {0, "record", "FILE", option_take_text, &arguments.record,
         "the recording (%p: the pid; DIR/" RECORDING_NAME ")"},
        OPTION_FORCE(&options->record_force),
        {0, "replay", "FILE", option_take_text, &arguments.replay,
         "judge this recording instead of a process"},
        OPTION_CONFIG_WATCH(&arguments.config),
        OPTION_NO_COLOR(&arguments.no_color),
    };
    struct option_row rows[OPTION_COUNT(own) + WATCH_OPTION_COUNT];
    memcpy(rows, own, sizeof own);
    size_t row_count = options_settings(watch_option_settings(true), WATCH_OPTION_COUNT,
                                        arguments.watch.text, rows, OPTION_COUNT(own));
    int ours = 1, operands, code;
    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    if (ours < argc && ours + 1 == argc)
        return usage_code(options_error(&command_soak, "no command after --"));
    if (ours < argc)
        options->command = argv + ours + 1;
    if (!options_parse(&command_soak, rows, row_count, ours, argv, &operands, &code))
        return usage_code(code);
    code = read_budgets(&budgets, &options->budgets);
    if (code == 0)
        code = check_combination(&arguments, operands);
    if (code != 0)
        return usage_code(code);
    code =
        watch_given_apply(&command_soak, &arguments.watch, arguments.config, true, &options->watch);
    if (code != 0)
        return usage_code(code);
    return run_checked(&arguments, operands > 0 ? argv[1] : NULL);
}

const struct command command_soak = {
    .name = "soak",
    .usage = "Usage: nmtwatch soak [options] -- COMMAND [ARGUMENT]...\n"
             "       nmtwatch soak [options] PID\n"
             "       nmtwatch soak [options] --replay FILE\n"
             "\n"
             "Starts a command and watches the JVMs it starts (through mvn, gradle or a\n"
             "script, too), or follows a JVM that runs; records; and says at the end whether\n"
             "native memory converges. The command keeps its input, output and signals. What\n"
             "grows is named with its 95 % interval, a class explosion with its generator and\n"
             "the fix.\n"
             "\n"
             "Budgets: internal, metaspace (Class + Metaspace), total (NMT without the heap),\n"
             "rss, classes, threads, or an NMT category: thread, other, symbol, java-heap,\n"
             "...; AMOUNT/h is a slope that is allowed, AMOUNT a height, +AMOUNT growth since\n"
             "warm-up.\n"
             "\n"
             "With --against the question is whether it is worse than that recording, not\n"
             "whether it grows: growth that was there before passes.\n"
             "\n"
             "Exit: 0 converged, 1 growth or a budget broken, 2 usage, 3 no verdict (too\n"
             "short, JVM gone, NMT off, the command failed), 74 a file, 126 the command could\n"
             "not be started, 127 it was not found.\n",
    .run = run,
};
