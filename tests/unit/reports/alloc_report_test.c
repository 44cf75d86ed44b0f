#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/profile/agent_report.h"

#include <stdlib.h>
#include <string.h>

#define PROFILE(total, rest)                                                                       \
    "{\"interval_bytes\":524288,\"samples\":3,\"without_stack\":0,\"lost\":0,"                     \
    "\"threads_refused\":0,\"short_threads_bytes\":0,\"total_bytes\":" total                       \
    ",\"classes\":[{\"class\":\"int[]\",\"bytes\":1048576,\"se_bytes\":524288,\"samples\":1,"      \
    "\"counted_bytes\":524288},{\"class\":\"a.\\u001b[31mB\",\"bytes\":3145728,\"se_bytes\":7,"    \
    "\"samples\":2,\"counted_bytes\":1048576}]" rest "}"

static char *text;
static size_t length;

static bool write_with(bool (*writer)(const struct alloc_report *, FILE *),
                       const struct alloc_report *report)
{
    free(text);
    text = NULL;
    FILE *out = open_memstream(&text, &length);
    bool good = writer(report, out);
    fclose(out);
    return good;
}

static void most_bytes_come_first(void **state)
{
    (void)state;
    const struct alloc_report report = {
        .answer = PROFILE("8388608", ""), .jdk_major = 25, .main = "a.Main", .duration_ms = 2000};
    assert_true(write_with(alloc_report_print, &report));
    assert_non_null(strstr(text, "8 MB allocated in 2 s; 3 samples, one each 512 KB\n"));
    const char *first = strstr(text, "37.50%"), *second = strstr(text, "12.50%");
    assert_true(first != NULL && second != NULL && first < second);
    assert_null(strchr(text, '\x1b')); /* a name moves no cursor */
    assert_null(strstr(text, "note:"));
}

static void what_has_to_be_known_is_said(void **state)
{
    (void)state;
    struct alloc_report report = {.answer = PROFILE("8388608", ""), .jdk_major = 17};
    assert_true(write_with(alloc_report_print, &report));
    assert_non_null(strstr(text, "note: The sampler of JDK 17 is biased"));
    report = (struct alloc_report){.answer = PROFILE("null", ""), .jdk_major = 25};
    assert_true(write_with(alloc_report_print, &report));
    assert_non_null(strstr(text, "about 4 MB allocated; 3 samples"));
    assert_non_null(strstr(text, "the total is an estimate, too"));
    report.answer =
        "{\"alloc\":{\"interval_bytes\":1024,\"samples\":9,\"without_stack\":9,\"lost\":"
        "5,\"threads_refused\":2,\"short_threads_bytes\":500,\"stopped_early\":true,"
        "\"total_bytes\":1000,"
        "\"classes\":[]},\"notes\":\"\"}";
    assert_true(write_with(alloc_report_print, &report));
    static const char *const said[] = {"500 B were allocated by threads that ended",
                                       "9 of the samples have no stack", "5 samples were dropped",
                                       "The agent stopped sampling", "What 2 threads allocated"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        assert_non_null(strstr(text, said[i]));
}

static void json_is_one_line_with_its_notes(void **state)
{
    (void)state;
    const struct alloc_report report = {.answer = PROFILE("8388608", ""),
                                        .jdk_major = 17,
                                        .pid = 4711,
                                        .main = "a.Main",
                                        .duration_ms = 60000};
    assert_true(write_with(alloc_report_json, &report));
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    assert_non_null(strstr(text, "\"notes\":[\"The sampler of JDK 17"));
    assert_non_null(strstr(text, "\"pid\":4711,\"main\":\"a.Main\""));
    assert_true(strstr(text, "3145728") < strstr(text, "1048576,\"se_bytes\":524288"));
}

static void other_answers_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "[]", "{}", "{\"alloc\":3}", "{\"classes\":{}}", "{\"alloc\":{}}", "{\"classes\":[]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct alloc_report report = {.answer = wrong[i]};
        assert_false(write_with(alloc_report_print, &report));
        assert_false(write_with(alloc_report_json, &report));
    }
    /* Rows of any kind do no harm. */
    const struct alloc_report report = {.answer = "{\"classes\":[1,null,{},{\"class\":[]}]}"};
    assert_true(write_with(alloc_report_print, &report));
    assert_true(write_with(alloc_report_json, &report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_bytes_come_first),
        cmocka_unit_test(what_has_to_be_known_is_said),
        cmocka_unit_test(json_is_one_line_with_its_notes),
        cmocka_unit_test(other_answers_are_refused),
    };
    int failed = cmocka_run_group_tests_name("alloc_report", tests, NULL, NULL);
    free(text);
    return failed;
}
