/* A judge that goes on in another process: nothing is lost, nothing said twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/judge/judge.h"

#include <stdlib.h>

#define MB INT64_C(1048576)

static struct alert alerts[64];
static int alert_count;
static struct texts texts; /* theirs, and of what is remembered */

static struct judge *create(int64_t uptime_ms)
{
    struct target_identity identity = {.pid = 1, .jdk_major = 17, .uptime_ms = uptime_ms};
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    struct judge *judge = judge_create(&identity, &thresholds, -1);
    assert_non_null(judge);
    return judge;
}

static void feed(struct judge *judge, int64_t ms, int64_t internal_bytes)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = ms};
    sample_set(&event.sample, SAMPLE_CLASSES_LOADED, 5000);
    sample_set(&event.sample, SAMPLE_CLASSES_UNLOADED, 0);
    sample_set_nmt(&event.sample, NMT_INTERNAL,
                   (struct nmt_amount){internal_bytes, internal_bytes});
    struct alerts new;
    judge_feed(judge, &event, &new);
    for (int i = 0; i < new.count; i++) {
        struct alert *kept = &alerts[alert_count++];
        *kept = new.alert[i];
        finding_copy(&kept->finding, &texts, &kept->finding);
    }
}

/* Internal at 100 MB until warm-up is over, then 800 MB. */
static int64_t explode(struct judge *judge)
{
    int64_t ms = 0;
    for (; ms < 60000; ms += 1000)
        feed(judge, ms, 100 * MB);
    for (; ms < 70000; ms += 1000)
        feed(judge, ms, 800 * MB);
    return ms;
}

static void test_an_alert_is_not_repeated_and_still_clears(void **state)
{
    (void)state;
    struct judge_memory *memory = malloc(sizeof *memory);
    struct judge *first = create(3600000);
    alert_count = 0;
    int64_t ms = explode(first);
    int raised = alert_count;
    assert_true(raised >= 1);
    judge_remember(first, memory);
    judge_memory_keep(memory, &texts);
    judge_destroy(first);
    assert_int_equal(memory->episode_count, raised);

    struct judge *second = create(3670000);
    judge_resume(second, memory);
    ms += 30000; /* the restart */
    for (int i = 0; i < 120; i++, ms += 1000)
        feed(second, ms, 800 * MB);
    assert_int_equal(alert_count, raised);
    struct judge_view view;
    judge_view(second, &view);
    assert_int_equal(view.active_alerts, raised);
    assert_int_equal(view.internal_growth_bytes, 700 * MB); /* since the first one's baseline */
    assert_true(view.warm);
    struct alert active[8];
    assert_int_equal(judge_active_alerts(second, active, 8), raised);
    assert_int_equal(active[0].started_ms, alerts[0].started_ms);

    for (int i = 0; i < 300; i++, ms += 1000)
        feed(second, ms, 100 * MB);
    assert_int_equal(alert_count, 2 * raised);
    for (int i = raised; i < alert_count; i++)
        assert_int_equal(alerts[i].state, ALERT_CLEARED);
    judge_destroy(second);
    free(memory);
}

static void test_what_was_cold_goes_on_warming_up(void **state)
{
    (void)state;
    struct judge_memory *memory = malloc(sizeof *memory);
    struct judge *first = create(1000);
    feed(first, 0, 100 * MB);
    judge_remember(first, memory);
    judge_memory_keep(memory, &texts);
    judge_destroy(first);
    assert_false(memory->warm);
    struct judge *second = create(3000);
    struct judge_view view;
    judge_resume(second, memory);
    judge_view(second, &view);
    assert_false(view.warm);
    alert_count = 0;
    explode(second);
    judge_view(second, &view);
    assert_true(view.warm);
    assert_true(alert_count >= 1);
    judge_destroy(second);
    free(memory);
}

static void test_a_file_that_lies_is_cut(void **state)
{
    (void)state;
    struct judge_memory *memory = calloc(1, sizeof *memory);
    memory->episode_count = 1000000;
    memory->loader_count = -5;
    memory->baseline_ms = INT64_MAX;
    memory->warm = true;
    memory->internal_baseline_bytes = INT64_MIN;
    memory->have_internal_baseline = true;
    struct judge *judge = create(1000);
    struct judge_view view;
    judge_resume(judge, memory);
    feed(judge, 1000, 100 * MB);
    judge_view(judge, &view);
    assert_int_equal(view.active_alerts, JUDGE_MEMORY_EPISODES);
    judge_destroy(judge);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_alert_is_not_repeated_and_still_clears),
        cmocka_unit_test(test_what_was_cold_goes_on_warming_up),
        cmocka_unit_test(test_a_file_that_lies_is_cut),
    };
    return cmocka_run_group_tests_name("judge_resume", tests, NULL, NULL);
}
