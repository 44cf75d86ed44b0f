/* The INI file: what is good arrives, what is wrong is named with its line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/commands/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/nmtwatch-config-test-XXXXXX";

static bool load(const char *text, struct watch_options *options, char *error, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    watch_options_default(options);
    error[0] = '\0';
    return config_load(path, options, error, size);
}

static void test_good_file(void **state)
{
    (void)state;
    struct watch_options options;
    char error[512];
    assert_true(load("; a comment\n"
                     "[thresholds]\n"
                     "internal_investigate_bytes = 64MB\n"
                     "family_rate_per_s = 7\n"
                     "[watch]\n"
                     "interval = 500ms\n"
                     "pause_budget = 50ms/1min\n"
                     "warmup = 30s\n"
                     "cpu_pressure = ignore\n",
                     &options, error, sizeof error));
    assert_int_equal(options.thresholds.value[TH_INTERNAL_INVESTIGATE_BYTES], 64 << 20);
    assert_int_equal(options.thresholds.value[TH_FAMILY_RATE_PER_S], 7);
    assert_int_equal(options.thresholds.value[TH_FAMILY_LOADS], 40);
    assert_int_equal(options.interval_ms, 500);
    assert_int_equal(options.pause_budget_us, 50000);
    assert_int_equal(options.pause_window_ms, 60000);
    assert_int_equal(options.warmup_s, 30);
    assert_true(options.ignore_pressure);
    assert_true(load("[watch]\ncpu_pressure = wait\n", &options, error, sizeof error));
    assert_false(options.ignore_pressure);
    assert_false(load("[watch]\ncpu_pressure = no\n", &options, error, sizeof error));
    assert_non_null(strstr(error, "expected 'wait' or 'ignore'"));
}

/* One function takes it from the command line and from the file. */
static void test_a_warmup_below_a_second_is_a_second(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } rows[] = {
        {"0s", 0}, {"1ms", 1}, {"500ms", 1}, {"1s", 1}, {"1500ms", 2}, {"30s", 30}, {"auto", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct watch_options from_file, from_line;
        char error[512], file[64];
        snprintf(file, sizeof file, "[watch]\nwarmup = %s\n", rows[i].text);
        assert_true(load(file, &from_file, error, sizeof error));
        watch_options_default(&from_line);
        assert_true(watch_option_take(&from_line, WATCH_OPTION_warmup_s, rows[i].text, error,
                                      sizeof error));
        assert_int_equal(from_file.warmup_s, rows[i].seconds);
        assert_int_equal(from_line.warmup_s, rows[i].seconds);
    }
}

static void test_bad_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
        const char *word;
    } rows[] = {
        {"[thresholds]\n\nfamily_rate = 7\n", 3, "family_rate"},
        {"[thresholds]\nfamily_rate_per_s = fast\n", 2, "whole number"},
        {"[thresholds]\nfamily_rate_per_s = 7x\n", 2, "whole number"},
        {"[thresholds]\nfamily_rate_per_s = 0\n", 2, "outside"},
        {"[thresholds]\nfamily_rate_per_s = 99999999999999999999\n", 2, "whole number"},
        {"[thresholds]\ninternal_explosion_bytes = 2 parsecs\n", 2, "internal_explosion_bytes"},
        {"[watch]\ninterval = 0\n", 2, "interval"},
        {"[watch]\nintervall = 1s\n", 2, "intervall"},
        {"[watch]\npause_budget = 200ms\n", 2, "pause_budget"},
        {"[alerts]\nx = 1\n", 2, "unknown section"},
        {"[thresholds]\nno equals sign here\n", 2, "key = value"},
        {"[thresholds\n", 1, "key = value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct watch_options options;
        char error[512], where[64];
        assert_false(load(rows[i].text, &options, error, sizeof error));
        snprintf(where, sizeof where, "%s:%d: ", path, rows[i].line);
        assert_ptr_equal(strstr(error, where), error);
        assert_non_null(strstr(error, rows[i].word));
        assert_null(strchr(error, '\n'));
    }
}

static void test_steps_out_of_order(void **state)
{
    (void)state;
    struct watch_options options;
    char error[512];
    assert_false(
        load("[thresholds]\ninternal_investigate_bytes = 4GB\n", &options, error, sizeof error));
    assert_non_null(strstr(error, "does not hold"));
}

static void test_missing_file(void **state)
{
    (void)state;
    struct watch_options options;
    char error[512];
    watch_options_default(&options);
    assert_false(config_load("/nonexistent/x.ini", &options, error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/x.ini: No such file"));
    assert_false(config_load("/tmp", &options, error, sizeof error));
    assert_non_null(strstr(error, "/tmp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_file),
        cmocka_unit_test(test_a_warmup_below_a_second_is_a_second),
        cmocka_unit_test(test_bad_lines_are_named),
        cmocka_unit_test(test_steps_out_of_order),
        cmocka_unit_test(test_missing_file),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests_name("config", tests, NULL, NULL);
    unlink(path);
    return failed;
}
