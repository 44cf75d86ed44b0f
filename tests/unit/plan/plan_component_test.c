#include "analyzers/plan/plan_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define KB INT64_C(1024)
#define MB (KB * 1024)

/* The tables of the documented design, as they are printed there. */
static const struct {
    enum plan_component part;
    const char *ordinary, *churn;
} documented[] = {
    {PLAN_PART_JMETHOD_IDS, "10-150 MB", "1+ GB"},
    {PLAN_PART_LINE_TABLES, "40 KB - 1.6 MB", "1-10 MB"},
    {PLAN_PART_CALL_TRACES, "11-44 MB", "50-200 MB"},
    {PLAN_PART_REFCOUNT_SLOTS, "512 KB", "512 KB"},
    {PLAN_PART_DICTIONARIES, "112 KB - 8 MB", "10-50 MB"},
    {PLAN_PART_RECORDING_BUFFERS, "1.1 MB", "1.1 MB"},
    {PLAN_PART_THREAD_ID_TABLES, "32 KB", "32 KB"},
    {PLAN_PART_METHOD_MAP, "104 KB - 1 MB", "1-10 MB"},
    {PLAN_PART_THREAD_CONTEXTS, "6-64 KB", "64-256 KB"},
};
#define DOCUMENTED (sizeof documented / sizeof documented[0])

static void nine_components_to_the_digit(void **state)
{
    (void)state;
    assert_int_equal(DOCUMENTED, 9);
    assert_int_equal(PLAN_COMPONENT_COUNT, DOCUMENTED + 1);
    for (size_t i = 0; i < DOCUMENTED; i++) {
        const struct plan_component_row *row = plan_component_row(documented[i].part);
        assert_string_equal(row->ordinary.text, documented[i].ordinary);
        assert_string_equal(row->churn.text, documented[i].churn);
    }
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITHOUT_IDS, SUITABILITY_LOAD_ORDINARY).text,
                        "14-56 MB");
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITH_IDS, SUITABILITY_LOAD_ORDINARY).text,
                        "24-206 MB");
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITHOUT_IDS, SUITABILITY_LOAD_HIGH).text,
                        "63-273 MB");
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITH_IDS, SUITABILITY_LOAD_HIGH).text,
                        "1+ GB");
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITH_IDS, SUITABILITY_LOAD_MODERATE).text,
                        "100 MB - 1 GB");
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITHOUT_IDS, SUITABILITY_LOAD_EXTREME).text,
                        "1-2 GB");
    assert_string_equal(plan_documented_sum(PLAN_SUM_WITH_IDS, SUITABILITY_LOAD_EXTREME).text,
                        "10+ GB");
    assert_string_equal(plan_documented(PLAN_PART_JMETHOD_IDS, SUITABILITY_LOAD_ORDINARY).text,
                        "10-150 MB");
    assert_string_equal(plan_documented(PLAN_PART_JMETHOD_IDS, SUITABILITY_LOAD_MODERATE).text,
                        "70-900 MB");
    assert_string_equal(plan_documented(PLAN_PART_JMETHOD_IDS, SUITABILITY_LOAD_HIGH).text,
                        "1+ GB");
    assert_string_equal(plan_documented(PLAN_PART_JMETHOD_IDS, SUITABILITY_LOAD_EXTREME).text,
                        "9-10 GB");
    assert_string_equal(plan_documented(PLAN_PART_LINE_TABLES, SUITABILITY_LOAD_MODERATE).text,
                        "1-10 MB");
}

/* "40 KB - 1.6 MB" -> the bytes of both ends. */
static void ends(const char *text, int64_t *low, int64_t *high)
{
    char *at;
    double first = strtod(text, &at), second = first;
    char unit[2][3] = {"", ""};
    sscanf(at, " %2[KMG]", unit[0]);
    const char *dash = strchr(text, '-');
    if (dash != NULL) {
        second = strtod(dash + 1, &at);
        sscanf(at, " %2[KMG]", unit[1]);
    }
    if (unit[0][0] == '\0')
        memcpy(unit[0], unit[1], sizeof unit[0]);
    if (unit[1][0] == '\0')
        memcpy(unit[1], unit[0], sizeof unit[1]);
    *low = (int64_t)(first * (double)(unit[0][0] == 'K' ? KB : MB) + 0.5);
    *high = (int64_t)(second * (double)(unit[1][0] == 'K' ? KB : MB) + 0.5);
}

static void bytes_are_those_of_the_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < DOCUMENTED; i++) {
        const struct plan_component_row *row = plan_component_row(documented[i].part);
        const struct plan_range *ranges[] = {&row->ordinary, &row->churn};
        for (int r = 0; r < 2; r++) {
            int64_t low, high;
            if (strcmp(ranges[r]->text, "1+ GB") == 0) {
                assert_int_equal(ranges[r]->low_bytes, 1024 * MB);
                assert_int_equal(ranges[r]->high_bytes, -1);
                continue;
            }
            ends(ranges[r]->text, &low, &high);
            if (documented[i].part == PLAN_PART_RECORDING_BUFFERS)
                low = high = 1179648; /* which it rounds to 1.1 MB */
            assert_int_equal(ranges[r]->low_bytes, low);
            assert_int_equal(ranges[r]->high_bytes, high);
        }
    }
}

/* Its sums are those of its rows, but for the lower end of the ordinary ones: 14 where they come
 * to 12.9. */
static void how_well_its_sums_hold(void **state)
{
    (void)state;
    int64_t low[2] = {0, 0}, high[2] = {0, 0};
    for (size_t i = 1; i < DOCUMENTED; i++) {
        const struct plan_component_row *row = plan_component_row(documented[i].part);
        low[0] += row->ordinary.low_bytes;
        high[0] += row->ordinary.high_bytes;
        low[1] += row->churn.low_bytes;
        high[1] += row->churn.high_bytes;
    }
    assert_in_range(low[0], 129 * MB / 10 - MB / 20, 129 * MB / 10 + MB / 20);
    assert_in_range(high[0], 56 * MB, 57 * MB);
    assert_in_range(low[1], 63 * MB, 64 * MB);
    assert_in_range(high[1], 271 * MB, 273 * MB);
}

static int64_t by_document(enum plan_component part, enum plan_number number, double value)
{
    struct plan_input input;
    int64_t document, expected;
    plan_input_default(&input);
    plan_input_set(&input, PLAN_CLASSES, 10000);
    plan_input_set(&input, number, value);
    int64_t classes = (int64_t)plan_input_get(&input, PLAN_CLASSES);
    plan_component_formulas(part, &input, classes, 0, &document, &expected);
    return document;
}

/* The documented examples: so many of something, and what it says that comes to. */
static void documented_formulas(void **state)
{
    (void)state;
    struct plan_input input;
    int64_t document, expected;
    plan_input_default(&input);
    plan_input_set(&input, PLAN_METHODS_PER_CLASS, 15);
    plan_component_formulas(PLAN_PART_JMETHOD_IDS, &input, 10000, 77, &document, &expected);
    assert_int_equal(document, 10200000); /* its 10 MB */
    assert_int_equal(expected, 77);       /* what the JVM's version says */
    plan_component_formulas(PLAN_PART_JMETHOD_IDS, &input, 100000, 0, &document, &expected);
    assert_int_equal(document, 102000000); /* and not its 150 MB */
    plan_component_formulas(PLAN_PART_JMETHOD_IDS, &input, 1000000, 0, &document, &expected);
    assert_int_equal(document, 1020000000);
    plan_input_set(&input, PLAN_SAMPLED_METHODS, 1000);
    plan_input_set(&input, PLAN_LINES_PER_METHOD, 5);
    plan_component_formulas(PLAN_PART_LINE_TABLES, &input, 1, 0, &document, &expected);
    assert_int_equal(document, 40000);
    plan_input_set(&input, PLAN_SAMPLED_METHODS, 10000);
    plan_input_set(&input, PLAN_LINES_PER_METHOD, 20);
    plan_component_formulas(PLAN_PART_LINE_TABLES, &input, 1, 0, &document, &expected);
    assert_int_equal(document, 1600000);
    assert_int_equal(by_document(PLAN_PART_CALL_TRACES, PLAN_TRACES, 10000), 11 * MB);
    assert_int_equal(by_document(PLAN_PART_CALL_TRACES, PLAN_TRACES, 100000), 44 * MB);
    assert_int_equal(by_document(PLAN_PART_REFCOUNT_SLOTS, PLAN_THREADS, 5), 524288);
    assert_int_equal(by_document(PLAN_PART_REFCOUNT_SLOTS, PLAN_THREADS, 5000), 524288);
    assert_int_equal(by_document(PLAN_PART_RECORDING_BUFFERS, PLAN_THREADS, 5), 1179648);
    assert_int_equal(by_document(PLAN_PART_THREAD_ID_TABLES, PLAN_THREADS, 5), 32768);
    assert_int_equal(by_document(PLAN_PART_METHOD_MAP, PLAN_SAMPLED_METHODS, 1000), 104000);
    assert_int_equal(by_document(PLAN_PART_METHOD_MAP, PLAN_SAMPLED_METHODS, 10000), 1040000);
    assert_int_equal(by_document(PLAN_PART_THREAD_CONTEXTS, PLAN_THREADS, 100), 6400);
    assert_int_equal(by_document(PLAN_PART_THREAD_CONTEXTS, PLAN_THREADS, 1000), 64000);
    assert_int_equal(by_document(PLAN_PART_BESIDES, PLAN_THREADS, 1000), -1);
}

/* An agent under javac (17.0.15, C2, 2 ms): what its account said, and what was counted then; call traces in
 * another run, with 2 306 methods. How many places of calls there are is a guess. */
static void expected_as_measured(void **state)
{
    (void)state;
    static const struct {
        enum plan_component part;
        int64_t bytes;
        int percent;
    } measured[] = {
        {PLAN_PART_LINE_TABLES, 177200, 3},
        {PLAN_PART_CALL_TRACES, 997568, 25},
        {PLAN_PART_DICTIONARIES, 90656 + 567568 + 64 + 6976, 5},
        {PLAN_PART_METHOD_MAP, 1365296, 3},
    };
    struct plan_input input;
    plan_input_default(&input);
    plan_input_set(&input, PLAN_SAMPLED_METHODS, 2317);
    plan_input_set(&input, PLAN_TRACES, 2656);
    plan_input_set(&input, PLAN_THREADS, 23);
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        int64_t document, expected;
        plan_component_formulas(measured[i].part, &input, 2377, 0, &document, &expected);
        int64_t off = measured[i].bytes * measured[i].percent / 100;
        assert_in_range(expected, measured[i].bytes - off, measured[i].bytes + off);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_components_to_the_digit),
        cmocka_unit_test(bytes_are_those_of_the_text),
        cmocka_unit_test(how_well_its_sums_hold),
        cmocka_unit_test(documented_formulas),
        cmocka_unit_test(expected_as_measured),
    };
    return cmocka_run_group_tests_name("plan_component", tests, NULL, NULL);
}
