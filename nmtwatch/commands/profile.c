/* nmtwatch profile: the agent: start, stop, status, memory, dump; or all of it at once. */
#include "analyzers/model/memory_reply.h"
#include "nmtwatch/commands/options.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/profile/one_shot.h"
#include "reports/profile/agent_report.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* --- alloc verb ------------------------------------------------------------------------------- */

struct alloc_arguments {
    const char *interval, *match; /* NULL: not given */
    bool all;
};

/* Allocations alone: a flame graph is of one thing. */
static int fill_in(const struct alloc_arguments *arguments, struct start_options *start)
{
    static const enum agent_option others[] = {OPTION_CPU, OPTION_WALL, OPTION_FILE, OPTION_ALLOC};
    char text[AGENT_WHOLE_MAX], error[400];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (start->value[others[i]] != NULL)
            return options_error(&command_profile,
                                 "--%s and `alloc` together: use start --alloc SIZE, then stop",
                                 start->name[others[i]]);
    }
    start->value[OPTION_CPU] = "0";
    start->value[OPTION_ALLOC] =
        arguments->interval != NULL ? arguments->interval : ALLOC_INTERVAL_DEFAULT;
    if (start_options_text(start, AGENT_START, NULL, text, sizeof text, error, sizeof error))
        return 0;
    /* The agent calls it alloc. */
    if (strncmp(error, "alloc=", 6) == 0)
        return options_error(&command_profile, "--alloc-interval %s", error + 6);
    return options_error(&command_profile, "%s", error);
}

static bool take_alloc(void *group, const struct target *target, bool young)
{
    return alloc_take(group, target, young);
}

static void look(void *many, struct alloc_group *group)
{
    target_many_scan(many, take_alloc, group);
}

static int run_all(const struct alloc_arguments *arguments, const struct alloc_run *run)
{
    int code;
    struct target_many *many = target_many_open(&command_profile, arguments->match, &code);
    if (many == NULL)
        return code;
    code = alloc_run_matching(run, look, many);
    if (code < 0)
        code = target_many_none(many);
    target_many_close(many);
    return code;
}

static int run_one(const char *pid, const struct alloc_run *run)
{
    struct target target;
    char error[400];
    int code = target_option_open(&command_profile, pid, &target);
    if (code == 0 && run->duration_ms == 0)
        code = alloc_run_ask(&target, run->library, run->json);
    else if (code == 0 && run->output != NULL && !pid_path_is_pattern(run->output) &&
             !profile_output_possible(run->output, error, sizeof error)) {
        print_error("nmtwatch profile: %s\n", error);
        code = EXIT_IO;
    } else if (code == 0)
        code = alloc_run(run, &target);
    target_close(&target);
    return code;
}

static int alloc_verb(const char *pid, const struct alloc_arguments *arguments,
                      struct start_options *start, struct alloc_run *run)
{
    enum profile_format format;
    bool many = arguments->all || arguments->match != NULL;
    if (many == (pid != NULL))
        return options_error(&command_profile,
                             many ? "--all and --match exclude a process id"
                                  : "a process id is missing, or --all or --match RULES");
    if (run->duration_ms == 0 && (many || arguments->interval != NULL || run->output != NULL))
        return options_error(&command_profile, "how long? --for TIME");
    if (run->output != NULL && !profile_output_format(run->output, &format))
        return options_error(&command_profile,
                             "-o '%s': expected a name in .html, .txt, .top, .json, .pb.gz or .jfr",
                             run->output);
    int code = fill_in(arguments, start);
    if (code != 0)
        return code;
    start_options_end_after(start, run->duration_ms);
    run->start = start;
    return many ? run_all(arguments, run) : run_one(pid, run);
}

/* --- beside nmt ------------------------------------------------------------------------------- */

/* Where jmethodIDs are accounted, by the first JDK that does it so; the latest first. */
static const struct {
    int first_jdk;
    enum nmt_category categories[2];
} homes[] = {
    {26, {NMT_CLASS, NMT_JNI}},
    {9, {NMT_CLASS, NMT_INTERNAL}},
    {0, {NMT_CLASS, NMT_CLASS}},
};

static void print_sample(const struct sample *sample, int jdk_major, FILE *out)
{
    int64_t committed;
    size_t home = 0;
    /* Not known: a recent one of the JDKs that are in use. */
    while (homes[home].first_jdk > (jdk_major > 0 ? jdk_major : 17))
        home++;
    fprintf(out, "NMT committed %s",
            sample_get(sample, SAMPLE_NMT_COMMITTED_BYTES, &committed) ? units_bytes(committed).text
                                                                       : "?");
    for (int i = 0; i < 2; i++) {
        struct nmt_amount amount;
        enum nmt_category category = homes[home].categories[i];
        if ((i == 1 && category == homes[home].categories[0]) ||
            !sample_get_nmt(sample, category, &amount))
            continue;
        fprintf(out, "%s %s %s", i == 0 ? "; jmethodIDs are part of" : " and",
                nmt_category_name(category), units_bytes(amount.committed_bytes).text);
    }
    fprintf(out, "\nNMT does not see what the agent itself allocates\n");
}

/* What the JVM's own Native Memory Tracking says, beneath the agent's account: one or two lines. NMT
 * does not see what the agent allocates; it does see the jmethodIDs that the JVM allocates because of
 * it. Costs no safepoint. */
static void beside_nmt_print(struct attach *attach, int jdk_major, FILE *out)
{
    struct span reply;
    struct failure failure;
    struct sample sample;
    struct memory_reading reading;
    sample_clear(&sample);
    if (attach_run(attach, memory_reply_command(jdk_major, true), &reply, &failure) !=
        FAILURE_NONE) {
        fprintf(out, "NMT could not be asked: %s\n", escape_name(failure.sentence).text);
        return;
    }
    memory_reply_read(reply, true, &sample, &reading);
    if (reading.result == MEMORY_NMT_OFF)
        fprintf(out, "NMT is off: start the JVM with -XX:NativeMemoryTracking=summary\n");
    else if (reading.result == MEMORY_MALFORMED)
        fprintf(out, "NMT could not be read: %s\n", escape_name(reading.problem).text);
    else
        print_sample(&sample, jdk_major, out);
}

#define OWN_ROWS_MAX 20

typedef bool print_fn(const char *json, FILE *out);
static print_fn *const printers[AGENT_COMMAND_COUNT] = {
    [AGENT_START] = agent_print_started,   [AGENT_STOP] = agent_print_stopped,
    [AGENT_DUMP] = agent_print_dumped,     [AGENT_STATUS] = agent_print_status,
    [AGENT_MEMORY] = agent_print_memory,   [AGENT_ALLOC] = NULL, /* has a verb of its own */
    [AGENT_SET] = agent_print_status,      [AGENT_SITES] = agent_print_memory,
    [AGENT_BASELINE] = agent_print_memory,
};

struct arguments {
    struct start_options start;
    struct push_options push;
    struct alloc_arguments alloc;
    const char *output, *library;
    int64_t duration_ms;
    bool json, by_state, sites, baseline; /* the last two: of memory */
};

static bool command_of(const char *word, enum agent_command *command)
{
    for (int i = 0; i <= AGENT_ALLOC; i++) /* the others are memory with an option */
        if (strcmp(agent_command_name((enum agent_command)i), word) == 0) {
            *command = (enum agent_command)i;
            return true;
        }
    return false;
}

static int failed(const struct failure *failure)
{
    print_error("nmtwatch profile: %s\n", escape_name(failure->sentence).text);
    return failure_exit_code(failure->kind);
}

/* The JVM's working directory is not ours: a relative name means the file that we would mean. In
 * another root there is no such file. */
static int absolute_file(const struct target *target, const char *given, char *file, size_t size)
{
    char here[PATH_MAX];
    if (given[0] == '/')
        return (size_t)snprintf(file, size, "%s", given) < size
                   ? 0
                   : options_error(&command_profile, "--file: the name is too long");
    if (target->root[0] != '\0')
        return options_error(&command_profile,
                             "--file '%s': pid %d has another root, an absolute path is needed",
                             given, (int)target->pid);
    if (getcwd(here, sizeof here) == NULL ||
        (size_t)snprintf(file, size, "%s/%s", here, given) >= size)
        return options_error(&command_profile, "--file '%s': the name is too long", given);
    return 0;
}

static int ask(const struct target *target, enum agent_command command,
               const struct arguments *arguments, const char *text)
{
    struct agent_session session;
    struct failure failure;
    char *answer;
    if (agent_session_open(&session, target, command, arguments->library, &failure) != FAILURE_NONE)
        return failed(&failure);
    int code = 0;
    print_fn *print = arguments->json ? agent_print_json : printers[command];
    if (agent_call(&session, text, &answer, &failure) != FAILURE_NONE) {
        code = failed(&failure);
    } else if (!print(answer, stdout)) {
        failure_set(&failure, FAILURE_BAD_REPLY, "the agent", NULL);
        code = failed(&failure);
    } else if (command == AGENT_STOP && agent_print_lost(answer, stderr)) {
        code = EXIT_IO;
    } else if (printers[command] == agent_print_memory && !arguments->json) {
        beside_nmt_print(session.attach, target->identity.jdk_major, stdout);
    }
    free(answer);
    agent_session_close(&session);
    return code;
}

static int run_command(const char *pid, const char *word, const struct arguments *arguments)
{
    struct target target;
    enum agent_command command;
    char error[400], text[AGENT_WHOLE_MAX], file[AGENT_TEXT_MAX];
    const char *given = arguments->start.value[OPTION_FILE];
    if (!command_of(word, &command))
        return options_error(
            &command_profile,
            "'%s': expected start, stop, status, memory, dump, set, alloc, live or classes", word);
    if (arguments->sites && arguments->baseline)
        return options_error(&command_profile, "--sites or --baseline, one after the other");
    command = arguments->sites ? AGENT_SITES : arguments->baseline ? AGENT_BASELINE : command;
    if (arguments->duration_ms != 0 || arguments->output != NULL)
        return options_error(&command_profile,
                             "--for and -o take no command: they start, stop and write");
    /* Before the JVM is looked at: a bad option is a bad option whatever the pid. */
    if (!start_options_text(&arguments->start, command, NULL, text, sizeof text, error,
                            sizeof error))
        return options_error(&command_profile, "%s", error);
    int code = target_option_open(&command_profile, pid, &target);
    if (code == 0 && given != NULL) {
        code = absolute_file(&target, given, file, sizeof file);
        if (code == 0 && !start_options_text(&arguments->start, command, file, text, sizeof text,
                                             error, sizeof error))
            code = options_error(&command_profile, "%s", error);
    }
    if (code == 0)
        code = ask(&target, command, arguments, text);
    target_close(&target);
    return code;
}

static struct one_shot shot_of(struct arguments *arguments)
{
    return (struct one_shot){.duration_ms = arguments->duration_ms,
                             .output = arguments->output,
                             .library = arguments->library,
                             .start = &arguments->start,
                             .push = &arguments->push,
                             .json = arguments->json,
                             .by_state = arguments->by_state};
}

/* story: NULL: a profile. */
static int run_shot(const char *pid, struct arguments *arguments, struct one_shot *shot,
                    const enum story_kind *story)
{
    struct target target;
    char error[400], text[AGENT_WHOLE_MAX];
    start_options_end_after(&arguments->start, arguments->duration_ms);
    if (!start_options_text(&arguments->start, AGENT_START, NULL, text, sizeof text, error,
                            sizeof error))
        return options_error(&command_profile, "%s", error);
    int code = target_option_open(&command_profile, pid, &target);
    if (code == 0 && shot->output != NULL &&
        !profile_output_possible(shot->output, error, sizeof error)) {
        print_error("nmtwatch profile: %s\n", error);
        code = EXIT_IO;
    }
    if (code == 0)
        code = story != NULL ? story_shot_run(*story, shot, &target) : one_shot_run(shot, &target);
    target_close(&target);
    return code;
}

static int run_one_shot(const char *pid, struct arguments *arguments)
{
    struct one_shot shot = shot_of(arguments);
    if (arguments->duration_ms <= 0 || (arguments->output == NULL && arguments->push.url == NULL))
        return options_error(&command_profile,
                             "what to do? start, stop, status, memory, dump, set; or --for and -o "
                             "or --push");
    if (arguments->output != NULL && !profile_output_format(arguments->output, &shot.format))
        return options_error(&command_profile,
                             "-o '%s': expected a name in .html, .txt, .top, .json, .pb.gz or .jfr",
                             arguments->output);
    if (shot.by_state && (shot.format == PROFILE_JFR || shot.output == NULL))
        return options_error(&command_profile,
                             "--by-state and a .jfr file: each sample there has its state anyhow");
    if (shot.by_state)
        one_shot_by_state(&arguments->start);
    if (arguments->start.value[OPTION_FILE] != NULL)
        return options_error(&command_profile,
                             "--file and -o together: with --for the output is -o");
    return run_shot(pid, arguments, &shot, NULL);
}

static int run_story(const char *pid, enum story_kind kind, struct arguments *arguments)
{
    struct one_shot shot = shot_of(arguments);
    if (arguments->duration_ms <= 0)
        return options_error(&command_profile, "how long? --for is missing");
    if (shot.output != NULL && !profile_output_format(shot.output, &shot.format))
        return options_error(&command_profile,
                             "-o '%s': expected a name in .html, .txt, .top, .json, .pb.gz or .jfr",
                             shot.output);
    if (arguments->start.value[OPTION_FILE] != NULL)
        return options_error(&command_profile,
                             "--file is an option of start: here -o names the recording");
    const char *classes = arguments->start.value[OPTION_CLASSES];
    if (kind == STORY_CLASSES && classes != NULL && strcmp(classes, "false") == 0)
        return options_error(&command_profile, "`classes` cannot be combined with classes=false");
    story_shot_options(kind, &arguments->start);
    return run_shot(pid, arguments, &shot, &kind);
}

static int run_alloc(const char *pid, struct arguments *arguments)
{
    struct alloc_run alloc = {.duration_ms = arguments->duration_ms,
                              .output = arguments->output,
                              .library = arguments->library,
                              .json = arguments->json};
    return alloc_verb(pid, &arguments->alloc, &arguments->start, &alloc);
}

static const char *take_wait(const char *value, void *into)
{
    const char *wrong = option_take_duration_ms(value, into);
    return wrong == NULL && *(int64_t *)into == 0 ? "a time above 0, such as 10s or 5m" : wrong;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct option_row rows[OWN_ROWS_MAX + START_OPTION_ROWS_MAX] = {
        OPTION_UNDER_SECCOMP,
        {0, "for", "TIME", take_wait, &arguments.duration_ms,
         "start, wait so long, stop, and write -o"},
        {'o', "output", "FILE", option_take_text, &arguments.output,
         ".html flame graph, .txt collapsed, .top or .json table, .pb.gz pprof, .jfr"},
        {0, "agent", "FILE", option_take_text, &arguments.library,
         "libnmtagent.so to load (beside nmtwatch)"},
        {0, "alloc-interval", "SIZE", option_take_text, &arguments.alloc.interval,
         "alloc: bytes a thread allocates between two samples (512K)"},
        {0, "all", NULL, NULL, &arguments.alloc.all, "alloc: every JVM"},
        {0, "match", "RULES", option_take_text, &arguments.alloc.match,
         "alloc: only JVMs that match: main=PATTERN,user=PATTERN;pid=N"},
        {0, "by-state", NULL, NULL, &arguments.by_state,
         "-o by what threads were doing: of wall-clock samples, each 10ms unless --wall is given"},
        {0, "sites", NULL, NULL, &arguments.sites,
         "memory: allocation sites too, where started with --memory-level detail"},
        {0, "baseline", NULL, NULL, &arguments.baseline,
         "memory: remember it; from then on `memory` shows what has grown"},
        {0, "json", NULL, NULL, &arguments.json, "the agent's answer as one JSON object"},
        PUSH_OPTION_ROWS(&arguments.push),
    };
    char error[600];
    int operands, code;
    size_t count = 0;
    while (rows[count].name != NULL)
        count++;
    count += options_agent(&arguments.start, rows + count);
    start_options_spell(&arguments.start, argc, argv);
    if (!options_parse(&command_profile, rows, count, argc, argv, &operands, &code))
        return code;
    code = push_possible(&arguments.push, error, sizeof error);
    if (code == EXIT_USAGE)
        return options_error(&command_profile, "%s", error);
    if (code != 0)
        return print_failure(code, "nmtwatch profile: --push: %s\n", error);
    if (arguments.push.url != NULL && arguments.duration_ms == 0)
        return options_error(&command_profile, "--push needs --for");
    bool command = operands == 2 && strcmp(argv[2], "memory") == 0;
    if ((arguments.sites || arguments.baseline) && !command)
        return options_error(&command_profile, "--sites and --baseline are options of `memory`");
    if (arguments.by_state && operands != 1)
        return options_error(&command_profile, "--by-state needs --for and -o");
    bool alloc = operands >= 1 && operands <= 2 && strcmp(argv[operands], "alloc") == 0;
    if (alloc && arguments.push.url != NULL)
        return options_error(&command_profile,
                             "--push is no option of `alloc`; use --for with --alloc SIZE");
    if (alloc)
        return run_alloc(operands == 2 ? argv[1] : NULL, &arguments);
    if (arguments.alloc.interval != NULL || arguments.alloc.all || arguments.alloc.match != NULL)
        return options_error(&command_profile,
                             "--alloc-interval, --all and --match are options of `alloc`");
    enum story_kind story;
    if (operands == 2 && story_shot_kind(argv[2], &story))
        return run_story(argv[1], story, &arguments);
    if (operands == 1)
        return run_one_shot(argv[1], &arguments);
    if (operands == 2)
        return run_command(argv[1], argv[2], &arguments);
    return options_error(&command_profile,
                         operands == 0 ? "a process id is missing" : "one process id, one command");
}

const struct command command_profile = {
    .name = "profile",
    .summary = "profile a JVM with the agent",
    .usage = "Usage: nmtwatch profile PID start|stop|status|memory|dump [options]\n"
             "       nmtwatch profile PID set [--alloc SIZE] [--cpu TIME] [--wall TIME]\n"
             "       nmtwatch profile --for TIME PID -o FILE [options]\n"
             "       nmtwatch profile PID classes|live --for TIME [-o FILE]\n"
             "       nmtwatch profile PID alloc [--for TIME [--alloc-interval SIZE]\n"
             "                        [-o FILE]]\n"
             "       nmtwatch profile alloc --all|--match RULES --for TIME\n"
             "                        [--alloc-interval SIZE] [-o FILE]\n"
             "\n"
             "Loads the agent into the JVM through its attach socket and runs one command, or\n"
             "starts, waits, stops and writes the result.\n"
             "\n"
             "  status     what was sampled and lost\n"
             "  memory     what the agent itself costs, by component; with --sites by the\n"
             "             code that asked for it; after `memory --baseline` what has grown\n"
             "             since\n"
             "  dump       makes the recording complete up to now\n"
             "  set        other intervals for a running profile, without a restart. A sample\n"
             "             of allocations is weighed by the interval it was drawn by, one of\n"
             "             CPU or of the wall clock counts as one; --cpu 0 and --wall 0\n"
             "             switch off\n"
             "  stop       ends it. The agent stays loaded (a JVM cannot unload one), without\n"
             "             a thread, timer or handler, with a few KB. On JDK 25 any loaded\n"
             "             JVMTI agent slows switches of virtual threads: 0.83 to 1.03 us\n"
             "             instead of 0.63\n"
             "  classes    which code generates classes: families of names, loads, unloads,\n"
             "             definers\n"
             "  live       which objects survive: sampled objects that survived collections,\n"
             "             by class and by the stack that allocated them\n"
             "  alloc      allocations by class with standard errors, without a restart; -o\n"
             "             is a flame graph by bytes. Without --for: the table of a profiler\n"
             "             started with --alloc\n"
             "\n"
             "RULES: ';' is OR, ',' is AND: main=PATTERN (main class or jar), user=PATTERN,\n"
             "cgroup=PATTERN, host=PATTERN (the name of this host), env:NAME=PATTERN,\n"
             "prop:NAME=PATTERN, pid=N; patterns as of the shell. JVMs that start while --for\n"
             "lasts are included from then on.\n"
             "\n"
             "--by-state: stacks begin with what the thread was doing: the JDK's names, such\n"
             "as STATE_PARKED_TIMED, and STATE_RUNNABLE (in native code). STATE_UNKNOWN:\n"
             "engine agct does not see states.\n"
             "\n"
             "The recording is a JFR file that the JDK's own jfr reads. --file names it as\n"
             "the JVM's user sees it. The options after --json are those of the agent, and\n"
             "the same as in -agentpath:libnmtagent.so=start,cpu=10ms,file=/tmp/app.jfr.\n"
             "\n"
             "Exit codes: 0 done, 10-36 the JVM could not be asked or the agent command\n"
             "failed, 64 usage, 74 a file cannot be written.\n",
    .run = run,
    .apart = true,
};
