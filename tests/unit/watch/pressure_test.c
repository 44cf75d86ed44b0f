/* A /proc and a /sys of our own: what is read of the CPUs, and what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/watch/pause_budget.h"
#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void test_nothing_to_read_is_no_pressure(void **state)
{
    (void)state;
    struct pause_pressure pressure;
    pressure_read(folder, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, -1);
    assert_false(pause_pressed(&pressure));
    folder_put("/proc/loadavg", "garbage");
    folder_put("/proc/pressure/cpu", "full avg10=99.00");
    folder_put("/sys/devices/system/cpu/online", "x");
    pressure_read(folder, 7, &pressure);
    assert_false(pause_pressed(&pressure));
}

static void test_the_host(void **state)
{
    (void)state;
    struct pause_pressure pressure;
    char words[160];
    folder_put("/proc/loadavg", "10.00 5.00 2.00 61/900 4242\n");
    folder_put("/proc/pressure/cpu", "some avg10=97.20 avg60=1.00 avg300=0.00 total=1\n"
                                     "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    folder_put("/sys/devices/system/cpu/online", "0-1,4\n");
    pressure_read(folder, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, 97);
    assert_int_equal(pressure.runnable_percent, 2033); /* 61 now, the average lags */
    assert_true(pause_pressed(&pressure));
    pressure_words(&pressure, words, sizeof words);
    assert_string_equal(words, "20.3 runnable threads for each core, CPU pressure 97 %");
}

static void test_a_container_that_used_its_quota_up(void **state)
{
    (void)state;
    struct pause_pressure pressure;
    folder_put("/proc/loadavg", "0.50 0.50 0.50 1/900 4242\n");
    folder_put("/proc/pressure/cpu", "some avg10=3.00 avg60=1.00 avg300=0.00 total=1\n");
    folder_put("/proc/7/cgroup", "4:memory:/a\n0::/pod/jvm\n");
    folder_put("/sys/fs/cgroup/pod/jvm/cpu.pressure",
               "some avg10=61.50 avg60=1.00 avg300=0.00 total=1\n");
    folder_put("/sys/fs/cgroup/pod/jvm/cpu.max", "max 100000\n");
    pressure_read(folder, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, 61);
    assert_int_equal(pressure.throttle_us, 0);
    folder_put("/sys/fs/cgroup/pod/jvm/cpu.max", "50000 100000\n");
    pressure_read(folder, 7, &pressure);
    assert_int_equal(pressure.throttle_us, 100000);
    folder_put("/proc/7/cgroup", "0::/../../etc\n");
    pressure_read(folder, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_to_read_is_no_pressure, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_the_host, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_a_container_that_used_its_quota_up, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
