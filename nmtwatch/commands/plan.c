/* nmtwatch plan: capacity: what classes and a profiler will take, and whether that is wise. */
#include "analyzers/plan/plan.h"

#include "nmtwatch/commands/options.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/plan/plan_sources.h"
#include "reports/text/escape.h"
#include "reports/diagnosis/triage_report.h"
#include "reports/text/units.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define NUMBER_DIGITS_MAX 18

/* --- values of options ------------------------------------------------------------------------ */

/* Digits with an optional fraction; no sign, exponent or locale. False: *end is NULL. */
static bool take_digits(const char *text, double *number, const char **end)
{
    double value = 0.0, scale = 1.0;
    int digits = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at); at++, digits++)
        value = value * 10.0 + (*at - '0');
    if (digits > 0 && *at == '.') {
        for (at++; isdigit((unsigned char)*at); at++, digits++) {
            scale /= 10.0;
            value += (*at - '0') * scale;
        }
    }
    *number = value;
    *end = at;
    return digits > 0 && digits <= NUMBER_DIGITS_MAX;
}

static const char *give(void *into, double number)
{
    *(struct plan_slot *)into = (struct plan_slot){number, true};
    return NULL;
}

static const char *take_count(const char *value, void *into)
{
    double number;
    const char *unit;
    if (!take_digits(value, &number, &unit))
        return "a number such as 40000, 100K or 1M";
    double times = strcmp(unit, "") == 0                              ? 1.0
                   : strcmp(unit, "k") == 0 || strcmp(unit, "K") == 0 ? 1e3
                   : strcmp(unit, "m") == 0 || strcmp(unit, "M") == 0 ? 1e6
                                                                      : 0.0;
    return times > 0.0 ? give(into, number * times) : "a number such as 40000, 100K or 1M";
}

static const char *take_real(const char *value, void *into)
{
    double number;
    const char *unit;
    return take_digits(value, &number, &unit) && *unit == '\0' ? give(into, number)
                                                               : "a number such as 9 or 12.5";
}

static const char *take_rate(const char *value, void *into)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1.0}, {"/s", 1.0}, {"/min", 60.0}, {"/h", 3600.0}, {"/d", 86400.0}};
    double number;
    const char *unit;
    if (take_digits(value, &number, &unit)) {
        for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strcmp(unit, units[i].unit) == 0)
                return give(into, number / units[i].seconds);
    }
    return "a rate such as 5/s, 300/min or 1000/h";
}

static const char *take_bytes(const char *value, void *into)
{
    int64_t bytes;
    const char *expected = option_take_bytes(value, &bytes);
    return expected != NULL ? expected : give(into, (double)bytes);
}

static const char *take_seconds(const char *value, void *into)
{
    int64_t ms;
    const char *expected = option_take_duration_ms(value, &ms);
    return expected != NULL ? "a time such as 12h, 7d or 30d" : give(into, (double)ms / 1000.0);
}

/* "17", "17.0.15", "1.8.0_504". */
static const char *take_jdk(const char *value, void *into)
{
    struct plan_input *input = into;
    char *end;
    if (strncmp(value, "1.", 2) == 0)
        value += 2;
    long major = isdigit((unsigned char)value[0]) ? strtol(value, &end, 10) : -1;
    if (major < 8 || major > 99 || (*end != '\0' && strchr(".+-_", *end) == NULL))
        return "a version such as 17 or 25.0.3, 8 or later";
    input->jdk_major = (int)major;
    input->jdk_given = true;
    return NULL;
}

static const char *take_gc(const char *value, void *into)
{
    struct plan_input *input = into;
    input->gc_given = true;
    return plan_gc_from_name(value, &input->gc) ? NULL : "serial, parallel, g1, z or shenandoah";
}

/* --- what was measured ------------------------------------------------------------------------ */

static bool is_pid(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A JVM's name: of no file, and not like one. */
static bool is_name(const char *text)
{
    return text[0] != '\0' && access(text, F_OK) != 0 && strpbrk(text, "/") == NULL &&
           !span_ends_with(span_from_cstr(text), SPAN_LITERAL(".gz"));
}

static int from_pid(const char *text, int64_t look_ms, int64_t timeout_ms,
                    struct plan_measured *measured, struct target_identity *identity,
                    struct plan_input *input)
{
    struct target target;
    struct failure failure;
    int code = target_option_open(&command_plan, text, &target);
    if (code != 0)
        return code;
    int timeout = timeout_ms > INT_MAX ? INT_MAX : timeout_ms > 0 ? (int)timeout_ms : 1;
    identify_target(&target, timeout);
    *identity = target.identity;
    if (!input->slot[PLAN_STACK].given && target.machine != 0)
        input->slot[PLAN_STACK].number = (double)machine_thread_stack_bytes(target.machine);
    enum failure_kind kind = plan_live(measured, &target, look_ms, timeout, &failure);
    target_close(&target);
    if (kind == FAILURE_NONE)
        return 0;
    print_error("nmtwatch plan: %s\n", escape_name(failure.sentence).text);
    return failure_exit_code(kind);
}

static int from_file(const char *path, struct plan_measured *measured,
                     struct target_identity *identity)
{
    char error[700], damage[300];
    if (!plan_recorded(measured, identity, path, damage, sizeof damage, error, sizeof error))
        return print_failure(EXIT_IO, "nmtwatch plan: %s\n", error);
    if (damage[0] != '\0')
        print_error("nmtwatch plan: warning: %s\n", damage);
    return 0;
}

/* --- the verb --------------------------------------------------------------------------------- */

static bool print(const struct plan *plan, const char *source, bool json, bool markdown, bool html,
                  bool no_color)
{
    if (json) {
        struct json_out out = {0};
        plan_json(plan, source, &out);
        return json_out_print(&out, stdout);
    }
    struct page page;
    const struct terminal terminal = {.out = stdout, .colour = options_colour(no_color)};
    plan_page(plan, source, &page);
    bool good = !page.failed;
    if (good && markdown)
        page_markdown(&page, stdout);
    else if (good && html)
        page_html(&page, stdout);
    else if (good)
        page_terminal(&page, &terminal);
    page_free(&page);
    return good; /* what could not be written main.c notices */
}

static int make(struct plan_input *input, const char *from, int64_t look_ms, int64_t timeout_ms,
                bool json, bool markdown, bool html, bool no_color)
{
    char error[200], source[256];
    struct plan_measured measured;
    struct target_identity identity = {0};
    plan_measured_none(&measured);
    if (from != NULL) {
        int code = is_pid(from) || is_name(from)
                       ? from_pid(from, look_ms, timeout_ms, &measured, &identity, input)
                       : from_file(from, &measured, &identity);
        if (code != 0)
            return code;
        if (!input->jdk_given && identity.jdk_major >= 8)
            input->jdk_major = identity.jdk_major;
        plan_measured_input(&measured, input);
        snprintf(source, sizeof source, "%s%s", is_pid(from) ? "pid " : "", from);
    }
    if (!plan_input_check(input, error, sizeof error))
        return options_error(&command_plan, "%s", error);
    struct plan *plan = malloc(sizeof *plan);
    bool good = plan != NULL;
    int code = EXIT_IO;
    if (good) {
        plan_make(plan, input, &measured);
        code = (int)plan->verdict;
        good = print(plan, from != NULL ? source : NULL, json, markdown, html, no_color);
    }
    free(plan);
    if (!good)
        print_error("nmtwatch plan: out of memory\n");
    return good ? code : EXIT_IO;
}

static int run(int argc, char **argv)
{
    static option_take_fn *const takers[] = {
        [PLAN_KIND_COUNT] = take_count,     [PLAN_KIND_REAL] = take_real,
        [PLAN_KIND_RATE] = take_rate,       [PLAN_KIND_BYTES] = take_bytes,
        [PLAN_KIND_SECONDS] = take_seconds,
    };
    const char *from = NULL;
    int64_t look_ms = 10000, timeout_ms = 5000;
    bool json = false, markdown = false, html = false, no_color = false;
    struct plan_input input;
    plan_input_default(&input);
    input.slot[PLAN_STACK].number = (double)machine_thread_stack_bytes(this_machine.elf);
    const struct option_row others[] = {
        {0, "from", "PID|FILE", option_take_text, &from,
         "measured on this JVM, or in this recording"},
        {0, "look", "TIME", option_take_duration_ms, &look_ms,
         "between the two measurements of a JVM; 0: one (10s)"},
        OPTION_TIMEOUT(&timeout_ms, "5s"),
        OPTION_UNDER_SECCOMP,
        {0, "jdk", "V", take_jdk, &input, "version of the JDK (17)"},
        {0, "gc", "NAME", take_gc, &input, "serial, parallel, g1, z, shenandoah (g1)"},
        {0, "generated", NULL, NULL, &input.generated,
         "classes as generators make them: small, no symbols of their own"},
        OPTION_JSON(&json),
        OPTION_MARKDOWN(&markdown),
        {0, "html", NULL, NULL, &html, "one page of HTML"},
        OPTION_NO_COLOR(&no_color),
    };
    struct option_row rows[PLAN_NUMBER_COUNT + OPTION_COUNT(others)];
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++) {
        const struct plan_number_row *row = plan_number_row((enum plan_number)i);
        rows[i] = (struct option_row){
            0, row->option, row->value, takers[row->kind], &input.slot[i], row->help};
    }
    memcpy(rows + PLAN_NUMBER_COUNT, others, sizeof others);
    int operands, code;
    if (!options_parse(&command_plan, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands != 0)
        return options_error(&command_plan, "unexpected operand '%s'", argv[1]);
    if (json + markdown + html > 1)
        return options_error(&command_plan, "either --json, --markdown or --html");
    return make(&input, from, look_ms, timeout_ms, json, markdown, html, no_color);
}

const struct command command_plan = {
    .name = "plan",
    .usage = "Usage: nmtwatch plan --classes N [--methods-per-class M] [--jdk V] [options]\n"
             "       nmtwatch plan --from PID|FILE [options]\n"
             "\n"
             "The memory of a profiler that preallocates jmethodIDs, component by component:\n"
             "as documented, as expected by measured formulas, and as measured where a JVM or\n"
             "a recording is given; what classes take; what the container must hold, with\n"
             "flags to paste; what more of each would mean; how long the memory lasts at the\n"
             "present rate.\n"
             "\n"
             "Exit: 0 APPROPRIATE, 1 CAUTION, 2 NOT APPROPRIATE, 10-36 the JVM could not be\n"
             "asked, 64 usage, 74 the recording cannot be read.\n",
    .run = run,
    .apart = true,
};
