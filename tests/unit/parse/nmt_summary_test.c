#include "analyzers/parse/nmt_summary.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

/* A summary with one block, in the manner of JDK 25 with scale=B. */
#define HEAD "Native Memory Tracking:\n\nTotal: reserved=300, committed=200\n\n"
#define BLOCK                                                                                      \
    "-                 Java Heap (reserved=300, committed=200)\n"                                  \
    "                            (mmap: reserved=300, committed=200, peak=250)\n"
#define END "\n"

static enum parse_result parse(struct nmt_summary *summary, const char *text, size_t *consumed)
{
    return nmt_summary_parse(summary, span_from_cstr(text), consumed);
}

/* NULL when the category was not printed. */
static const struct nmt_row *row_of(const struct nmt_summary *summary, enum nmt_category category)
{
    for (int i = 0; i < summary->row_count; i++)
        if (summary->rows[i].category == category)
            return &summary->rows[i];
    return NULL;
}

static int64_t value_of(const struct nmt_row *row, enum nmt_row_field field)
{
    int64_t value = -1;
    assert_non_null(row);
    assert_true(nmt_row_get(row, field, &value));
    return value;
}

static void missing_is_not_zero(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    assert_int_equal(parse(&summary, HEAD BLOCK END, &consumed), PARSE_OK);
    assert_int_equal(consumed, strlen(HEAD BLOCK END));
    const struct nmt_row *heap = row_of(&summary, NMT_JAVA_HEAP);
    assert_int_equal(value_of(heap, NMT_ROW_MMAP_PEAK_BYTES), 250);
    assert_false(nmt_row_has(heap, NMT_ROW_MALLOC_BYTES));
    assert_null(row_of(&summary, NMT_INTERNAL));
    assert_false(summary.is_diff);
}

static void every_prefix_before_the_end_is_incomplete(void **state)
{
    (void)state;
    const char text[] = "12:\n\n" HEAD BLOCK END;
    struct nmt_summary summary;
    size_t consumed;
    for (size_t len = 0; len < sizeof text - 1; len++) {
        char *exact = malloc(len + 1); /* a copy, so that a sanitizer sees a byte too far */
        memcpy(exact, text, len);
        enum parse_result result = nmt_summary_parse(&summary, span_of(exact, len), &consumed);
        assert_int_equal(result, PARSE_INCOMPLETE);
        assert_true(consumed <= len);
        free(exact);
    }
}

static void a_block_cut_off_between_lines_shows_in_the_total(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    const char *text = "Native Memory Tracking:\n\nTotal: reserved=300000, committed=200000\n\n"
                       "-  Java Heap (reserved=100, committed=100)\n\n";
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    struct nmt_total_check check = nmt_summary_check_total(&summary);
    assert_false(check.holds);
    assert_int_equal(check.reserved_gap_bytes, 299900);
    assert_int_equal(check.committed_gap_bytes, 199900);
}

static void one_snapshot_must_agree_to_the_byte(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    const char *text = "Native Memory Tracking:\n\nTotal: reserved=301, committed=200\n"
                       "       malloc: 0 #0, peak=5 #1\n\n" BLOCK END;
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    struct nmt_total_check check = nmt_summary_check_total(&summary);
    assert_true(check.one_snapshot);
    assert_int_equal(check.reserved_gap_bytes, 1);
    assert_false(check.holds);
}

static void stops_where_another_reply_begins(void **state)
{
    (void)state;
    static const char *const followers[] = {
        "Usage:\n  Non-class:      1.91 MB used.\n",
        "Metaspace        used 2457K, committed 3328K, reserved 1114112K\n",
        "java.lang.IllegalArgumentException: Unknown diagnostic command\n",
        "ClassLoader         Parent \n",
        "Virtual memory map:\n",
        "---------------  S Y S T E M  ---------------\n",
        "Usag", /* cut */
    };
    for (size_t i = 0; i < sizeof(followers) / sizeof(followers[0]); i++) {
        struct nmt_summary summary;
        size_t consumed;
        char text[512];
        snprintf(text, sizeof text, "%s%s", HEAD BLOCK END, followers[i]);
        assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
        assert_string_equal(text + consumed, followers[i]);
        assert_int_equal(summary.unknown_lines, 0);
    }
}

static void unknown_categories_and_lines_are_kept_and_counted(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    const char *text = HEAD "-              Quantum Foam (reserved=300, committed=200, spin=1/2)\n"
                            "                            (malloc=7 #1)\n"
                            "                            (entangled #3)\n"
                            "                            (malloc=7x #1)\n" END;
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    assert_int_equal(summary.row_count, 1);
    assert_int_equal(summary.rows[0].category, NMT_NOT_IN_TABLE);
    assert_true(span_equals(summary.rows[0].name, SPAN_LITERAL("Quantum Foam")));
    assert_int_equal(value_of(&summary.rows[0], NMT_ROW_MALLOC_BYTES), 7);
    assert_int_equal(summary.unknown_lines, 3);
    assert_true(span_find(summary.first_unknown, SPAN_LITERAL("spin")) > 0);
}

static void more_categories_than_room_are_counted(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed, at;
    static char text[16384];
    at = (size_t)snprintf(text, sizeof text, "%s", HEAD);
    for (int i = 0; i < NMT_SUMMARY_ROWS_MAX + 3; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "-  New%d (reserved=1, committed=1)\n  (malloc=1 #1)\n\n", i);
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    assert_int_equal(summary.row_count, NMT_SUMMARY_ROWS_MAX);
    assert_int_equal(summary.rows_dropped, 3);
    assert_false(nmt_summary_check_total(&summary).holds);
}

static void deltas_carry_their_unit(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    const char *text =
        "Native Memory Tracking:\n\nTotal: reserved=1622979KB +7639KB, committed=325675KB -8KB\n\n"
        "-                    Thread (reserved=18512KB +2057KB, committed=18512KB)\n"
        "                            (thread #19 +2)\n"
        "                            (arena=19KB +2 #34 -4)\n \n" /* JDK 8 to 17: no unit */
        "-                     Class (reserved=1KB, committed=1KB)\n"
        "                           : (  Metadata)\n"
        "                            (    waste=416KB =17.57% +134KB)\n"
        "                           : (  Class space)\n"
        "                            (    waste=5KB =1.57% -3KB)\n \n";
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    assert_true(summary.is_diff);
    assert_int_equal(summary.scale_bytes, 1024);
    assert_int_equal(summary.total.delta[NMT_ROW_COMMITTED_BYTES], -8 * 1024);
    const struct nmt_row *thread = row_of(&summary, NMT_THREAD);
    assert_non_null(thread);
    assert_int_equal(thread->delta[NMT_ROW_ARENA_BYTES], 2 * 1024);
    assert_int_equal(thread->delta[NMT_ROW_ARENA_COUNT], -4);
    assert_int_equal(thread->delta[NMT_ROW_THREADS_COUNT], 2);
    assert_int_equal(thread->delta[NMT_ROW_COMMITTED_BYTES], 0);
    const struct nmt_row *class = row_of(&summary, NMT_CLASS);
    assert_int_equal(value_of(class, NMT_ROW_METADATA_WASTE_BYTES), 416 * 1024);
    assert_int_equal(class->delta[NMT_ROW_METADATA_WASTE_BYTES], 134 * 1024);
    assert_int_equal(class->delta[NMT_ROW_CLASS_SPACE_WASTE_BYTES], -3 * 1024);
    assert_int_equal(summary.unknown_lines, 0);
}

static void at_peak_is_the_value_itself(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    const char *text = HEAD "-  Internal (reserved=300, committed=200)\n"
                            "   (malloc=200 tag=Internal #9) (at peak)\n"
                            "   (mmap: reserved=100, committed=0, at peak)\n\n";
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    const struct nmt_row *row = row_of(&summary, NMT_INTERNAL);
    assert_int_equal(value_of(row, NMT_ROW_MALLOC_PEAK_BYTES), 200);
    assert_int_equal(value_of(row, NMT_ROW_MALLOC_PEAK_COUNT), 9);
    assert_int_equal(value_of(row, NMT_ROW_MMAP_PEAK_BYTES), 0);
}

static void huge_numbers_are_read_or_refused(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    /* ZGC of JDK 11 reserves 16 TB */
    const char *zgc = "Native Memory Tracking:\n\nTotal: reserved=17179869184KB, committed=1KB\n"
                      "- Java Heap (reserved=17179869184KB, committed=1KB)\n \n";
    assert_int_equal(parse(&summary, zgc, &consumed), PARSE_OK);
    assert_true(summary.total.value[NMT_ROW_RESERVED_BYTES] == INT64_C(17179869184) * 1024);
    /* a counter that went below zero: 2^64 bytes and more do not fit */
    const char *wrapped = "Native Memory Tracking:\n\nTotal: reserved=1KB, committed=1KB\n"
                          "- GC (reserved=18014398509481980KB, committed=1KB)\n\n";
    assert_int_equal(parse(&summary, wrapped, &consumed), PARSE_MALFORMED);
    assert_true(strncmp(wrapped + consumed, "- GC", 4) == 0);
}

static void a_category_without_amounts_is_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD "-  Java Heap (reserved=300, comitted=200)\n\n",
        HEAD "-  Java Heap (reserved=-300, committed=200)\n\n",
        HEAD "-  Java Heap\n\n",
        HEAD "-            (reserved=300, committed=200)\n\n",
        "Native Memory Tracking:\n\n-  Java Heap (reserved=300, committed=200)\n\n",
        "Native Memory Tracking:\n\nTotal: reserved=3xKB, committed=1KB\n\n",
        "no summary at all\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct nmt_summary summary;
        size_t consumed;
        assert_int_equal(parse(&summary, texts[i], &consumed), PARSE_MALFORMED);
        assert_true(consumed < strlen(texts[i]));
    }
}

static void text_before_the_header_is_passed_over(void **state)
{
    (void)state;
    struct nmt_summary summary;
    size_t consumed;
    const char *text = "READY\nprogram output: x=1\n\n" HEAD BLOCK END;
    assert_int_equal(parse(&summary, text, &consumed), PARSE_OK);
    assert_int_equal(summary.row_count, 1);
    assert_int_equal(consumed, strlen(text));
}

/* A number that the end of a text cuts in two is another number. */
static void a_cut_text_has_no_number_that_the_whole_has_not(void **state)
{
    (void)state;
    const char text[] =
        "Total: reserved=3731397KB +9KB, committed=1317037KB +2048KB\n\n"
        "-                     Class (reserved=1093365KB +9KB, committed=49909KB +12KB)\n"
        "                            (classes #10081 +3)\n"
        "                            (malloc=1781KB +5KB #27289 +77)\n"
        "                            (mmap: reserved=1091584KB, committed=48128KB +7KB)\n"
        "                            (  Metadata:   )\n"
        "                            (    reserved=43008KB, committed=41728KB)\n"
        "                            (    used=40504KB +2KB)\n\n"
        "-                    Thread (reserved=65927KB, committed=3415KB +4KB)\n"
        "                            (thread #64 +1)\n";
    struct nmt_summary whole, cut;
    struct nmt_reading reading;
    assert_true(nmt_summary_read(&whole, span_from_cstr(text), &reading));
    assert_int_equal(whole.row_count, 2);
    for (size_t len = 0; len < sizeof text - 1; len++) {
        char *exact = malloc(len + 1);
        memcpy(exact, text, len);
        nmt_summary_read(&cut, span_of(exact, len), &reading);
        assert_true(cut.row_count <= 2);
        for (int row = -1; row < cut.row_count; row++) {
            const struct nmt_row *is = row < 0 ? &cut.total : &cut.rows[row];
            const struct nmt_row *was = row < 0 ? &whole.total : &whole.rows[row];
            for (int field = 0; field < NMT_ROW_FIELD_COUNT; field++) {
                if (!nmt_row_has(is, field))
                    continue;
                assert_int_equal(is->value[field], was->value[field]);
                assert_int_equal(is->delta[field], was->delta[field]);
            }
        }
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_is_not_zero),
        cmocka_unit_test(every_prefix_before_the_end_is_incomplete),
        cmocka_unit_test(a_block_cut_off_between_lines_shows_in_the_total),
        cmocka_unit_test(one_snapshot_must_agree_to_the_byte),
        cmocka_unit_test(stops_where_another_reply_begins),
        cmocka_unit_test(unknown_categories_and_lines_are_kept_and_counted),
        cmocka_unit_test(more_categories_than_room_are_counted),
        cmocka_unit_test(deltas_carry_their_unit),
        cmocka_unit_test(at_peak_is_the_value_itself),
        cmocka_unit_test(huge_numbers_are_read_or_refused),
        cmocka_unit_test(a_category_without_amounts_is_malformed),
        cmocka_unit_test(text_before_the_header_is_passed_over),
        cmocka_unit_test(a_cut_text_has_no_number_that_the_whole_has_not),
    };
    return cmocka_run_group_tests_name("parse/nmt_summary", tests, NULL, NULL);
}
