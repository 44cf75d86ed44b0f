#include "analyzers/parse/class_tables.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define HEADER                                                                                     \
    "ClassLoader         Parent              CLD*               Classes   ChunkSz   BlockSz  "     \
    "Type\n"
#define APP                                                                                        \
    "0x00000000000000a1  0x00000000000000b2  0x00000000000000c3      15    110592     60792  "     \
    "app.Loader\n"
#define HIDDEN                                                                                     \
    "                                                                 8     24576     11544   + "  \
    "unsafe anonymous classes\n"
#define BOOT                                                                                       \
    "0x0000000000000000  0x0000000000000000  0x00000000000000d4     817   4874240   4840880  "     \
    "<boot class loader>\n"
#define TOTAL                                                                                      \
    "Total = 2                                                      840   5009408   4913216  \n"
#define LEGEND "ChunkSz: Total size of all allocated metaspace chunks\nBlockSz: Total size\n"

static void hidden_classes_belong_to_the_loader_above(void **state)
{
    (void)state;
    struct classloader_stats stats;
    struct loader_stats_row row;
    classloader_stats_begin(&stats, SPAN_LITERAL("7:\n" HEADER APP HIDDEN BOOT TOTAL LEGEND));
    assert_true(classloader_stats_next(&stats, &row));
    assert_int_equal(row.kind, LOADER_OWN);
    assert_int_equal(row.loader_address, 0xa1);
    assert_int_equal(row.parent_address, 0xb2);
    assert_int_equal(row.data_address, 0xc3);
    assert_int_equal(row.classes, 15);
    assert_true(span_equals(row.type, SPAN_LITERAL("app.Loader")));
    memset(&row, 0, sizeof row); /* nothing of it comes from the row before */
    assert_true(classloader_stats_next(&stats, &row));
    assert_int_equal(row.kind, LOADER_HIDDEN);
    assert_int_equal(row.classes, 8);
    assert_int_equal(row.chunk_bytes, 24576);
    assert_int_equal(row.block_bytes, 11544);
    assert_int_equal(row.loader_address, 0xa1);
    assert_true(span_equals(row.type, SPAN_LITERAL("app.Loader")));
    assert_true(classloader_stats_next(&stats, &row));
    assert_true(span_equals(row.type, SPAN_LITERAL("<boot class loader>")));
    assert_false(classloader_stats_next(&stats, &row));
    assert_int_equal(stats.lines.result, PARSE_OK);
    assert_int_equal(stats.lines.at, stats.lines.text.len);
    assert_true(stats.total.present);
    assert_int_equal(stats.total.loaders, 2);
    assert_int_equal(stats.total.classes, 840);
    assert_false(classloader_stats_next(&stats, &row)); /* stays at its end */
}

static void a_type_may_be_empty(void **state)
{
    (void)state;
    struct classloader_stats stats;
    struct loader_stats_row row;
    classloader_stats_begin(
        &stats, SPAN_LITERAL(HEADER "0x0000000000000001  0x0000000000000000  0x0000000000000000    "
                                    "   0         0         0  \n" TOTAL));
    assert_true(classloader_stats_next(&stats, &row));
    assert_int_equal(row.type.len, 0);
}

static void without_a_total_it_is_incomplete(void **state)
{
    (void)state;
    const char text[] = HEADER APP HIDDEN BOOT TOTAL;
    for (size_t len = 0; len < sizeof text - 1; len++) {
        struct classloader_stats stats;
        struct loader_stats_row row;
        int rows = 0;
        classloader_stats_begin(&stats, span_of(text, len));
        while (classloader_stats_next(&stats, &row))
            rows++;
        assert_int_equal(stats.lines.result, PARSE_INCOMPLETE);
        assert_false(stats.total.present);
        assert_true(rows <= 3);
    }
}

static void stops_where_another_reply_begins(void **state)
{
    (void)state;
    struct classloader_stats stats;
    struct loader_stats_row row;
    struct span text = SPAN_LITERAL(HEADER BOOT TOTAL LEGEND "Baseline taken\n");
    classloader_stats_begin(&stats, text);
    while (classloader_stats_next(&stats, &row))
        ;
    assert_int_equal(stats.lines.result, PARSE_OK);
    assert_string_equal(text.ptr + stats.lines.at, "Baseline taken\n");
}

static void damaged_rows_name_their_place(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "no table\n",
        HEADER "0x00000000000000a1  0x00b2  0xc3  x 1 1  app.Loader\n" TOTAL,
        HEADER "0x00000000000000a100000000a1  0x00b2  0xc3  1 1 1  app.Loader\n" TOTAL,
        HEADER APP "Total = many\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct classloader_stats stats;
        struct loader_stats_row row;
        classloader_stats_begin(&stats, span_from_cstr(texts[i]));
        while (classloader_stats_next(&stats, &row))
            ;
        assert_int_equal(stats.lines.result, PARSE_MALFORMED);
        assert_true(stats.lines.at < strlen(texts[i]));
    }
}

static void unknown_lines_are_counted(void **state)
{
    (void)state;
    struct classloader_stats stats;
    struct loader_stats_row row;
    classloader_stats_begin(&stats, SPAN_LITERAL(HEADER APP "news from JDK 40\n" BOOT TOTAL));
    int rows = 0;
    while (classloader_stats_next(&stats, &row))
        rows++;
    assert_int_equal(rows, 2);
    assert_int_equal(stats.lines.unknown_lines, 1);
    assert_true(span_equals(stats.lines.first_unknown, SPAN_LITERAL("news from JDK 40")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_classes_belong_to_the_loader_above),
        cmocka_unit_test(a_type_may_be_empty),
        cmocka_unit_test(without_a_total_it_is_incomplete),
        cmocka_unit_test(stops_where_another_reply_begins),
        cmocka_unit_test(damaged_rows_name_their_place),
        cmocka_unit_test(unknown_lines_are_counted),
    };
    return cmocka_run_group_tests_name("parse/classloader_stats", tests, NULL, NULL);
}
