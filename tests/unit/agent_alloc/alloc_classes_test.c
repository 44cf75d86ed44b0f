#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/alloc/alloc_classes.h"
#include "agent/mem/mem.h"

#include <stdio.h>
#include <string.h>

static void java_names(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"java/lang/String", "java.lang.String"},
        {"[B", "byte[]"},
        {"[[J", "long[][]"},
        {"[Ljava/lang/String;", "java.lang.String[]"},
        {"[other classes]", "[other classes]"},
        {"B", "B"}, /* a class of that name */
        {"a/B$$Lambda", "a.B$$Lambda"},
    };
    char out[64];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(alloc_class_java_name(pairs[i][0], out, sizeof out), pairs[i][1]);
    /* What does not fit is cut, dimensions whole or not at all. */
    assert_string_equal(alloc_class_java_name("[[J", out, 7), "long[]");
}

static void hidden_classes_share_a_row(void **state)
{
    (void)state;
    struct alloc_classes *classes = alloc_classes_create();
    uint32_t lambda = alloc_classes_put(classes, "Lapp/Main$$Lambda.0x00007f0100;");
    assert_int_equal(alloc_classes_put(classes, "Lapp/Main$$Lambda.0x00007f0200;"), lambda);
    assert_string_equal(alloc_classes_at(classes, lambda)->name, "app/Main$$Lambda");
    uint32_t array = alloc_classes_put(classes, "[Lapp/Main;");
    assert_string_equal(alloc_classes_at(classes, array)->name, "[Lapp/Main;");
    assert_int_not_equal(alloc_classes_put(classes, "Lapp/Main;"), array);
    alloc_classes_destroy(classes);
}

/* A class file may call a class by 65 535 bytes. */
static void names_that_are_cut_stay_names(void **state)
{
    (void)state;
    static char signature[65000], java[2048];
    struct alloc_classes *classes = alloc_classes_create();
    memset(signature, 'a', sizeof signature - 2);
    signature[0] = 'L';
    signature[sizeof signature - 2] = ';';
    const char *name = alloc_classes_at(classes, alloc_classes_put(classes, signature))->name;
    assert_int_equal(strlen(name), 1023);
    assert_int_equal(strspn(name, "a"), 1023);

    memcpy(signature, "[[L", 3);
    name = alloc_classes_at(classes, alloc_classes_put(classes, signature))->name;
    assert_int_equal(strlen(name), 1024);
    assert_int_equal(name[1023], ';');
    alloc_class_java_name(name, java, sizeof java);
    assert_int_equal(strspn(java, "a"), 1020);
    assert_string_equal(java + 1020, "[][]");
    uint32_t hidden = alloc_classes_put(classes, "[Lapp/Main$$Lambda.0x00007f0100;");
    assert_string_equal(alloc_classes_at(classes, hidden)->name, "[Lapp/Main$$Lambda;");
    alloc_classes_destroy(classes);
}

static void beyond_the_bound_classes_share_the_first_row(void **state)
{
    (void)state;
    struct mem_snapshot before, after;
    char signature[64];
    mem_snapshot(&before);
    struct alloc_classes *classes = alloc_classes_create();
    for (int i = 0; i < 3 * ALLOC_CLASSES_MAX; i++) {
        snprintf(signature, sizeof signature, "Lapp/C%d;", i);
        uint32_t number = alloc_classes_put(classes, signature);
        assert_true(number < ALLOC_CLASSES_MAX);
        assert_int_equal(number == 0, i >= ALLOC_CLASSES_MAX - 1);
    }
    assert_int_equal(alloc_classes_count(classes), ALLOC_CLASSES_MAX);
    alloc_classes_destroy(classes);
    mem_snapshot(&after);
    assert_int_equal(after.component[COMPONENT_ALLOC_PROFILE].reserved_bytes,
                     before.component[COMPONENT_ALLOC_PROFILE].reserved_bytes);
}

static void json_is_of_what_was_sampled(void **state)
{
    (void)state;
    struct alloc_classes *classes = alloc_classes_create();
    char text[400] = "";
    alloc_classes_put(classes, "Lapp/Never;");
    struct alloc_class *row = alloc_classes_at(classes, alloc_classes_put(classes, "[I"));
    row->samples = 2;
    row->settled_bytes = 1000;
    row->settled_variance = 9 * 9;
    row->counted_bytes = 2048;
    FILE *out = fmemopen(text, sizeof text, "w");
    alloc_classes_json(classes, 1, &(struct json){.out = out});
    fclose(out);
    assert_string_equal(
        text, "\"classes\":[{\"class\":\"int[]\",\"bytes\":1000,\"se_bytes\":9,\"samples\":2,"
              "\"counted_bytes\":2048}]");
    alloc_classes_destroy(classes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(java_names),
        cmocka_unit_test(hidden_classes_share_a_row),
        cmocka_unit_test(names_that_are_cut_stay_names),
        cmocka_unit_test(beyond_the_bound_classes_share_the_first_row),
        cmocka_unit_test(json_is_of_what_was_sampled),
    };
    return cmocka_run_group_tests_name("alloc_classes", tests, NULL, NULL);
}
