/* observe_answer: what a watch and a triage take from an observation's table, and from texts that are none. */
#include "nmtwatch/observe/observe_child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct caller_row rows[4];

static int read_callers(const char *text)
{
    memset(rows, 0, sizeof rows);
    return observe_callers(text, strlen(text), rows, 4);
}

static void call_sites(void **state)
{
    (void)state;
    assert_int_equal(
        read_callers(
            "{\"families\":["
            "{\"family\":\"com.acme.Gen#\",\"example\":\"com.acme.Gen7\",\"loaded\":60,\"ways\":["
            "{\"stacks\":40,\"definer\":\"a.L.d:1\",\"caller\":\"com.acme.Gen.make:4\"},"
            "{\"stacks\":15,\"definer\":\"a.M.d:1\",\"caller\":\"com.acme.Gen.make:4\"},"
            "{\"stacks\":5,\"caller\":\"com.acme.Other.make:9\"}]},"
            "{\"family\":\"without stacks\",\"loaded\":9,\"ways\":[]},"
            "{\"family\":\"odd\",\"loaded\":2,\"ways\":[{\"stacks\":1,\"caller\":7},{\"stacks\":2,"
            "\"caller\":\"a.B.c:1\"}]}"
            "]}"),
        2);
    assert_string_equal(rows[0].family, "com.acme.Gen#");
    assert_string_equal(rows[0].call_site, "com.acme.Gen.make:4");
    assert_int_equal(rows[0].classes, 60);
    assert_int_equal(rows[0].stacks, 55);
    assert_string_equal(rows[1].call_site, "a.B.c:1");
    assert_int_equal(read_callers(""), 0);
    assert_int_equal(read_callers("[1,2"), 0);
    assert_int_equal(read_callers("{\"families\":{\"a\":1}}"), 0);
    assert_int_equal(
        read_callers("{\"families\":[1,null,{\"ways\":[3]},{\"ways\":[{\"frames\":9}]}]}"), 0);
}

static void outside_of_nmt(void **state)
{
    static const char text[] =
        "{\"growth\":[{\"of\":\"Java Heap\",\"bytes\":9999999,\"outside_nmt\":false},"
        "{\"of\":\"malloc\",\"bytes\":1110,\"outside_nmt\":true},"
        "{\"of\":\"libraries\",\"bytes\":200,\"outside_nmt\":true}],"
        "\"growers\":[{\"by\":\"com.acme.A.b\",\"in\":null,\"bytes\":9999999,\"outside_nmt\":false}"
        ","
        "{\"by\":\"com.acme.Zip.pack:7\",\"in\":\"deflateInit2_ [libz]\",\"bytes\":900,"
        "\"outside_nmt\":true},{\"by\":\"leak [libleak]\",\"bytes\":300,\"outside_nmt\":true}]}";
    static const char heap[] = "{\"growth\":[{\"bytes\":5,\"outside_nmt\":false}],\"growers\":[{"
                               "\"by\":\"a.B.c\",\"bytes\":5}]}";
    struct facts_toucher toucher;
    (void)state;
    observe_outside(text, strlen(text), &toucher);
    assert_true(toucher.have);
    assert_string_equal(toucher.by, "com.acme.Zip.pack:7");
    assert_string_equal(toucher.in, "deflateInit2_ [libz]");
    assert_int_equal(toucher.bytes, 900);
    assert_int_equal(toucher.outside_bytes, 1310);
    observe_outside("", 0, &toucher);
    assert_false(toucher.have);
    observe_outside(heap, strlen(heap), &toucher);
    assert_false(toucher.have);
}

static void ids(void **state)
{
    static const char counted[] =
        "{\"loaders\":3,\"classes\":500,\"methods\":4000,\"jmethodids\":70}";
    static const char elsewhere[] = "{\"classes\":500,\"methods\":4000,\"jmethodids\":null}";
    struct facts_ids ids;
    (void)state;
    assert_true(observe_ids(counted, strlen(counted), &ids));
    assert_int_equal(ids.ids, 70);
    assert_int_equal(ids.classes, 500);
    assert_false(observe_ids(elsewhere, strlen(elsewhere), &ids));
    assert_false(ids.have);
    assert_false(observe_ids("x", 1, &ids));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_sites),
        cmocka_unit_test(outside_of_nmt),
        cmocka_unit_test(ids),
    };
    return cmocka_run_group_tests_name("observe_answer", tests, NULL, NULL);
}
