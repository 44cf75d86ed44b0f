#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/metrics/prometheus_rules.h"
#include "tests/unit/reports/story_fixture.h"

#include <jansson.h>
#include <string.h>

static void test_every_alert_has_one_rule(void **state)
{
    (void)state;
    int rules[FINDING_KIND_COUNT] = {0};
    for (size_t i = 0; prometheus_rule_at(i) != NULL; i++)
        rules[prometheus_rule_at(i)->finding]++;
    for (int kind = 0; kind < FINDING_WATCH_COUNT; kind++)
        assert_int_equal(rules[kind], 1);
}

static void test_every_template_names_real_thresholds(void **state)
{
    (void)state;
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    char text[2048];
    for (size_t i = 0; prometheus_rule_at(i) != NULL; i++) {
        const struct prometheus_rule *rule = prometheus_rule_at(i);
        assert_true(prometheus_rule_fill(rule->expression, &thresholds, text, sizeof text));
        assert_null(strstr(text, "$("));
        assert_true(prometheus_rule_fill(rule->lasts, &thresholds, text, sizeof text));
    }
}

static void test_filling_refuses_what_it_cannot_fill(void **state)
{
    (void)state;
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    char text[32];
    assert_true(prometheus_rule_fill("a > $(family_rate_per_s)", &thresholds, text, sizeof text));
    assert_string_equal(text, "a > 2");
    assert_false(prometheus_rule_fill("$(no_such_key)", &thresholds, text, sizeof text));
    assert_false(prometheus_rule_fill("$(family_rate_per_s", &thresholds, text, sizeof text));
    assert_false(prometheus_rule_fill("much longer than there is room", &thresholds, text, 8));
    assert_false(prometheus_rule_fill("123456$(internal_explosion_bytes)", &thresholds, text, 10));
}

static void test_thresholds_reach_the_rules(void **state)
{
    (void)state;
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    thresholds.value[TH_INTERNAL_INVESTIGATE_BYTES] = 123456789;
    char *yaml = FIXTURE_PRINTED(assert_true(prometheus_rules_yaml(&thresholds, "", out)));
    assert_non_null(strstr(yaml, "> 123456789\n"));
    assert_null(strstr(yaml, "524288000"));
    assert_non_null(strstr(yaml, "finding: \"internal-growth-investigate\""));
    free(yaml);
}

static void test_json_holds_the_same_rules(void **state)
{
    (void)state;
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    struct json_out out = {0};
    json_t *object = json_loads(prometheus_rules_json(&out, &thresholds, ""), 0, NULL);
    assert_non_null(object);
    json_t *rules = json_object_get(json_array_get(json_object_get(object, "groups"), 0), "rules");
    assert_int_equal(json_array_size(rules), FINDING_WATCH_COUNT);
    size_t index;
    json_t *rule;
    json_array_foreach (rules, index, rule) {
        const char *alert, *expression, *lasts, *severity, *runbook;
        assert_int_equal(json_unpack(rule, "{s:s, s:s, s:s, s:{s:s}, s:{s:s}}", "alert", &alert,
                                     "expr", &expression, "for", &lasts, "labels", "severity",
                                     &severity, "annotations", "runbook_url", &runbook),
                         0);
        assert_string_equal(alert, prometheus_rule_at(index)->alert);
        assert_int_equal(strncmp(runbook, FINDING_RUNBOOKS, strlen(FINDING_RUNBOOKS)), 0);
    }
    json_decref(object);
    json_out_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_alert_has_one_rule),
        cmocka_unit_test(test_every_template_names_real_thresholds),
        cmocka_unit_test(test_filling_refuses_what_it_cannot_fill),
        cmocka_unit_test(test_thresholds_reach_the_rules),
        cmocka_unit_test(test_json_holds_the_same_rules),
    };
    return cmocka_run_group_tests_name("reports/prometheus_rules", tests, NULL, NULL);
}
