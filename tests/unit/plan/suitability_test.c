#include "analyzers/plan/suitability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct suitability_verdict verdict;

static enum suitability judged(struct suitability_facts facts)
{
    suitability_judge(&facts, &verdict);
    return verdict.suitability;
}

static struct suitability_facts so_many(int64_t loaded)
{
    return (struct suitability_facts){.jdk_major = 17,
                                      .methods_per_class = 9,
                                      .counted = true,
                                      .loaded = loaded,
                                      .loading_per_s = -1};
}

static void limits(void **state)
{
    (void)state;
    assert_int_equal(judged(so_many(SUITABILITY_ORDINARY_CLASSES)), SUITABILITY_APPROPRIATE);
    assert_null(strstr(verdict.reason, "converges"));
    assert_int_equal(judged(so_many(SUITABILITY_ORDINARY_CLASSES + 1)), SUITABILITY_APPROPRIATE);
    assert_non_null(strstr(verdict.reason, "watch that Internal converges"));
    assert_int_equal(judged(so_many(SUITABILITY_MODERATE_CLASSES)), SUITABILITY_APPROPRIATE);
    assert_string_equal(verdict.costs_reason, "");
    assert_int_equal(judged(so_many(SUITABILITY_MODERATE_CLASSES + 1)), SUITABILITY_CAUTION);
    assert_int_equal(judged(so_many(SUITABILITY_MILLIONS_CLASSES)), SUITABILITY_NOT_APPROPRIATE);
    assert_int_equal(judged(so_many(9100000)), SUITABILITY_NOT_APPROPRIATE);
    assert_int_equal(judged(so_many(SUITABILITY_EXTREME_CLASSES)), SUITABILITY_NOT_APPROPRIATE);
    assert_int_equal(judged(so_many(INT64_MAX)), SUITABILITY_NOT_APPROPRIATE);
}

/* 68 bytes a method are documented; 19 are measured on 17, 50 on 26. */
static void both_verdicts_where_costs_differ(void **state)
{
    (void)state;
    struct suitability_facts facts = so_many(3000000);
    facts.methods_per_class = 15;
    assert_int_equal(judged(facts), SUITABILITY_NOT_APPROPRIATE);
    assert_int_equal(verdict.by_costs, SUITABILITY_APPROPRIATE);
    assert_non_null(
        strstr(verdict.costs_reason, "the documented 68 bytes a method come to 2.8 GB"));
    facts.jdk_major = 26;
    assert_int_equal(judged(facts), SUITABILITY_NOT_APPROPRIATE);
    assert_int_equal(verdict.by_costs, SUITABILITY_NOT_APPROPRIATE);
    assert_string_equal(verdict.costs_reason, "");
    facts.loaded = 1000000, facts.methods_per_class = 40;
    assert_int_equal(judged(facts), SUITABILITY_APPROPRIATE);
    assert_int_not_equal(verdict.by_costs, SUITABILITY_APPROPRIATE);
}

static void what_does_not_end(void **state)
{
    (void)state;
    struct suitability_facts facts = so_many(100);
    facts.explosion = "groovy-shell";
    assert_int_equal(judged(facts), SUITABILITY_NOT_APPROPRIATE);
    assert_non_null(strstr(verdict.reason, "groovy-shell"));
    facts = so_many(100);
    facts.loader_leak = true;
    assert_int_equal(judged(facts), SUITABILITY_NOT_APPROPRIATE);
    facts = so_many(100);
    facts.churn = "proxy";
    assert_int_equal(judged(facts), SUITABILITY_CAUTION);
    facts = so_many(100);
    facts.loading_per_s = SUITABILITY_LOADING_PER_S;
    assert_int_equal(judged(facts), SUITABILITY_CAUTION);
    facts.loading_per_s = SUITABILITY_LOADING_PER_S - 0.1;
    assert_int_equal(judged(facts), SUITABILITY_APPROPRIATE);
    facts.counted = false;
    assert_int_equal(judged(facts), SUITABILITY_CAUTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(both_verdicts_where_costs_differ),
        cmocka_unit_test(what_does_not_end),
    };
    return cmocka_run_group_tests_name("plan suitability", tests, NULL, NULL);
}
