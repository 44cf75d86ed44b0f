#include "analyzers/classes/loader_table.h"

#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void add(struct loader_leak *leak, const char *type, int64_t classes, int64_t bytes)
{
    const struct loader_stats_row row = {.kind = LOADER_OWN,
                                         .type = span_from_cstr(type),
                                         .loader_address = 0x1000,
                                         .classes = classes,
                                         .chunk_bytes = bytes};
    loader_leak_add(leak, &row);
}

static void three_alike_are_copies(void **state)
{
    (void)state;
    struct loader_leak leak = {0};
    add(&leak, "org.apache.WebappClassLoader", 1000, 100);
    add(&leak, "org.apache.WebappClassLoader", 950, 110);
    assert_null(loader_leak_worst(&leak));
    add(&leak, "org.apache.WebappClassLoader", 1040, 90);
    const struct loader_copies *worst = loader_leak_worst(&leak);
    assert_non_null(worst);
    assert_int_equal(worst->copies, 3);
    assert_int_equal(worst->classes, 2990);
    assert_int_equal(worst->chunk_bytes, 300);
}

static void different_applications_are_not(void **state)
{
    (void)state;
    struct loader_leak leak = {0};
    for (int i = 0; i < 6; i++)
        add(&leak, "org.apache.WebappClassLoader", 100 << i, 1000);
    assert_null(loader_leak_worst(&leak));
}

static void generators_and_the_jdk_do_not_count(void **state)
{
    (void)state;
    struct loader_leak leak = {0};
    for (int i = 0; i < 100; i++) {
        add(&leak, "groovy.lang.GroovyClassLoader$InnerLoader", 1, 1000);
        add(&leak, "jdk.internal.loader.ClassLoaders$AppClassLoader", 500, 1000);
        add(&leak, "sun.misc.Launcher$AppClassLoader", 500, 1000);
        add(&leak, "<boot class loader>", 500, 1000);
    }
    assert_null(loader_leak_worst(&leak));
    assert_int_equal(leak.group_count, 0);
}

static void the_worst_has_the_most_bytes_to_spare(void **state)
{
    (void)state;
    struct loader_leak leak = {0};
    for (int i = 0; i < 3; i++)
        add(&leak, "app.Large", 500, 1 << 20);
    for (int i = 0; i < 9; i++)
        add(&leak, "app.Small", 30, 1 << 10);
    assert_string_equal(loader_leak_worst(&leak)->type, "app.Large");
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct loader_leak leak = {0};
    for (int i = 0; i < LOADER_LEAK_GROUPS_MAX + 10; i++) {
        char type[32];
        snprintf(type, sizeof type, "app.Loader%d", i);
        add(&leak, type, 50, 1);
    }
    assert_int_equal(leak.group_count, LOADER_LEAK_GROUPS_MAX);
    assert_int_equal(leak.dropped, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_alike_are_copies),
        cmocka_unit_test(different_applications_are_not),
        cmocka_unit_test(generators_and_the_jdk_do_not_count),
        cmocka_unit_test(the_worst_has_the_most_bytes_to_spare),
        cmocka_unit_test(what_does_not_fit_is_counted),
    };
    return cmocka_run_group_tests_name("loader_leak", tests, NULL, NULL);
}
