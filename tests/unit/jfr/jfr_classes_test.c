/* Class definitions and live objects: what the agent writes is what is summed up. */
#include "agent/jfr/jfr_writer.h"
#include "nmtwatch/jfr/jfr_profile.h"
#include "nmtwatch/jfr/jfr_live.h"
#include "tests/unit/folder.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[128], error[700];

static int setup(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/app.jfr", folder);
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct jfr_writer *create(void)
{
    const struct jfr_options options = {.file = path, .settings = "start", .jvm_version = "17"};
    struct jfr_writer *writer = jfr_create(&options, error, sizeof error);
    assert_non_null(writer);
    assert_true(jfr_chunk_begin(writer));
    return writer;
}

/* Trace 1: defineClass of the JDK, called by a library, called by Main. */
static void write_pools(struct jfr_writer *writer)
{
    static const char *const CLASSES[] = {"java/lang/ClassLoader", "net/sf/Proxies",
                                          "app/it/Main"};
    static const char *const METHODS[] = {"defineClass", "make", "work"};
    struct jfr_frame frames[3];
    jfr_pool_symbol(writer, 4, "()V"); /* what has none is a function of a library */
    for (uint32_t i = 0; i < 3; i++) {
        jfr_pool_class(writer, i + 1, CLASSES[i], 0);
        jfr_pool_symbol(writer, i + 1, METHODS[i]);
        jfr_pool_method(writer, i + 1, i + 1, i + 1, 4, 0);
        frames[i] = (struct jfr_frame){.method_id = i + 1, .line = (int)i * 10};
    }
    jfr_pool_trace(writer, 1, frames, 3, false);
    jfr_pool_trace(writer, 2, frames, 1, false);
}

static void define(struct jfr_writer *writer, const char *family, uint32_t trace, int64_t count)
{
    uint8_t bytes[4096];
    const struct jfr_class_definition definition = {.tid = 100,
                                                    .trace_id = trace,
                                                    .class_name = "net.sf.Proxy12",
                                                    .family = family,
                                                    .count = count,
                                                    .bytes = 2000};
    size_t length = jfr_encode_class_definition(&definition, bytes, sizeof bytes);
    assert_true(length > 0);
    assert_true(jfr_events(writer, bytes, length));
}

static void keep(struct jfr_writer *writer, const char *name, uint32_t trace, int64_t bytes)
{
    const struct jfr_live_object live = {.trace_id = trace,
                                         .class_name = name,
                                         .objects = 3,
                                         .own_bytes = 300,
                                         .bytes = bytes,
                                         .least_survived = 1,
                                         .most_survived = 4,
                                         .oldest_ms = 900};
    jfr_live_object(writer, &live);
}

static void end(struct jfr_writer *writer)
{
    assert_true(jfr_chunk_end(writer));
    jfr_destroy(writer);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void families_and_ways_are_summed_up(void **state)
{
    struct jfr_writer *writer = create();
    struct class_makers classes;
    (void)state;
    define(writer, "net.sf.Proxy#", 1, 1);
    define(writer, "net.sf.Proxy#", 1, 30);
    define(writer, "net.sf.Proxy#", 0, 5); /* without a stack */
    define(writer, "app.it.*", 2, 2);
    jfr_class_family(writer, "net.sf.Proxy#", 36, 0, 72000, 36);
    write_pools(writer);
    assert_true(jfr_chunk_end(writer));
    assert_true(jfr_chunk_begin(writer));
    define(writer, "net.sf.Proxy#", 1, 4);
    jfr_class_family(writer, "net.sf.Proxy#", 40, 12, 80000, 40);
    jfr_class_family(writer, "app.it.*", 2, 0, 0, 0);
    write_pools(writer);
    end(writer);

    int fd = open(path, O_RDONLY);
    assert_true(jfr_classes_read(&classes, fd, path, error, sizeof error));
    assert_int_equal(classes.family_count, 2);
    assert_int_equal(classes.loaded, 42);
    assert_int_equal(classes.unloaded, 12);
    assert_int_equal(classes.bytes, 80000);
    assert_int_equal(classes.sized, 40);
    const struct class_family *first = classes.families[0], *second = classes.families[1];
    assert_string_equal(first->name, "net.sf.Proxy#");
    assert_string_equal(first->example, "net.sf.Proxy12");
    assert_int_equal(first->way_count, 1);
    assert_int_equal(first->way[0].classes, 35);
    assert_int_equal(first->way[0].stacks, 3);
    assert_string_equal(first->way[0].definer, "net.sf.Proxies.make:10");
    assert_string_equal(first->way[0].caller, "app.it.Main.work:20");
    assert_int_equal(second->bytes, -1); /* not known is not 0 */
    assert_string_equal(second->way[0].definer, "java.lang.ClassLoader.defineClass");
    assert_null(second->way[0].caller);
    assert_int_equal(call_tree_samples(classes.tree), 42);
    class_makers_free(&classes);
    close(fd);
    unlink(path);
}

static void objects_of_the_last_chunk_are_live(void **state)
{
    struct jfr_writer *writer = create();
    struct jfr_live live;
    (void)state;
    keep(writer, "gone.By.Then", 1, 9000);
    keep(writer, "app.it.Session", 1, 1000);
    write_pools(writer);
    assert_true(jfr_chunk_end(writer));
    assert_true(jfr_chunk_begin(writer));
    keep(writer, "byte[]", 0, 500);
    keep(writer, "app.it.Session", 1, 2000);
    write_pools(writer);
    end(writer);

    int fd = open(path, O_RDONLY);
    assert_true(jfr_live_read(&live, fd, path, error, sizeof error));
    assert_int_equal(live.site_count, 2);
    assert_int_equal(live.bytes, 2500);
    assert_int_equal(live.objects, 6);
    assert_string_equal(live.sites[0].class_name, "app.it.Session");
    assert_int_equal(live.sites[0].depth, 3);
    assert_string_equal(live.sites[0].frames[1], "net.sf.Proxies.make:10");
    assert_int_equal(live.sites[0].most_survived, 4);
    assert_int_equal(live.sites[1].depth, 0);
    assert_int_equal(call_tree_samples(live.tree), 2500);
    jfr_live_free(&live);
    close(fd);
    unlink(path);
}

static void nothing_lives_in_an_empty_last_chunk(void **state)
{
    struct jfr_writer *writer = create();
    struct jfr_live live;
    (void)state;
    keep(writer, "gone.By.Then", 1, 9000);
    write_pools(writer);
    assert_true(jfr_chunk_end(writer));
    assert_true(jfr_chunk_begin(writer));
    end(writer);
    int fd = open(path, O_RDONLY);
    assert_true(jfr_live_read(&live, fd, path, error, sizeof error));
    assert_int_equal(live.site_count, 0);
    assert_int_equal(live.bytes, 0);
    jfr_live_free(&live);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_and_ways_are_summed_up),
        cmocka_unit_test(objects_of_the_last_chunk_are_live),
        cmocka_unit_test(nothing_lives_in_an_empty_last_chunk),
    };
    return cmocka_run_group_tests_name("jfr_classes", tests, setup, folder_remove);
}
