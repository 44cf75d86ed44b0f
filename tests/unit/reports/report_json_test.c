#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/story/story.h"
#include "tests/unit/reports/story_fixture.h"

#include <jansson.h>
#include <string.h>

static json_t *object_of(const struct story *story)
{
    struct json_out out = {0};
    const char *text = report_json(&out, story);
    assert_non_null(text);
    json_error_t error;
    json_t *object = json_loads(text, 0, &error);
    if (object == NULL)
        fail_msg("%s at byte %d", error.text, error.position);
    json_out_free(&out);
    return object;
}

static void test_the_whole_story_is_there(void **state)
{
    (void)state;
    struct story *story = fixture_explosion();
    json_t *object = object_of(story);
    const char *verdict, *status, *example;
    json_int_t pid, cleared, alive_is_null, agent, ids;
    json_t *alerts, *families, *loaders, *notes;
    assert_int_equal(json_unpack(object, "{s:s, s:s, s:{s:I}, s:o, s:o, s:o, s:o}", "verdict",
                                 &verdict, "status", &status, "target", "pid", &pid, "alerts",
                                 &alerts, "families", &families, "loaders", &loaders, "notes",
                                 &notes),
                     0);
    assert_string_equal(status, "CRITICAL");
    assert_int_equal(pid, 4711);
    assert_int_equal(json_unpack(object, "{s:{s:I, s:I}}", "agent", "resident_bytes", &agent,
                                 "jmethod_id_bytes", &ids),
                     0);
    assert_int_equal(agent, 3 * FIXTURE_MB);
    assert_int_equal(ids, FIXTURE_MB / 2);
    assert_int_equal(json_array_size(alerts), 3);
    assert_int_equal(json_unpack(json_array_get(alerts, 1), "{s:I}", "cleared_ms", &cleared), 0);
    assert_int_equal(cleared, 500000);
    assert_true(json_is_null(json_object_get(json_array_get(alerts, 0), "cleared_ms")));
    assert_int_equal(json_unpack(json_array_get(families, 0), "{s:s}", "example", &example), 0);
    assert_string_equal(example, FIXTURE_BAD_NAME); /* data, not text for a terminal */
    alive_is_null = json_is_null(json_object_get(json_array_get(families, 0), "alive"));
    assert_true(alive_is_null);
    assert_int_equal(json_array_size(loaders), 3);
    assert_int_equal(json_array_size(notes), 1);
    json_decref(object);
    story_destroy(story);
}

static void test_missing_is_null(void **state)
{
    (void)state;
    struct story *story = fixture_empty();
    struct judge_view view = {.baseline_ms = -1};
    story_finish(story, &view);
    json_t *object = object_of(story);
    json_t *growth = json_object_get(object, "growth");
    assert_true(json_is_null(json_object_get(growth, "internal_growth_bytes")));
    assert_true(json_is_null(json_object_get(growth, "baseline_ms")));
    assert_true(json_is_null(json_object_get(object, "agent")));
    assert_true(json_is_null(json_object_get(object, "damage")));
    json_decref(object);
    story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole_story_is_there),
        cmocka_unit_test(test_missing_is_null),
    };
    return cmocka_run_group_tests_name("reports/report_json", tests, NULL, NULL);
}
