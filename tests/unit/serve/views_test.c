/* A snapshot with hostile texts in it, as metrics, page and JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/classes/family.h"
#include "nmtwatch/serve/views.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct texts texts; /* of all findings here */

#define HOSTILE "<script>alert(1)</script>\"\x1b[31m\n\xff"

static struct snapshot *made_snapshot(void)
{
    struct snapshot *snapshot = snapshot_create(2);
    assert_non_null(snapshot);
    assert_true(snapshot_make_room(snapshot, 2, 2, 1));
    snapshot->unix_ms = 1795240822188;
    snapshot->own.started_unix_ms = 1795240000000;
    snapshot->target_count = 2;
    struct target_view *plain = &snapshot->targets[0], *hostile = &snapshot->targets[1];
    snprintf(plain->label, sizeof plain->label, "orders");
    plain->up = true;
    plain->pid = 4711;
    plain->start_unix_ms = 1795240000500;
    plain->counts.polls = 12;
    plain->counts.questions = 3;
    plain->counts.answer_us = 1500;
    sample_set(&plain->latest, SAMPLE_RSS_BYTES, 1048576);
    sample_set(&plain->latest, SAMPLE_CLASSES_LOADED, 5000);
    sample_set(&plain->latest, SAMPLE_CLASSES_UNLOADED, 100);
    sample_set(&plain->latest, SAMPLE_METASPACE_COMMITTED_BYTES, 777);
    sample_set(&plain->latest, SAMPLE_NMT_COMMITTED_BYTES, 300);
    sample_set_nmt(&plain->latest, NMT_INTERNAL, (struct nmt_amount){200, 100});
    plain->internal = (struct verdict_view){.known = true,
                                            .state = VERDICT_LINEAR,
                                            .answer = VERDICT_GROWING,
                                            .have_slope = true,
                                            .slope_bytes_per_h = {7200, 3600, 10800},
                                            .have_level = true,
                                            .level_bytes = 100,
                                            .growth_bytes = 50};
    plain->warm = true;
    const float first[SPARK_COUNT] = {1, SPARK_MISSING, 3, 4}, second[SPARK_COUNT] = {2, 2, 2, 2};
    sparkline_add(&plain->spark, 0, first);
    sparkline_add(&plain->spark, 2000, second);

    snprintf(hostile->label, sizeof hostile->label, HOSTILE);
    snprintf(hostile->main, sizeof hostile->main, HOSTILE);
    snprintf(hostile->note, sizeof hostile->note, HOSTILE);
    snprintf(hostile->user, sizeof hostile->user, HOSTILE);
    snprintf(hostile->nmt_level, sizeof hostile->nmt_level, "off");
    hostile->pid = 4712;
    hostile->counts.failing = FAILURE_NO_ANSWER;
    hostile->counts.failed[FAILURE_NO_ANSWER] = 2;
    hostile->active_alerts = 1;
    hostile->worst_active = SEVERITY_CRITICAL;
    hostile->finding_count = 1;
    hostile->loaders = (struct top_view){.have = true, .count = 1, .others = 9};
    snprintf(hostile->loaders.rows[0].name, sizeof hostile->loaders.rows[0].name, HOSTILE);
    hostile->loaders.rows[0].number = 3;
    hostile->methods = hostile->loaders;
    plain->active_alerts = 1;
    plain->finding_count = 1;
    plain->first_finding = 1;
    plain->raised[SEVERITY_INFO] = 3;
    snapshot->finding_count = 2;
    snapshot->findings[0].target = 1;
    snapshot->findings[0].finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_add_text(&snapshot->findings[0].finding, "example", HOSTILE);
    snapshot->findings[1].target = 0;
    snapshot->findings[1].finding = finding_begin(&texts, FINDING_HEAP_CLASS_GROWTH);
    snapshot->findings[1].finding.severity = SEVERITY_INFO;
    snapshot->family_count = 2;
    snapshot->families[0] = (struct family_view){1, 0, 5, 1};
    snapshot->families[1] = (struct family_view){1, FAMILY_COUNT, 7, 0};
    snapshot->own.observing = true;
    snapshot->own.observations_started = 4;
    snapshot->own.observations_refused[OBSERVE_OVER_BUDGET] = 2;
    snapshot->own.observations_cpu_us = 1500000;
    snapshot->observation_count = 1;
    snapshot->observations[0] = (struct observation_view){
        .target = 1, .file = "a-1.html", .section = "leaks", .what = "rss", .sentence = HOSTILE};
    return snapshot;
}

static char *metrics_text(enum exposition_format format)
{
    struct snapshot *snapshot = made_snapshot();
    struct exposition out = {.format = format};
    size_t length;
    metrics_write(snapshot, &out);
    const char *text = exposition_end(&out, &length);
    assert_non_null(text);
    char *copy = strdup(text);
    exposition_free(&out);
    snapshot_release(snapshot);
    return copy;
}

static void has(const char *text, const char *line)
{
    if (strstr(text, line) == NULL)
        fail_msg("missing: %s", line);
}

static void test_metrics(void **state)
{
    (void)state;
    char *text = metrics_text(EXPOSITION_TEXT);
    has(text, "\nnmtwatch_up{target=\"orders\"} 1\n");
    has(text, "\nprocess_resident_memory_bytes{target=\"orders\"} 1048576\n");
    has(text, "\njvm_classes_currently_loaded{target=\"orders\"} 4900\n");
    has(text, "\njvm_native_memory_committed_bytes{target=\"orders\",pool=\"Internal\"} 100\n");
    has(text, "\njvm_native_memory_committed_bytes{target=\"orders\",pool=\"Total\"} 300\n");
    has(text, "\njvm_memory_pool_max_bytes{target=\"orders\",pool=\"Metaspace\"} -1\n");
    has(text, "\nnmtwatch_growth_bytes_per_second{target=\"orders\",series=\"internal\"} 2\n");
    has(text, "\nnmtwatch_growth_low_bytes_per_second{target=\"orders\",series=\"internal\"} 1\n");
    has(text, "\nnmtwatch_verdict_growing{target=\"orders\",series=\"internal\"} 1\n");
    has(text,
        "\nnmtwatch_verdict_state{target=\"orders\",series=\"internal\",state=\"LINEAR\"} 1\n");
    has(text, "\nnmtwatch_poll_duration_seconds_sum{target=\"orders\"} 0.0015\n");
    has(text, "finding=\"class-explosion\",severity=\"critical\"} 1\n");
    /* As it was raised, not as its kind starts. */
    has(text, "{target=\"orders\",finding=\"heap-class-growth\",severity=\"warning\"} 0\n");
    has(text, "{target=\"orders\",finding=\"heap-class-growth\",severity=\"info\"} 1\n");
    has(text, "\nnmtwatch_alerts_raised_total{target=\"orders\",severity=\"info\"} 3\n");
    has(text, ",reason=\"no-answer\"} 2\n");
    has(text, ",family=\"unknown\"} 7\n");
    has(text, ",type=\"(other)\"} 9\n");
    has(text, "\nnmtwatch_observations_started_total 4\n");
    has(text, "\nnmtwatch_observations_refused_total{reason=\"budget\"} 2\n");
    has(text, "\nnmtwatch_observations_refused_total{reason=\"cooldown\"} 0\n");
    has(text, "\nnmtwatch_observations_cpu_seconds_total 1.5\n");
    free(text);
}

static void test_missing_is_absent(void **state)
{
    (void)state;
    char *text = metrics_text(EXPOSITION_TEXT);
    assert_null(strstr(text, "process_threads"));
    assert_null(strstr(text, "nmtwatch_agent_"));
    assert_null(strstr(text, "series=\"class_metaspace\""));
    assert_null(strstr(text, "jvm_native_memory_committed_bytes{target=\"<"));
    free(text);
}

/* Every line is a comment or a series, whatever the JVMs are called: nothing got out of its quotes. */
static void test_metrics_stay_lines(void **state)
{
    (void)state;
    for (int format = EXPOSITION_TEXT; format <= EXPOSITION_OPENMETRICS; format++) {
        char *text = metrics_text((enum exposition_format)format);
        int lines = 0;
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++) {
            bool ours = strncmp(line, "# ", 2) == 0 || strncmp(line, "nmtwatch_", 9) == 0 ||
                        strncmp(line, "jvm_", 4) == 0 || strncmp(line, "process_", 8) == 0;
            if (!ours)
                fail_msg("a line that is none: %s", line);
            assert_null(strchr(line, '\x1b'));
        }
        assert_true(lines > 100);
        free(text);
    }
}

/* A family's header comes once, and its samples follow it. */
static void test_families_stand_together(void **state)
{
    (void)state;
    char *text = metrics_text(EXPOSITION_OPENMETRICS);
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        char name[128];
        assert_int_equal(sscanf(at, "# TYPE %120s", name), 1);
        strcat(name, " ");
        char head[160];
        snprintf(head, sizeof head, "# TYPE %s", name);
        const char *again = strstr(at + 1, head);
        if (again != NULL)
            fail_msg("twice: %s", name);
    }
    free(text);
}

static void test_the_page_is_no_script(void **state)
{
    (void)state;
    struct snapshot *snapshot = made_snapshot();
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_true(view_page(snapshot, false, out));
    fclose(out);
    assert_null(strstr(text, "<script"));
    assert_null(strchr(text, '\x1b'));
    has(text, "&lt;script&gt;");
    has(text, "1 critical, 0 warnings, 1 INFO in 2 JVMs; 1 does not answer");
    has(text, "NMT is off");
    has(text, "nmtwatch explain class-explosion");
    has(text, "<polyline points=\"");
    has(text, "growing");
    has(text, "href=\"/observations/a-1.html\"");
    free(text);
    snapshot_release(snapshot);
}

/* The second target is the worse one, and comes first; /bad leaves out what is well. */
static void test_worst_first_and_those_that_ended(void **state)
{
    (void)state;
    struct snapshot *snapshot = made_snapshot();
    struct ended_view *ended = &snapshot->ended[0];
    snapshot->ended_count = 1;
    snprintf(ended->label, sizeof ended->label, "billing");
    snprintf(ended->how, sizeof ended->how, "killed by signal 9 (Killed)");
    snprintf(ended->findings, sizeof ended->findings, HOSTILE);
    ended->active_alerts = 1;
    ended->pid = 4713;
    ended->ended_unix_ms = snapshot->unix_ms - 60000;
    sample_set(&ended->latest, SAMPLE_RSS_BYTES, 3 << 20);
    snapshot->finding_count = 1;
    snapshot->targets[0].active_alerts = 0;
    snapshot->targets[0].finding_count = 0;
    for (int bad = 0; bad < 2; bad++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        assert_true(view_page(snapshot, bad != 0, out));
        fclose(out);
        const char *worse = strstr(text, "#t1\">"), *well = strstr(text, "#t0\">");
        assert_non_null(worse);
        assert_int_equal(well != NULL, bad == 0);
        worse = strstr(strstr(text, ">Targets<"), "#t1\">");
        assert_true(well == NULL || well > worse);
        has(text, "Ended in the last day");
        has(text, "killed by signal 9 (Killed)");
        has(text, "3 MB");
        has(text, "1 min ago");
        assert_null(strstr(text, "<script"));
        free(text);
    }
    snapshot_release(snapshot);
}

static void test_only_web_addresses_become_links(void **state)
{
    (void)state;
    struct snapshot *snapshot = made_snapshot();
    const char *const bases[] = {"javascript:alert(1)", "https://wiki.example/\"x"};
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        snprintf(snapshot->own.runbooks, sizeof snapshot->own.runbooks, "%s", bases[i]);
        assert_true(view_page(snapshot, false, out));
        fclose(out);
        assert_null(strstr(text, "javascript:"));
        assert_int_equal(strstr(text, "href=\"https://wiki.example/&quot;x/class-explosion.md\"") !=
                             NULL,
                         i == 1);
        free(text);
    }
    snapshot_release(snapshot);
}

static void test_an_empty_house(void **state)
{
    (void)state;
    struct snapshot *snapshot = snapshot_create(0);
    char *text = NULL;
    size_t length;
    assert_true(snapshot_make_room(snapshot, 0, 0, 0));
    snapshot->own.unreadable = 3;
    FILE *out = open_memstream(&text, &length);
    assert_true(view_page(snapshot, false, out));
    fclose(out);
    has(text, "No JVM is watched");
    has(text, "3 processes belong to other users");
    free(text);
    snapshot_release(snapshot);
}

static void test_json(void **state)
{
    (void)state;
    struct snapshot *snapshot = made_snapshot();
    struct json_out out = {0};
    json_t *targets = json_loads(view_targets_json(snapshot, &out), 0, NULL);
    json_t *target = json_array_get(json_object_get(targets, "targets"), 0);
    assert_string_equal(json_string_value(json_object_get(target, "target")), "orders");
    assert_int_equal(json_integer_value(
                         json_object_get(json_object_get(target, "internal"), "slope_bytes_per_h")),
                     7200);
    target = json_array_get(json_object_get(targets, "targets"), 1);
    assert_string_equal(json_string_value(json_object_get(target, "reason")), "no-answer");
    target = json_array_get(json_object_get(target, "observations"), 0);
    assert_string_equal(json_string_value(json_object_get(target, "file")), "a-1.html");
    assert_string_equal(json_string_value(json_object_get(target, "what")), "rss");
    json_decref(targets);
    json_t *findings = json_loads(view_findings_json(snapshot, &out), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(findings, "findings")), 2);
    json_decref(findings);
    json_out_free(&out);
    snapshot_release(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_missing_is_absent),
        cmocka_unit_test(test_metrics_stay_lines),
        cmocka_unit_test(test_families_stand_together),
        cmocka_unit_test(test_the_page_is_no_script),
        cmocka_unit_test(test_worst_first_and_those_that_ended),
        cmocka_unit_test(test_only_web_addresses_become_links),
        cmocka_unit_test(test_an_empty_house),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
