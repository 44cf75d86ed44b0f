#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/classdef/family_table.h"

#include <stdlib.h>
#include <string.h>

static void readable_names(void **state)
{
    static const struct {
        const char *name, *readable;
        bool hidden;
    } ROWS[] = {
        {"Lcom/x/Foo;", "com.x.Foo", false},
        {"com/x/Foo", "com.x.Foo", false},
        {"LMain;", "Main", false},
        {"LT$$Lambda$1.0x00007f1368000c08;", "T$$Lambda$1/0x00007f1368000c08", true},
        {"T$$Lambda$1+0x00007f1368000c08", "T$$Lambda$1/0x00007f1368000c08", true},
        {"La/T$$Lambda+0x000000009b057208;", "a.T$$Lambda/0x000000009b057208", true},
        {"java/lang/invoke/LambdaForm$MH/2132586099", "java.lang.invoke.LambdaForm$MH/2132586099",
         true},
        {"L;", "L;", false},
        {"", "", false},
        {"/", ".", false},
    };
    char out[CLASS_NAME_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        assert_int_equal(class_name_readable(ROWS[i].name, out), strlen(ROWS[i].readable));
        assert_string_equal(out, ROWS[i].readable);
        assert_int_equal(class_name_is_hidden(out), ROWS[i].hidden);
    }
}

static void families_are_stems_or_packages(void **state)
{
    static const struct {
        const char *name, *family;
    } ROWS[] = {
        {"com/x/Foo$$EnhancerByCGLIB$$38272841", "com.x.Foo$$EnhancerByCGLIB$$*"},
        {"Script12$_run_closure1", "Script#$_run_closure#"},
        {"LT$$Lambda$1.0x00007f1368000c08;", "T$$Lambda$#/0x*"},
        {"T$$Lambda$12+0x00007f1368000c18", "T$$Lambda$#/0x*"},
        {"jdk/proxy2/$Proxy14", "jdk.proxy#.$Proxy#"},
        {"com/acme/orders/OrderService", "com.acme.orders.*"},
        {"com/acme/orders/OrderService$1", "com.acme.orders.*"},
        {"com/acme/orders/OrderService$Inner", "com.acme.orders.*"},
        {"com/acme/orders/OrderService$1Local$2", "com.acme.orders.*"},
        {"com/x/Foo$$SpringCGLIB$$0", "com.x.Foo$$SpringCGLIB$$#"},
        {"com/acme/Gen17$1", "com.acme.Gen#$#"},
        {"Main", "Main"},
        {"", ""},
    };
    char readable[CLASS_NAME_MAX], family[CLASS_FAMILY_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        size_t length = class_family(readable, class_name_readable(ROWS[i].name, readable), family);
        assert_string_equal(family, ROWS[i].family);
        assert_int_equal(length, strlen(family));
    }
}

/* What loads and what unloads is the same family, however the JVM writes the name. */
static void both_spellings_meet(void **state)
{
    char readable[CLASS_NAME_MAX], loaded[CLASS_FAMILY_MAX], unloaded[CLASS_FAMILY_MAX];
    (void)state;
    class_family(readable, class_name_readable("Lp/Gen.0x0000000801001000;", readable), loaded);
    class_family(readable, class_name_readable("p/Gen+0x0000000801001000", readable), unloaded);
    assert_string_equal(loaded, unloaded);
}

static void long_names_are_cut(void **state)
{
    char out[CLASS_NAME_MAX], family[CLASS_FAMILY_MAX];
    char *name = malloc(70000);
    (void)state;
    assert_non_null(name);
    for (int shape = 0; shape < 4; shape++) {
        static const char *const PIECES[] = {"package/", "x", "\xc3\xa4", "a1"};
        size_t piece = strlen(PIECES[shape]), length = 0;
        while (length + piece < 66000) {
            memcpy(name + length, PIECES[shape], piece);
            length += piece;
        }
        strcpy(name + length, "+0x12");
        size_t readable = class_name_readable(name, out);
        assert_true(readable < sizeof out && strlen(out) == readable);
        size_t kept = class_family(out, readable, family);
        assert_true(kept > 0 && kept < sizeof family && strlen(family) == kept);
    }
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readable_names),
        cmocka_unit_test(families_are_stems_or_packages),
        cmocka_unit_test(both_spellings_meet),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests_name("class_family", tests, NULL, NULL);
}
