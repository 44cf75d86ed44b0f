/* Single lines of other programs, and thread dumps. */
#include "analyzers/parse/thread_dump.h"
#include "analyzers/parse/tool_lines.h"
#include "analyzers/parse/tool_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GB (INT64_C(1) << 30)

static struct tool_lines read_lines(const char *text)
{
    struct tool_lines lines;
    tool_lines_read(&lines, span_from_cstr(text));
    return lines;
}

static void yarn(void **state)
{
    (void)state;
    struct tool_lines lines = read_lines("Container killed by YARN for exceeding memory limits. "
                                         "5.5 GB of 5 GB physical memory used. So.\n"
                                         "Current usage: 2.5GB of 2GB physical memory used; 4.5 GB "
                                         "of 4.2 GB virtual memory used.\n");
    assert_int_equal(lines.lines[TOOL_LINE_YARN_PHYSICAL], 2);
    assert_int_equal(lines.used_bytes[TOOL_LINE_YARN_PHYSICAL], 5 * GB / 2);
    assert_int_equal(lines.limit_bytes[TOOL_LINE_YARN_PHYSICAL], 2 * GB);
    assert_int_equal(lines.lines[TOOL_LINE_YARN_VIRTUAL], 1);
    /* below its limit: that was not the reason */
    lines = read_lines("1 GB of 2 GB physical memory used; 4.5 GB of 4.2 GB virtual memory used.");
    assert_int_equal(lines.lines[TOOL_LINE_YARN_PHYSICAL], 0);
    assert_int_equal(lines.lines[TOOL_LINE_YARN_VIRTUAL], 1);
    assert_int_equal(read_lines(" physical memory used").lines[TOOL_LINE_YARN_PHYSICAL], 0);
    assert_int_equal(read_lines(" of  physical memory used").lines[TOOL_LINE_YARN_PHYSICAL], 0);
}

static void files_of_a_cgroup(void **state)
{
    (void)state;
    struct tool_lines lines =
        read_lines("$ cat memory.usage_in_bytes\n400000\n$ cat memory.max_usage_in_bytes\n"
                   "500000\n$ cat memory.limit_in_bytes\n512000\n");
    assert_int_equal(lines.cgroup_bytes, 400000);
    assert_int_equal(lines.cgroup_limit_bytes, 512000);
    lines = read_lines("memory.peak: 77\nmemory.max max\n");
    assert_int_equal(lines.cgroup_bytes, 77);
    assert_int_equal(lines.cgroup_limit_bytes, -1);
    lines = read_lines("memory.current\n");
    assert_int_equal(lines.cgroup_bytes, -1);
}

static void a_bean(void **state)
{
    (void)state;
    struct tool_lines lines = read_lines(
        "java.nio:type=BufferPool,name=mapped\nMemoryUsed = 5\n"
        "java.nio:type=BufferPool,name=direct\nCount = 3\nMemoryUsed = 77; (MemoryUsed)\n");
    assert_int_equal(lines.direct_bytes, 77);
}

static void threads(void **state)
{
    (void)state;
    static const char text[] =
        "Full thread dump OpenJDK 64-Bit Server VM (17):\n"
        "\"main\" #1 prio=5 os_prio=0 tid=0x1 nid=0x2 runnable\n"
        "   java.lang.Thread.State: RUNNABLE\n\tat java.lang.Object.wait(Native Method)\n\tat "
        "com.acme.Main.run(Main.java:1)\n"
        "\"pool-42-thread-1\" #2 prio=5 tid=0x3 nid=0x4 waiting\n\n"
        "\"pool-7-thread-19\" #3 daemon prio=5 tid=0x3 nid=0x4 waiting\n\n"
        "\"odd \"quoted\" name\" Id=5 WAITING\n"
        "\"not a thread\" says somebody\n"
        "Found one Java-level deadlock:\n";
    struct thread_dump dump;
    thread_dump_read(&dump, span_from_cstr(text));
    assert_int_equal(dump.threads, 4);
    assert_int_equal(dump.pools, 42);
    assert_int_equal(dump.deadlocks, 1);
    assert_int_equal(dump.stem_count, 3);
    assert_string_equal(dump.stem[0].name, "pool-#-thread-#");
    assert_int_equal(dump.stem[0].threads, 2);
    for (int i = 0; i < dump.stem_count; i++)
        if (strcmp(dump.stem[i].name, "main") == 0)
            assert_string_equal(dump.stem[i].place, "com.acme.Main.run");
}

static void many_patterns(void **state)
{
    (void)state;
    char *text = malloc(200 * 64), *at = text;
    for (char i = 0; i < 100; i++)
        at += snprintf(at, 64, "\"%c%c\" prio=5 tid=0x1 nid=0x1\n", 'a' + i / 26, 'a' + i % 26);
    struct thread_dump dump;
    thread_dump_read(&dump, span_of(text, (size_t)(at - text)));
    assert_int_equal(dump.threads, 100);
    assert_int_equal(dump.stem_count, THREAD_STEMS_MAX);
    assert_int_equal(dump.other_threads, 100 - THREAD_STEMS_MAX);
    free(text);
}

static void what_mappings_are(void **state)
{
    (void)state;
    static const char text[] = "158: java -jar app.jar\n"
                               "0000000001b5d000  204800  200000  200000 rw---   [ anon ]\n"
                               "0000000703700000 2813952 2637384 2637384 rw---   [ anon ]\n"
                               "00007f1240000000      16       0       0 -----   [ anon ]\n"
                               "00007f1240004000    1008     100     100 rw---   [ anon ]\n";
    struct pmap map;
    pmap_read(&map, span_from_cstr(text));
    assert_int_equal(map.brk_bytes, 200000 * 1024);
    assert_int_equal(map.java_heap_bytes, INT64_C(2637384) * 1024);
    assert_int_equal(map.stacks, 1);
    assert_int_equal(map.stack_bytes, 100 * 1024);
}

static void profiles_of_malloc(void **state)
{
    (void)state;
    struct span name;
    int64_t bytes;
    assert_true(malloc_profile_row(
        SPAN_LITERAL("  2393.1  41.3%  41.3%   2393.1  41.3% deflateInit2_"), &name, &bytes));
    assert_true(span_equals(name, SPAN_LITERAL("deflateInit2_")));
    assert_int_equal(bytes, INT64_C(2393) << 20);
    assert_false(malloc_profile_row(SPAN_LITERAL("1 2 3 4 5 name"), &name, &bytes));
    assert_false(malloc_profile_row(SPAN_LITERAL("1 2% 3% 4 5%"), &name, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yarn),
        cmocka_unit_test(files_of_a_cgroup),
        cmocka_unit_test(a_bean),
        cmocka_unit_test(threads),
        cmocka_unit_test(many_patterns),
        cmocka_unit_test(what_mappings_are),
        cmocka_unit_test(profiles_of_malloc),
    };
    return cmocka_run_group_tests_name("parse tool_lines", tests, NULL, NULL);
}
