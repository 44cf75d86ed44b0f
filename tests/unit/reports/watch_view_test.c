#include "reports/watch/watch_view.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "reports/text/escape.h"

static struct texts texts; /* of all findings here */

static char *text;
static size_t size;
static struct terminal terminal;

static const struct target_identity TARGET = {.pid = 4711, .main = "/opt/app/server\033[31m.jar"};

static void open_terminal(bool colour, int width)
{
    free(text);
    text = NULL;
    terminal = (struct terminal){open_memstream(&text, &size), colour, width};
}

/* What was printed since. */
static const char *printed(void)
{
    fclose(terminal.out);
    return text;
}

static size_t lines_of(const char *what)
{
    size_t lines = 0;

    for (; *what; what++)
        lines += *what == '\n';
    return lines;
}

static size_t widest_line(const char *what)
{
    size_t widest = 0;
    char line[1024];

    while (*what) {
        size_t length = strcspn(what, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, what);
        if (escape_columns(line) > widest)
            widest = escape_columns(line);
        what += length + (what[length] == '\n');
    }
    return widest;
}

static struct alert explosion(void)
{
    struct alert alert = {.ms = 41000, .started_ms = 1000};
    struct finding *finding = &alert.finding;

    *finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_family(finding, "unknown:Evil\033]0;owned\007#");
    finding_title(
        finding,
        "Classes of one family are generated without end, and this sentence is long enough "
        "to need a second line on any usual terminal.");
    finding_add_real(finding, "rate_per_s", 20.14);
    finding_add_int(finding, "bytes_per_class", 5325);
    finding_add_int(finding, "growth_bytes", 600 << 20);
    finding_add_text(finding, "example", "Evil\n1");
    return alert;
}

static void test_an_alert_says_what_where_and_what_to_do(void **state)
{
    struct alert alert = explosion();
    (void)state;

    open_terminal(false, 80);
    terminal_alert(&terminal, &TARGET, &alert);
    const char *out = printed();
    static const char *const WANTED[] = {
        "CRITICAL class-explosion unknown:Evil\\x1b]0;owned\\x07#  0:00:41  pid 4711",
        "server\\x1b[31m.jar\n",
        "rate:               20.1/s\n",
        "5.2 KB\n",
        "growth:             +600 MB\n",
        "example:            Evil\\x0a1\n",
        "what to do:         Cache generated",
        "nmtwatch explain class-explosion\n",
    };
    for (size_t i = 0; i < sizeof WANTED / sizeof WANTED[0]; i++) {
        if (strstr(out, WANTED[i]) == NULL)
            fail_msg("no '%s' in\n%s", WANTED[i], out);
    }
    assert_null(strchr(out, '\033'));
    assert_null(strchr(out, '\007'));
}

static void test_a_cleared_alert_is_short(void **state)
{
    struct alert alert = explosion();
    (void)state;

    alert.state = ALERT_CLEARED;
    open_terminal(false, 200);
    terminal_alert(&terminal, &TARGET, &alert);
    const char *out = printed();
    assert_non_null(strstr(out, "CLEARED class-explosion"));
    assert_non_null(strstr(out, "it lasted:          40 s\n"));
    assert_int_equal(lines_of(out), 3);
}

static void test_text_is_wrapped_to_the_width(void **state)
{
    struct alert alert = explosion();
    (void)state;

    for (int width = 60; width <= 120; width += 7) {
        open_terminal(false, width);
        terminal_wrapped(&terminal, 2, alert.finding.title);
        terminal_finding_details(&terminal, &alert.finding);
        assert_in_range(widest_line(printed()), width / 2, width);
    }
    open_terminal(false, 80);
    terminal_wrapped(&terminal, 2, "one  two");
    assert_string_equal(printed(), "  one two\n");
    open_terminal(false, 80);
    terminal_wrapped(&terminal, 2, "");
    assert_string_equal(printed(), "  \n");
}

static void test_colours_only_when_asked_and_always_ended(void **state)
{
    struct alert alert = explosion();
    struct judge_view view = {.active_alerts = 1, .worst_active = SEVERITY_CRITICAL};
    struct sample sample = {0};
    (void)state;

    open_terminal(true, 80);
    terminal_alert(&terminal, &TARGET, &alert);
    terminal_table_head(&terminal);
    terminal_table_row(&terminal, &TARGET, 0, &sample, &view);
    terminal_tick(&terminal, &TARGET, 0, &sample, &view);
    const char *out = printed();
    assert_non_null(strstr(out, "\033[1;31mCRITICAL\033[0m"));
    for (const char *line = out; *line; line += strcspn(line, "\n") + 1) {
        const char *last = NULL;
        for (const char *at = line; *at && *at != '\n'; at++) {
            if (*at == '\033')
                last = at;
        }
        assert_true(last == NULL || strncmp(last, "\033[0m", 4) == 0);
    }
}

static void test_missing_is_not_zero(void **state)
{
    struct sample sample = {0};
    struct judge_view view = {.baseline_ms = -1};
    (void)state;

    open_terminal(false, 80);
    terminal_tick(&terminal, &TARGET, 83000, &sample, NULL);
    assert_string_equal(printed(),
                        "0:01:23 pid 4711 classes - (+- --) metaspace - internal - (-) rss - -\n");
    sample_set(&sample, SAMPLE_CLASSES_LOADED, 12345);
    sample_set(&sample, SAMPLE_CLASSES_UNLOADED, 45);
    sample_set(&sample, SAMPLE_RSS_BYTES, 310 << 20);
    view.have_rates = view.have_internal = true;
    view.load_per_s = 20.1;
    view.internal_bytes = 12 << 20;
    open_terminal(false, 80);
    terminal_tick(&terminal, &TARGET, 0, &sample, &view);
    assert_string_equal(printed(), "0:00:00 pid 4711 classes 12 300 (+20.1/s -0/s) metaspace - "
                                   "internal 12 MB (-) rss 310 MB warming up\n");
    view.baseline_ms = 0;
    view.warm = true;
    view.internal_growth_bytes = 400 << 10;
    open_terminal(false, 80);
    terminal_tick(&terminal, &TARGET, 0, &sample, &view);
    assert_non_null(strstr(printed(), "internal 12 MB (+400 KB) rss 310 MB ok\n"));
    sample_set(&sample, SAMPLE_AGENT_RESIDENT_BYTES, 2 << 20);
    sample_set(&sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, 512 << 10);
    open_terminal(false, 80);
    terminal_tick(&terminal, &TARGET, 0, &sample, &view);
    assert_non_null(strstr(printed(), " rss 310 MB agent 2 MB, jmethodIDs 512 KB ok\n"));
}

/* A row that wraps could not be drawn again in place. */
static void test_the_table_fits_every_width(void **state)
{
    struct sample sample = {0};
    struct judge_view view = {.have_rates = true, .have_internal = true, .active_alerts = 3};
    struct target_identity target = {.pid = 4194304};
    (void)state;

    memset(target.main, 'x', sizeof target.main - 1);
    sample_set(&sample, SAMPLE_CLASSES_LOADED, 123456);
    sample_set(&sample, SAMPLE_CLASSES_UNLOADED, 0);
    for (int width = 80; width <= 200; width++) {
        open_terminal(false, width);
        terminal_table_head(&terminal);
        terminal_table_row(&terminal, &target, 3600000, &sample, &view);
        const char *out = printed();
        assert_int_equal(lines_of(out), 2);
        assert_in_range(widest_line(out), width - 2, width);
        assert_non_null(strstr(out, "3 alerts"));
        assert_non_null(strstr(out, "INTERNAL"));
    }
    assert_non_null(strstr(text, "UNLOADS"));
}

static void test_an_agent_has_a_line_of_its_own_in_the_table(void **state)
{
    struct sample sample = {0};
    (void)state;

    open_terminal(false, 80);
    assert_int_equal(terminal_table_agent(&terminal, &sample), 0);
    assert_string_equal(printed(), "");
    sample_set(&sample, SAMPLE_AGENT_RESIDENT_BYTES, 2 << 20);
    open_terminal(false, 80);
    assert_int_equal(terminal_table_agent(&terminal, &sample), 1);
    assert_string_equal(printed(), "        agent 2 MB\n");
    sample_set(&sample, SAMPLE_AGENT_RESIDENT_BYTES, INT64_MAX);
    sample_set(&sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, INT64_MAX);
    open_terminal(true, 40);
    assert_int_equal(terminal_table_agent(&terminal, &sample), 1);
    assert_int_equal(lines_of(printed()), 1);
    open_terminal(false, 40);
    terminal_table_agent(&terminal, &sample);
    assert_in_range(widest_line(printed()), 30, 40);
}

static void test_notes_and_names(void **state)
{
    struct family_row rows[2] = {{.family = "groovy-shell", .example = "Script1\033", .loads = 20},
                                 {.family = "cglib", .loads = 3}};
    struct names_event names = {.method = CENSUS_LOAD_LOG, .row_count = 2, .rows = rows};
    (void)state;

    open_terminal(false, 80);
    terminal_note(&terminal, &TARGET, 1000, "tap\rfailed");
    terminal_names(&terminal, &names, 1);
    terminal_rewind(&terminal, 0);
    assert_string_equal(printed(), "0:00:01 pid 4711 tap\\x0dfailed\n"
                                   "  groovy-shell: 20 loads, 0 unloads, e.g. Script1\\x1b\n");
    open_terminal(false, 80);
    terminal_rewind(&terminal, 3);
    assert_string_equal(printed(), "\033[3A\r\033[J");
}

static int free_text(void **state)
{
    (void)state;
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_alert_says_what_where_and_what_to_do),
        cmocka_unit_test(test_a_cleared_alert_is_short),
        cmocka_unit_test(test_text_is_wrapped_to_the_width),
        cmocka_unit_test(test_colours_only_when_asked_and_always_ended),
        cmocka_unit_test(test_missing_is_not_zero),
        cmocka_unit_test(test_the_table_fits_every_width),
        cmocka_unit_test(test_an_agent_has_a_line_of_its_own_in_the_table),
        cmocka_unit_test(test_notes_and_names),
    };
    return cmocka_run_group_tests_name("reports/watch_view", tests, NULL, free_text);
}
