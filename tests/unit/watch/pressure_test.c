/* A /proc and a /sys of our own: what is read of the CPUs, and what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/watch/pause_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int fresh(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/nmtwatch-pressure-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int clean(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void test_nothing_to_read_is_no_pressure(void **state)
{
    (void)state;
    struct pause_pressure pressure;
    pressure_read(root, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, -1);
    assert_false(pause_pressed(&pressure));
    put("/proc/loadavg", "garbage");
    put("/proc/pressure/cpu", "full avg10=99.00");
    put("/sys/devices/system/cpu/online", "x");
    pressure_read(root, 7, &pressure);
    assert_false(pause_pressed(&pressure));
}

static void test_the_host(void **state)
{
    (void)state;
    struct pause_pressure pressure;
    char words[160];
    put("/proc/loadavg", "10.00 5.00 2.00 61/900 4242\n");
    put("/proc/pressure/cpu", "some avg10=97.20 avg60=1.00 avg300=0.00 total=1\n"
                              "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    put("/sys/devices/system/cpu/online", "0-1,4\n");
    pressure_read(root, 7, &pressure);
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
    put("/proc/loadavg", "0.50 0.50 0.50 1/900 4242\n");
    put("/proc/pressure/cpu", "some avg10=3.00 avg60=1.00 avg300=0.00 total=1\n");
    put("/proc/7/cgroup", "4:memory:/a\n0::/pod/jvm\n");
    put("/sys/fs/cgroup/pod/jvm/cpu.pressure", "some avg10=61.50 avg60=1.00 avg300=0.00 total=1\n");
    put("/sys/fs/cgroup/pod/jvm/cpu.max", "max 100000\n");
    pressure_read(root, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, 61);
    assert_int_equal(pressure.throttle_us, 0);
    put("/sys/fs/cgroup/pod/jvm/cpu.max", "50000 100000\n");
    pressure_read(root, 7, &pressure);
    assert_int_equal(pressure.throttle_us, 100000);
    put("/proc/7/cgroup", "0::/../../etc\n");
    pressure_read(root, 7, &pressure);
    assert_int_equal(pressure.stalled_percent, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_to_read_is_no_pressure, fresh, clean),
        cmocka_unit_test_setup_teardown(test_the_host, fresh, clean),
        cmocka_unit_test_setup_teardown(test_a_container_that_used_its_quota_up, fresh, clean),
    };
    return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
