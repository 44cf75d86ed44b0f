/* However the lines are looked at, the counts are the same; and they are those of the slow parser.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/classlog/classlog.h"
#include "analyzers/parse/class_log.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX (1 << 20)
#define ROWS     40

static char text[TEXT_MAX + CLASSLOG_PADDING];

/* Loads, unloads, noise, cut and long lines, of a generator with fixed seeds. */
static size_t make_text(unsigned seed, size_t size)
{
    size_t length = 0;
    for (int i = 0; length + 4096 < size; i++) {
        char *into = text + length;
        size_t room = size - length;
        seed = seed * 1103515245 + 12345;
        unsigned what = seed >> 16 & 15, number = seed >> 8 & 0xffff;
        int n;
        if (what < 6)
            n = snprintf(into, room, "[%d.%03ds][info][class,load] Script%d source: file:/groovy\n",
                         i / 100, i % 100 * 10, i);
        else if (what < 9)
            n = snprintf(into, room,
                         "[%d.%03ds][info][class,load  ] a.Host$$Lambda/0x%016x source: a.Host\n",
                         i / 100, i % 100 * 10, number);
        else if (what < 11)
            n = snprintf(
                into, room,
                "[%d.%03ds][info][class,unload] unloading class a.Host$$Lambda/0x%016x 0x%x\n",
                i / 100, i % 100 * 10, number, number);
        else if (what == 11)
            n = snprintf(into, room, "the program says [class,load] %u\r\n", number);
        else if (what == 12)
            n = snprintf(into, room, "\n");
        else if (what == 13)
            n = snprintf(into, room, "%*c\n", (int)(number % 3000) + 1, 'x');
        else if (what == 14)
            n = snprintf(into, room, "[%d.%03ds][info][gc] GC(%d) Pause\n", i / 100, i % 100 * 10,
                         i);
        else
            n = snprintf(into, room, "[Loaded b.C%u from /rt.jar]\n[Unloading class b.C%u 0x1]\n",
                         number, number);
        length += (size_t)n;
    }
    return length;
}

struct result {
    struct classlog_totals totals;
    int count;
    struct class_family rows[ROWS];
    struct class_family other;
};

/* In pieces of so many bytes, as a reader would. */
static void scan(enum classlog_scan how, size_t length, size_t piece, struct result *result)
{
    const struct classlog_options options = {.scan = how};
    struct classlog *log = classlog_create(&options);
    assert_non_null(log);
    size_t from = 0, have = 0;
    while (from + have < length) {
        size_t more = length - from - have < piece ? length - from - have : piece;
        have += more;
        size_t used = classlog_feed(log, text + from, have);
        assert_true(used <= have);
        from += used;
        have -= used;
    }
    classlog_feed_last(log, text + from, have);
    memset(result, 0, sizeof *result);
    result->totals = *classlog_totals(log);
    result->count = classlog_families(log, result->rows, ROWS, &result->other);
    classlog_destroy(log);
}

static void assert_same(const struct result *a, const struct result *b)
{
    assert_memory_equal(&a->totals, &b->totals, sizeof a->totals);
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->rows[i].name, b->rows[i].name);
        assert_string_equal(a->rows[i].source, b->rows[i].source);
        assert_int_equal(a->rows[i].loads, b->rows[i].loads);
        assert_int_equal(a->rows[i].unloads, b->rows[i].unloads);
        assert_int_equal(a->rows[i].names, b->rows[i].names);
        assert_int_equal(a->rows[i].last.line, b->rows[i].last.line);
    }
    assert_int_equal(a->other.loads, b->other.loads);
}

static void all_scans_count_the_same(void **state)
{
    static const size_t pieces[] = {TEXT_MAX, 65536, 4099, 61};
    static struct result plain, other;
    (void)state;
    for (unsigned seed = 1; seed <= 3; seed++) {
        size_t length = make_text(seed, TEXT_MAX / 4);
        scan(CLASSLOG_SCAN_PLAIN, length, TEXT_MAX, &plain);
        assert_true(plain.totals.loads > 100);
        for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
            for (int how = CLASSLOG_SCAN_BEST; how <= CLASSLOG_SCAN_AVX2; how++) {
                if (!classlog_scan_exists((enum classlog_scan)how))
                    continue;
                scan((enum classlog_scan)how, length, pieces[i], &other);
                assert_same(&plain, &other);
            }
        }
    }
}

static void the_slow_parser_agrees(void **state)
{
    static struct result fast;
    (void)state;
    size_t length = make_text(7, TEXT_MAX / 2);
    scan(CLASSLOG_SCAN_BEST, length, TEXT_MAX, &fast);
    int64_t loads = 0, unloads = 0, lines = 0;
    struct span rest = span_of(text, length), raw;
    bool terminated;
    while (span_next_line(&rest, &raw, &terminated)) {
        struct class_log_line line = class_log_parse(raw);
        loads += line.kind == CLASS_LOG_LOAD;
        unloads += line.kind == CLASS_LOG_UNLOAD;
        lines++;
    }
    assert_int_equal(fast.totals.loads, loads);
    assert_int_equal(fast.totals.unloads, unloads);
    assert_int_equal(fast.totals.lines, lines);
}

static void rows_add_up_to_the_totals(void **state)
{
    static struct result result;
    (void)state;
    size_t length = make_text(11, TEXT_MAX / 4);
    scan(CLASSLOG_SCAN_BEST, length, TEXT_MAX, &result);
    int64_t loads = result.other.loads, unloads = result.other.unloads;
    for (int i = 0; i < result.count; i++) {
        loads += result.rows[i].loads;
        unloads += result.rows[i].unloads;
    }
    assert_int_equal(loads, result.totals.loads);
    assert_int_equal(unloads, result.totals.unloads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_scans_count_the_same),
        cmocka_unit_test(the_slow_parser_agrees),
        cmocka_unit_test(rows_add_up_to_the_totals),
    };
    return cmocka_run_group_tests_name("classlog", tests, NULL, NULL);
}
