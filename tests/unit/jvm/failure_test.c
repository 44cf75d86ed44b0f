/* failure: each row has its sentence and code, and docs/exit-codes.md knows them all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/commands/options.h"
#include "nmtwatch/jvm/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *exit_codes_page(void)
{
    static char page[32768];
    FILE *file = fopen("docs/exit-codes.md", "re");
    if (file == NULL)
        fail_msg("docs/exit-codes.md: run from the root of the source tree");
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    return page;
}

static void every_failure_is_documented(void **state)
{
    (void)state;
    const char *page = exit_codes_page();
    for (int kind = FAILURE_NONE + 1; kind < FAILURE_KIND_COUNT; kind++) {
        char row[64];
        snprintf(row, sizeof row, "| %d | `%s` |", failure_exit_code(kind), failure_reason(kind));
        if (strstr(page, row) == NULL)
            fail_msg("docs/exit-codes.md lacks the row %s", row);
    }
}

static void every_other_code_is_documented(void **state)
{
    (void)state;
    static const int codes[] = {0, EXIT_WARNING, EXIT_CRITICAL, EXIT_UNKNOWN, EXIT_USAGE, EXIT_IO};
    const char *page = exit_codes_page();
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char row[16];
        snprintf(row, sizeof row, "\n| %d | ", codes[i]);
        assert_non_null(strstr(page, row));
    }
}

static void codes_and_reasons_are_distinct(void **state)
{
    (void)state;
    for (int a = FAILURE_NONE + 1; a < FAILURE_KIND_COUNT; a++)
        for (int b = a + 1; b < FAILURE_KIND_COUNT; b++) {
            assert_int_not_equal(failure_exit_code(a), failure_exit_code(b));
            assert_string_not_equal(failure_reason(a), failure_reason(b));
        }
    assert_int_equal(failure_exit_code(FAILURE_NONE), 0);
    assert_string_equal(failure_reason(FAILURE_NONE), "ok");
}

static void sentences(void **state)
{
    (void)state;
    struct failure failure;
    for (int kind = FAILURE_NONE + 1; kind < FAILURE_KIND_COUNT; kind++) {
        assert_int_equal(failure_set(&failure, kind, "pid 4711", NULL), kind);
        assert_ptr_equal(strstr(failure.sentence, "pid 4711"), failure.sentence);
        assert_null(strchr(failure.sentence, '\n'));
    }
    failure_set(&failure, FAILURE_NONE, "pid 4711", "nothing");
    assert_string_equal(failure.sentence, "");
}

static void details_stay_on_one_line(void **state)
{
    (void)state;
    struct failure failure;
    failure_set(&failure, FAILURE_GONE, "pid 1", "a\nb\x1b[31m\tc\n");
    assert_string_equal(failure.sentence, "pid 1: no such process: a b [31m c");

    char endless[2000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    failure_set(&failure, FAILURE_GONE, "pid 1", endless);
    assert_int_equal(strlen(failure.sentence), sizeof failure.sentence - 1);
    failure_set(&failure, FAILURE_GONE, endless, endless);
    assert_int_equal(strlen(failure.sentence), sizeof failure.sentence - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_is_documented),
        cmocka_unit_test(every_other_code_is_documented),
        cmocka_unit_test(codes_and_reasons_are_distinct),
        cmocka_unit_test(sentences),
        cmocka_unit_test(details_stay_on_one_line),
    };
    return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
