/* What fills a heap, and what its many objects are the sign of. */
#include "analyzers/triage/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_largest_first(void **state)
{
    (void)state;
    struct heap_objects objects = {0};
    static const int64_t bytes[] = {5, 90, 7, 91, 1, 92, 3};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        heap_objects_add(&objects, SPAN_LITERAL("a.B"), 1, bytes[i]);
    assert_int_equal(objects.classes, 7);
    assert_int_equal(objects.total_bytes, 289);
    assert_int_equal(objects.count, HEAP_OBJECTS_MAX);
    assert_int_equal(objects.row[0].bytes, 92);
    assert_int_equal(objects.row[1].bytes, 91);
    assert_int_equal(objects.row[2].bytes, 90);
    assert_int_equal(objects.row[3].bytes, 7);
    assert_int_equal(objects.suspect, HEAP_SUSPECT_NONE);
}

static enum heap_suspect suspect_of(struct span name, int64_t instances)
{
    struct heap_objects objects = {0};
    heap_objects_add(&objects, name, instances, 1);
    return objects.suspect;
}

/* A row counts from its number on, and not below it. */
static void each_row_has_its_number(void **state)
{
    (void)state;
    for (int i = HEAP_SUSPECT_NONE + 1; i < HEAP_SUSPECT_COUNT; i++) {
        const struct heap_suspect_row *row = heap_suspect_row((enum heap_suspect)i);
        char name[128];
        struct span first = span_from_cstr(row->patterns);
        ptrdiff_t bar = span_find(first, SPAN_LITERAL("|"));
        first.len = bar < 0 ? first.len : (size_t)bar;
        span_copy(first, name, sizeof name);
        char *star = strchr(name, '*');
        if (star != NULL)
            *star = star == name ? 'X' : '\0';
        assert_int_equal(suspect_of(span_from_cstr(name), row->instances), i);
        assert_int_equal(suspect_of(span_from_cstr(name), row->instances - 1), HEAP_SUSPECT_NONE);
    }
}

static void names_are_matched_whole(void **state)
{
    (void)state;
    assert_int_equal(suspect_of(SPAN_LITERAL("java.lang.Thread"), 5000), HEAP_SUSPECT_THREADS);
    assert_int_equal(suspect_of(SPAN_LITERAL("java.lang.ThreadLocal"), 5000), HEAP_SUSPECT_NONE);
    assert_int_equal(suspect_of(SPAN_LITERAL("com.acme.PluginClassLoader"), 5000),
                     HEAP_SUSPECT_LOADERS);
    assert_int_equal(suspect_of(SPAN_LITERAL("com.acme.ClassLoaderCache"), 5000),
                     HEAP_SUSPECT_NONE);
}

/* A leak report of MAT names one object. */
static void what_retains_much(void **state)
{
    (void)state;
    struct heap_objects objects = {0};
    heap_objects_add(&objects, SPAN_LITERAL("java.util.zip.Inflater"), 12, 1248);
    heap_objects_add(&objects, SPAN_LITERAL("org.codehaus.groovy.reflection.ClassInfo"), 1,
                     400000000);
    assert_int_equal(objects.suspect, HEAP_SUSPECT_GROOVY);
    assert_int_equal(objects.suspected.instances, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_first),
        cmocka_unit_test(each_row_has_its_number),
        cmocka_unit_test(names_are_matched_whole),
        cmocka_unit_test(what_retains_much),
    };
    return cmocka_run_group_tests_name("heap_objects", tests, NULL, NULL);
}
