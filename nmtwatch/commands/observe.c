/* nmtwatch observe: what a JVM does, seen from outside. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/observe/loaded_methods.h"
#include "nmtwatch/observe/observe.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/profile/one_shot.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DURATION_MS 10000
#define INTERVAL_MS 10
#define ROWS        30

static int write_file(const struct observe_report *report, enum profile_format format,
                      const char *path)
{
    int fd = create_private(path);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        tell_error("nmtwatch observe: %s: %s\n", path, strerror(errno));
        return EXIT_IO;
    }
    errno = 0;
    bool good = observe_report_write(report, format, ROWS, out);
    if (fclose(out) == 0 && good)
        return 0;
    tell_error("nmtwatch observe: %s: %s\n", path,
               errno != 0 ? strerror(errno) : "it could not be written");
    unlink(path);
    return EXIT_IO;
}

static int observe(const struct target *target, const struct observe_options *options, bool json,
                   const char *output, enum profile_format format)
{
    struct observe_report report = {0};
    char error[400] = "";
    int code = EXIT_IO;
    if (!signals_catch(SIGNALS_END))
        tell_error("nmtwatch observe: signals: %s\n", strerror(errno));
    else if (!observe_run(target, options, &report, error, sizeof error)) {
        tell_error("nmtwatch observe: pid %d: %s\n", (int)target->pid, error);
        code = failure_exit_code(target->libjvm_mapped ? FAILURE_SYSTEM : FAILURE_NOT_A_JVM);
    } else if (output != NULL)
        code = write_file(&report, format, output);
    else
        code = observe_report_write(&report, json ? PROFILE_TOP : PROFILE_TOP_TEXT, ROWS, stdout)
                   ? 0
                   : EXIT_IO;
    observe_report_free(&report);
    return code;
}

/* --- methods ---------------------------------------------------------------------------------- */

static int count_methods(const struct target *target, bool json)
{
    struct loaded_methods methods;
    char error[400] = "";
    int code = 0;
    if (!loaded_methods_read(target, &methods, error, sizeof error)) {
        tell_error("nmtwatch observe: pid %d: %s\n", (int)target->pid, error);
        code = failure_exit_code(target->libjvm_mapped ? FAILURE_SYSTEM : FAILURE_NOT_A_JVM);
    } else if (!loaded_methods_write(&methods, target, json ? PROFILE_TOP : PROFILE_TOP_TEXT,
                                     stdout)) {
        code = EXIT_IO;
    }
    loaded_methods_free(&methods);
    return code;
}

/* ---------------------------------------------------------------------------------------------- */

static int run(int argc, char **argv)
{
    const char *output = NULL;
    bool json = false;
    int64_t duration_ms = DURATION_MS, interval_ms = INTERVAL_MS;
    const struct option_row rows[] = {
        {0, "for", "TIME", option_take_span_ms, &duration_ms, "how long (10s)"},
        {0, "interval", "TIME", option_take_span_ms, &interval_ms,
         "of cpu: CPU time between two samples (10ms)"},
        {'o', "output", "FILE", option_take_text, &output,
         "a flame graph (.html), collapsed stacks (.txt), the table (.top, .json), pprof (.pb.gz)"},
        {0, "json", NULL, NULL, &json, "the table as one JSON object"},
    };
    int operands, code;
    enum profile_format format = PROFILE_TOP_TEXT;
    struct observe_options options = {0};
    struct target target;
    char error[400] = "";
    if (!options_parse(&command_observe, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 2 || !observe_mode_by_name(argv[2], &options.mode))
        return options_error(&command_observe, "expected a process id and one of cpu, classes, "
                                               "alloc, rss, jmethodids, methods");
    bool methods = options.mode == OBSERVE_METHODS;
    if (methods && output != NULL)
        return options_error(&command_observe, "methods is a table: no -o");
    if (output != NULL && (!profile_output_format(output, &format) || format == PROFILE_JFR))
        return options_error(&command_observe,
                             "-o '%s': expected a name in .html, .txt, .top, .json or .pb.gz",
                             output);
    if (output != NULL && !profile_output_possible(output, error, sizeof error)) {
        tell_error("nmtwatch observe: %s\n", error);
        return EXIT_IO;
    }
    options.duration_ms = duration_ms;
    options.interval_ns = interval_ms * 1000000;
    code = target_option_open(&command_observe, argv[1], &target);
    if (code == 0) {
        code = methods ? count_methods(&target, json)
                       : observe(&target, &options, json, output, format);
        target_close(&target);
    }
    return code;
}

const struct command command_observe = {
    .name = "observe",
    .summary = "what a JVM does, seen from outside: CPU, classes, allocations, growth of RSS",
    .usage =
        "Usage: nmtwatch observe PID cpu|classes|alloc|rss|jmethodids|methods [--for TIME] [-o "
        "FILE] "
        "[--json]\n"
        "\n"
        "Watches a JVM (JDK 11 to 27, x86-64) from outside: no library is loaded, nothing is\n"
        "written into it, no restart. Java and native stacks are walked by this program, over a\n"
        "copy of the stack that the kernel takes.\n"
        "\n"
        "  cpu         where CPU time is spent (perf_event_open)\n"
        "  classes     each class definition, and the code that asked for it (USDT probes)\n"
        "  alloc       what fills TLABs, and what is allocated outside of them (uprobes)\n"
        "  rss         what anonymous memory grows by, and who touches it, outside of NMT as well\n"
        "              (page faults, smaps)\n"
        "  methods     how many classes and methods there are now, by family, and how many\n"
        "              jmethodIDs: read from the JVM's structures, at once\n"
        "  jmethodids  who makes jmethodIDs: none on a healthy JVM (a uprobe)\n"
        "\n"
        "Counts are the kernel's and exact. Stacks that found no room or were not walked to their\n"
        "end are counted, by reason. Places that are hit more than 10 000 times a second are let\n"
        "go, and that is said. Ctrl-C ends it early and shows what there is.\n"
        "\n"
        "Needs root, or CAP_PERFMON, CAP_BPF and CAP_SYS_PTRACE. alloc and jmethodids need a\n"
        "libjvm that is not stripped; classes one that was built with DTrace probes, as those of\n"
        "Debian and Temurin are.\n"
        "\n"
        "Exit codes: 0 done, 10 to 31 the JVM could not be looked at (22: the kernel or this JDK "
        "does\n"
        "not have what it takes), 64 usage, 74 writing failed.\n",
    .run = run,
};
