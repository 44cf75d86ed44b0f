#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/native/rss_account.h"

#include <stdio.h>

#define MB (INT64_C(1) << 20)

static const char SMAPS[] =
    "f0000000-100000000 rw-p 00000000 00:00 0\n"
    "Size:             262144 kB\nRss:              102400 kB\nVmFlags: rd wr\n"
    "55ea4b410000-55ea4b412000 r-xp 00000000 fe:00 247498      /usr/lib/jvm/bin/java\n"
    "Rss:                   8 kB\n"
    "55ea4c000000-55ea4c800000 rw-p 00000000 00:00 0          [heap]\n"
    "Rss:                8192 kB\nAnonymous:          8192 kB\n"
    "7f1cd8000000-7f1cd9000000 rw-p 00000000 00:00 0\n"
    "Rss:               16384 kB\n"
    "7f1cd9000000-7f1cdc000000 ---p 00000000 00:00 0\n"
    "Rss:                   0 kB\n"
    "7f1ce0100000-7f1ce6500000 rw-p 00000000 00:00 0\n"
    "Rss:              102400 kB\n"
    "7f1cf2000000-7f1cf2a00000 r--p 00000000 fe:00 2475        /usr/lib/jvm/lib/libjvm.so\n"
    "Rss:               10240 kB\n"
    "7f1cf3000000-7f1cf3100000 r--s 00000000 fe:00 2476        /app/a.jar\n"
    "Rss:                1024 kB\n"
    "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0           [vdso]\n"
    "Rss:                   8 kB\n";

static const char SUMMARY[] =
    "Native Memory Tracking:\n\nTotal: reserved=400000KB, committed=288768KB\n\n"
    "-                 Java Heap (reserved=262144KB, committed=262144KB)\n"
    "                            (mmap: reserved=262144KB, committed=262144KB) \n \n"
    "-                  Internal (reserved=16384KB, committed=16384KB)\n"
    "                            (malloc=16384KB #2333) \n \n"
    "-                 Metaspace (reserved=65536KB, committed=10240KB)\n"
    "                            (mmap: reserved=65536KB, committed=10240KB) \n \n";

static void read_smaps(struct rss_account *account, const char *text,
                       const struct rss_range *ranges, int count)
{
    struct smaps smaps;
    struct smaps_mapping mapping;
    rss_account_begin(account, ranges, count);
    smaps_begin(&smaps, span_from_cstr(text));
    while (smaps_next(&smaps, &mapping))
        rss_account_add(account, &mapping);
    assert_int_equal(smaps.lines.result, PARSE_OK);
    assert_int_equal(smaps.lines.unknown_lines, 0);
}

static const struct rss_range HEAP[] = {{0xf0000000, 0x100000000, NMT_JAVA_HEAP}};

static void each_mapping_has_its_kind_and_nothing_is_lost(void **state)
{
    (void)state;
    struct rss_account account;
    read_smaps(&account, SMAPS, HEAP, 1);
    assert_int_equal(account.mappings, 9);
    assert_int_equal(account.kind[RSS_JAVA_HEAP].rss_bytes, 100 * MB);
    assert_int_equal(account.kind[RSS_MALLOC_MAIN].rss_bytes, 8 * MB);
    assert_int_equal(account.kind[RSS_MALLOC_ARENAS].rss_bytes, 16 * MB);
    assert_int_equal(account.kind[RSS_MALLOC_ARENAS].mappings, 2); /* its unused rest, too */
    assert_int_equal(account.kind[RSS_ANONYMOUS].rss_bytes, 100 * MB);
    assert_int_equal(account.kind[RSS_LIBRARIES].mappings, 2);
    assert_int_equal(account.kind[RSS_FILES].rss_bytes, MB);
    assert_int_equal(account.kind[RSS_KERNEL].rss_bytes, 8 << 10);
    int64_t sum = 0;
    for (int i = 0; i < RSS_KIND_COUNT; i++)
        sum += account.kind[i].rss_bytes;
    assert_int_equal(sum, account.rss_bytes);
    assert_int_equal(account.largest_count, 1);
    assert_int_equal(account.largest[0].rss_bytes, 100 * MB);
}

/* 124 MB of malloc and anonymous memory; NMT knows 16 MB of malloc and 10 MB of Metaspace. */
static void what_nmt_cannot_know_is_outside(void **state)
{
    (void)state;
    struct rss_account account;
    struct nmt_summary summary;
    size_t consumed;
    read_smaps(&account, SMAPS, HEAP, 1);
    assert_int_equal(nmt_summary_parse(&summary, span_from_cstr(SUMMARY), &consumed), PARSE_OK);
    rss_account_compare(&account, &summary, false);
    assert_int_equal(account.nmt_malloc_bytes, 16 * MB);
    assert_int_equal(account.nmt_unplaced_bytes, 10 * MB); /* the heap has its range */
    assert_int_equal(account.outside_nmt_bytes, 98 * MB);
    rss_account_compare(&account, &summary, true);
    assert_int_equal(account.outside_nmt_bytes, 108 * MB);
}

static void growth_outside_is_what_nmt_did_not_grow(void **state)
{
    (void)state;
    struct rss_account before, now;
    struct nmt_summary summary;
    size_t consumed;
    assert_int_equal(nmt_summary_parse(&summary, span_from_cstr(SUMMARY), &consumed), PARSE_OK);
    read_smaps(&before, SMAPS, HEAP, 1);
    rss_account_compare(&before, &summary, false);
    now = before;
    now.kind[RSS_ANONYMOUS].rss_bytes += 50 * MB;
    now.nmt_malloc_bytes += 20 * MB;
    assert_int_equal(rss_growth_outside_nmt(&now, &before), 30 * MB);
    assert_int_equal(rss_growth_outside_nmt(&before, &before), 0);
}

static void overlapping_ranges_are_one(void **state)
{
    (void)state;
    struct rss_range ranges[] = {
        {30, 40, NMT_GC}, {10, 20, NMT_CODE}, {15, 25, NMT_CODE}, {25, 28, NMT_CLASS}};
    assert_int_equal(rss_ranges_sort(ranges, 4), 3);
    assert_int_equal(ranges[0].low, 10);
    assert_int_equal(ranges[0].high, 25);
    assert_int_equal(ranges[2].low, 30);
    assert_int_equal(rss_ranges_sort(ranges, 0), 0);
}

static void the_largest_come_first_and_are_bounded(void **state)
{
    (void)state;
    struct rss_account account;
    rss_account_begin(&account, NULL, 0);
    for (int i = 0; i < 20; i++) {
        struct smaps_mapping mapping = {
            .map = {.start_address = 0x1000 + (uint64_t)i * 0x3000,
                    .end_address = 0x2000 + (uint64_t)i * 0x3000,
                    .readable = true,
                    .writable = true},
            .rss_bytes = (i * 7 % 20) * MB,
        };
        rss_account_add(&account, &mapping);
    }
    assert_int_equal(account.largest_count, RSS_LARGEST_MAX);
    for (int i = 0; i < RSS_LARGEST_MAX; i++)
        assert_int_equal(account.largest[i].rss_bytes, (19 - i) * MB);
}

static void text_that_is_no_smaps_is_malformed(void **state)
{
    (void)state;
    struct smaps smaps;
    struct smaps_mapping mapping;
    smaps_begin(&smaps, span_from_cstr("hello\nworld\n"));
    assert_false(smaps_next(&smaps, &mapping));
    assert_int_equal(smaps.lines.result, PARSE_MALFORMED);
    smaps_begin(&smaps, span_of(SMAPS, 70)); /* cut in the first mapping */
    assert_false(smaps_next(&smaps, &mapping));
    assert_int_equal(smaps.lines.result, PARSE_INCOMPLETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mapping_has_its_kind_and_nothing_is_lost),
        cmocka_unit_test(what_nmt_cannot_know_is_outside),
        cmocka_unit_test(growth_outside_is_what_nmt_did_not_grow),
        cmocka_unit_test(overlapping_ranges_are_one),
        cmocka_unit_test(the_largest_come_first_and_are_bounded),
        cmocka_unit_test(text_that_is_no_smaps_is_malformed),
    };
    return cmocka_run_group_tests_name("rss_account", tests, NULL, NULL);
}
