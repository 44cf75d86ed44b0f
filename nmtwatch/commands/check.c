/* nmtwatch check: one measurement, one verdict, by the conventions of monitoring plugins. */
#include "analyzers/classes/loader_table.h"
#include "analyzers/model/memory_reply.h"
#include "nmtwatch/commands/options.h"
#include "nmtwatch/jvm/syscall_filter.h"
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/record/recording.h"
#include "reports/text/escape.h"

#include <poll.h>
#include <stdlib.h>

/* --- baseline --------------------------------------------------------------------------------- */

#define SAVED_REPLY_MAX (4 << 20)

static bool from_recording(struct replay *replay, struct sample *sample)
{
    bool found = false, warm = false;
    while (!warm && replay_next(replay)) {
        if (replay->event.kind != EVENT_SAMPLE || !sample_has_nmt(&replay->event.sample))
            continue;
        struct judge_view view;
        judge_view(replay->judge, &view);
        warm = view.warm;
        *sample = replay->event.sample;
        found = true;
    }
    return found;
}

static bool from_saved_reply(const char *path, struct sample *sample)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    char *text = malloc(SAVED_REPLY_MAX);
    size_t length = text != NULL ? fread(text, 1, SAVED_REPLY_MAX, file) : 0;
    fclose(file);
    struct memory_reading reading;
    sample_clear(sample);
    memory_reply_read(span_of(text, length), true, sample, &reading);
    free(text);
    return reading.have_nmt;
}

static bool baseline_load(const char *path, struct sample *sample, char *error, size_t error_size)
{
    char why[512];
    struct replay replay;
    if (replay_open(&replay, path, why, sizeof why)) {
        bool found = from_recording(&replay, sample);
        replay_close(&replay);
        if (!found)
            snprintf(error, error_size, "%s: no NMT summary in this recording", path);
        return found;
    }
    if (from_saved_reply(path, sample))
        return true;
    return text_error(error, error_size, "%s: neither a recording nor a saved NMT summary (%s)",
                      path, why);
}

#define LOADERS_CAP_US 20000

struct checked {
    struct target target;
    struct sample sample;
    struct loader_table loaders;
    bool have_loaders;
    char missing[400];  /* why the data is partial */
    const char *reason; /* the same as a word of failures.def; NULL when whole */
};

static void lacks(struct checked *checked, enum failure_kind kind, const char *sentence)
{
    if (checked->reason != NULL)
        return; /* the first thing that is missing is the cause of the rest */
    checked->reason = failure_reason(kind);
    snprintf(checked->missing, sizeof checked->missing, "%s", sentence);
}

/* A process that is killed closes its files some moments before it counts as ended. */
static bool has_ended(const struct target *target)
{
    for (int i = 0; i < 5 && target_still_same(target); i++)
        poll(NULL, 0, 10);
    return !target_still_same(target);
}

static bool ask_memory(struct checked *checked, struct attach *attach, int64_t *arenas)
{
    struct span reply;
    struct failure failure;
    int jdk_major = checked->target.identity.jdk_major;
    const char *command = memory_reply_command(jdk_major, true);
    bool nmt = attach_run(attach, command, &reply, &failure) == FAILURE_NONE;
    if (!nmt) {
        lacks(checked, failure.kind, failure.sentence);
        command = memory_reply_command(jdk_major, false);
        /* The rest of the question may be harmless. */
        if (failure.kind != FAILURE_SECCOMP || command[0] == '\0' ||
            attach_run(attach, command, &reply, &failure) != FAILURE_NONE)
            return false;
    }
    struct memory_reading reading;
    memory_reply_read(reply, nmt, &checked->sample, &reading);
    *arenas = reading.arenas;
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)checked->target.pid);
    if (nmt && reading.result == MEMORY_NMT_OFF) {
        failure_set(&failure, FAILURE_NMT_OFF, who, NULL);
        lacks(checked, FAILURE_NMT_OFF, failure.sentence);
    } else if (reading.result == MEMORY_MALFORMED) {
        bool gone = has_ended(&checked->target);
        enum failure_kind kind = gone ? FAILURE_GONE : FAILURE_BAD_REPLY;
        failure_set(&failure, kind, who, gone ? "it ended while it answered" : reading.problem);
        lacks(checked, kind, failure.sentence);
    } else if (nmt && !reading.total_holds) {
        lacks(checked, FAILURE_BAD_REPLY,
              "the categories of the NMT summary do not add up to its total");
    }
    return true;
}

/* Only where its predicted pause is short: check runs from cron, on every JVM, every minute. */
static void ask_loaders(struct checked *checked, struct attach *attach, int64_t arenas)
{
    struct pause_budget budget;
    struct pause_inputs inputs = {0};
    int64_t loaded = 0, unloaded = 0;
    if (!sample_get(&checked->sample, SAMPLE_CLASSES_LOADED, &loaded))
        return;
    sample_get(&checked->sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
    inputs.classes = loaded - unloaded;
    inputs.loaders = arenas >= 0 && arenas < inputs.classes ? arenas : inputs.classes;
    pause_budget_init(&budget, LOADERS_CAP_US, 1000);
    if (pause_predict(&budget, EXPENSIVE_LOADER_STATS, &inputs) >= LOADERS_CAP_US)
        return;
    struct span reply;
    struct failure failure;
    if (attach_run(attach, expensive_command_text(EXPENSIVE_LOADER_STATS), &reply, &failure) !=
        FAILURE_NONE)
        return;
    checked->have_loaders = loader_table_parse(&checked->loaders, reply, NULL) == PARSE_OK;
    if (checked->have_loaders)
        sample_set(&checked->sample, SAMPLE_LOADERS, checked->loaders.event.loaders);
}

static void sample_and_ask(struct checked *checked, pid_t pid, int timeout_ms)
{
    struct failure failure;
    if (target_open(&checked->target, pid, &failure) != FAILURE_NONE) {
        lacks(checked, failure.kind, failure.sentence);
        return;
    }
    identify_target(&checked->target, timeout_ms);
    sample_unasked(&checked->target, &checked->sample);
    agent_figures_sample(&checked->target, &checked->sample);
    struct attach_limits limits = {.timeout_ms = timeout_ms};
    struct attach *attach = attach_create(&checked->target, &limits);
    int64_t arenas = -1;
    if (attach == NULL)
        lacks(checked, FAILURE_SYSTEM, "out of memory");
    else if (ask_memory(checked, attach, &arenas))
        ask_loaders(checked, attach, arenas);
    if (attach != NULL)
        attach_destroy(attach);
}

static void judge(struct checked *checked, const struct thresholds *thresholds,
                  const struct sample *baseline, struct check_result *result)
{
    const struct check_input input = {
        .identity = &checked->target.identity,
        .thresholds = thresholds,
        .sample = &checked->sample,
        .baseline = baseline,
        .loaders = checked->have_loaders ? &checked->loaders.event : NULL,
        .missing = checked->missing,
    };
    check_jvm(&input, result);
    if (target_is_other_machine(&checked->target))
        text_add(result->reason, sizeof result->reason, " (%s)",
                 target_machine(&checked->target).text);
}

static void print_json(const struct checked *checked, const struct check_result *result)
{
    struct json_out out = {0};
    json_out_begin(&out, NULL, '{');
    json_out_text(&out, "status", check_status_name(result->status));
    json_out_text(&out, "reason", result->reason);
    json_out_text(&out, "missing", checked->reason);
    json_out_int(&out, "pid", checked->target.pid);
    json_out_text(&out, "jdk", checked->target.identity.jdk);
    json_out_text(&out, "main", checked->target.identity.main);
    target_machine_json(&out, &checked->target);
    json_out_begin(&out, "findings", '[');
    for (int i = 0; i < result->finding_count; i++)
        finding_json(&out, NULL, &result->findings[i]);
    json_out_end(&out, ']');
    json_out_begin(&out, "sample", '{');
    fields_write(&out, &tick_record, &checked->sample, false);
    json_out_end(&out, '}');
    json_out_end(&out, '}');
    json_out_print(&out, stdout);
}

static int finish(const struct checked *checked, const struct check_result *result,
                  const struct thresholds *thresholds, bool json)
{
    if (json)
        print_json(checked, result);
    else
        plugin_print(stdout, result, &checked->sample, checked->target.identity.jdk_major,
                     thresholds);
    return (int)result->status;
}

/* A monitoring system shows the first line of standard output, whatever was wrong. */
static int refuse(struct checked *checked, const char *reason, const struct thresholds *thresholds,
                  bool json)
{
    struct check_result result = {.status = CHECK_UNKNOWN};
    checked->reason = "usage";
    snprintf(result.reason, sizeof result.reason, "%s", reason);
    return finish(checked, &result, thresholds, json);
}

/* --- several JVMs ----------------------------------------------------------------------------- */

/* UNKNOWN is worse than OK only: a JVM that cannot be asked must not hide an alert of another. */
static bool is_worse(enum check_status one, enum check_status other)
{
    static const int rank[] = {
        [CHECK_OK] = 0, [CHECK_UNKNOWN] = 1, [CHECK_WARNING] = 2, [CHECK_CRITICAL] = 3};
    return rank[one] > rank[other];
}

/* The texts of all, in the order of a plug-in: figures, then reasons with findings. */
struct many_checked {
    char (*labels)[TARGET_LABEL_MAX];
    int labels_count;
    char *reasons, *figures;
    size_t reasons_size, figures_size;
    int count[CHECK_UNKNOWN + 1];
    enum check_status worst;
    char worst_reason[400];
};

/* Several of one label are numbered, as in serve: orders, orders#2. */
static const char *label_of(struct many_checked *many, const struct target *target)
{
    char *label = many->labels[many->labels_count], plain[TARGET_LABEL_MAX - 8];
    target_option_label(target, label);
    snprintf(plain, sizeof plain, "%.*s", (int)sizeof plain - 1, label);
    for (int i = 0, number = 2; i < many->labels_count; i++)
        if (strcmp(many->labels[i], label) == 0) {
            snprintf(label, TARGET_LABEL_MAX, "%s#%d", plain, number++ % 100000);
            i = -1;
        }
    many->labels_count++;
    return label;
}

static void check_one(struct many_checked *many, const struct target *target,
                      const struct thresholds *thresholds, int timeout_ms, FILE *reasons,
                      FILE *figures)
{
    static struct check_result result;
    struct checked checked = {.target = *target};
    const char *label = label_of(many, target);
    sample_and_ask(&checked, target->pid, timeout_ms);
    judge(&checked, thresholds, NULL, &result);
    many->count[result.status]++;
    if (is_worse(result.status, many->worst)) {
        many->worst = result.status;
        many->worst_reason[0] = '\0';
        text_add(many->worst_reason, sizeof many->worst_reason, "; %s (pid %d): %s", label,
                 (int)target->pid, result.reason);
    }
    fprintf(reasons, "%s (pid %d) ", escape_name(label).text, (int)target->pid);
    plugin_reason(reasons, &result);
    fputc('\n', reasons);
    plugin_findings(reasons, &result);
    plugin_figures(figures, label, &checked.sample, target->identity.jdk_major, thresholds);
    check_result_free(&result);
    loader_table_free(&checked.loaders);
}

static int check_many(const struct target_match *match, const struct thresholds *thresholds,
                      int timeout_ms)
{
    struct many_checked many = {0};
    struct discovery found = {0};
    int code = target_option_all(&command_check, match, &found);
    FILE *reasons = open_memstream(&many.reasons, &many.reasons_size);
    FILE *figures = open_memstream(&many.figures, &many.figures_size);
    many.labels = calloc((size_t)found.count + 1, sizeof *many.labels);
    bool good = code == 0 && reasons != NULL && figures != NULL && many.labels != NULL;
    for (int i = 0; i < found.count && good; i++)
        check_one(&many, &found.targets[i], thresholds, timeout_ms, reasons, figures);
    if (!good || found.count == 0)
        many.worst = CHECK_UNKNOWN;
    if (reasons != NULL)
        fclose(reasons);
    if (figures != NULL)
        fclose(figures);
    struct check_result result = {.status = many.worst};
    text_add(result.reason, sizeof result.reason,
             "%d JVM%s: %d critical, %d warning, %d unknown, %d ok%s", found.count,
             found.count == 1 ? "" : "s", many.count[CHECK_CRITICAL], many.count[CHECK_WARNING],
             many.count[CHECK_UNKNOWN], many.count[CHECK_OK], many.worst_reason);
    fputs("NMTWATCH ", stdout);
    plugin_reason(stdout, &result);
    if (many.figures_size > 0)
        printf(" |%s", many.figures);
    printf("\n%s", many.reasons != NULL ? many.reasons : "");
    free(many.reasons);
    free(many.figures);
    free(many.labels);
    discovery_free(&found);
    return (int)many.worst;
}

static int run(int argc, char **argv)
{
    const char *baseline_path = NULL, *config = NULL, *rules = NULL;
    bool all = false;
    struct target_match match = {0};
    int64_t timeout_ms = 5000;
    bool json = false;
    const struct option_row rows[] = {
        {0, "since-baseline", "FILE", option_take_text, &baseline_path,
         "growth since a recording or a saved NMT summary"},
        OPTION_FLAG("all", &all, "every JVM of this host in one call"),
        OPTION_MATCH(&rules),
        OPTION_TIMEOUT(&timeout_ms, "5s"),
        OPTION_CONFIG(&config),
        OPTION_UNDER_SECCOMP,
        OPTION_JSON(&json),
    };
    static const char WRONG[] = "the command line is wrong (see nmtwatch help check)";
    struct checked checked = {0};
    struct watch_options options;
    struct sample baseline;
    char error[600];
    int operands, code;
    watch_options_default(&options);
    if (!options_parse(&command_check, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code == 0 ? 0 : refuse(&checked, WRONG, &options.thresholds, json);
    all = all || rules != NULL;
    if (operands != !all || (all && (json || baseline_path != NULL))) {
        options_error(&command_check,
                      "one process id or name is needed, or --all or --match alone");
        return refuse(&checked, WRONG, &options.thresholds, json);
    }
    if (rules != NULL && !target_match_add(&match, rules, error, sizeof error)) {
        options_error(&command_check, "--match: %s", error);
        return refuse(&checked, WRONG, &options.thresholds, json);
    }
    if (!all && target_option_pid(&command_check, argv[1], &checked.target.pid) != 0) {
        snprintf(error, sizeof error, "'%s' does not name one JVM", argv[1]);
        return refuse(&checked, error, &options.thresholds, json);
    }
    if ((config != NULL && !config_load(config, &options, error, sizeof error)) ||
        (baseline_path != NULL && !baseline_load(baseline_path, &baseline, error, sizeof error))) {
        print_error("nmtwatch check: %s\n", error);
        return refuse(&checked, error, &options.thresholds, json);
    }
    if (options.ask_under_seccomp)
        syscall_filter_ask_anyway(true);
    if (all)
        return check_many(&match, &options.thresholds, timeout_ms > 0 ? (int)timeout_ms : 1);
    sample_and_ask(&checked, checked.target.pid, timeout_ms > 0 ? (int)timeout_ms : 1);
    static struct check_result result;
    judge(&checked, &options.thresholds, baseline_path != NULL ? &baseline : NULL, &result);
    code = finish(&checked, &result, &options.thresholds, json);
    check_result_free(&result);
    loader_table_free(&checked.loaders);
    return code;
}

const struct command command_check = {
    .name = "check",
    .usage = "Usage: nmtwatch check PID|NAME [options]\n"
             "       nmtwatch check --all | --match RULES [options]\n"
             "\n"
             "One measurement: /proc, hsperfdata, one NMT summary, and class-loader\n"
             "statistics where they would stop the JVM for less than 20 ms. The first line is\n"
             "the verdict, figures follow the '|', further lines are findings. Of several\n"
             "JVMs the worst verdict counts; figures are called LABEL::NAME.\n"
             "\n"
             "Exit: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (also when NMT is off, the JVM\n"
             "cannot be asked, the data is partial, or the command line is wrong).\n",
    .run = run,
};
