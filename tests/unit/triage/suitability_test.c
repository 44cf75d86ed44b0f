#include "analyzers/triage/triage.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static enum suitability of(int64_t loaded, bool counted)
{
    struct jvm_facts *facts = calloc(1, sizeof *facts);
    static struct triage triage;
    assert_non_null(facts);
    thresholds_default(&facts->thresholds);
    sample_clear(&facts->sample);
    facts->have_sample = counted;
    if (counted)
        sample_set(&facts->sample, SAMPLE_CLASSES_LOADED, loaded);
    triage_judge(facts, NULL, 0, &triage);
    free(facts);
    assert_true(triage.suitability.reason[0] != '\0');
    return triage.suitability.suitability;
}

static void by_the_number_of_classes(void **state)
{
    (void)state;
    assert_int_equal(of(0, true), SUITABILITY_APPROPRIATE);
    assert_int_equal(of(100000, true), SUITABILITY_APPROPRIATE);
    assert_int_equal(of(1000001, true), SUITABILITY_CAUTION);
    assert_int_equal(of(1000000, true), SUITABILITY_APPROPRIATE);
    assert_int_equal(of(2000000, true), SUITABILITY_NOT_APPROPRIATE);
    assert_int_equal(of(INT64_MAX, true), SUITABILITY_NOT_APPROPRIATE);
}

static void missing_is_not_zero(void **state)
{
    (void)state;
    assert_int_equal(of(0, false), SUITABILITY_CAUTION);
}

static void the_words(void **state)
{
    (void)state;
    assert_string_equal(suitability_name(SUITABILITY_APPROPRIATE), "APPROPRIATE");
    assert_string_equal(suitability_name(SUITABILITY_CAUTION), "CAUTION");
    assert_string_equal(suitability_name(SUITABILITY_NOT_APPROPRIATE), "NOT APPROPRIATE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_number_of_classes),
        cmocka_unit_test(missing_is_not_zero),
        cmocka_unit_test(the_words),
    };
    return cmocka_run_group_tests_name("suitability", tests, NULL, NULL);
}
