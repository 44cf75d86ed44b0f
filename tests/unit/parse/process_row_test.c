/* Resident memory as top, ps, docker stats, kubectl top and /proc print it. */
#include "analyzers/parse/tool_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] =
    "MiB Mem :  15881.3 total,    412.5 free,   9120.1 used\n"
    "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    "   4711 app       20   0 9878012   3.2g  24492 S  43.0  20.6 162:29.95 java\n"
    "    812 java      20   0  812212   9.0g  20000 S   0.3   0.3   1:02.03 dockerd\n";

static struct process_row read_text(const char *text)
{
    struct process_row row;
    process_row_read(&row, span_from_cstr(text));
    return row;
}

static void of_top(void **state)
{
    (void)state;
    struct process_row row = read_text(TEXT);
    assert_int_equal(row.source, PROCESS_TOP);
    assert_int_equal(row.pid, 4711);
    assert_int_equal(row.rss_bytes >> 20, 3276);
    assert_int_equal(row.virtual_bytes, INT64_C(9878012) * 1024);
    assert_int_equal(row.rows, 1); /* a user named java makes no JVM */
    assert_int_equal(row.host_bytes >> 20, 15881);
}

static void of_ps(void **state)
{
    (void)state;
    struct process_row row = read_text(
        "USER  PID %CPU %MEM    VSZ   RSS TTY  STAT START   TIME COMMAND\n"
        "app  4711 12.1 20.6 9878012 3355443 ? Sl Jan02 162:29 /opt/java -Xmx2g -jar a.jar\n");
    assert_int_equal(row.source, PROCESS_PS);
    assert_int_equal(row.rss_bytes, INT64_C(3355443) * 1024);
    row = read_text("  RSS CMD\n7235488 /opt/jdk/bin/java -Xmx2g\n");
    assert_int_equal(row.rss_bytes, INT64_C(7235488) * 1024);
    assert_int_equal(row.pid, -1);
    row = read_text("  PID   RSS\n 4711 7235488\n");
    assert_int_equal(row.rss_bytes, INT64_C(7235488) * 1024);
    assert_int_equal(row.pid, 4711);
}

static void of_containers(void **state)
{
    (void)state;
    struct process_row row =
        read_text("CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %   PIDS\n"
                  "5f1c0d2a9e11   shop   43.07%  1.5GiB / 2GiB   75%   61\n");
    assert_int_equal(row.source, PROCESS_DOCKER);
    assert_int_equal(row.rss_bytes, INT64_C(1536) << 20);
    assert_int_equal(row.limit_bytes, INT64_C(2) << 30);
    assert_string_equal(row.name, "shop");
    row = read_text("NAME        CPU(cores)   MEMORY(bytes)\nshop-7d9f   431m   1953Mi\n");
    assert_int_equal(row.source, PROCESS_KUBECTL);
    assert_int_equal(row.rss_bytes, INT64_C(1953) << 20);
}

static void of_proc(void **state)
{
    (void)state;
    struct process_row row =
        read_text("Name:\tjava\nPid:\t4711\nVmSize:\t  900 kB\nVmRSS:\t  700 kB\n"
                  "VmSwap:\t  3 kB\nThreads:\t61\n");
    assert_int_equal(row.source, PROCESS_STATUS);
    assert_int_equal(row.rss_bytes, 700 * 1024);
    assert_int_equal(row.swap_bytes, 3 * 1024);
    assert_int_equal(row.threads, 61);
    assert_int_equal(row.pid, 4711);
}

static void headings(void **state)
{
    (void)state;
    assert_true(process_row_is_heading(SPAN_LITERAL("Name:\tjava")));
    assert_false(process_row_is_heading(SPAN_LITERAL("Name:\tbash")));
    assert_false(process_row_is_heading(SPAN_LITERAL("RSS FEED OF the day")));
    assert_false(process_row_is_heading(SPAN_LITERAL("")));
}

static void read_cut(struct span text)
{
    struct process_row cut;
    process_row_read(&cut, text);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_top),  cmocka_unit_test(of_ps),    cmocka_unit_test(of_containers),
        cmocka_unit_test(of_proc), cmocka_unit_test(headings), cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("process_row", tests, NULL, NULL);
}
