/* Histograms of a heap: classes of one generator share a row, growth counts from the first one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/classes/heap_census.h"

#include <stdio.h>
#include <stdlib.h>

static char text[1 << 18];
static size_t length;
static int rank;

static void begin(void)
{
    rank = 0;
    length = (size_t)snprintf(text, sizeof text,
                              " num     #instances         #bytes  class name (module)\n"
                              "-------------------------------------------------------\n");
}

static void row(long instances, long bytes, const char *name)
{
    length += (size_t)snprintf(text + length, sizeof text - length, "%4d: %14ld %14ld  %s\n",
                               ++rank, instances, bytes, name);
}

static bool add(struct heap_census *census, int64_t ms, struct histogram_event *event)
{
    length += (size_t)snprintf(text + length, sizeof text - length, "Total %14d %14d\n", 1, 1);
    return heap_census_add(census, span_of(text, length), ms, event);
}

static const struct histogram_class *find(const struct histogram_event *event, const char *name)
{
    for (int i = 0; i < event->row_count; i++) {
        if (strcmp(event->rows[i].name, name) == 0)
            return &event->rows[i];
    }
    return NULL;
}

static void growth_counts_from_the_first(void **state)
{
    (void)state;
    struct heap_census *census = heap_census_create();
    struct histogram_event event;
    begin();
    row(100, 4000, "[B (java.base@17.0.21)");
    row(10, 240, "java.lang.String (java.base@17.0.21)");
    row(5, 200, "com.acme.Shrinks");
    row(3, 100, "[Ljdk.internal.vm.FillerElement; (java.base@25)");
    assert_true(add(census, 1000, &event));
    assert_int_equal(event.first_ms, 1000);
    assert_int_equal(event.row_count, 3);
    assert_int_equal(event.bytes, 4540);
    assert_int_equal(find(&event, "[B")->bytes_growth, 0);
    for (int i = 1; i <= 2; i++) {
        begin();
        row(100, 4000, "[B (java.base@17.0.21)");
        row(10 + i * 5, 240 + i * 120, "java.lang.String (java.base@17.0.21)");
        row(3 * i, 96 * i, "com.acme.New");
        row(1, 40, "com.acme.Shrinks");
        assert_true(add(census, 1000 + i * 1000, &event));
    }
    assert_int_equal(event.first_ms, 1000);
    assert_int_equal(event.classes, 4);
    assert_int_equal(find(&event, "java.lang.String")->instances_growth, 10);
    assert_int_equal(find(&event, "java.lang.String")->bytes_growth, 240);
    assert_int_equal(find(&event, "com.acme.New")->bytes_growth, 192);
    assert_int_equal(find(&event, "com.acme.Shrinks")->bytes_growth, -160);
    assert_string_equal(event.rows[0].name, "[B");
    int grown[3];
    assert_int_equal(histogram_growing(&event, grown, 3), 2);
    assert_string_equal(event.rows[grown[0]].name, "java.lang.String");
    assert_int_equal(histogram_growing(&event, grown, 1), 1);
    heap_census_destroy(census);
}

static void classes_of_one_generator_share_a_row(void **state)
{
    (void)state;
    struct heap_census *census = heap_census_create();
    struct histogram_event event;
    char name[80];
    for (int round = 1; round <= 2; round++) {
        begin();
        row(7, 700, "java.util.Base64");
        row(7, 350, "java.util.Base32");
        row(2, 64, "com.acme.Twice"); /* in two loaders */
        row(1, 32, "com.acme.Twice");
        for (int i = 0; i < 40 * round; i++) {
            snprintf(name, sizeof name, "com.acme.Rule$$Lambda/0x00007f00%08x", i);
            row(2, 32, name);
        }
        for (int i = 0; i < 100 * round; i++) {
            snprintf(name, sizeof name, "com.acme.Gen%d", i);
            row(1, 16, name);
            snprintf(name, sizeof name, "[%sLcom.acme.Gen%d;", i % 2 > 0 ? "[" : "", i);
            row(1, 24, name);
        }
        row(1, 24, "[Ljava.util.Base64;");
        row(1, 24, "[[I");
        assert_true(add(census, round, &event));
    }
    const struct histogram_class *lambdas = find(&event, "com.acme.Rule$$Lambda/0x*");
    assert_non_null(lambdas);
    assert_string_equal(lambdas->family, "jdk-lambda");
    assert_int_equal(lambdas->classes, 80);
    assert_int_equal(lambdas->instances, 160);
    assert_int_equal(lambdas->bytes_growth, 40 * 32);
    const struct histogram_class *unknown = find(&event, "com.acme.Gen#");
    assert_non_null(unknown);
    assert_string_equal(unknown->family, "unknown:com.acme.Gen#");
    assert_int_equal(unknown->instances_growth, 100);
    const struct histogram_class *arrays = find(&event, "com.acme.Gen#[]");
    assert_non_null(arrays);
    assert_string_equal(arrays->family, "unknown:com.acme.Gen#");
    assert_int_equal(arrays->instances, 200);
    assert_int_equal(arrays->bytes_growth, 2400);
    assert_string_equal(find(&event, "[Ljava.util.Base64;")->family, "");
    assert_int_equal(find(&event, "[[I")->bytes, 24);
    assert_int_equal(find(&event, "java.util.Base64")->bytes, 700);
    assert_string_equal(find(&event, "java.util.Base32")->family, "");
    assert_int_equal(find(&event, "com.acme.Twice")->classes, 2);
    assert_int_equal(find(&event, "com.acme.Twice")->instances, 3);
    heap_census_destroy(census);
}

/* What `| head` leaves, and a paste that ends inside of a row. */
static void cut_histograms_are_compared(void **state)
{
    (void)state;
    struct histogram_event event;
    for (int torn = 0; torn < 2; torn++) {
        struct heap_census *census = heap_census_create();
        begin();
        row(100, 4000, "com.acme.Order");
        row(10, 1000, "java.lang.String (java.base@17.0.21)");
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s", torn ? "   3:      9" : "");
        assert_false(heap_census_add(census, span_of(text, length), 0, &event));
        assert_true(heap_census_add_saved(census, span_of(text, length), &event));
        assert_int_equal(event.classes, 2);
        begin();
        row(300, 12000, "com.acme.Order");
        row(50, 3000, "com.acme.Below"); /* 1 000 bytes at most before */
        row(10, 1000, "java.lang.String (java.base@17.0.21)");
        row(20, 900, "com.acme.Small");
        length += (size_t)snprintf(text + length, sizeof text - length, "%s",
                                   torn ? "   5:     10            800 com.ac" : "");
        assert_true(heap_census_add_saved(census, span_of(text, length), &event));
        assert_int_equal(event.classes, 4);
        assert_int_equal(find(&event, "com.acme.Order")->bytes_growth, 8000);
        assert_int_equal(find(&event, "com.acme.Below")->bytes_growth, 2000);
        assert_int_equal(find(&event, "com.acme.Below")->instances_growth, 33);
        assert_int_equal(find(&event, "com.acme.Small")->bytes_growth, 0);
        assert_null(find(&event, "com.ac"));
        heap_census_destroy(census);
    }
}

static void the_largest_and_the_fastest_remain(void **state)
{
    (void)state;
    struct heap_census *census = heap_census_create();
    struct histogram_event event;
    char name[80];
    for (int round = 0; round < 2; round++) {
        begin();
        for (int i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "com.acme.%c%c%cThing", 'a' + i / 100, 'a' + i / 10 % 10,
                     'a' + i % 10);
            row(1, 100000 - i * 50 + (i >= 700 ? round * (i - 690) : 0), name);
        }
        assert_true(add(census, round, &event));
        assert_int_equal(event.row_count, round == 0 ? HISTOGRAM_TOP : HISTOGRAM_ROWS_MAX);
    }
    assert_string_equal(event.rows[0].name, "com.acme.aaaThing");
    int grown[HISTOGRAM_ROWS_MAX];
    assert_int_equal(histogram_growing(&event, grown, HISTOGRAM_ROWS_MAX), HISTOGRAM_TOP);
    assert_string_equal(event.rows[grown[0]].name, "com.acme.jjjThing");
    for (int i = 1; i < event.row_count; i++)
        assert_true(event.rows[i - 1].bytes >= event.rows[i].bytes);
    heap_census_destroy(census);
}

static void what_is_no_histogram_changes_nothing(void **state)
{
    (void)state;
    struct heap_census *census = heap_census_create();
    struct histogram_event event;
    static const char *const texts[] = {"", "com.sun.tools.attach.AttachOperationFailedException\n",
                                        " num     #instances         #bytes  class name\n"
                                        "-----\n   1:  1  16  java.lang.Object\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(heap_census_add(census, span_from_cstr(texts[i]), 1, &event));
    begin();
    assert_true(add(census, 5, &event)); /* empty, and the first */
    assert_int_equal(event.row_count, 0);
    assert_int_equal(event.first_ms, 5);
    heap_census_destroy(census);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_counts_from_the_first),
        cmocka_unit_test(classes_of_one_generator_share_a_row),
        cmocka_unit_test(cut_histograms_are_compared),
        cmocka_unit_test(the_largest_and_the_fastest_remain),
        cmocka_unit_test(what_is_no_histogram_changes_nothing),
    };
    return cmocka_run_group_tests_name("heap_census", tests, NULL, NULL);
}
