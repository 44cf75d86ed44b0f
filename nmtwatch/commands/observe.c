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

#define DURATION_MS   10000
#define INTERVAL_MS   10
#define ROWS          30
#define JSON_FAMILIES 200

static bool write_as(const struct observe_report *report, enum profile_format format, FILE *out)
{
    switch (format) {
    case PROFILE_HTML:
        return observe_report_flamegraph(report, out);
    case PROFILE_COLLAPSED:
        return collapsed_write(report->tree, out);
    case PROFILE_TOP:
        return observe_report_json(report, out);
    case PROFILE_TOP_TEXT:
        return observe_report_print(report, ROWS, out);
    case PROFILE_PPROF:
        return observe_report_pprof(report, out);
    case PROFILE_JFR:
        break;
    }
    return false;
}

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
    bool good = write_as(report, format, out);
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
        code = write_as(&report, json ? PROFILE_TOP : PROFILE_TOP_TEXT, stdout) ? 0 : EXIT_IO;
    observe_report_free(&report);
    return code;
}

/* --- methods ---------------------------------------------------------------------------------- */

static bool methods_json(const struct target *target, const struct loaded_methods *methods)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_text(&json, "observed", "methods");
    json_out_int(&json, "pid", target->pid);
    json_out_text_if(&json, "main", target->identity.main);
    json_out_int(&json, "loaders", methods->loaders);
    json_out_int(&json, "classes", methods->classes);
    json_out_int(&json, "methods", methods->methods);
    json_out_int(&json, "own_classes", methods->own_classes);
    json_out_int(&json, "own_methods", methods->own_methods);
    json_out_real(&json, "methods_per_class", loaded_methods_per_class(methods));
    json_out_int_if(&json, "jmethodids", methods->ids >= 0, methods->ids);
    json_out_int(&json, "family_count", (int64_t)methods->family_count);
    json_out_begin(&json, "families", '[');
    for (size_t i = 0; i < methods->family_count && i < JSON_FAMILIES; i++) {
        json_out_begin(&json, NULL, '{');
        json_out_text(&json, "family", methods->families[i].name);
        json_out_int(&json, "classes", methods->families[i].classes);
        json_out_int(&json, "methods", methods->families[i].methods);
        json_out_end(&json, '}');
    }
    json_out_end(&json, ']');
    json_out_end(&json, '}');
    return json_out_print(&json, stdout);
}

static bool methods_print(const struct target *target, const struct loaded_methods *methods)
{
    static const char *const HEADS[] = {"#classes", "#methods", "#a class", "family", NULL};
    struct page page;
    char each[32];
    printf("pid %d (%s): %s methods in %s classes of %s class loaders\n", (int)target->pid,
           escape_name(target->identity.main).text, units_count(methods->methods).text,
           units_count(methods->classes).text, units_count(methods->loaders).text);
    printf("Without the boot loader's: %s in %s classes, %.1f a class\n",
           units_count(methods->own_methods).text, units_count(methods->own_classes).text,
           loaded_methods_per_class(methods));
    if (methods->ids >= 0)
        printf("jmethodIDs: %s\n", units_count(methods->ids).text);
    putchar('\n');
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, HEADS);
    for (size_t i = 0; i < methods->family_count && i < ROWS; i++) {
        const struct loaded_family *family = &methods->families[i];
        snprintf(each, sizeof each, "%.1f", (double)family->methods / (double)family->classes);
        page_row(&page, units_count(family->classes).text, units_count(family->methods).text, each,
                 family->name);
    }
    return page_print(&page, stdout);
}

static int count_methods(const struct target *target, bool json)
{
    struct loaded_methods methods;
    char error[400] = "";
    int code = 0;
    if (!loaded_methods_read(target, &methods, error, sizeof error)) {
        tell_error("nmtwatch observe: pid %d: %s\n", (int)target->pid, error);
        code = failure_exit_code(target->libjvm_mapped ? FAILURE_SYSTEM : FAILURE_NOT_A_JVM);
    } else if (!(json ? methods_json : methods_print)(target, &methods)) {
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
    struct observe_options options;
    struct target target;
    char error[400] = "";
    if (!options_parse(&command_observe, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    bool methods = operands == 2 && strcmp(argv[2], "methods") == 0;
    if (methods && output != NULL)
        return options_error(&command_observe, "methods is a table: no -o");
    if (operands != 2 || (!methods && !observe_mode_by_name(argv[2], &options.mode)))
        return options_error(&command_observe, "expected a process id and one of cpu, classes, "
                                               "alloc, rss, jmethodids, methods");
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
        "Usage: nmtwatch observe PID cpu|classes|alloc|rss|jmethodids|methods [--for TIME] [-o FILE] "
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
