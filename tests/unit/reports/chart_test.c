#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/story/chart.h"
#include "tests/unit/reports/story_fixture.h"

#include <string.h>

static int count(const char *text, const char *what)
{
    int found = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        found++;
    return found;
}

static void test_every_chart_of_a_full_story_is_drawable(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    for (int kind = 0; kind < CHART_KIND_COUNT; kind++) {
        assert_true(chart_drawable(story, (enum chart_kind)kind));
        for (int format = CHART_PNG; format <= CHART_SVG; format++) {
            bool written = false;
            char *script = FIXTURE_PRINTED(written = chart_script(story, (enum chart_kind)kind,
                                                                  (enum chart_format)format, out));
            assert_true(written);
            assert_int_equal(count(script, "set terminal"), 1);
            assert_int_equal(count(script, "noenhanced size"), 1);
            assert_non_null(strstr(script, "plot $d0"));
            assert_null(strstr(script, "set output")); /* names no file */
            free(script);
        }
    }
    story_destroy(story);
}

static void test_nothing_is_drawn_without_data(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    fixture_sample(story, 1, 100, 0); /* one sample makes no line */
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    for (int kind = 0; kind < CHART_KIND_COUNT; kind++) {
        assert_false(chart_drawable(story, (enum chart_kind)kind));
        bool written = true;
        char *script =
            FIXTURE_PRINTED(written = chart_script(story, (enum chart_kind)kind, CHART_PNG, out));
        assert_false(written);
        assert_string_equal(script, "");
        free(script);
    }
    story_destroy(story);
}

static void test_classes_are_named_without_their_packages(void **state)
{
    (void)state;
    static const struct histogram_class ROWS[] = {
        {"com.acme.Order", "", 1, 3000, FIXTURE_MB, 1000, 500000},
        {"[[Ljava.lang.Object;", "", 1, 900, FIXTURE_MB, 300, 400000},
        {"[LMain;", "", 1, 800, FIXTURE_MB, 200, 300000},
        {"[B", "", 1, 700, FIXTURE_MB, 100, 200000}};
    struct story *story = fixture_empty();
    for (int64_t s = 0; s <= 20; s += 10) {
        struct event event = {.kind = EVENT_HISTOGRAM, .ms = s * 1000};
        fixture_sample(story, s, 100, 1);
        event.histogram = (struct histogram_event){.row_count = 4, .rows = ROWS};
        story_event(story, &event);
    }
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    char *script = FIXTURE_PRINTED(chart_script(story, CHART_HEAP, CHART_SVG, out));
    static const char *const TITLES[] = {"'Order ", "'Object[][] ", "'Main[] ", "'[B "};
    for (size_t i = 0; i < sizeof TITLES / sizeof *TITLES; i++)
        assert_non_null(strstr(script, TITLES[i]));
    free(script);
    story_destroy(story);
}

/* gnuplot stops at a data block without rows: none may be written. */
static void test_no_data_block_is_empty(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    for (int64_t s = 0; s <= 3; s++)
        fixture_sample(story, s, 100, 0); /* too short for rates, one NMT summary only */
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    int drawn = 0;
    for (int kind = 0; kind < CHART_KIND_COUNT; kind++) {
        if (!chart_drawable(story, (enum chart_kind)kind))
            continue;
        char *script = FIXTURE_PRINTED(chart_script(story, (enum chart_kind)kind, CHART_PNG, out));
        assert_null(strstr(script, "<< EOD\nEOD"));
        drawn++;
        free(script);
    }
    assert_int_equal(drawn, 2); /* classes and process */
    story_destroy(story);
}

static void test_foreign_names_are_quoted(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    snprintf(story->identity.main, sizeof story->identity.main, "a'; system 'id'; b\n`id`\x1b[31m");
    char *script = FIXTURE_PRINTED(chart_script(story, CHART_PROCESS, CHART_PNG, out));
    const char *title = strstr(script, "set title ");
    assert_non_null(title);
    size_t length = strcspn(title, "\n");
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)length, title);
    assert_non_null(strstr(line, "a''; system ''id''; b"));
    assert_null(strchr(line, '\x1b'));
    assert_null(strstr(script, "\n`id`"));
    free(script);
    story_destroy(story);
}

static void test_alerts_are_numbered_and_neighbours_share_a_number(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char *script = FIXTURE_PRINTED(chart_script(story, CHART_PROCESS, CHART_PNG, out));
    assert_int_equal(count(script, "dt 2 lw 0.9"), 3); /* a line for each raising */
    assert_non_null(strstr(script, "'1-2'"));          /* 72 s and 80 s of 600 s */
    assert_non_null(strstr(script, "'3'"));
    free(script);
    story_destroy(story);
}

static void test_thresholds_are_drawn_only_in_reach(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char *script = FIXTURE_PRINTED(chart_script(story, CHART_INTERNAL, CHART_PNG, out));
    assert_null(strstr(script, "'threshold"));
    free(script);
    story->thresholds.value[TH_INTERNAL_INVESTIGATE_BYTES] = FIXTURE_MB;
    script = FIXTURE_PRINTED(chart_script(story, CHART_INTERNAL, CHART_PNG, out));
    assert_int_equal(count(script, "'threshold"), 1);
    free(script);
    story_destroy(story);
}

static void test_the_time_axis_fits_the_span(void **state)
{
    (void)state;
    static const struct {
        int64_t step_s;
        const char *unit;
    } rows[] = {{1, "seconds since"}, {60, "minutes since"}, {3600, "hours since"}};
    for (size_t i = 0; i < 3; i++) {
        struct story *story = fixture_empty();
        for (int64_t n = 0; n < 100; n++)
            fixture_sample(story, n * rows[i].step_s, 100 + n, 0);
        struct judge_view view = {.baseline_ms = -1};
        story_finish(story, &view);
        char *script = FIXTURE_PRINTED(chart_script(story, CHART_PROCESS, CHART_PNG, out));
        assert_non_null(strstr(script, rows[i].unit));
        free(script);
        story_destroy(story);
    }
}

static void test_missing_values_are_a_gap(void **state)
{
    (void)state;
    struct story *story = fixture_explosion(); /* nothing between 300 s and 360 s */
    struct series series = {0};
    assert_true(series_collect(&series, story, NULL, series_live_classes, 0));
    int gaps = 0;
    for (int i = 0; i < series.count; i++)
        gaps += series.point[i].gap;
    assert_int_equal(gaps, 1);
    series_free(&series);
    /* NMT is asked every five seconds: that is its usual distance, not a gap. */
    assert_true(series_collect(&series, story, NULL, series_category, NMT_CLASS));
    gaps = 0;
    for (int i = 0; i < series.count; i++)
        gaps += series.point[i].gap;
    assert_int_equal(gaps, 1);
    series_free(&series);
    story_destroy(story);
}

static void test_rates_do_not_cross_a_restart(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    for (int64_t s = 0; s < 60; s++)
        fixture_sample(story, s, s < 30 ? 5000 + s * 10 : s * 10, 0);
    struct series series = {0};
    assert_true(series_collect(&series, story, NULL, series_field, SAMPLE_CLASSES_LOADED));
    assert_true(series_per_second(&series, 5000));
    assert_true(series.count > 40);
    for (int i = 0; i < series.count; i++)
        assert_true(series.point[i].y > 9.99 && series.point[i].y < 10.01);
    series_free(&series);
    story_destroy(story);
}

static void test_thinning_keeps_peaks_and_ends(void **state)
{
    (void)state;
    struct series series = {.count = 4000};
    series.point = calloc(4000, sizeof *series.point);
    for (int i = 0; i < 4000; i++)
        series.point[i] = (struct series_point){.ms = i, .x = i, .y = 10};
    series.point[1234].y = 99;
    series.point[2345].y = -5;
    series_thin(&series);
    assert_true(series.count <= SERIES_DRAWN_MAX);
    double high = 0, low = 0;
    for (int i = 0; i < series.count; i++) {
        assert_true(i == 0 || series.point[i].x > series.point[i - 1].x);
        high = series.point[i].y > high ? series.point[i].y : high;
        low = series.point[i].y < low ? series.point[i].y : low;
    }
    assert_true(high > 98 && low < -4);
    assert_true(series.point[0].x < 0.5 && series.point[series.count - 1].x > 3998.5);
    series_free(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_chart_of_a_full_story_is_drawable),
        cmocka_unit_test(test_nothing_is_drawn_without_data),
        cmocka_unit_test(test_classes_are_named_without_their_packages),
        cmocka_unit_test(test_no_data_block_is_empty),
        cmocka_unit_test(test_foreign_names_are_quoted),
        cmocka_unit_test(test_alerts_are_numbered_and_neighbours_share_a_number),
        cmocka_unit_test(test_thresholds_are_drawn_only_in_reach),
        cmocka_unit_test(test_the_time_axis_fits_the_span),
        cmocka_unit_test(test_missing_values_are_a_gap),
        cmocka_unit_test(test_rates_do_not_cross_a_restart),
        cmocka_unit_test(test_thinning_keeps_peaks_and_ends),
    };
    return cmocka_run_group_tests_name("reports/chart", tests, NULL, NULL);
}
