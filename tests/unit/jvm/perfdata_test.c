/* perfdata: what is refused, what is missing, and what a file that changes under it does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/perfdata.h"
#include "tests/unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_BYTES 4096

static char path[72];

struct image {
    _Alignas(8) unsigned char bytes[IMAGE_BYTES];
    size_t used;
};

static void put_i32(struct image *image, size_t at, int32_t value)
{
    memcpy(image->bytes + at, &value, sizeof value);
}

static void begin(struct image *image)
{
    memset(image, 0, sizeof *image);
    memcpy(image->bytes, "\xca\xfe\xc0\xc0\x01\x02\x00\x01", 8);
    put_i32(image, 24, 32);
    image->used = 32;
}

static void add(struct image *image, const char *name, char type, const void *data, size_t len)
{
    size_t data_at = (20 + strlen(name) + 1 + 7) & ~(size_t)7;
    size_t entry_len = (data_at + len + 7) & ~(size_t)7;
    put_i32(image, image->used, (int32_t)entry_len);
    put_i32(image, image->used + 4, 20);
    put_i32(image, image->used + 8, type == 'B' ? (int32_t)len : 0);
    image->bytes[image->used + 12] = (unsigned char)type;
    put_i32(image, image->used + 16, (int32_t)data_at);
    memcpy(image->bytes + image->used + 20, name, strlen(name) + 1);
    memcpy(image->bytes + image->used + data_at, data, len);
    image->used += entry_len;
    int32_t entries;
    memcpy(&entries, image->bytes + 28, 4);
    put_i32(image, 28, entries + 1);
    put_i32(image, 8, (int32_t)image->used);
}

static void add_number(struct image *image, const char *name, int64_t value)
{
    add(image, name, 'J', &value, sizeof value);
}

static void save(const struct image *image, size_t len)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(image->bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static struct perfdata *opened(uid_t uid)
{
    struct target target = {.uid = uid, .gid = getegid()};
    snprintf(target.perfdata, sizeof target.perfdata, "%s", path);
    return perfdata_open(&target);
}

static void expect_errno(int expected)
{
    assert_null(opened(geteuid()));
    assert_int_equal(errno, expected);
}

static void sums_counters(void **state)
{
    (void)state;
    struct image image;
    begin(&image);
    add_number(&image, "java.cls.loadedClasses", 100);
    add_number(&image, "java.cls.sharedLoadedClasses", 400);
    add_number(&image, "java.cls.unloadedClasses", 7);
    add_number(&image, "sun.gc.collector.1.invocations", 3);
    add_number(&image, "sun.gc.collector.2.invocations", 2);
    add(&image, "sun.rt.javaCommand", 'B', "Main x", 7);
    save(&image, IMAGE_BYTES);
    struct perfdata *perfdata = opened(geteuid());
    assert_non_null(perfdata);
    struct sample sample;
    int64_t value;
    sample_clear(&sample);
    assert_true(perfdata_sample(perfdata, &sample));
    assert_true(sample_get(&sample, SAMPLE_CLASSES_LOADED, &value));
    assert_int_equal(value, 500);
    assert_true(sample_get(&sample, SAMPLE_CLASSES_UNLOADED, &value));
    assert_int_equal(value, 7);
    assert_true(sample_get(&sample, SAMPLE_GC_OLD, &value));
    assert_int_equal(value, 5);
    assert_false(sample_has(&sample, SAMPLE_GC_YOUNG)); /* missing is not zero */

    char text[16];
    assert_true(perfdata_string(perfdata, "sun.rt.javaCommand", text, sizeof text));
    assert_string_equal(text, "Main x");
    assert_false(perfdata_string(perfdata, "no.such", text, sizeof text));
    assert_false(perfdata_number(perfdata, "sun.rt.javaCommand", &value));
    perfdata_close(perfdata);
}

static void shared_classes_alone_are_no_count(void **state)
{
    (void)state;
    struct image image;
    begin(&image);
    add_number(&image, "java.cls.sharedLoadedClasses", 400);
    save(&image, IMAGE_BYTES);
    struct perfdata *perfdata = opened(geteuid());
    struct sample sample;
    sample_clear(&sample);
    assert_true(perfdata_sample(perfdata, &sample));
    assert_false(sample_has(&sample, SAMPLE_CLASSES_LOADED));
    perfdata_close(perfdata);
}

static void follows_the_file(void **state)
{
    (void)state;
    struct image image;
    begin(&image);
    add_number(&image, "java.cls.loadedClasses", 1);
    save(&image, IMAGE_BYTES);
    struct perfdata *perfdata = opened(geteuid());
    begin(&image);
    add_number(&image, "java.cls.loadedClasses", 2);
    save(&image, IMAGE_BYTES);
    struct sample sample;
    int64_t value = 0;
    sample_clear(&sample);
    assert_true(perfdata_sample(perfdata, &sample));
    sample_get(&sample, SAMPLE_CLASSES_LOADED, &value);
    assert_int_equal(value, 2);

    assert_int_equal(truncate(path, 64), 0);
    assert_false(perfdata_sample(perfdata, &sample));
    perfdata_close(perfdata);
}

static void refuses(void **state)
{
    (void)state;
    struct image image;
    unlink(path);
    expect_errno(ENOENT);

    begin(&image);
    save(&image, 16);
    expect_errno(EAGAIN);
    image.bytes[7] = 0; /* not accessible yet */
    save(&image, IMAGE_BYTES);
    expect_errno(EAGAIN);
    begin(&image);
    image.bytes[0] = 'x';
    save(&image, IMAGE_BYTES);
    expect_errno(EINVAL);
    begin(&image);
    save(&image, IMAGE_BYTES);
    assert_int_equal(truncate(path, PERFDATA_MAX_BYTES + 1), 0);
    expect_errno(EINVAL);

    save(&image, IMAGE_BYTES);
    assert_null(opened(geteuid() + 1));
    assert_int_equal(errno, EPERM);
    char target[80];
    snprintf(target, sizeof target, "%s.real", path);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    expect_errno(EPERM);
    unlink(path);
    unlink(target);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_errno(EPERM);
    unlink(path);
}

static int set_up(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/4711", folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_counters),
        cmocka_unit_test(shared_classes_alone_are_no_count),
        cmocka_unit_test(follows_the_file),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests_name("perfdata", tests, set_up, folder_remove);
}
