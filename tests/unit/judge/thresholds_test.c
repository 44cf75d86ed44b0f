/* docs/thresholds.md says what thresholds.def says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/judge/finding.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    char *text = calloc(1, 1 << 16);
    if (text != NULL && fread(text, 1, (1 << 16) - 1, file) == 0)
        text[0] = '\0';
    fclose(file);
    return text;
}

static void test_the_page_has_every_row(void **state)
{
    (void)state;
    char *page = read_whole("docs/thresholds.md");
    assert_non_null(page);
    int rows = 0;
    for (const char *at = page; (at = strstr(at, "\n| `")) != NULL; at++)
        rows++;
    assert_int_equal(rows, THRESHOLD_COUNT);
    for (int i = 0; i < THRESHOLD_COUNT; i++) {
        const struct threshold_row *row = threshold_row((enum threshold)i);
        char line[256];
        if (strcmp(row->unit, "bytes") == 0)
            snprintf(line, sizeof line, "| `%s` | %s | %s |", row->key, units_bytes(row->dflt).text,
                     row->unit);
        else if (strcmp(row->unit, "bytes_per_h") == 0)
            snprintf(line, sizeof line, "| `%s` | %s/h | %s |", row->key,
                     units_bytes(row->dflt).text, row->unit);
        else
            snprintf(line, sizeof line, "| `%s` | %" PRId64 " | %s |", row->key, row->dflt,
                     row->unit);
        if (strstr(page, line) == NULL)
            fail_msg("docs/thresholds.md lacks: %s", line);
        if (strstr(page, row->meaning) == NULL)
            fail_msg("docs/thresholds.md lacks: %s", row->meaning);
    }
    free(page);
}

static void test_defaults_are_within_limits(void **state)
{
    (void)state;
    for (int i = 0; i < THRESHOLD_COUNT; i++) {
        const struct threshold_row *row = threshold_row((enum threshold)i);
        assert_true(row->min <= row->dflt && row->dflt <= row->max);
        assert_int_equal(threshold_from_key(row->key), i);
    }
    assert_int_equal(threshold_from_key("no_such_key"), THRESHOLD_COUNT);
}

/* The documented steps, to the byte. */
static void test_documented_steps(void **state)
{
    (void)state;
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    assert_int_equal(thresholds.value[TH_INTERNAL_INVESTIGATE_BYTES], INT64_C(500) << 20);
    assert_int_equal(thresholds.value[TH_INTERNAL_EXPLOSION_BYTES], INT64_C(2) << 30);
    assert_int_equal(thresholds.value[TH_INTERNAL_UNACCEPTABLE_BYTES], INT64_C(10) << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_has_every_row),
        cmocka_unit_test(test_defaults_are_within_limits),
        cmocka_unit_test(test_documented_steps),
    };
    return cmocka_run_group_tests_name("thresholds", tests, NULL, NULL);
}
