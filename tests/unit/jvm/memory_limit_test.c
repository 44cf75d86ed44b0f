#include "nmtwatch/jvm/proc.h"

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

static char folder[] = "/tmp/memory_limit_test.XXXXXX";

static void put(const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", folder, path);
    for (char *at = name + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(name, 0700);
        *at = '/';
    }
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static int64_t of(const char *cgroup)
{
    return memory_limit_of(span_of(cgroup, strlen(cgroup)), folder);
}

static int make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    put("/pods/memory.max", "2147483648\n");
    put("/pods/one/memory.max", "max\n");
    put("/pods/two/memory.max", "1073741824\n");
    put("/pods/three/memory.max", "4294967296\n");
    put("/odd/memory.max", "lots\n");
    put("/empty/memory.max", "");
    put("/memory/docker/a/memory.limit_in_bytes", "536870912\n");
    put("/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");
    return 0;
}

static int forget(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
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
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests_name("memory_limit", tests, make, forget);
}
