/* Shapes go in, states come out; and whatever goes in, nothing crashes. The rates are the business
 * of tests/verdict. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/verdict.h"
#include "tests/unit/trend/injected.h"

#include <string.h>
#include <time.h>

/* What a curve is at an hour, in MB. */
typedef double curve_fn(double h);

struct fed {
    struct verdict_series *series;
    int64_t ms;
    uint64_t seed;
};

static struct fed begin(void)
{
    struct verdict_options options;
    verdict_options_default(&options);
    struct fed fed = {.series = verdict_create(&options), .seed = 99};
    assert_non_null(fed.series);
    return fed;
}

static void feed(struct fed *fed, curve_fn *curve, double hours, double every_s, double noise_kb)
{
    int64_t from_ms = fed->ms;
    for (double s = 0; s < hours * 3600; s += every_s) {
        double bytes = curve(s / 3600) * MB + noise_kb * 1024 * injected_gauss(&fed->seed);
        fed->ms = from_ms + (int64_t)(s * 1000);
        assert_true(
            verdict_feed(fed->series, fed->ms, (int64_t)bytes / 1024 * 1024, VERDICT_MISSING));
    }
}

static struct verdict end(struct fed *fed)
{
    struct verdict verdict;
    verdict_ask(fed->series, &verdict);
    verdict_destroy(fed->series);
    assert_true(verdict.sentence[0] != '\0' && strchr(verdict.sentence, '\n') == NULL);
    assert_true(strlen(verdict.sentence) < sizeof verdict.sentence - 1);
    return verdict;
}

static double flat(double h)
{
    (void)h;
    return 200;
}
static double leak(double h)
{
    return 60 + 5 * h;
}
static double slow_leak(double h)
{
    return 60 + h;
}
static double warm(double h)
{
    return 60 + 60 * (1 - exp(-h / 0.33));
}
static double still_warming(double h)
{
    return 60 + 100 * (1 - exp(-h / 2));
}
static double warm_and_leak(double h)
{
    return warm(h) + 5 * h;
}
static double creep(double h)
{
    return 60 + 20 * log1p(h / 0.2);
}
static double faster(double h)
{
    return 60 + 0.5 * h + 0.5 * h * h;
}
static double step(double h)
{
    return h < 20 ? 100 : 130;
}
static double stairs(double h)
{
    return 60 + 4 * floor(h * 3);
}
static double teeth(double h)
{
    return 100 + 50 * (h * 6 - floor(h * 6));
}
static double leaking_teeth(double h)
{
    return teeth(h) + 3 * h;
}
static double day(double h)
{
    return 150 + 30 * cos(6.283185307 * h / 24);
}
static double late(double h)
{
    return h < 30 ? 60 : 60 + 8 * (h - 30);
}
static double stops(double h)
{
    return h < 10 ? 60 + 5 * h : 110;
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        curve_fn *curve;
        double hours, every_s, noise_kb;
        enum verdict_state state;
        double slope_mb; /* what the interval must hold; NAN: no matter */
    } cases[] = {
        {flat, 24, 5, 0, VERDICT_CONVERGED, 0},
        {flat, 24, 5, 1000, VERDICT_CONVERGED, 0},
        {flat, 0.02, 5, 10, VERDICT_TOO_SHORT, NAN},
        {leak, 2, 5, 75, VERDICT_LINEAR, 5},
        {leak, 0.5, 1, 1, VERDICT_LINEAR, 5},
        {slow_leak, 24, 10, 75, VERDICT_LINEAR, 1},
        {slow_leak, 200, 600, 75, VERDICT_LINEAR, 1},
        {warm, 12, 5, 50, VERDICT_CONVERGED, NAN},
        {still_warming, 2, 5, 50, VERDICT_WARMING, NAN},
        {warm_and_leak, 12, 5, 50, VERDICT_LINEAR, NAN},
        {creep, 24, 5, 50, VERDICT_SLOWING, NAN},
        {faster, 12, 5, 50, VERDICT_ACCELERATING, NAN},
        {step, 48, 5, 50, VERDICT_STEPPED, 0},
        {stairs, 24, 5, 50, VERDICT_LINEAR, NAN},
        {teeth, 24, 5, 50, VERDICT_SAWTOOTH, 0},
        {leaking_teeth, 24, 5, 50, VERDICT_LINEAR, 3},
        {day, 132, 20, 200, VERDICT_SAWTOOTH, NAN},
        {late, 34, 5, 75, VERDICT_LINEAR, 8},
        {stops, 30, 5, 75, VERDICT_CONVERGED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fed fed = begin();
        feed(&fed, cases[i].curve, cases[i].hours, cases[i].every_s, cases[i].noise_kb);
        struct verdict verdict = end(&fed);
        const struct verdict_interval *slope = &verdict.slope_bytes_per_h;
        bool held = isnan(cases[i].slope_mb) ||
                    (verdict.have_slope && slope->low <= cases[i].slope_mb * MB + 100 &&
                     slope->high >= cases[i].slope_mb * MB - 100);
        if (verdict.state != cases[i].state || !held)
            fail_msg("case %d: %s: %s", (int)i, verdict_state_name(verdict.state),
                     verdict.sentence);
        assert_true(verdict.answer != VERDICT_GROWING || slope->low > 0);
    }
}

static void test_restart_known_by_the_counter(void **state)
{
    (void)state;
    struct fed fed = begin();
    for (int s = 0; s < 40000; s += 5) {
        double h = (s < 36000 ? s : s - 36000) / 3600.0;
        int64_t classes = 5000 + (int64_t)(3000 * (1 - exp(-h / 0.2)));
        assert_true(verdict_feed(fed.series, s * 1000, (int64_t)(warm(h) * MB), classes));
        if (s == 36300) {
            struct verdict verdict;
            verdict_ask(fed.series, &verdict);
            assert_int_equal(verdict.state, VERDICT_RESTARTED);
            assert_int_equal(verdict.answer, VERDICT_UNDECIDED);
            assert_int_equal(verdict.restarts, 1);
            assert_true(verdict.from_ms >= 36000000);
        }
    }
    struct verdict verdict = end(&fed);
    assert_int_equal(verdict.restarts, 1);
    assert_int_not_equal(verdict.answer, VERDICT_GROWING);
}

static void test_restart_seen_in_the_values(void **state)
{
    (void)state;
    struct fed fed = begin();
    feed(&fed, warm_and_leak, 12, 5, 50);
    feed(&fed, warm_and_leak, 6, 5, 50);
    struct verdict verdict = end(&fed);
    assert_int_equal(verdict.restarts, 1);
    assert_int_equal(verdict.state, VERDICT_LINEAR);
    assert_true(verdict.from_ms >= 12 * 3600000);
}

static void test_classes_explain(void **state)
{
    (void)state;
    struct fed fed = begin();
    for (int s = 0; s < 7200; s += 5) {
        int64_t classes = 5000 + s * 12;
        int64_t bytes = (int64_t)(50 * MB) + classes * 700;
        assert_true(verdict_feed(fed.series, s * 1000, bytes, classes));
    }
    struct verdict verdict = end(&fed);
    assert_int_equal(verdict.state, VERDICT_LINEAR);
    assert_true(verdict.have_regressor && verdict.explained_share > 0.98);
    assert_true(fabs(verdict.bytes_per_class - 700) < 5);
}

static void test_limit(void **state)
{
    (void)state;
    struct verdict_options options;
    verdict_options_default(&options);
    options.limit_bytes = (int64_t)(170 * MB);
    options.limit_name = "container limit";
    struct fed fed = {.series = verdict_create(&options), .seed = 1};
    feed(&fed, leak, 2, 5, 50);
    struct verdict verdict = end(&fed);
    assert_true(verdict.have_eta && fabs(verdict.eta_s - 20 * 3600) < 900);
    assert_true(verdict.eta_low_s < verdict.eta_s && verdict.eta_s < verdict.eta_high_s);
    assert_non_null(strstr(verdict.sentence, "container limit"));
}

static void test_odd_clocks_and_values(void **state)
{
    (void)state;
    struct fed fed = begin();
    struct verdict verdict;
    verdict_ask(fed.series, &verdict);
    assert_int_equal(verdict.state, VERDICT_TOO_SHORT);
    assert_true(verdict_feed(fed.series, 5, 1000, VERDICT_MISSING));
    assert_true(verdict_feed(fed.series, 5, 2000, VERDICT_MISSING));
    verdict_ask(fed.series, &verdict);
    assert_int_equal(verdict.state, VERDICT_TOO_SHORT);
    assert_int_equal(verdict.points, 2);
    /* Backwards by an hour now and then, half of it missing: flat all the same. */
    for (int i = 0; i < 20000; i++) {
        int64_t ms = i * INT64_C(5000) - i / 5000 * INT64_C(3600000);
        int64_t bytes = i % 2 == 0 ? VERDICT_MISSING : (int64_t)(80 * MB) + i % 7 * 1024;
        assert_true(verdict_feed(fed.series, ms, bytes, VERDICT_MISSING));
    }
    verdict_ask(fed.series, &verdict);
    assert_int_equal(verdict.answer, VERDICT_NOT_GROWING);
    assert_true(verdict.to_ms - verdict.from_ms <= INT64_C(5000) * 20001);
    verdict_destroy(fed.series);
}

static void test_what_came_after_a_long_gap(void **state)
{
    (void)state;
    struct fed fed = begin();
    feed(&fed, flat, 1, 5, 50);
    fed.ms += INT64_C(40) * 86400 * 1000;
    feed(&fed, leak, 3, 5, 50);
    struct verdict verdict = end(&fed);
    assert_int_equal(verdict.state, VERDICT_LINEAR);
    assert_true(verdict.to_ms - verdict.from_ms < 5 * 3600000);

    fed = begin();
    feed(&fed, flat, 1, 5, 50);
    fed.ms += INT64_C(40) * 86400 * 1000;
    feed(&fed, flat, 1, 5, 50);
    assert_int_equal(end(&fed).state, VERDICT_CONVERGED);
}

static void test_extremes_do_not_crash(void **state)
{
    (void)state;
    static const int64_t values[] = {INT64_MAX, -INT64_MAX,   0, 1, -1, INT64_MIN, 1 << 30,
                                     -7,        INT64_MAX / 2};
    struct fed fed = begin();
    struct verdict verdict;
    for (int i = 0; i < 5000; i++) {
        uint64_t random = (uint64_t)(injected_uniform(&fed.seed) * 1e15);
        int64_t ms = values[random % 9] / (int64_t)(1 + random % 1000);
        assert_true(verdict_feed(fed.series, ms, values[random / 9 % 9], values[random / 81 % 9]));
        if (i % 97 == 0)
            verdict_ask(fed.series, &verdict);
    }
    end(&fed);
}

static void test_negative_and_huge_levels(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct fed fed = begin();
        int64_t origin = k == 0 ? -(INT64_C(1) << 40) : INT64_C(1) << 60;
        for (int s = 0; s < 7200; s += 5) /* 60 MB/h; a level of 2^60 is known to 128 bytes */
            assert_true(verdict_feed(fed.series, s * 1000, origin + (int64_t)(s / 3600.0 * 60 * MB),
                                     VERDICT_MISSING));
        struct verdict verdict = end(&fed);
        assert_int_equal(verdict.state, VERDICT_LINEAR);
        assert_true(fabs(verdict.slope_bytes_per_h.value - 60 * MB) < MB);
    }
}

static void test_a_day_at_1_hz_is_fed_and_asked_quickly(void **state)
{
    (void)state;
    struct fed fed = begin();
    struct verdict verdict;
    clock_t began = clock();
    for (int s = 0; s < 86400; s++) {
        assert_true(verdict_feed(fed.series, s * INT64_C(1000),
                                 (int64_t)(80 * MB) + s * 100 + s % 13 * 1024, VERDICT_MISSING));
        if (s % 60 == 0)
            verdict_ask(fed.series, &verdict);
    }
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    assert_int_equal(end(&fed).state, VERDICT_LINEAR);
    assert_true(seconds < 20); /* 0.2 s; sanitizers take their time */
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(verdict_state_name(VERDICT_TOO_SHORT), "TOO_SHORT");
    for (int i = 0; i < VERDICT_STATE_COUNT; i++)
        assert_true(strlen(verdict_state_meaning((enum verdict_state)i)) > 10);
    assert_string_equal(verdict_state_name(VERDICT_STATE_COUNT), "?");
    verdict_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_restart_known_by_the_counter),
        cmocka_unit_test(test_restart_seen_in_the_values),
        cmocka_unit_test(test_classes_explain),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_odd_clocks_and_values),
        cmocka_unit_test(test_what_came_after_a_long_gap),
        cmocka_unit_test(test_extremes_do_not_crash),
        cmocka_unit_test(test_negative_and_huge_levels),
        cmocka_unit_test(test_a_day_at_1_hz_is_fed_and_asked_quickly),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
