/* Mappings as pmap prints them. */
#include "analyzers/parse/tool_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] = "4711:   /usr/bin/java -Xmx512m\n"
                           "Address           Kbytes     RSS   Dirty Mode  Mapping\n"
                           "0000560c4a1f1000       4       4       0 r---- java\n"
                           "00007f1b24000000   65508   64212   64212 rw---   [ anon ]\n"
                           "00007f1b27ff9000      28       0       0 -----   [ anon ]\n"
                           "00007f1b28000000   65480   65480   65480 rw---   [ anon ]\n"
                           "---------------- ------- ------- ------- \n"
                           "total kB          806012  770328  753224\n";

static void with_rss(void **state)
{
    (void)state;
    struct pmap map;
    pmap_read(&map, SPAN_LITERAL(TEXT));
    assert_int_equal(map.pid, 4711);
    assert_int_equal(map.mappings, 4);
    assert_true(map.has_rss);
    assert_int_equal(map.rss_bytes, INT64_C(1024) * (4 + 64212 + 65480));
    assert_int_equal(map.total_rss_bytes, INT64_C(1024) * 770328);
    assert_int_equal(map.arenas, 2);
    assert_int_equal(map.arena_bytes, INT64_C(1024) * (64212 + 65480));
}

static void without_rss(void **state)
{
    (void)state;
    struct pmap map;
    pmap_read(&map, SPAN_LITERAL("00007f1b24000000   65508K rw---   [ anon ]\n"
                                 "00007f1b50000000   18432K r-x-- libjvm.so\n total   83940K\n"));
    assert_int_equal(map.mappings, 2);
    assert_false(map.has_rss);
    assert_int_equal(map.arenas, 1);
    assert_int_equal(map.arena_bytes, INT64_C(1024) * 65508);
}

static void of_a_process_that_is_no_jvm(void **state)
{
    (void)state;
    struct pmap map;
    pmap_read(&map, SPAN_LITERAL("812:   /usr/sbin/named -u bind\n"
                                 "00007f1b24000000   65508K rw---   [ anon ]\n"));
    assert_true(map.is_other);
    pmap_read(&map, SPAN_LITERAL(TEXT));
    assert_false(map.is_other);
}

static void lines(void **state)
{
    (void)state;
    assert_true(
        pmap_is_row(SPAN_LITERAL("00007f1b24000000   65508   64212   64212 rw---   [ anon ]")));
    assert_true(
        pmap_is_head(SPAN_LITERAL("Address           Kbytes     RSS   Dirty Mode  Mapping")));
    assert_false(pmap_is_row(SPAN_LITERAL("00007f1b24000000 is an address")));
    assert_false(pmap_is_row(SPAN_LITERAL("")));
}

static void read_cut(struct span text)
{
    struct pmap map;
    pmap_read(&map, text);
    assert_true(map.mappings <= 4);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_rss),
        cmocka_unit_test(without_rss),
        cmocka_unit_test(of_a_process_that_is_no_jvm),
        cmocka_unit_test(lines),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("pmap", tests, NULL, NULL);
}
