#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/native/account.h"

#define MB INT64_C(1048576)

static struct sample sample_of(int64_t anonymous, int64_t heap)
{
    struct sample sample;
    sample_clear(&sample);
    sample_set(&sample, SAMPLE_RSS_ANON_BYTES, anonymous);
    sample_set(&sample, SAMPLE_RSS_FILE_BYTES, 20 * MB);
    sample_set(&sample, SAMPLE_RSS_SHARED_BYTES, 3 * MB);
    sample_set(&sample, SAMPLE_RSS_HEAP_BYTES, heap);
    sample_set_nmt(&sample, NMT_JAVA_HEAP, (struct nmt_amount){400 * MB, 200 * MB});
    sample_set_nmt(&sample, NMT_GC, (struct nmt_amount){40 * MB, 40 * MB});
    sample_set_nmt(&sample, NMT_OTHER, (struct nmt_amount){7 * MB, 7 * MB});
    sample_set_nmt(&sample, NMT_THREAD, (struct nmt_amount){40 * MB, 40 * MB});
    sample_set_nmt(&sample, NMT_SHARED_CLASS_SPACE, (struct nmt_amount){12 * MB, 12 * MB});
    return sample;
}

static int64_t sum_of(const struct account *account)
{
    int64_t sum = 0;
    for (int i = 0; i < ACCOUNT_OWNERS; i++)
        sum += account->bytes[i];
    return sum;
}

static void test_rows_add_up(void **state)
{
    (void)state;
    struct sample sample = sample_of(300 * MB, 100 * MB);
    struct account account;
    assert_true(account_of(&sample, 17, &account));
    assert_true(account.nmt);
    assert_int_equal(account.rss_bytes, 323 * MB);
    assert_int_equal(sum_of(&account), account.rss_bytes);
    assert_int_equal(account.bytes[ACCOUNT_DIRECT], 7 * MB);
    assert_int_equal(account.bytes[ACCOUNT_GC], 20 * MB); /* half of the heap was touched */
    assert_int_equal(account.bytes[ACCOUNT_OUTSIDE], (300 - 100 - 20 - 7 - 40) * MB);
    /* JDKs up to 10 count whole stacks: what was touched of them is not known. */
    assert_true(account_of(&sample, 8, &account));
    assert_int_equal(account.bytes[ACCOUNT_THREADS], 0);
    assert_int_equal(sum_of(&account), account.rss_bytes);
}

static void test_what_is_missing_is_not_zero(void **state)
{
    (void)state;
    struct sample sample = sample_of(300 * MB, 100 * MB);
    struct account account;
    sample.present &= ~(UINT64_C(1) << SAMPLE_RSS_HEAP_BYTES);
    assert_false(account_of(&sample, 17, &account));
    sample_set(&sample, SAMPLE_RSS_HEAP_BYTES, 100 * MB);
    sample.nmt_present = 0;
    assert_true(account_of(&sample, 17, &account));
    assert_false(account.nmt);
    assert_int_equal(account.bytes[ACCOUNT_OUTSIDE], 200 * MB);
}

static void test_what_was_not_touched_is_the_collectors(void **state)
{
    (void)state;
    struct sample first = sample_of(160 * MB, 100 * MB), last = sample_of(164 * MB, 100 * MB);
    struct account before, now;
    assert_true(account_of(&first, 17, &before) && account_of(&last, 17, &now));
    assert_int_equal(before.bytes[ACCOUNT_OUTSIDE], -7 * MB);
    account_settle(&now, &before);
    assert_int_equal(before.bytes[ACCOUNT_OUTSIDE], 0);
    assert_int_equal(now.bytes[ACCOUNT_OUTSIDE], 4 * MB);
    assert_int_equal(now.bytes[ACCOUNT_GC], before.bytes[ACCOUNT_GC]);
    assert_int_equal(sum_of(&now), now.rss_bytes);
    assert_int_equal(sum_of(&before), before.rss_bytes);
    account_settle(&now, NULL);
    assert_int_equal(now.bytes[ACCOUNT_OUTSIDE], 4 * MB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_add_up),
        cmocka_unit_test(test_what_is_missing_is_not_zero),
        cmocka_unit_test(test_what_was_not_touched_is_the_collectors),
    };
    return cmocka_run_group_tests_name("native/account", tests, NULL, NULL);
}
