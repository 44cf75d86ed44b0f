#include "analyzers/classes/stem_table.h"

#include <stdio.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 1;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 31;
    return hash;
}

static void add(struct shape *shape, const char *name, bool defined)
{
    char stem[STEM_MAX];
    struct name_parts parts;
    normalize(span_from_cstr(name), stem, &parts);
    shape_add(shape, &parts, hash_of(name), defined);
}

/* What count names of a format make, numbered from first by step. */
static enum shape_kind kind_of(const char *before, int count, int first, int step,
                               const char *after, bool defined)
{
    struct shape shape;
    shape_init(&shape);
    for (int i = 0; i < count; i++) {
        char name[200];
        snprintf(name, sizeof name, "%s%d%s", before, first + i * step, after);
        add(&shape, name, defined);
    }
    enum shape_kind kind = shape_kind(&shape);
    shape_free(&shape);
    return kind;
}

static void counters(void **state)
{
    (void)state;
    assert_int_equal(kind_of("Gen", 7, 0, 1, "", true), SHAPE_NONE);
    assert_int_equal(kind_of("Gen", 8, 0, 1, "", true), SHAPE_COUNTER);
    assert_int_equal(kind_of("Gen", 30, 900000, 3, "$x", true), SHAPE_COUNTER);
    assert_int_equal(kind_of("Gen", 8, 1, 700, "", true), SHAPE_NONE); /* Sha1, Sha224, ... */
    assert_int_equal(kind_of("Report_", 8, 1598510000, 7919, "_1", true), SHAPE_COUNTER);
    /* from a file, or from nobody knows where */
    assert_int_equal(kind_of("sun.nio.cs.ISO_8859_", 15, 1, 1, "", false), SHAPE_NONE);
    assert_int_equal(kind_of("Gen", 64, 0, 1, "", false), SHAPE_COUNTER);
    /* as javac numbers */
    assert_int_equal(kind_of("Outer$", 30, 1, 1, "", true), SHAPE_NONE);
    assert_int_equal(kind_of("Outer$", 64, 1, 1, "", true), SHAPE_COUNTER);
}

static void random_tails(void **state)
{
    (void)state;
    static const char *const tails[] = {"aB3dE5gH", "Zk2jQp9x", "q7Rt2Yw1", "3nMb8Kx0",
                                        "hJ6gF4dS", "p0O9iU8y", "T5rE4wQ3", "z1X2c3V4"};
    struct shape shape;
    shape_init(&shape);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(shape_kind(&shape), SHAPE_NONE);
        char name[40];
        snprintf(name, sizeof name, "a.Foo$%s", tails[i]);
        add(&shape, name, false);
    }
    assert_int_equal(shape_kind(&shape), SHAPE_RANDOM);
    add(&shape, "a.Foo$b1C2d3E4f5G6h7", false); /* tails of all lengths are words, not tails */
    assert_int_equal(shape_kind(&shape), SHAPE_NONE);
    shape_free(&shape);
}

static void repeats_and_hidden(void **state)
{
    (void)state;
    struct shape shape;
    shape_init(&shape);
    for (int i = 0; i < 7; i++)
        add(&shape, "plugin.Main", false);
    assert_int_equal(shape_kind(&shape), SHAPE_NONE);
    add(&shape, "plugin.Main", false);
    assert_int_equal(shape_kind(&shape), SHAPE_REPEATED);
    assert_int_equal(shape_names(&shape), 1);
    assert_int_equal(shape_max_same_name(&shape), 8);
    shape_free(&shape);

    shape_init(&shape);
    for (int i = 0; i < 8; i++) {
        char name[40];
        snprintf(name, sizeof name, "T$H/0x00007f136801%04x", i * 8);
        add(&shape, name, true);
    }
    assert_int_equal(shape_kind(&shape), SHAPE_HIDDEN);
    shape_free(&shape);
}

static void the_same_name_among_others(void **state)
{
    (void)state;
    struct shape shape;
    shape_init(&shape);
    for (int i = 0; i < 3000; i++) {
        char name[40];
        snprintf(name, sizeof name, "Gen%d", i);
        add(&shape, name, true);
    }
    assert_true(shape_max_same_name(&shape) <= 1); /* many different ones are no repeats */
    for (int i = 0; i < 3000; i++)
        add(&shape, i % 2 ? "Gen1" : "Gen2", true);
    assert_true(shape_max_same_name(&shape) <= 1500);
    assert_true(shape_max_same_name(&shape) >= 1000);
    shape_free(&shape);
}

static void names_are_counted_within_the_promise(void **state)
{
    (void)state;
    struct shape shape;
    shape_init(&shape);
    int next = 10, estimates = 0;
    double squares = 0;
    for (int i = 1; i <= 100000; i++) {
        char name[40];
        snprintf(name, sizeof name, "Gen%d", i);
        add(&shape, name, true);
        add(&shape, name, true);
        if (i <= SHAPE_EXACT_NAMES)
            assert_int_equal(shape_names(&shape), i);
        if (i == next) {
            double error = (double)shape_names(&shape) / i - 1;
            assert_true(error < 0.2 && error > -0.2);
            squares += error * error;
            estimates++;
            next = next * 5 / 4;
        }
    }
    assert_true(squares / estimates < 0.07 * 0.07);
    shape_free(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters),
        cmocka_unit_test(random_tails),
        cmocka_unit_test(repeats_and_hidden),
        cmocka_unit_test(the_same_name_among_others),
        cmocka_unit_test(names_are_counted_within_the_promise),
    };
    return cmocka_run_group_tests_name("classes/shape", tests, NULL, NULL);
}
