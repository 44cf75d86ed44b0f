/* A file's name for each JVM. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/process/files.h"

static void every_mark_becomes_the_pid(void **state)
{
    char path[16];
    (void)state;
    assert_true(pid_path("a-%p", 42, path, sizeof path));
    assert_string_equal(path, "a-42");
    assert_true(pid_path("%p/%p.gz", 7, path, sizeof path));
    assert_string_equal(path, "7/7.gz");
    assert_true(pid_path("100%", 7, path, sizeof path));
    assert_string_equal(path, "100%");
}

static void what_is_too_long_is_no_name(void **state)
{
    char path[8];
    (void)state;
    assert_true(pid_path("1234567", 1, path, sizeof path));
    assert_false(pid_path("12345678", 1, path, sizeof path));
    assert_false(pid_path("abcd-%p", 12345, path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mark_becomes_the_pid),
        cmocka_unit_test(what_is_too_long_is_no_name),
    };
    return cmocka_run_group_tests_name("watch/pid_path", tests, NULL, NULL);
}
