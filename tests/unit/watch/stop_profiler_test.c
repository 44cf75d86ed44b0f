/* stop_profiler: who cannot be stopped is named once, and every outcome is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/watch/session.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char told[8][400];
static int told_count;

static void tell(void *context, const char *sentence)
{
    assert_ptr_equal(context, told);
    assert_true(told_count < 8);
    snprintf(told[told_count++], sizeof told[0], "%s", sentence);
}

static int reset(void **state)
{
    (void)state;
    told_count = 0;
    return 0;
}

static void others_in(const char *maps)
{
    struct proc_maps rows = {.file = fmemopen((void *)(uintptr_t)maps, strlen(maps), "r")};
    assert_non_null(rows.file);
    stop_profiler_others(&rows, tell, told);
    assert_true(proc_maps_close(&rows));
}

#define MAP(address, path) address "000-" address "fff r-xp 00000000 08:01 1234      " path "\n"

static void others_are_named_once(void **state)
{
    (void)state;
    others_in(MAP("7f0001", "/usr/lib/libc.so.6") MAP("7f0002", "/opt/ap/lib/libasyncProfiler.so")
                  MAP("7f0003", "/opt/ap/lib/libasyncProfiler.so") MAP("7f0004", "")
                      MAP("7f0005", "/tmp/dd root/libjavaProfiler-5a.so (deleted)")
                          MAP("7f0006", "/opt/libasyncProfiler.so.d/libother.so") "no map\n");
    assert_int_equal(told_count, 2);
    assert_non_null(strstr(told[0], "async-profiler is loaded (/opt/ap/lib/libasyncProfiler.so): "
                                    "nmtwatch cannot stop it; "));
    assert_non_null(strstr(told[1], "Datadog"));
    assert_non_null(strstr(told[1], "-Ddd.profiling.enabled=false"));
}

static void without_others_nothing_is_said(void **state)
{
    (void)state;
    others_in(MAP("7f0001", "/usr/lib/libc.so.6"));
    assert_int_equal(told_count, 0);
}

/* This very process is no JVM. */
static void where_there_is_no_agent_it_says_so(void **state)
{
    (void)state;
    struct target target = {.pid = getpid(), .nspid = getpid(), .uid = getuid()};
    struct stop_profiler *stop = stop_profiler_begin(&target, 0);
    assert_non_null(stop);
    int turns = 0;
    while (!stop_profiler_step(stop, 0, tell, told) && turns++ < 1000)
        poll(NULL, 0, 10);
    stop_profiler_destroy(stop);
    assert_int_equal(told_count, 1);
    assert_non_null(strstr(told[0], "libnmtagent.so is not loaded"));
}

static void what_takes_too_long_is_given_up(void **state)
{
    (void)state;
    struct target target = {.pid = getpid(), .nspid = getpid(), .uid = getuid()};
    struct stop_profiler *stop = stop_profiler_begin(&target, 0);
    assert_non_null(stop);
    assert_true(stop_profiler_step(stop, STOP_PROFILER_WAIT_MS, tell, told));
    assert_int_equal(told_count, 1);
    stop_profiler_destroy(stop);
    stop_profiler_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(others_are_named_once, reset),
        cmocka_unit_test_setup(without_others_nothing_is_said, reset),
        cmocka_unit_test_setup(where_there_is_no_agent_it_says_so, reset),
        cmocka_unit_test_setup(what_takes_too_long_is_given_up, reset),
    };
    return cmocka_run_group_tests_name("watch/stop_profiler", tests, NULL, NULL);
}
