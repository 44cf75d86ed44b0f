/* Budgets as people write them. */
#include "nmtwatch/soak/soak_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void good(void **state)
{
    (void)state;
    struct budgets budgets = {0};
    char error[512];
    assert_true(budget_text_parse("internal=5MB/h,metaspace=+20M,rss=2GB,classes=100/h,"
                                  "thread-stack=1K/min,other=24M/d,internal=1KB/iteration",
                                  &budgets, error, sizeof error));
    assert_int_equal(budgets.count, 7);
    static const struct {
        enum soak_series series;
        enum budget_kind kind;
        double amount;
    } wanted[] = {
        {SOAK_INTERNAL, BUDGET_SLOPE, 5 * 1048576},
        {SOAK_METASPACE, BUDGET_GROWTH, 20 * 1048576},
        {SOAK_RSS, BUDGET_HEIGHT, 2147483648},
        {SOAK_CLASSES, BUDGET_SLOPE, 100},
        {SOAK_FIRST_CATEGORY + NMT_THREAD_STACK, BUDGET_SLOPE, 60 * 1024},
        {SOAK_FIRST_CATEGORY + NMT_OTHER, BUDGET_SLOPE, 1048576},
        {SOAK_INTERNAL, BUDGET_ITERATION, 1024},
    };
    for (int i = 0; i < budgets.count; i++) {
        assert_int_equal(budgets.budget[i].series, wanted[i].series);
        assert_int_equal(budgets.budget[i].kind, wanted[i].kind);
        assert_float_equal(budgets.budget[i].amount, wanted[i].amount, 1e-3);
    }
    assert_string_equal(budgets.budget[1].text, "+20M");
}

static void bad(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        ",",
        "internal",
        "internal=",
        "=5MB",
        "internal=5MB/h,",
        "internal=-5MB/h",
        "internal=5MB/fortnight",
        "internal=5XB/h",
        "internal=99999999999999999999/h",
        "foo=1",
        "classes=1K/h",
        "internal=5MB/h/h",
        "internal=++5MB",
        "internal=5MB/",
        "internal=1,internal=2",
        "internal=99999999999G",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct budgets budgets = {0};
        char error[512] = "";
        if (budget_text_parse(texts[i], &budgets, error, sizeof error))
            fail_msg("'%s' was taken", texts[i]);
        assert_true(error[0] != '\0' && strchr(error, '\n') == NULL);
    }
    char longer[4096];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct budgets budgets = {0};
    char error[512];
    assert_false(budget_text_parse(longer, &budgets, error, sizeof error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad)};
    return cmocka_run_group_tests_name("budget_text", tests, NULL, NULL);
}
