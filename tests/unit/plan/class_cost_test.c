#include "analyzers/plan/sizing.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* Bytes a class, 10 000 of them, by NMT: Metaspace with class space's chunks, and all of it. */
static void generated_as_measured(void **state)
{
    (void)state;
    static const struct {
        int jdk;
        double methods;
        bool each;
        int64_t metaspace, all;
    } cells[] = {
        {17, 1, false, 454, 558 + 454 + 66 + 66},
        {17, 15, false, 2707, 575 + 2707 + 69 + 66},
        {17, 40, false, 6759, 566 + 6759 + 73 + 66},
        {17, 1, true, 4240, 3693 + 46 + 4240 + 1120 + 360 + 122 + 104},
        {17, 15, true, 4240, 3693 + 46 + 4240 + 1120 + 360 + 122 + 104},
        {17, 40, true, 8712, 3693 + 46 + 8712 + 1120 + 381 + 122 + 104},
        {25, 1, false, 493, 551 + 493 + 57 + 54},
        {25, 15, false, 2858, 551 + 2858 + 60 + 54},
        {25, 40, false, 7101, 551 + 7101 + 64 + 54},
        {25, 1, true, 4240, 3837 + 66 + 4240 + 1040 + 405 + 102 + 208},
        {25, 40, true, 8704, 3837 + 66 + 8704 + 1040 + 428 + 102 + 208},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct class_cost cost =
            class_cost(cells[i].jdk, (struct class_load){10000, cells[i].methods,
                                                         cells[i].each ? 10000 : 1, true});
        int64_t each = class_cost_total(&cost) / 10000;
        int64_t metaspace = cost.metaspace_bytes / 10000;
        assert_in_range(each, cells[i].all * 95 / 100, cells[i].all * 105 / 100);
        assert_in_range(metaspace, cells[i].metaspace * 95 / 100, cells[i].metaspace * 105 / 100);
    }
}

/* 14 000 classes of the JDK's own modules, 8 methods each. */
static void of_an_application_as_measured(void **state)
{
    (void)state;
    static const struct {
        int jdk;
        double methods;
        int64_t classes, metaspace, all;
    } cells[] = {
        {17, 8.04, 14005, 5766, 5038 + 831 + 1469 + 662},
        {25, 8.26, 14189, 6008, 5269 + 791 + 1303 + 344},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct class_cost cost = class_cost(
            cells[i].jdk, (struct class_load){cells[i].classes, cells[i].methods, 3, false});
        int64_t metaspace = class_cost_metaspace(&cost) / cells[i].classes;
        int64_t all = class_cost_total(&cost) / cells[i].classes;
        assert_in_range(metaspace, cells[i].metaspace * 97 / 100, cells[i].metaspace * 103 / 100);
        assert_in_range(all, cells[i].all * 97 / 100, cells[i].all * 103 / 100);
    }
}

static void whole_classes_by_version(void **state)
{
    (void)state;
    const struct class_load each = {1000, 15, 1000, true};
    struct class_cost jdk8 = class_cost(8, each), unknown = class_cost(0, each);
    struct class_cost jdk17 = class_cost(17, each), jdk26 = class_cost(26, each);
    assert_in_range(class_cost_total(&jdk8), 6900000, 7300000);
    assert_in_range(class_cost_total(&jdk17), 9600000, 10000000);
    assert_in_range(class_cost_total(&jdk26), 9600000, 10000000);
    assert_memory_equal(&unknown, &jdk17, sizeof unknown);
}

static void odd_numbers(void **state)
{
    (void)state;
    struct class_cost none = class_cost(17, (struct class_load){0, 9, 1, false});
    assert_int_equal(class_cost_total(&none), 0);
    none = class_cost(17, (struct class_load){-5, 9, 1, false});
    assert_int_equal(class_cost_total(&none), 0);
    struct class_cost huge =
        class_cost(17, (struct class_load){INT64_MAX, 65535, INT64_MAX, false});
    assert_int_equal(class_cost_total(&huge), INT64_MAX);
    struct class_cost one = class_cost(17, (struct class_load){10, 0, 0, true});
    assert_true(class_cost_total(&one) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_as_measured),
        cmocka_unit_test(of_an_application_as_measured),
        cmocka_unit_test(whole_classes_by_version),
        cmocka_unit_test(odd_numbers),
    };
    return cmocka_run_group_tests_name("class_cost", tests, NULL, NULL);
}
