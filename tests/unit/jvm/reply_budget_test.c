/* Who gets memory for replies, and who does not. */
#include "nmtwatch/jvm/attach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)

static void bounds_one_user_and_all(void **state)
{
    (void)state;
    struct reply_budget *budget = reply_budget_create();
    reply_budget_limit(budget, (int64_t)(3 * MB), (int64_t)(2 * MB));
    assert_int_equal(reply_budget_take(budget, 1, 0, MB), MB);
    assert_int_equal(reply_budget_take(budget, 1, MB, 8 * MB), 2 * MB);
    assert_int_equal(reply_budget_take(budget, 1, 0, MB), 0);
    assert_int_equal(reply_budget_take(budget, 2, 0, 2 * MB), MB);
    assert_int_equal(reply_budget_take(budget, 3, 0, MB), 0);
    assert_int_equal(reply_budget_counts(budget).held_bytes, 3 * MB);
    assert_int_equal(reply_budget_counts(budget).refused, 2);
    reply_budget_give(budget, 1, 2 * MB);
    assert_int_equal(reply_budget_take(budget, 3, 0, MB), MB);
    reply_budget_give(budget, 2, MB);
    reply_budget_give(budget, 3, MB);
    assert_int_equal(reply_budget_counts(budget).held_bytes, 0);
    reply_budget_destroy(budget);
}

static void a_summary_always_finds_room(void **state)
{
    (void)state;
    struct reply_budget *budget = reply_budget_create();
    reply_budget_limit(budget, (int64_t)MB, (int64_t)MB);
    assert_int_equal(reply_budget_take(budget, 1, 0, MB), MB);
    assert_int_equal(reply_budget_take(budget, 1, 0, 16 * KB), 16 * KB);
    assert_int_equal(reply_budget_take(budget, 2, 16 * KB, 64 * KB), 64 * KB);
    assert_int_equal(reply_budget_take(budget, 2, 64 * KB, 128 * KB), 64 * KB);
    reply_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_one_user_and_all),
        cmocka_unit_test(a_summary_always_finds_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
