/* The outcome of a soak in its formats, when the target's names are hostile. */
#include "reports/soak/soak_report.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct texts texts; /* of all findings here */

#define HOSTILE "evil\n1..0\nok 1 # TODO\033[2J<x>&\"'\xef\xbf\xbf\xff]]>"

struct fixture {
    struct soak_result *result;
    const struct soak_result *results[1];
    const char *recordings[1];
    struct alert alert;
    struct soak_summary summary;
};

static void setup(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    struct soak_result *result = calloc(1, sizeof *result);
    fixture->result = result;
    result->answer = SOAK_FAIL;
    result->warm = result->have_nmt = true;
    result->last_ms = 90000;
    snprintf(result->identity.main, sizeof result->identity.main, "%s", HOSTILE);
    result->line_count = 1;
    result->lines[0] = (struct soak_line){.series = SOAK_INTERNAL,
                                          .key = "internal",
                                          .title = "Internal",
                                          .decides = true,
                                          .watched = true,
                                          .answer = SOAK_PASS};
    fixture->alert.finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_title(&fixture->alert.finding, "%s", HOSTILE);
    finding_family(&fixture->alert.finding, HOSTILE);
    result->alert_count = 1;
    result->alerts = &fixture->alert;
    result->alert_fails[0] = true;
    fixture->results[0] = result;
    fixture->recordings[0] = HOSTILE;
    fixture->summary = (struct soak_summary){.answer = SOAK_FAIL,
                                             .count = 1,
                                             .results = fixture->results,
                                             .recordings = fixture->recordings,
                                             .reason = "",
                                             .death = "the command ended " HOSTILE,
                                             .report = HOSTILE};
}

/* What a writer wrote; the caller frees. */
static char *capture(bool (*write)(const struct soak_summary *, FILE *),
                     const struct soak_summary *summary)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_true(write(summary, out));
    fclose(out);
    return text;
}

static void junit_is_xml(void **state)
{
    (void)state;
    struct fixture fixture;
    setup(&fixture);
    char *text = capture(junit_write, &fixture.summary);
    assert_null(strstr(text, "<x>"));
    assert_null(strstr(text, "\033"));
    assert_null(strstr(text, "\xef\xbf\xbf"));
    assert_null(strchr(text, '\xff'));
    assert_non_null(strstr(text, "&lt;x&gt;&amp;&quot;&#39;"));
    assert_non_null(strstr(text, "tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\""));
    free(text);
    free(fixture.result);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* What Jenkins and GitLab make of the file: a case is known by class and name, a text hides its message, and
 * a soak that failed does not fail once more for each series that was not decided yet. */
static void junit_as_servers_read_it(void **state)
{
    (void)state;
    struct fixture fixture;
    setup(&fixture);
    struct soak_result *result = fixture.result;
    snprintf(result->identity.main, sizeof result->identity.main, "orders.Orders");
    finding_title(&fixture.alert.finding, "it grows");
    finding_advice(&fixture.alert.finding, "stop it");
    result->lines[0].answer = SOAK_UNDECIDED;
    const struct soak_result *both[] = {result, result};
    fixture.summary.results = both;
    fixture.summary.count = 2;
    char *text = capture(junit_write, &fixture.summary);
    assert_int_equal(count_of(text, "classname=\"nmtwatch.orders.Orders\" name=\"internal\""), 1);
    assert_int_equal(count_of(text, "classname=\"nmtwatch.orders.Orders-2\" name=\"internal\""), 1);
    assert_int_equal(count_of(text, " message=\"it grows\">it grows\nstop it</failure>"), 2);
    assert_non_null(strstr(text, "tests=\"5\" failures=\"3\" errors=\"0\" skipped=\"2\""));
    free(text);
    /* The same names in the next build. */
    for (int build = 0; build < 2; build++) {
        snprintf(result->identity.main, sizeof result->identity.main,
                 "/w/target/surefire/surefirebooter%s.jar",
                 build == 0 ? "12639151093753927856" : "20240318174242017_3");
        text = capture(junit_write, &fixture.summary);
        assert_int_equal(count_of(text, "classname=\"nmtwatch.surefirebooter"), 6 - 2);
        assert_int_equal(count_of(text, build == 0 ? "classname=\"nmtwatch.surefirebooter\""
                                                   : "classname=\"nmtwatch.surefirebooter_3\""),
                         2);
        free(text);
    }
    snprintf(result->identity.main, sizeof result->identity.main, "orders.Orders");
    fixture.summary.answer = SOAK_UNDECIDED;
    text = capture(junit_write, &fixture.summary);
    assert_non_null(strstr(text, "tests=\"5\" failures=\"2\" errors=\"3\" skipped=\"0\""));
    free(text);
    free(result);
}

static void tap_has_only_its_own_lines(void **state)
{
    (void)state;
    struct fixture fixture;
    setup(&fixture);
    char *text = capture(tap_write, &fixture.summary);
    int lines = 0;
    for (char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 6); /* version, three tests, the command's end, plan */
    assert_non_null(strstr(text, "not ok 1 - "));
    assert_non_null(strstr(text, "\nok 2 - Internal"));
    assert_non_null(strstr(text, "\nnot ok 3 - "));
    assert_non_null(strstr(text, "\n1..3\n"));
    assert_null(strstr(text, "# TODO"));
    free(text);
    free(fixture.result);
}

static bool terminal_write(const struct soak_summary *summary, FILE *out)
{
    const struct terminal terminal = {.out = out};
    struct page page;
    soak_page(summary, &page);
    assert_true(page_terminal(&page, &terminal));
    page_free(&page);
    return true;
}

static void terminal_is_safe(void **state)
{
    (void)state;
    struct fixture fixture;
    setup(&fixture);
    char *text = capture(terminal_write, &fixture.summary);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\n1..0"));
    assert_non_null(strstr(text, "FAIL"));
    free(text);
    free(fixture.result);
}

static void nothing_at_all(void **state)
{
    (void)state;
    const struct soak_summary summary = {
        .answer = SOAK_UNDECIDED, .chief = -1, .reason = "no JVM was found", .death = ""};
    char *text = capture(junit_write, &summary);
    assert_non_null(strstr(text, "<error type=\"undecided\""));
    free(text);
    text = capture(tap_write, &summary);
    assert_non_null(strstr(text, "not ok 1 - Cannot tell: no JVM was found.\n1..1\n"));
    free(text);
    struct json_out json = {0};
    assert_non_null(soak_json(&json, &summary));
    assert_non_null(strstr(json.text, "\"pid\":null"));
    json_out_free(&json);
    text = capture(terminal_write, &summary);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(junit_is_xml),
        cmocka_unit_test(junit_as_servers_read_it),
        cmocka_unit_test(tap_has_only_its_own_lines),
        cmocka_unit_test(terminal_is_safe),
        cmocka_unit_test(nothing_at_all),
    };
    return cmocka_run_group_tests_name("soak_reports", tests, NULL, NULL);
}
