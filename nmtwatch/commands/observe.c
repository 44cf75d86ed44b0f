/* nmtwatch observe: what a JVM does, seen from outside. */
#include "nmtwatch/alert/push.h"
#include "nmtwatch/commands/options.h"
#include "nmtwatch/observe/heap_sampler.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/observe/observe.h"
#include "nmtwatch/process/apart.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/profile/one_shot.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DURATION_MS   10000
#define INTERVAL_MS   10
#define EVERY_BYTES   (512 << 10)
#define REPAIR_MAX_MS 5000

/* --- JVMs under observation, one or several ---------------------------------------------------- */

/* The text at this place of its request, as a profile; the caller frees bytes. */
static struct push_profile profile_of(const struct observe_child *child, int index,
                                      const struct observe_options *options,
                                      const struct observe_result *result, int64_t start_ms)
{
    size_t length = 0;
    char *text = result->code == 0 ? observe_child_text(child, index, &length) : NULL;
    return (struct push_profile){
        .format = "pprof",
        .what = observe_mode_name(options->mode),
        .start_ms = start_ms,
        .duration_ms = result->elapsed_ms,
        .rate_hz = options->mode == OBSERVE_CPU ? INT64_C(1000000000) / options->interval_ns : 0,
        .bytes = text,
        .length = length,
    };
}

#define AT_ONCE     16
#define AT_ONCE_MAX 512
#define LOOK_MS     200

struct observed {
    struct target target;
    struct observe_child *child;
    struct observe_result result;
    int64_t start_ms; /* since the epoch */
    bool ended;
};

struct group {
    struct observe_request
        request; /* the first text is for standard output, the next for a file, the last for a store */
    const char *files; /* their names' pattern; NULL: none */
    const struct push_options *store;
    int64_t at_once, end_ms;
    bool one; /* its object, not an array */
    int count, running, left_out, code;
    struct observed *at;
    size_t capacity;
};

static void complain(struct group *group, pid_t pid, const char *sentence, int code)
{
    print_error("nmtwatch observe: pid %d: %s\n", (int)pid, sentence);
    group->code = code;
}

static bool take(void *context, const struct target *target, bool young)
{
    struct group *group = context;
    char error[300] = "out of memory";
    (void)young;
    if (group->running == group->at_once) {
        group->left_out++;
        return false;
    }
    bool room =
        array_room(&group->at, &group->capacity, (size_t)group->count + 1, sizeof *group->at);
    int64_t left_ms = group->end_ms - clock_ms(CLOCK_MONOTONIC);
    group->request.options.duration_ms = left_ms > 0 ? left_ms : 0;
    struct observe_child *child =
        room ? observe_child_start(target, &group->request, error, sizeof error) : NULL;
    if (child == NULL) {
        complain(group, target->pid, error, EXIT_IO);
        return true;
    }
    group->at[group->count++] =
        (struct observed){.target = *target, .child = child, .start_ms = clock_ms(CLOCK_REALTIME)};
    group->running++;
    return true;
}

/* Waits for the next thing to happen. Asked to end: those under way end early; asked twice: without them. */
static void await(struct group *group)
{
    struct pollfd wait[AT_ONCE_MAX + 1] = {{.fd = signals_fd(), .events = POLLIN}};
    nfds_t count = 1;
    for (int i = 0; i < group->count; i++) {
        if (!group->at[i].ended)
            wait[count++] =
                (struct pollfd){.fd = observe_child_fd(group->at[i].child), .events = POLLIN};
    }
    poll(wait, count, LOOK_MS);
    if (wait[0].revents != 0)
        signals_seen();
    for (int i = 0; i < group->count; i++) {
        struct observed *observed = &group->at[i];
        if (observed->ended)
            continue;
        if (signals_asked() > 0)
            observe_child_stop(observed->child);
        observed->ended = observe_child_ended(observed->child, &observed->result);
        if (!observed->ended && signals_asked() > 1) {
            observed->result =
                (struct observe_result){.code = EXIT_IO, .sentence = "not waited for"};
            observed->ended = true;
        }
        group->running -= observed->ended;
        if (observed->ended && observed->result.code != 0)
            complain(group, observed->target.pid, observed->result.sentence, observed->result.code);
    }
}

static void write_text(struct group *group, const struct observed *observed)
{
    char path[4096];
    size_t bytes;
    pid_t pid = observed->target.pid;
    char *text = observe_child_text(observed->child, 1, &bytes);
    if (text == NULL || !pid_path(group->files, pid, path, sizeof path)) {
        complain(group, pid, text == NULL ? "out of memory" : "-o: the name is too long", EXIT_IO);
        free(text);
        return;
    }
    FILE *out = result_open(path, 0);
    bool good = result_close(out, path, out != NULL && fwrite(text, 1, bytes, out) == bytes);
    int error = errno;
    free(text);
    if (good) {
        if (group->request.format[0] != PROFILE_TOP)
            printf("pid %d (%s): %s\nwritten: %s\n", (int)pid,
                   escape_name(observed->target.identity.main).text,
                   escape_name(observed->result.sentence).text, escape_name(path).text);
        return;
    }
    print_error("nmtwatch observe: %s: %s\n", path, strerror(error));
    group->code = EXIT_IO;
}

/* The table; in JSON the object as an element of an array. */
static bool print_text(const struct observed *observed, bool json, bool first)
{
    size_t bytes;
    char *text = observe_child_text(observed->child, 0, &bytes);
    if (text != NULL && json && bytes > 0)
        text[bytes - 1] = '\0'; /* its line's end */
    bool good = text != NULL &&
                fputs(first  ? ""
                      : json ? ",\n"
                             : "\n",
                      stdout) >= 0 &&
                fputs(text, stdout) >= 0;
    free(text);
    return good;
}

/* To the store, all together. */
static void push_results(struct group *group)
{
    struct push *push = group->store->url != NULL ? push_begin(group->store, "observe") : NULL;
    for (int i = 0; push != NULL && i < group->count; i++) {
        const struct observed *observed = &group->at[i];
        struct push_profile profile =
            profile_of(observed->child, group->request.format_count - 1, &group->request.options,
                       &observed->result, observed->start_ms);
        if (profile.bytes != NULL)
            push_add(push, &observed->target, &profile);
        free((void *)(uintptr_t)profile.bytes);
    }
    if (group->store->url != NULL && (push == NULL || push_end(push) != 0))
        group->code = EXIT_IO;
}

static void print_results(struct group *group)
{
    bool json = group->request.format[0] == PROFILE_TOP, array = json && !group->one, first = true;
    if (array)
        putchar('[');
    for (int i = 0; i < group->count; i++) {
        struct observed *observed = &group->at[i];
        if (observed->result.code != 0)
            continue;
        if (group->files != NULL)
            write_text(group, observed);
        if ((json || group->files == NULL) && !print_text(observed, array, first))
            complain(group, observed->target.pid, "out of memory", EXIT_IO);
        first = false;
    }
    if (array)
        puts("]");
    if (fflush(stdout) != 0)
        group->code =
            print_failure(EXIT_IO, "nmtwatch observe: standard output: %s\n", strerror(errno));
}

/* They are waited for. */
static void end_group(struct group *group)
{
    while (group->running > 0)
        await(group);
    print_results(group);
    push_results(group);
    for (int i = 0; i < group->count; i++)
        observe_child_close(group->at[i].child);
    free(group->at);
}

static int observe_many(struct group *group, const char *match)
{
    int code;
    int64_t left_out = 0;
    struct target_many *many = target_many_open(&command_observe, match, &code);
    if (many == NULL)
        return code;
    group->end_ms = clock_ms(CLOCK_MONOTONIC) + group->request.options.duration_ms;
    do {
        group->left_out = 0;
        target_many_scan(many, take, group);
        if (group->left_out > left_out)
            left_out = group->left_out;
        await(group);
    } while (signals_asked() == 0 && clock_ms(CLOCK_MONOTONIC) < group->end_ms);
    end_group(group);
    if (left_out > 0) {
        print_error("nmtwatch observe: %s more found no place: --at-once is %s\n",
                    units_count(left_out).text, units_count(group->at_once).text);
        group->code = EXIT_IO;
    }
    if (group->count == 0 && group->code == 0)
        group->code = target_many_none(many);
    target_many_close(many);
    return group->code;
}

/* --- the JVM's own sampler -------------------------------------------------------------------- */

static int repair(void *context)
{
    const struct target *target = context;
    char done[200], error[400] = "";
    if (heap_sampler_repair(target, done, sizeof done, error, sizeof error)) {
        printf("pid %d: %s\n", (int)target->pid, done);
        return 0;
    }
    print_error("nmtwatch observe: pid %d: %s\n", (int)target->pid, error);
    return observe_failure_code(target);
}

static int repair_sampler(const char *pid)
{
    struct target target;
    int code = target_option_open(&command_observe, pid, &target);
    if (code != 0)
        return code;
    code = apart_run(repair, &target, REPAIR_MAX_MS);
    if (code < 0)
        code = print_failure(observe_failure_code(&target),
                             "nmtwatch observe: pid %d: the JVM holds its memory: nothing was "
                             "repaired\n",
                             (int)target.pid);
    target_close(&target);
    return code;
}

static bool check_sampler_options(struct observe_options *options, int *code)
{
    const char *wrong = NULL;
    int64_t every_bytes = options->every_bytes;
    if ((options->activate || every_bytes != 0) && options->mode != OBSERVE_ALLOC)
        wrong = "--activate and --every are for alloc";
    else if (every_bytes != 0 && !options->activate)
        wrong = "--every needs --activate";
    else if (every_bytes != 0 &&
             (every_bytes < HEAP_SAMPLER_EVERY_MIN || every_bytes > HEAP_SAMPLER_EVERY_MAX))
        wrong = "--every: expected 16K to 1G";
    if (wrong != NULL)
        *code = options_error(&command_observe, "%s", wrong);
    if (every_bytes == 0)
        options->every_bytes = EVERY_BYTES;
    return wrong == NULL;
}

/* ---------------------------------------------------------------------------------------------- */

struct arguments {
    struct observe_options options;
    struct push_options push;
    const char *output, *match;
    bool json, all;
    int64_t at_once;
};

/* A folder is a file for each JVM in it. False: it is no name of files. */
static bool name_files(struct group *group, const struct arguments *arguments, char *pattern,
                       size_t size)
{
    struct stat status;
    const char *output = arguments->output;
    bool methods = arguments->options.mode == OBSERVE_METHODS;
    enum profile_format *format = &group->request.format[group->request.format_count++];
    *format = methods ? PROFILE_TOP : PROFILE_HTML;
    group->files = output;
    if (!group->one && stat(output, &status) == 0 && S_ISDIR(status.st_mode)) {
        snprintf(pattern, size, "%s/%%p-%s.%s", output, observe_mode_name(arguments->options.mode),
                 methods ? "json" : "html");
        group->files = pattern;
        return true;
    }
    return (group->one || pid_path_is_pattern(output)) && profile_output_format(output, format) &&
           *format != PROFILE_JFR &&
           (!methods || *format == PROFILE_TOP || *format == PROFILE_TOP_TEXT);
}

static int observe_one(struct group *group, const char *pid)
{
    struct target target;
    int code = target_option_open(&command_observe, pid, &target);
    if (code != 0)
        return code;
    group->end_ms = clock_ms(CLOCK_MONOTONIC) + group->request.options.duration_ms;
    take(group, &target, false);
    end_group(group);
    target_close(&target);
    return group->code;
}

/* pid: NULL: those that match. */
static int run_group(const char *pid, const struct arguments *arguments)
{
    bool methods = arguments->options.mode == OBSERVE_METHODS;
    struct group group = {
        .request = {.options = arguments->options,
                    .format_count = 1,
                    .format = {arguments->json ? PROFILE_TOP : PROFILE_TOP_TEXT}},
        .at_once = arguments->at_once,
        .one = pid != NULL,
        .store = &arguments->push,
    };
    char pattern[4096], path[4096 + 16], error[400] = "-o: the name is too long";
    if (methods)
        group.request.options.duration_ms = 0; /* as they are now */
    if (methods && (arguments->push.url != NULL || (group.one && arguments->output != NULL)))
        return options_error(&command_observe, "methods is a table: no %s--push",
                             group.one ? "-o, no " : "");
    if (arguments->output != NULL && !name_files(&group, arguments, pattern, sizeof pattern))
        return options_error(&command_observe, "-o '%s': expected %s that ends in %s",
                             arguments->output,
                             group.one ? "a name" : "a folder, or a name with %p, the pid, in it",
                             methods ? ".top or .json" : ".html, .txt, .top, .json or .pb.gz");
    if (arguments->push.url != NULL)
        group.request.format[group.request.format_count++] = PROFILE_PPROF;
    if (group.files != NULL && (!pid_path(group.files, getpid(), path, sizeof path) ||
                                !profile_output_possible(path, error, sizeof error)))
        return print_failure(EXIT_IO, "nmtwatch observe: %s\n", error);
    if (!signals_catch(SIGNALS_END))
        return print_failure(EXIT_IO, "nmtwatch observe: signals: %s\n", strerror(errno));
    return group.one ? observe_one(&group, pid) : observe_many(&group, arguments->match);
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.options = {.duration_ms = DURATION_MS}};
    int64_t interval_ms = INTERVAL_MS;
    bool repair = false;
    char error[600];
    const struct option_row rows[] = {
        {0, "for", "TIME", option_take_span_ms, &arguments.options.duration_ms, "how long (10s)"},
        {0, "cpu-interval", "TIME", option_take_span_ms, &interval_ms,
         "of cpu: CPU time between two samples (10ms)"},
        {'o', "output", "FILE", option_take_text, &arguments.output,
         "a flame graph (.html), collapsed stacks (.txt), the table (.top, .json), pprof (.pb.gz); "
         "of several JVMs a folder, or %p in the name"},
        {0, "all", NULL, NULL, &arguments.all, "every JVM, those that start meanwhile as well"},
        OPTION_MATCH(&arguments.match),
        {0, "at-once", "N", option_take_count, &arguments.at_once,
         "of --all and --match: so many JVMs, each by a process of its own (16)"},
        {0, "json", NULL, NULL, &arguments.json,
         "the table as one JSON object; of --all and --match an array of them"},
        {0, "activate", NULL, NULL, &arguments.options.activate,
         "of alloc: switch the JVM's own sampler on, by writing five bytes; restored at the end"},
        {0, "every", "SIZE", option_take_bytes, &arguments.options.every_bytes,
         "of --activate: bytes between two samples (512K)"},
        {0, "repair", NULL, NULL, &repair,
         "restore what an observe --activate that was killed has left"},
        PUSH_OPTION_ROWS(&arguments.push),
    };
    int operands, code;
    if (!options_parse(&command_observe, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    arguments.options.interval_ns = interval_ms * 1000000;
    bool many = arguments.all || arguments.match != NULL;
    if (repair)
        return operands == 1 && !many
                   ? repair_sampler(argv[1])
                   : options_error(&command_observe, "--repair: expected a process id alone");
    if (operands != (many ? 1 : 2) ||
        !observe_mode_by_name(argv[operands], &arguments.options.mode))
        return options_error(&command_observe,
                             many
                                 ? "expected one of cpu, classes, alloc, rss, jmethodids, methods; "
                                   "--all and --match exclude a process id"
                                 : "expected a process id and one of cpu, classes, alloc, rss, "
                                   "jmethodids, methods");
    if (!check_sampler_options(&arguments.options, &code))
        return code;
    code = push_possible(&arguments.push, error, sizeof error);
    if (code == EXIT_USAGE)
        return options_error(&command_observe, "%s", error);
    if (code != 0)
        return print_failure(code, "nmtwatch observe: --push: %s\n", error);
    if (arguments.at_once > 0 && !many)
        return options_error(&command_observe, "--at-once needs --all or --match");
    if (arguments.at_once > AT_ONCE_MAX)
        return options_error(&command_observe, "--at-once: at most %d", AT_ONCE_MAX);
    if (arguments.at_once == 0)
        arguments.at_once = AT_ONCE;
    return run_group(many ? NULL : argv[1], &arguments);
}

const struct command command_observe = {
    .name = "observe",
    .summary = "a JVM seen from outside: CPU, classes, allocations, growth of RSS",
    .usage = "Usage: nmtwatch observe PID cpu|classes|alloc|rss|jmethodids|methods\n"
             "                        [--for TIME] [-o FILE] [--json]\n"
             "       nmtwatch observe PID alloc --activate [--every SIZE] ...\n"
             "       nmtwatch observe --repair PID\n"
             "       nmtwatch observe --all|--match RULES cpu|classes|... [--for TIME]\n"
             "                        [-o DIR] [--json]\n"
             "\n"
             "Watches a JVM (JDK 11 to 27) from outside: no library is loaded, nothing is\n"
             "written into it (but for --activate), no restart. Java and native stacks are\n"
             "walked by this program, over a copy of the stack that the kernel takes.\n"
             "\n"
             "  cpu         where CPU time is spent (perf_event_open)\n"
             "  classes     each class definition, and the code that asked for it (USDT\n"
             "              probes)\n"
             "  alloc       what is allocated: the exact total, divided by who needs new\n"
             "              TLABs (uprobes); with --activate by the JVM's own sampler of\n"
             "              objects, which is switched on by writing five bytes and restored\n"
             "              however this ends: by itself, by a second process when it is\n"
             "              killed, by --repair\n"
             "  rss         what anonymous memory grows by, and who touches it, outside of\n"
             "              NMT as well (page faults, smaps)\n"
             "  methods     how many classes and methods there are now, by family, and how\n"
             "              many jmethodIDs: read from the JVM's structures, at once\n"
             "  jmethodids  who makes jmethodIDs: none on a healthy JVM (a uprobe)\n"
             "\n"
             "Counts are the kernel's and exact. Stacks that found no room or were not walked\n"
             "to their end are counted, by reason. Places that are hit more than 10 000 times\n"
             "a second are detached, which is reported. Ctrl-C ends it early and shows what\n"
             "there is.\n"
             "\n"
             "With --all or --match every JVM that fits is observed by a process of its own,\n"
             "those that start before --for is over as well; RULES are those of `profile\n"
             "alloc`. One that cannot be observed is one line, the others go on. -o DIR is a\n"
             "flame graph for each.\n"
             "\n"
             "Needs root, or CAP_PERFMON, CAP_BPF and CAP_SYS_PTRACE; classes, alloc and\n"
             "jmethodids CAP_SYS_ADMIN, too, on kernels since July 2025. alloc and jmethodids\n"
             "need a libjvm that is not stripped; classes one that is not, or was built with\n"
             "DTrace probes; those of Debian and Temurin are both.\n"
             "\n"
             "Exit codes: 0 done, 10 to 36 the JVM could not be observed (22: the kernel or\n"
             "this JDK does not have what it takes, or an agent uses the sampler; 32: it is\n"
             "of another architecture, or emulated), 64 usage, 74 writing failed, or there\n"
             "were more JVMs than --at-once.\n",
    .run = run,
};
