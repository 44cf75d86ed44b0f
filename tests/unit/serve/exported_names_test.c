#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/serve/views.h"
#include "reports/metrics/prometheus_rules.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every metric that a rule or the dashboard names has to be one that `serve` exports; whatever a
 * snapshot can hold is in this one. */

static char exported[1 << 16]; /* "\nname " ... */

static void fill(struct target_view *view)
{
    const struct verdict_view verdict = {.known = true,
                                         .answer = VERDICT_GROWING,
                                         .have_slope = true,
                                         .slope_bytes_per_h = {.low = 1, .value = 2, .high = 3},
                                         .have_level = true,
                                         .level_bytes = 5,
                                         .growth_bytes = 4};
    snprintf(view->label, sizeof view->label, "app");
    view->up = view->warm = view->have_rates = view->loaders.have = view->methods.have = true;
    view->internal = view->class_metaspace = verdict;
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++)
        sample_set(&view->latest, (enum sample_field)i, 1);
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++)
        sample_set_nmt(&view->latest, (enum nmt_category)i, (struct nmt_amount){2, 1});
    for (int i = FAILURE_NONE + 1; i < FAILURE_KIND_COUNT; i++)
        view->counts.failed[i] = 1;
    view->counts.methods_failed = 1;
}

static int setup(void **state)
{
    struct exposition out = {.format = EXPOSITION_TEXT};
    struct snapshot *snapshot = snapshot_create(1);
    size_t length, used = 0;
    (void)state;
    assert_non_null(snapshot);
    assert_true(snapshot_make_room(snapshot, 1, 1, 0));
    snapshot->target_count = 1;
    fill(&snapshot->targets[0]);
    snapshot->family_count = 1;
    snapshot->families[0] = (struct family_view){.loads = 1};
    snapshot->targets[0].family_count = 1;
    snapshot->own.notifying = snapshot->own.delivering = true;
    metrics_write(snapshot, &out);
    const char *text = exposition_end(&out, &length);
    assert_non_null(text);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        int size = (int)strcspn(line, "{ ");
        if (*line != '#')
            used +=
                (size_t)snprintf(exported + used, sizeof exported - used, "\n%.*s ", size, line);
    }
    exposition_free(&out);
    snapshot_release(snapshot);
    return 0;
}

static bool is_exported(const char *name, size_t length)
{
    char wanted[160];
    snprintf(wanted, sizeof wanted, "\n%.*s ", (int)length, name);
    return strstr(exported, wanted) != NULL;
}

/* Words of an expression that can only be metrics. */
static int check_names(const char *expression)
{
    static const char *const prefixes[] = {"nmtwatch_", "jvm_", "process_"};
    int count = 0;
    for (const char *at = expression; *at != '\0';) {
        size_t length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_')
            length++;
        for (size_t i = 0; length > 0 && i < sizeof prefixes / sizeof *prefixes; i++) {
            if (strncmp(at, prefixes[i], strlen(prefixes[i])) != 0)
                continue;
            count++;
            if (!is_exported(at, length))
                fail_msg("not exported: %.*s", (int)length, at);
        }
        at += length > 0 ? length : 1;
    }
    return count;
}

static void test_rules(void **state)
{
    const struct prometheus_rule *rule;
    (void)state;
    for (size_t i = 0; (rule = prometheus_rule_at(i)) != NULL; i++)
        assert_true(check_names(rule->expression) > 0);
}

static int check_dashboard(const json_t *value)
{
    int count = 0;
    size_t index;
    const char *key;
    json_t *child;
    if (json_is_object(value)) {
        json_object_foreach ((json_t *)value, key, child) {
            if (json_is_string(child) &&
                (strcmp(key, "expr") == 0 || strcmp(key, "definition") == 0))
                count += check_names(json_string_value(child));
            count += check_dashboard(child);
        }
    }
    json_array_foreach (value, index, child)
        count += check_dashboard(child);
    return count;
}

static void test_dashboard(void **state)
{
    json_error_t error;
    (void)state;
    json_t *dashboard = json_load_file("packaging/grafana/nmtwatch.json", 0, &error);
    assert_non_null(dashboard);
    assert_true(check_dashboard(dashboard) > 20);
    json_decref(dashboard);
}

/* Words in backquotes: `nmtwatch_delivery_queued`. */
static void test_documentation(void **state)
{
    char line[1024];
    int count = 0;
    (void)state;
    FILE *file = fopen("docs/alerting.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        count += check_names(line);
    fclose(file);
    assert_true(count > 3);
}

static void test_a_wrong_name_would_be_seen(void **state)
{
    (void)state;
    assert_true(is_exported("nmtwatch_up", 11));
    assert_false(is_exported("nmtwatch_u", 10));
    assert_false(is_exported("jvm_classes_loaded", 18)); /* a counter ends in _total */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_dashboard),
        cmocka_unit_test(test_documentation),
        cmocka_unit_test(test_a_wrong_name_would_be_seen),
    };
    return cmocka_run_group_tests_name("exported_names", tests, setup, NULL);
}
