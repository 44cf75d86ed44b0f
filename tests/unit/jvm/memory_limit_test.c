#include "nmtwatch/jvm/proc.h"
#include "tests/unit/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/stat.h>

static int64_t of(const char *cgroup)
{
    return memory_limit_of(span_of(cgroup, strlen(cgroup)), folder);
}

static int make(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    folder_put("/pods/memory.max", "2147483648\n");
    folder_put("/pods/one/memory.max", "max\n");
    folder_put("/pods/two/memory.max", "1073741824\n");
    folder_put("/pods/three/memory.max", "4294967296\n");
    folder_put("/odd/memory.max", "lots\n");
    folder_put("/empty/memory.max", "");
    folder_put("/memory/docker/a/memory.limit_in_bytes", "536870912\n");
    folder_put("/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");
    return 0;
}

static void the_smallest_on_the_way_up(void **state)
{
    (void)state;
    assert_int_equal(of("0::/pods/one\n"), 2147483648);
    assert_int_equal(of("0::/pods/two\n"), 1073741824);
    assert_int_equal(of("0::/pods/three\n"), 2147483648);
    assert_int_equal(of("0::/pods/three/deeper/still\n"), 2147483648);
    assert_int_equal(of("0::/pods/two"), 1073741824);
}

static void version_1(void **state)
{
    (void)state;
    assert_int_equal(of("5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n"), 536870912);
    assert_int_equal(of("4:memory:/docker/b\n"), -1); /* the largest number is none */
    assert_int_equal(of("4:memory_recursiveprot:/docker/a\n"), -1);
    assert_int_equal(of("4:cpu,memory:/docker/a\n0::/pods/two\n"), 536870912);
}

static void what_is_left(void **state)
{
    (void)state;
    static const char group[] = "3:pids:/tight\n0::/pods/two\n";
    folder_put("/pods/two/memory.current", "1073737728\n");
    folder_put("/pids/tight/pids.max", "20\n");
    folder_put("/pids/tight/pids.current", "21\n");
    struct span text = span_of(group, sizeof group - 1);
    assert_int_equal(memory_room_of(text, folder), 4096);
    assert_int_equal(pids_room_of(text, folder), 0); /* above its limit */
    folder_put("/pods/two/memory.stat", "anon 5\ninactive_file 8192\nactive_file 4096\n");
    assert_int_equal(memory_room_of(text, folder), 4096 + 12288);
    assert_int_equal(pids_room_of(span_of("0::/pods/one\n", 13), folder), -1);
    assert_int_equal(memory_room_of(span_of("0::/pods/one\n", 13), folder), -1); /* use not known */
}

static void none(void **state)
{
    (void)state;
    assert_int_equal(of(""), -1);
    assert_int_equal(of("0::/\n"), -1);
    assert_int_equal(of("rubbish\n:\n::\n0:\n"), -1);
    assert_int_equal(of("0::/odd\n"), -1);
    assert_int_equal(of("0::/empty\n"), -1);
    assert_int_equal(of("0::/../../pods/two\n"), -1); /* of another namespace */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_on_the_way_up),
        cmocka_unit_test(version_1),
        cmocka_unit_test(what_is_left),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests_name("memory_limit", tests, make, folder_remove);
}
