#include "reports/text/units.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#define MB INT64_C(1048576)

static void test_bytes(void **state)
{
    (void)state;

    assert_string_equal(units_bytes(0).text, "0 B");
    assert_string_equal(units_bytes(1023).text, "1023 B");
    assert_string_equal(units_bytes(1024).text, "1 KB");
    assert_string_equal(units_bytes(5325).text, "5.2 KB");
    assert_string_equal(units_bytes(500 * MB).text, "500 MB");
    assert_string_equal(units_bytes(500 * MB + 1).text, "500.0 MB");
    assert_string_equal(units_bytes(MB - 1).text, "1.0 MB"); /* not 1024.0 KB */
    assert_string_equal(units_bytes(1024 * MB * 3 / 2).text, "1.5 GB");
    assert_string_equal(units_bytes(INT64_MAX).text, "8388608.0 TB");
    assert_string_equal(units_bytes(INT64_MIN).text, "-8388608 TB");
    assert_string_equal(units_short_bytes(0).text, "0B");
    assert_string_equal(units_short_bytes(1023).text, "1023B");
    assert_string_equal(units_short_bytes(1024).text, "1.0K");
    assert_string_equal(units_short_bytes(10 * MB - 1).text, "10M"); /* not 10.0M */
    assert_string_equal(units_short_bytes(1024 * MB - 1).text, "1.0G");
    assert_string_equal(units_short_bytes(-500 * MB).text, "-500M");
    assert_string_equal(units_short_bytes(INT64_MIN).text, "-8388608T");
    assert_string_equal(units_growth(1258291).text, "+1.2 MB");
    assert_string_equal(units_growth(-3072).text, "-3 KB");
    assert_string_equal(units_growth(0).text, "0 B");
}

static void test_rates_and_counts(void **state)
{
    (void)state;

    assert_string_equal(units_rate(20.14).text, "20.1/s");
    assert_string_equal(units_rate(0.024).text, "0.02/s");
    assert_string_equal(units_rate(0).text, "0/s");
    assert_string_equal(units_rate(12345.6).text, "12346/s");
    assert_string_equal(units_rate(NAN).text, "-");
    assert_true(strlen(units_rate(-1e300).text) < sizeof(struct units_text));
    assert_string_equal(units_count(1234567).text, "1 234 567");
    assert_string_equal(units_count(-100).text, "-100");
    assert_string_equal(units_count(INT64_MIN).text, "-9 223 372 036 854 775 808");
}

static void test_durations(void **state)
{
    (void)state;

    assert_string_equal(units_duration(250).text, "250 ms");
    assert_string_equal(units_duration(12345).text, "12.3 s");
    assert_string_equal(units_duration(41000).text, "41 s");
    assert_string_equal(units_duration(59999).text, "59.9 s");
    assert_string_equal(units_duration(125000).text, "2 min 05 s");
    assert_string_equal(units_duration(600000).text, "10 min");
    assert_string_equal(units_duration(7500000).text, "2 h 05 min");
    assert_string_equal(units_duration(INT64_C(273600000)).text, "3 d 4 h");
    assert_string_equal(units_duration(-1000).text, "-1 s");
    assert_string_equal(units_clock(83000).text, "0:01:23");
    assert_string_equal(units_clock(INT64_C(360000000)).text, "100:00:00");
    assert_string_equal(units_microseconds(85).text, "85 us");
    assert_string_equal(units_microseconds(4200).text, "4.2 ms");
    assert_string_equal(units_microseconds(999960).text, "1.0 s");
    assert_string_equal(units_microseconds(1300000).text, "1.3 s");
}

static void test_figures_by_key(void **state)
{
    (void)state;

    assert_string_equal(units_figure("growth_bytes", 600 * MB).text, "+600 MB");
    assert_string_equal(units_figure("threshold_bytes", 500 * MB).text, "500 MB");
    assert_string_equal(units_figure("bytes_per_class", 5325).text, "5.2 KB");
    assert_string_equal(units_figure("slope_bytes_per_h", 5 * MB).text, "+5 MB/h");
    assert_string_equal(units_figure("unloaded_percent", 97).text, "97 %");
    assert_string_equal(units_figure("observed_s", 41).text, "41 s");
    assert_string_equal(units_figure("loads", 12345).text, "12 345");
    assert_string_equal(units_figure("killed_pid", 12345).text, "12345");
    assert_string_equal(units_real_figure("rate_per_s", 20.14).text, "20.1/s");
    assert_string_equal(units_real_figure("share_percent", 12.5).text, "12.5 %");
    assert_string_equal(units_real_figure("ratio", 0.25).text, "0.25");
}

static void test_parse_bytes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } GOOD[] = {
        {"0", 0},          {"1048576", MB}, {"64M", 64 * MB}, {"64mb", 64 * MB},
        {"2g", 2048 * MB}, {"12B", 12},     {"3k", 3072},     {"1T", 1048576 * MB},
    };
    static const char *const BAD[] = {
        "",
        "M",
        "64X",
        "64 M",
        "-1",
        "+1",
        "1.5G",
        "64MM",
        "64MiB",
        "9223372036854775808",
        "9007199254740992K",
        "0x10",
        "1e3",
        " 1",
    };
    char error[200];
    int64_t bytes;
    (void)state;

    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        assert_true(units_parse_bytes(GOOD[i].text, &bytes, error, sizeof error));
        assert_int_equal(bytes, GOOD[i].bytes);
    }
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        error[0] = '\0';
        assert_false(units_parse_bytes(BAD[i], &bytes, error, sizeof error));
        assert_non_null(strstr(error, "is not a size"));
    }
    assert_false(units_parse_bytes("\033[2J", &bytes, error, sizeof error));
    assert_null(strchr(error, '\033'));
}

static void test_parse_durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } GOOD[] = {
        {"0", 0},          {"500ms", 500},  {"1s", 1000},     {"1.5s", 1500}, {"10m", 600000},
        {"10min", 600000}, {"2h", 7200000}, {"1d", 86400000}, {"0.001s", 1},  {"0.5h", 1800000},
    };
    static const char *const BAD[] = {
        "",
        "s",
        "10",
        "1.s",
        ".5s",
        "1.5ms",
        "0.0001s",
        "-1s",
        "1 s",
        "1sec",
        "10M",
        "1s ",
        "9223372036854775807s",
        "1e3s",
    };
    char error[200];
    int64_t ms;
    (void)state;

    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        assert_true(units_parse_duration(GOOD[i].text, &ms, error, sizeof error));
        assert_int_equal(ms, GOOD[i].ms);
    }
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_false(units_parse_duration(BAD[i], &ms, error, sizeof error));
}

static void test_parse_budget(void **state)
{
    static const char *const BAD[] = {
        "", "/", "200ms", "200ms/", "/10min", "10min/200ms", "1s/1s/1s", "200/10min",
    };
    char error[200];
    int64_t pause = -1, span = -1;
    (void)state;

    assert_true(units_parse_budget("200ms/10min", &pause, &span, error, sizeof error));
    assert_int_equal(pause, 200);
    assert_int_equal(span, 600000);
    assert_true(units_parse_budget("0/10min", &pause, &span, error, sizeof error));
    assert_int_equal(pause, 0);
    assert_true(units_parse_budget("200ms/10min", &pause, &span, error, sizeof error));
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        assert_false(units_parse_budget(BAD[i], &pause, &span, error, sizeof error));
        assert_non_null(strstr(error, "200ms/10min"));
    }
    assert_int_equal(pause, 200); /* a refusal changes nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),        cmocka_unit_test(test_rates_and_counts),
        cmocka_unit_test(test_durations),    cmocka_unit_test(test_figures_by_key),
        cmocka_unit_test(test_parse_bytes),  cmocka_unit_test(test_parse_durations),
        cmocka_unit_test(test_parse_budget),
    };
    return cmocka_run_group_tests_name("reports/units", tests, NULL, NULL);
}
