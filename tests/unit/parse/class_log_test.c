#include "analyzers/parse/class_log.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const struct {
    const char *line;
    enum class_log_kind kind;
    const char *name, *source;
    int64_t uptime_ms;
} lines[] = {
    /* JDK 9 and later */
    {"[0.108s][info][class,load] java.lang.Object source: shared objects file", CLASS_LOG_LOAD,
     "java.lang.Object", "shared objects file", 108},
    {"[2.650s][info ][class,load  ] Shutdown$Lock source: jrt:/java.base", CLASS_LOG_LOAD,
     "Shutdown$Lock", "jrt:/java.base", 2650},
    {"[2026-11-20T21:58:28.943+0000][0.149s][148ms][4989][4991][info][class,load] A source: B",
     CLASS_LOG_LOAD, "A", "B", 149},
    {"[1.397s][info][class,unload] unloading class Gone29 0x00007fa330086000", CLASS_LOG_UNLOAD,
     "Gone29", "", 1397},
    {"[class,unload] unloading class Host$$Lambda/0x00007fa330000400 0x00007fa330086000",
     CLASS_LOG_UNLOAD, "Host$$Lambda/0x00007fa330000400", "", -1},
    {"[1700000000000ms][12ms][class,load] A source: B", CLASS_LOG_LOAD, "A", "B", 12},
    {"[2887123456ns][class,load] A source: B", CLASS_LOG_LOAD, "A", "B", 2887},
    {"[host.example][class,load] A source: B", CLASS_LOG_LOAD, "A", "B", -1},
    {"[class,load] a name with blanks source: file:/x y.jar", CLASS_LOG_LOAD, "a name with blanks",
     "file:/x y.jar", -1},
    {"[class,load] A source: B source: C", CLASS_LOG_LOAD, "A", "B source: C", -1},
    {"Script1 source: __JVM_DefineClass__", CLASS_LOG_LOAD, "Script1", "__JVM_DefineClass__", -1},
    {"unloading class Gone 0x0000000000000001", CLASS_LOG_UNLOAD, "Gone", "", -1},
    /* JDK 8 */
    {"[Loaded A from file:/a b/c.jar]", CLASS_LOG_LOAD, "A", "file:/a b/c.jar", -1},
    {"[Unloading class AnonTmpl/772777427 0x00000001000b3828]", CLASS_LOG_UNLOAD,
     "AnonTmpl/772777427", "", -1},
    /* neither */
    {"", CLASS_LOG_OTHER, "", "", -1},
    {"[Opened /opt/rt.jar]", CLASS_LOG_OTHER, "", "", -1},
    {"[Loaded A fro", CLASS_LOG_OTHER, "", "", -1},
    {"[Loaded ]", CLASS_LOG_OTHER, "", "", -1},
    {"[Unloading class A]", CLASS_LOG_OTHER, "", "", -1},
    {"[0.1s][info][gc] Heap source: old", CLASS_LOG_OTHER, "", "", -1},
    {"[0.100s][info][gc] Pause", CLASS_LOG_OTHER, "", "", 100},
    {"[0.285s][info][class,loader,data] A source: B", CLASS_LOG_OTHER, "", "", 285},
    {"[0.285s][debug][class,load] klass: 0x1 super: 0x2 loader: [boot]", CLASS_LOG_OTHER, "", "",
     285},
    {"[0.001s][info][class,load] opened: /opt/jdk11/lib/modules", CLASS_LOG_OTHER, "", "", 1},
    {"[0.285s][info][class,unload] unloading class Gone", CLASS_LOG_OTHER, "", "", 285},
    {"the program says: open source: free", CLASS_LOG_OTHER, "", "", -1},
    {" source: nothing before it", CLASS_LOG_OTHER, "", "", -1},
    {"[", CLASS_LOG_OTHER, "", "", -1},
    {"[]]", CLASS_LOG_OTHER, "", "", -1},
    {"[99999999999999999999s][class,load] A source: B", CLASS_LOG_LOAD, "A", "B", -1},
};

static void each_form_of_each_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct class_log_line line = class_log_parse(span_from_cstr(lines[i].line));
        if (line.kind != lines[i].kind || line.uptime_ms != lines[i].uptime_ms ||
            !span_equals(line.name, span_from_cstr(lines[i].name)) ||
            !span_equals(line.source, span_from_cstr(lines[i].source)))
            fail_msg("'%s' -> kind %d '%.*s' '%.*s' %ld", lines[i].line, line.kind,
                     (int)line.name.len, line.name.ptr, (int)line.source.len, line.source.ptr,
                     (long)line.uptime_ms);
    }
}

static void only_what_looks_like_a_load_claims_to_be_one(void **state)
{
    (void)state;
    static const char *const remarks[] = {
        "[0.001s][info][class,load] opened: /opt/jdk11/lib/modules",
        "[0.285s][debug][class,load]  klass: 0x1 super: 0x2 loader: [boot]",
    };
    for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++)
        assert_false(class_log_parse(span_from_cstr(remarks[i])).claims);
    assert_true(class_log_parse(SPAN_LITERAL("[0.285s][info][class,load] Cut off sou")).claims);
}

static void the_incomplete_tail_is_left(void **state)
{
    (void)state;
    struct span rest = SPAN_LITERAL("A source: B\r\n\nB source: C\nD sour");
    struct class_log_line line;
    int loads = 0, others = 0;
    while (class_log_next(&rest, &line))
        line.kind == CLASS_LOG_LOAD ? loads++ : others++;
    assert_int_equal(loads, 2);
    assert_int_equal(others, 1);
    assert_true(span_equals(rest, SPAN_LITERAL("D sour")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_each_version),
        cmocka_unit_test(only_what_looks_like_a_load_claims_to_be_one),
        cmocka_unit_test(the_incomplete_tail_is_left),
    };
    return cmocka_run_group_tests_name("parse/class_log", tests, NULL, NULL);
}
