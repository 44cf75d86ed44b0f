#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/reports/story_fixture.h"

#include <string.h>

static void feed_counter(struct story *story, int64_t samples)
{
    for (int64_t i = 0; i < samples; i++) {
        struct event event = {.kind = EVENT_SAMPLE, .ms = i * 1000};
        sample_clear(&event.sample);
        sample_set(&event.sample, SAMPLE_CLASSES_LOADED, i);
        if (i % 10 == 0)
            sample_set_nmt(&event.sample, NMT_INTERNAL, (struct nmt_amount){i * 2, i});
        story_event(story, &event);
    }
}

static void test_points_are_bounded_and_ends_stay(void **state)
{
    (void)state;
    static const int64_t lengths[] = {
        0, 1, 2, STORY_POINTS_MAX - 1, STORY_POINTS_MAX, STORY_POINTS_MAX + 1, 100003};
    for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++) {
        int64_t samples = lengths[n];
        struct story *story = fixture_empty();
        feed_counter(story, samples);
        assert_true(story->point_count <= STORY_POINTS_MAX);
        assert_true(samples == 0 || story->point_count > 0);
        if (samples > 0) {
            const struct story_point *last = &story->points[story->point_count - 1];
            assert_int_equal(story->points[0].ms, 0);
            assert_int_equal(last->ms, (samples - 1) * 1000);
            assert_int_equal(last->sample.value[SAMPLE_CLASSES_LOADED], samples - 1);
        }
        story_destroy(story);
    }
}

/* Old points must not get coarser than new ones, however long the recording. */
static void test_points_stay_evenly_spread(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    feed_counter(story, 100003);
    assert_true(story->point_count > STORY_POINTS_MAX / 2);
    int64_t widest = 0;
    for (int i = 1; i < story->point_count; i++) {
        int64_t gap = story->points[i].ms - story->points[i - 1].ms;
        assert_true(gap > 0);
        widest = gap > widest ? gap : widest;
    }
    assert_int_equal(widest, 32000); /* 100003 / 4096 rounded up to a power of two, in seconds */
    story_destroy(story);
}

static void test_merging_keeps_what_only_one_has(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    feed_counter(story, 4 * STORY_POINTS_MAX);
    int with_nmt = 0;
    for (int i = 0; i < story->point_count; i++)
        with_nmt += sample_has_nmt(&story->points[i].sample);
    assert_true(with_nmt > story->point_count / 3);
    story_destroy(story);
}

static const struct story_family *find_family(const struct story *story, const char *id)
{
    for (int i = 0; i < story->family_count; i++)
        if (strcmp(story->families[i].row.family, id) == 0)
            return &story->families[i];
    return NULL;
}

static void names(struct story *story, enum census_method method, int load_log, int64_t from_ms,
                  int64_t ms, const char *family, int64_t loads)
{
    struct family_row row = {.loads = loads, .names = loads, .max_same_name = 1};
    snprintf(row.family, sizeof row.family, "%s", family);
    struct event event = {.kind = EVENT_NAMES, .ms = ms};
    event.names = (struct names_event){
        .method = method, .load_log = load_log, .from_ms = from_ms, .row_count = 1, .rows = &row};
    story_event(story, &event);
}

static void test_flow_counters_add_over_taps(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    names(story, CENSUS_LOAD_LOG, 1, 1000, 11000, "groovy-shell", 100);
    names(story, CENSUS_LOAD_LOG, 1, 1000, 21000, "groovy-shell", 200); /* cumulative */
    names(story, CENSUS_LOAD_LOG, 2, 50000, 60000, "groovy-shell", 40);
    names(story, CENSUS_LOAD_LOG, 2, 50000, 70000, "groovy-shell", 100);
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    const struct story_family *family = find_family(story, "groovy-shell");
    assert_non_null(family);
    assert_int_equal(family->row.loads, 300);
    assert_int_equal(family->observed_ms, 40000);
    assert_int_equal(family->alive, -1);
    double per_s;
    assert_true(story_family_rate(family, &per_s));
    assert_true(per_s > 7.49 && per_s < 7.51);
    story_destroy(story);
}

static void test_stock_is_kept_beside_the_flow(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    names(story, CENSUS_CLASSES, 0, 0, 1000, "cglib", 500);
    names(story, CENSUS_LOAD_LOG, 1, 2000, 12000, "cglib", 30);
    names(story, CENSUS_CLASSES, 0, 0, 20000, "cglib", 900);
    names(story, CENSUS_CLASSES, 0, 0, 30000, "cglib", 700);
    names(story, CENSUS_LOADER_TYPES, 0, 0, 30000, "janino", 12);
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    const struct story_family *family = find_family(story, "cglib");
    assert_int_equal(family->method, CENSUS_LOAD_LOG);
    assert_int_equal(family->row.loads, 30);
    assert_int_equal(family->alive, 900);
    family = find_family(story, "janino");
    assert_int_equal(family->method, CENSUS_LOADER_TYPES);
    double per_s;
    assert_false(story_family_rate(family, &per_s));
    story_destroy(story);
}

static void test_the_largest_families_stay(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    char id[32];
    for (int i = 1; i <= 3 * STORY_FAMILIES_MAX; i++) {
        snprintf(id, sizeof id, "unknown:%d", i);
        names(story, CENSUS_CLASSES, 0, 0, 1000, id, i);
    }
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    assert_int_equal(story->family_count, STORY_FAMILIES_MAX);
    assert_string_equal(story->families[0].row.family, "unknown:192");
    assert_string_equal(story->families[STORY_FAMILIES_MAX - 1].row.family, "unknown:129");
    assert_int_equal(story->families_dropped, 2 * STORY_FAMILIES_MAX);
    story_destroy(story);
}

static void test_costs_and_notes_are_bounded(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    struct event event = {.kind = EVENT_COST};
    for (int i = 0; i < 40; i++) {
        snprintf(event.cost.command, sizeof event.cost.command, "VM.command%d", i);
        event.cost.measured_us = 100;
        story_event(story, &event);
    }
    int64_t runs = 0;
    for (int i = 0; i < story->cost_count; i++)
        runs += story->costs[i].runs;
    assert_int_equal(runs, 40);
    assert_string_equal(story->costs[story->cost_count - 1].command, "other commands");

    event = (struct event){.kind = EVENT_NOTE};
    for (int i = 0; i < 40; i++)
        story_event(story, &event);
    event.kind = EVENT_GONE;
    snprintf(event.text, sizeof event.text, "it ended");
    story_event(story, &event);
    assert_int_equal(story->note_count, 32);
    assert_string_equal(story->notes[31].text, "it ended");
    assert_int_equal(story->notes_dropped, 9);
    story_destroy(story);
}

static void test_loaders_are_compared_with_the_first_census(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    assert_int_equal(story->loader_count, 3);
    assert_int_equal(story->loaders[0].loaders, 10800);
    assert_int_equal(story->loaders_at_first[0], 3);
    assert_int_equal(story->loaders_at_first[2], -1);
    story_destroy(story);
}

static void test_alerts_and_their_ends(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    assert_int_equal(story_raised(story), 3);
    assert_int_equal(story_gravest(story), 0);
    assert_int_equal(story_cleared_ms(story, 0), -1);
    assert_int_equal(story_cleared_ms(story, 1), 500000);
    for (int i = 0; i < 2 * STORY_ALERTS_MAX; i++)
        fixture_alert(story, FINDING_LOADER_GROWTH, ALERT_RAISED, 600, "", NULL);
    assert_int_equal(story->alert_count, STORY_ALERTS_MAX);
    assert_int_equal(story->alerts_dropped, STORY_ALERTS_MAX + 4);
    story_destroy(story);
}

/* All steps of Internal last to the end: the worst leads, whichever came first. */
static void test_the_last_step_of_a_series_leads(void **state)
{
    (void)state;
    for (int cleared = 0; cleared < 2; cleared++) {
        struct story *story = fixture_empty();
        fixture_alert(story, FINDING_INTERNAL_INVESTIGATE, ALERT_RAISED, 100, "", "+0.6 GB");
        fixture_alert(story, FINDING_INTERNAL_EXPLOSION, ALERT_RAISED, 200, "", "+3.5 GB");
        fixture_alert(story, FINDING_METASPACE_LIMIT, ALERT_RAISED, 250, "", "the limit");
        fixture_alert(story, FINDING_METASPACE_LIMIT, ALERT_CLEARED, 260, "", NULL);
        fixture_alert(story, FINDING_INTERNAL_UNACCEPTABLE, ALERT_RAISED, 300, "", "+10 GB");
        if (cleared)
            fixture_alert(story, FINDING_INTERNAL_UNACCEPTABLE, ALERT_CLEARED, 400, "", NULL);
        char text[1024];
        story_headline(story, text, sizeof text);
        assert_non_null(strstr(text, "+10 GB"));
        story_destroy(story);
    }
}

static void test_verdict_names_the_gravest_alert_and_the_fix(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    char verdict[2048];
    story_verdict(story, verdict, sizeof verdict);
    assert_int_equal(story_status(story), STORY_CRITICAL);
    assert_non_null(strstr(verdict, "Classes of family groovy-shell are generated without end"));
    assert_non_null(strstr(verdict, "It went on for 9 min, to the end of the recording."));
    assert_non_null(strstr(verdict, "2 other alerts were raised."));
    assert_true(strlen(verdict) < sizeof verdict - 1);

    char small[20];
    story_verdict(story, small, sizeof small);
    assert_int_equal(strlen(small), sizeof small - 1);
    story_destroy(story);
}

static struct story *quiet(int64_t seconds, bool warm)
{
    struct story *story = fixture_empty();
    for (int64_t s = 0; s <= seconds; s++)
        fixture_sample(story, s, 2400, 0);
    struct judge_view view = {.warm = warm, .baseline_ms = warm ? 10000 : -1, .have_rates = true};
    view.have_internal = true;
    story_finish(story, &view);
    return story;
}

static void test_silence_is_a_verdict_only_after_long_enough(void **state)
{
    (void)state;
    char verdict[1024];
    struct story *story = quiet(900, true);
    assert_int_equal(story_status(story), STORY_OK);
    story_verdict(story, verdict, sizeof verdict);
    assert_non_null(strstr(verdict, "No growth was found in"));
    assert_null(strstr(verdict, "needs a longer watch"));
    story_destroy(story);

    story = quiet(120, true); /* enough for classes, not for a slope */
    assert_int_equal(story_status(story), STORY_OK);
    story_verdict(story, verdict, sizeof verdict);
    assert_non_null(strstr(verdict, "needs a longer watch"));
    story_destroy(story);

    story = quiet(12, true);
    assert_int_equal(story_status(story), STORY_UNKNOWN);
    story_verdict(story, verdict, sizeof verdict);
    assert_non_null(
        strstr(verdict, "Cannot tell: 2 s after warm-up is too short, a verdict needs 1 min."));
    story_destroy(story);

    story = quiet(100, false);
    assert_int_equal(story_status(story), STORY_UNKNOWN);
    story_verdict(story, verdict, sizeof verdict);
    assert_non_null(strstr(verdict, "warm-up had not ended"));
    story_destroy(story);

    story = fixture_empty();
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    assert_int_equal(story_status(story), STORY_UNKNOWN);
    story_verdict(story, verdict, sizeof verdict);
    assert_string_equal(verdict, "Cannot tell: the recording holds no sample.");
    story_destroy(story);
}

static void test_top_categories_by_change_without_the_heap(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    enum nmt_category categories[NMT_CATEGORY_COUNT];
    int count = story_top_categories(story, categories, NMT_CATEGORY_COUNT);
    assert_true(count > 4);
    assert_int_equal(categories[0], NMT_METASPACE);
    assert_int_equal(categories[1], NMT_CLASS);
    bool gc = false;
    for (int i = 0; i < count; i++) {
        assert_int_not_equal(categories[i], NMT_JAVA_HEAP);
        assert_int_not_equal(categories[i], NMT_TEST); /* ten bytes that never move */
        gc = gc || categories[i] == NMT_GC;
    }
    assert_true(gc); /* flat but large */
    assert_int_equal(story_top_categories(story, categories, 2), 2);
    story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_bounded_and_ends_stay),
        cmocka_unit_test(test_points_stay_evenly_spread),
        cmocka_unit_test(test_merging_keeps_what_only_one_has),
        cmocka_unit_test(test_flow_counters_add_over_taps),
        cmocka_unit_test(test_stock_is_kept_beside_the_flow),
        cmocka_unit_test(test_the_largest_families_stay),
        cmocka_unit_test(test_costs_and_notes_are_bounded),
        cmocka_unit_test(test_loaders_are_compared_with_the_first_census),
        cmocka_unit_test(test_alerts_and_their_ends),
        cmocka_unit_test(test_the_last_step_of_a_series_leads),
        cmocka_unit_test(test_verdict_names_the_gravest_alert_and_the_fix),
        cmocka_unit_test(test_silence_is_a_verdict_only_after_long_enough),
        cmocka_unit_test(test_top_categories_by_change_without_the_heap),
    };
    return cmocka_run_group_tests_name("reports/story", tests, NULL, NULL);
}
