/* In whatever pieces a log is fed, the counts are the same; and they are those of the parser that
 * knows every form of a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/classes/census.h"
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
static struct classlog_options scan_options;

static void scan(size_t length, size_t piece, struct result *result)
{
    struct classlog *log = classlog_create(&scan_options);
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

static void pieces_do_not_matter(void **state)
{
    static const size_t pieces[] = {65536, 4099, 61};
    static struct result whole, other;
    (void)state;
    for (unsigned seed = 1; seed <= 3; seed++) {
        size_t length = make_text(seed, TEXT_MAX / 4);
        scan(length, TEXT_MAX, &whole);
        assert_true(whole.totals.loads > 100);
        for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
            scan(length, pieces[i], &other);
            assert_same(&whole, &other);
        }
    }
}

static void the_parser_of_lines_agrees(void **state)
{
    static struct result fast;
    (void)state;
    size_t length = make_text(7, TEXT_MAX / 2);
    scan(length, TEXT_MAX, &fast);
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

/* Classes of generators among many names that come once, more than either table has room for. */
static size_t make_crowded_text(void)
{
    size_t length = 0;
    for (int i = 0; i < 6000; i++) {
        char *into = text + length;
        size_t room = TEXT_MAX - length;
        length += (size_t)snprintf(into, room,
                                   "[1.0s][info][class,load] q%c%c%c.Once source: file:/q.jar\n"
                                   "[1.0s][info][class,load] a.b.Rule$$EnhancerByCGLIB$$%08x "
                                   "source: a.b.Rule\n",
                                   'a' + i / 676, 'a' + i / 26 % 26, 'a' + i % 26,
                                   (unsigned)i * 2654435761u);
        if (i % 3 == 0)
            length +=
                (size_t)snprintf(text + length, TEXT_MAX - length,
                                 "[1.0s][info][class,load] x.Made%d source: __JVM_DefineClass__\n"
                                 "[1.0s][info][class,unload] unloading class x.Made%d 0x1\n",
                                 i / 3, i / 3);
    }
    return length;
}

/* The live log of a watch and a log of any size are counted by one table: where the counts differed
 * serve and classlog named different generators for the same classes. */
static void the_census_of_a_watch_agrees(void **state)
{
    static struct result result;
    struct family_row rows[EVENT_ROWS_MAX];
    (void)state;
    size_t length = make_crowded_text();
    scan_options = (struct classlog_options){.row_max = 1000};
    scan(length, TEXT_MAX, &result);
    scan_options = (struct classlog_options){0};
    struct census *census = census_create(1000);
    assert_non_null(census);
    struct span rest = span_of(text, length);
    census_add_log(census, &rest);
    int count = census_rows(census, rows, EVENT_ROWS_MAX);
    assert_int_equal(count, 2);
    for (int i = 0; i < count; i++) {
        int64_t loads = 0, unloads = 0;
        for (int j = 0; j < result.count; j++) {
            if (strcmp(result.rows[j].family, rows[i].family) != 0)
                continue;
            loads += result.rows[j].loads;
            unloads += result.rows[j].unloads;
        }
        assert_true(loads >= 2000);
        assert_int_equal(loads, rows[i].loads);
        assert_int_equal(unloads, rows[i].unloads);
    }
    census_destroy(census);
}

static void rows_add_up_to_the_totals(void **state)
{
    static struct result result;
    (void)state;
    size_t length = make_text(11, TEXT_MAX / 4);
    scan(length, TEXT_MAX, &result);
    int64_t loads = result.other.loads, unloads = result.other.unloads;
    for (int i = 0; i < result.count; i++) {
        loads += result.rows[i].loads;
        unloads += result.rows[i].unloads;
    }
    assert_int_equal(loads, result.totals.loads);
    assert_int_equal(unloads, result.totals.unloads);
}

/* Each form of a time, twice or with other digits: the second line has a known head. */
static void a_known_head_tells_the_same_time(void **state)
{
    static const struct {
        const char *lines;
        int64_t span_ms;
    } logs[] = {
        {"[0.100s][class,load] A source: x\n[0.350s][class,load] B source: x\n[7.001s][class,load] "
         "C "
         "source: x\n",
         6901},
        {"[100ms][class,load] A source: x\n[350ms][class,load] B source: x\n[701ms][class,load] C "
         "source: x\n",
         601},
        {"[100000000ns][class,load] A source: x\n[350000000ns][class,load] B source: "
         "x\n[351000000ns][class,load] C source: x\n",
         251},
        {"[2026-11-20T21:58:28.943+0000][class,load] A source: "
         "x\n[2026-11-20T21:58:29.943+0000][class,load] B source: "
         "x\n[2026-11-20T22:58:29.943+0000][class,load] C source: x\n",
         3601000},
        {"[9.999s][class,load] A source: x\n[10.100s][class,load] B source: "
         "x\n[10.200s][class,load] "
         "C source: x\n",
         201},
    };
    const struct classlog_options options = {0};
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        struct classlog *log = classlog_create(&options);
        assert_non_null(log);
        size_t length = strlen(logs[i].lines);
        memcpy(text, logs[i].lines, length);
        assert_int_equal(classlog_feed(log, text, length), length);
        assert_int_equal(classlog_totals(log)->loads, 3);
        assert_int_equal(classlog_span_ms(log), logs[i].span_ms);
        classlog_destroy(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(the_parser_of_lines_agrees),
        cmocka_unit_test(the_census_of_a_watch_agrees),
        cmocka_unit_test(rows_add_up_to_the_totals),
        cmocka_unit_test(a_known_head_tells_the_same_time),
    };
    return cmocka_run_group_tests_name("classlog", tests, NULL, NULL);
}
