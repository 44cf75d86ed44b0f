/* Logs of collections: each form with its figures, series of bounded size, parts joined in either order. */
#include "analyzers/parse/oom_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB (INT64_C(1) << 20)

static struct gc_log read_log(const char *text)
{
    struct oom_lines *lines = malloc(sizeof *lines);
    oom_lines_read(lines, span_from_cstr(text));
    struct gc_log log = lines->gc;
    free(lines);
    return log;
}

static void forms(void **state)
{
    static const struct {
        const char *line;
        int64_t before_ms, after, heap, pause_us;
        int full, whole;
    } rows[] = {
        {"[3.898s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->3M(24M) "
         "141.750ms",
         3898, 3 * MB, 24 * MB, 141750, 0, 0},
        {"[2026-11-20T21:58:28.943+0000][4.620s] GC(1) Pause Full (System.gc()) 10M->3M(17M) "
         "513.2ms",
         4620, 3 * MB, 17 * MB, 513200, 1, 1},
        {"[info][gc] GC(0) Garbage Collection (Warmup) 6M(25%)->14M(50%)", -1, 14 * MB, 28 * MB, -1,
         0, 1},
        {"[1.500s][info][gc] GC(7) Major Collection (Proactive) 8M(25%)->4M(10%) 0.1s", 1500, 4 * MB,
         40 * MB, -1, 0, 1},
        {"[14.978s][info][gc] GC(40) Concurrent cleanup 6M->4M(24M) 0.005ms", 14978, 4 * MB,
         24 * MB, -1, 0, 1},
        {"12.345: [Full GC (Ergonomics) [PSYoungGen: 3M->2M(9M)] [ParOldGen: 9M->9M(11M)] "
         "12M->11M(20M), [Metaspace: 20679K->20679K(1067008K)], 0.0125 secs]",
         12345, 11 * MB, 20 * MB, 12500, 1, 1},
        {"2019-02-03T10:00:00.000+0100: 1.500: [GC (Allocation Failure) 4096K->1024K(8192K), 0.5 "
         "secs]",
         1500, MB, 8 * MB, 500000, 0, 0},
        {"77.585: [Full GC 77.586: [CMS: 61439K->61439K(61440K), 0.2273 secs] 64M->62M(64M), [CMS "
         "Perm : 1500K->1500K(81920000K)], 0.2275 secs]",
         77585, 62 * MB, 64 * MB, 227500, 1, 1},
        {"   [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3.0M Heap: "
         "24.0M(256.0M)->21.5M(256.0M)]",
         -1, 21 * MB + MB / 2, 256 * MB, -1, 0, 0},
        {"[GC 325407K->83000K(776768K), 0.23 secs]", -1, 83000 * 1024, INT64_C(776768) * 1024,
         230000, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct gc_log log = read_log(rows[i].line);
        assert_true(gc_log_is_line(span_from_cstr(rows[i].line)));
        assert_int_equal(log.collections, 1);
        assert_int_equal(log.last_ms, rows[i].before_ms);
        assert_int_equal(log.after_bytes, rows[i].after);
        assert_int_equal(log.heap_bytes, rows[i].heap);
        assert_int_equal(log.pause_us, rows[i].pause_us);
        assert_int_equal(log.full, rows[i].full);
        assert_int_equal(log.live.count, rows[i].whole);
    }
}

static void no_collections(void **state)
{
    static const char *const texts[] = {
        "balance 12->15(20)",
        "[12.3s][info][gc,metaspace] GC(7) Metaspace: 34K(49K)->34K(49K)",
        "[gc,heap] GC(0) Eden regions: 5->0(10)",
        "range 5M->6M(7M) of a plan",
        "Pause 5->",
        "[Full GC",
        "->1",
        "(5M(->3M(4M)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(read_log(texts[i]).collections, 0);
    assert_false(gc_log_is_line(SPAN_LITERAL("10:00:00 INFO the application says something")));
    assert_false(gc_log_is_line(SPAN_LITERAL("[class,load] a.B source: jrt:/java.base")));
}

static void counts(void **state)
{
    (void)state;
    struct gc_log log =
        read_log("[5.8s][info][gc] Allocation Stall (main) 37.240ms\n"
                 "1.0: [GC pause (G1 Evacuation Pause) (young) (to-space exhausted), 0.1 secs]\n"
                 "[6s][info][gc] GC(3) Pause Full (Metadata GC Threshold) 95M->95M(100M) 1ms\n"
                 "[7s][info][gc] GC(4) Pause Full (System.gc()) 95M->95M(100M) 1ms\n"
                 "[8s][info][gc] GC(5) Pause Full (Allocation Failure) 95M->95M(100M) 1ms\n"
                 "[8s][info][gc] GC(5) Pause Degenerated GC (Mark) 98M->95M(100M) 1ms\n");
    assert_int_equal(log.stalls, 1);
    assert_int_equal(log.exhausted, 1);
    assert_int_equal(log.metadata, 1);
    assert_int_equal(log.degenerated, 1);
    assert_int_equal(log.full, 3);
    assert_int_equal(log.useless, 2); /* a full and a degenerated one; the others were asked for */
    assert_int_equal(log.allocated_bytes, 3 * MB);
}

static void a_series_is_bounded(void **state)
{
    (void)state;
    struct gc_series series = {.each = 1};
    for (int i = 0; i < 100000; i++)
        gc_series_add(&series, i, 1000000 + i - (i % 1000 == 500 ? 900000 : 0));
    assert_true(series.count <= GC_POINTS && series.count >= GC_POINTS / 2);
    assert_true(series.each * series.count >= 100000);
    for (int i = 1; i < series.count; i++)
        assert_true(series.point[i].ms > series.point[i - 1].ms);
    assert_int_equal(series.point[0].bytes, 100500); /* the lowest of each stretch */
}

static void parts_in_either_order(void **state)
{
    (void)state;
    struct gc_log a = read_log("[1s][gc] GC(1) Pause Full (Ergonomics) 9M->2M(20M) 3ms\n"),
                  b = read_log("[9s][gc] GC(2) Pause Full (Ergonomics) 12M->4M(20M) 5ms\n"),
                  one = a, other = b;
    gc_log_merge(&one, &b);
    gc_log_merge(&other, &a);
    assert_memory_equal(&one, &other, sizeof one);
    assert_int_equal(one.first_ms, 1000);
    assert_int_equal(one.last_ms, 9000);
    assert_int_equal(one.after_bytes, 4 * MB);
    assert_int_equal(one.pause_us, 8000);
    assert_int_equal(one.live.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(no_collections),
        cmocka_unit_test(counts),
        cmocka_unit_test(a_series_is_bounded),
        cmocka_unit_test(parts_in_either_order),
    };
    return cmocka_run_group_tests_name("parse gc_log", tests, NULL, NULL);
}
