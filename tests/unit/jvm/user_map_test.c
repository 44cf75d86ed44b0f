/* user_map: which ids a user namespace has numbers for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/target.h"

#include <unistd.h>

static bool covers(const char *text, int64_t id)
{
    return user_map_covers(span_from_cstr(text), id, false);
}

static void the_whole_range(void **state)
{
    (void)state;
    const char *map = "         0          0 4294967295\n";
    assert_true(covers(map, 0));
    assert_true(covers(map, 4711));
    assert_true(covers(map, 4294967294));
    assert_false(covers(map, 4294967295));
}

static void some_ranges(void **state)
{
    (void)state;
    const char *map = "         0       1000          1\n         1     100000      65536\n";
    assert_true(covers(map, 1000));
    assert_true(covers(map, 100000));
    assert_true(covers(map, 165535));
    assert_false(covers(map, 165536));
    assert_false(covers(map, 1001));
    assert_false(covers(map, 0)); /* a number of the inside */
    /* To who reads it from inside, as a debug container of the same pod does, that is the number. */
    assert_true(user_map_covers(span_from_cstr(map), 0, true));
    assert_true(user_map_covers(span_from_cstr(map), 65536, true));
    assert_false(user_map_covers(span_from_cstr(map), 65537, true));
}

static void none(void **state)
{
    (void)state;
    assert_false(covers("", 4711)); /* unshare -U without a mapping */
    assert_false(covers("0 4711", 4711));
    assert_false(covers("what is this", 4711));
}

static void a_process(void **state)
{
    (void)state;
    assert_true(user_map_has(getpid(), geteuid(), getegid()));
    assert_true(user_map_has(-1, 0, 0)); /* nobody knows */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_range),
        cmocka_unit_test(some_ranges),
        cmocka_unit_test(none),
        cmocka_unit_test(a_process),
    };
    return cmocka_run_group_tests_name("user_map", tests, NULL, NULL);
}
