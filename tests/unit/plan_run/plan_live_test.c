#include "nmtwatch/plan/plan_sources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* What the agent calls its components. */
static const char *const agent_components[] = {
    "jmethod_ids",       "line_tables",      "call_trace_storage", "refcount_slots",
    "dictionary_class",  "dictionary_label", "dictionary_context", "dictionary_package",
    "recording_buffers", "thread_id_tables", "method_map",         "thread_contexts",
    "threads",           "native_symbols",   "jfr_writer",         "agent_code",
};

static void every_component_has_one_row(void **state)
{
    (void)state;
    char json[4096];
    int64_t sum = 0;
    size_t at = (size_t)snprintf(json, sizeof json, "{\"components\":[");
    for (size_t i = 0; i < sizeof agent_components / sizeof agent_components[0]; i++) {
        int64_t bytes = INT64_C(1) << i;
        sum += bytes;
        at += (size_t)snprintf(json + at, sizeof json - at,
                               "%s{\"name\":\"%s\",\"resident_bytes\":%lld}", i > 0 ? "," : "",
                               agent_components[i], (long long)bytes);
    }
    snprintf(json + at, sizeof json - at,
             "],\"jvm\":{\"jmethod_ids\":{\"present_bytes\":654384}}}");
    struct plan_measured measured;
    plan_measured_none(&measured);
    assert_true(plan_live_components(json, &measured));
    assert_int_equal(measured.component_bytes[PLAN_PART_LINE_TABLES], 2);
    assert_int_equal(measured.component_bytes[PLAN_PART_CALL_TRACES], 4);
    assert_int_equal(measured.component_bytes[PLAN_PART_REFCOUNT_SLOTS], 8);
    assert_int_equal(measured.component_bytes[PLAN_PART_DICTIONARIES], 16 + 32 + 64 + 128);
    assert_int_equal(measured.component_bytes[PLAN_PART_RECORDING_BUFFERS], 256);
    assert_int_equal(measured.component_bytes[PLAN_PART_THREAD_ID_TABLES], 512);
    assert_int_equal(measured.component_bytes[PLAN_PART_METHOD_MAP], 1024);
    assert_int_equal(measured.component_bytes[PLAN_PART_THREAD_CONTEXTS], 2048);
    assert_int_equal(measured.component_bytes[PLAN_PART_JMETHOD_IDS], 654384);
    int64_t rows = 0;
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++)
        rows += i != PLAN_PART_JMETHOD_IDS ? measured.component_bytes[i] : 0;
    assert_int_equal(rows, sum);
}

static void rubbish(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{", "[]", "{}", "{\"components\":{}}", "{\"components\":[]}", "nonsense",
    };
    struct plan_measured measured;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        plan_measured_none(&measured);
        assert_false(plan_live_components(texts[i], &measured));
        for (int c = 0; c < PLAN_COMPONENT_COUNT; c++)
            assert_int_equal(measured.component_bytes[c], -1);
    }
    plan_measured_none(&measured);
    plan_live_components("{\"components\":[{\"name\":5},{\"resident_bytes\":7},"
                         "{\"name\":\"method_map\",\"resident_bytes\":-7}]}",
                         &measured);
    assert_int_equal(measured.component_bytes[PLAN_PART_METHOD_MAP], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_component_has_one_row),
        cmocka_unit_test(rubbish),
    };
    return cmocka_run_group_tests_name("plan_live", tests, NULL, NULL);
}
