/* Against what NMT showed on real JVMs: bytes per class of classes with so many methods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/native/internal.h"

#include <math.h>

#define N 20000

/* Measured: differences of NMT between an agent that asks for ids and one that does not. */
static const struct {
    int jdk;
    double methods;
    int64_t loaders;
    double class_bytes, internal_bytes, jni_bytes, kept_bytes; /* a class */
    double tolerance;
} measured[] = {
    {8, 15, N, 288, 0, 0, 160, 2},    {11, 15, N, 168, 120, 0, 160, 2},
    {17, 1, N, 56, 64, 0, 104, 2},    {17, 5, N, 88, 64, 0, 104, 2},
    {17, 15, N, 168, 120, 0, 160, 2}, {17, 40, N, 368, 320, 0, 360, 2},
    {17, 15, 1, 152, 120, 0, 144, 2}, {21, 15, 1, 152, 120, 0, 144, 2},
    {25, 15, N, 168, 120, 0, 160, 2}, {26, 15, N, 409, 0, 361, 0, 3},
    {26, 15, 1, 339, 0, 361, 0, 3},   {27, 15, N, 409, 0, 361, 0, 3},
};

static void agrees_with_what_was_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        struct jmethodid_load load = {N, measured[i].methods, measured[i].loaders};
        struct jmethodid_cost cost = jmethodid_cost(measured[i].jdk, load);
        print_message("JDK %d, %g methods, %ld loaders\n", measured[i].jdk, measured[i].methods,
                      (long)measured[i].loaders);
        double tolerance = measured[i].tolerance;
        assert_true(fabs((double)cost.class_bytes / N - measured[i].class_bytes) <= tolerance);
        assert_true(fabs((double)cost.internal_bytes / N - measured[i].internal_bytes) <=
                    tolerance);
        assert_true(fabs((double)cost.jni_bytes / N - measured[i].jni_bytes) <= tolerance);
        assert_true(fabs((double)jmethodid_kept_bytes(&cost) / N - measured[i].kept_bytes) <=
                    tolerance);
    }
}

/* 100 000 classes in one loader of JDK 26: the list's capacity is what makes 296 of 338. */
static void a_list_of_ids_doubles(void **state)
{
    (void)state;
    struct jmethodid_cost cost = jmethodid_cost(26, (struct jmethodid_load){100000, 15, 1});
    assert_true(fabs((double)cost.class_bytes / 100000 - 296) <= 2);
}

static void nmt_headers_as_measured(void **state)
{
    (void)state;
    struct jmethodid_load own = {N, 15, N};
    struct jmethodid_load one = {N, 15, 1};
    assert_int_equal(jmethodid_cost(17, own).nmt_header_bytes / N, 48);
    assert_int_equal(jmethodid_cost(25, own).nmt_header_bytes / N, 54);
    assert_int_equal(jmethodid_cost(26, own).nmt_header_bytes / N, 324);
    assert_int_equal(jmethodid_cost(26, one).nmt_header_bytes / N, 288);
}

static void nothing_costs_nothing_and_sums_do_not_wrap(void **state)
{
    (void)state;
    struct jmethodid_cost none = jmethodid_cost(17, (struct jmethodid_load){0, 15, 1});
    assert_int_equal(jmethodid_loaded_bytes(&none), 0);
    struct jmethodid_cost huge =
        jmethodid_cost(17, (struct jmethodid_load){INT64_MAX, 1e9, INT64_MAX});
    assert_int_equal(jmethodid_loaded_bytes(&huge), INT64_MAX);
    assert_int_equal(jmethodid_kept_bytes(&huge), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_what_was_measured),
        cmocka_unit_test(a_list_of_ids_doubles),
        cmocka_unit_test(nmt_headers_as_measured),
        cmocka_unit_test(nothing_costs_nothing_and_sums_do_not_wrap),
    };
    return cmocka_run_group_tests_name("jmethodid_cost", tests, NULL, NULL);
}
