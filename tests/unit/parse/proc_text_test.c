#include "analyzers/parse/proc_text.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>

#define STAT_TAIL                                                                                  \
    " S 1200 1234 1200 34816 1234 4194304 5000 0 10 0 321 45 0 0 20 0 27 0 987654 3000000000 "     \
    "12345 18446744073709551615 1 1 0\n"

static void a_command_may_hold_spaces_and_parentheses(void **state)
{
    (void)state;
    static const char *const commands[] = {"java", "my (odd) name", ") S 1 (", ""};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char text[512] = "1234 (";
        strcat(text, commands[i]);
        strcat(text, ")" STAT_TAIL);
        struct proc_stat stat;
        assert_int_equal(proc_stat_parse(&stat, span_from_cstr(text)), PARSE_OK);
        assert_int_equal(stat.pid, 1234);
        assert_true(span_equals(stat.comm, span_from_cstr(commands[i])));
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.ppid, 1200);
        assert_int_equal(stat.utime_ticks, 321);
        assert_int_equal(stat.stime_ticks, 45);
        assert_int_equal(stat.threads, 27);
        assert_int_equal(stat.start_time_ticks, 987654);
    }
}

static void a_cut_stat_is_incomplete(void **state)
{
    (void)state;
    const char text[] = "1234 (java)" STAT_TAIL;
    size_t start_time_end = strlen("1234 (java) S 1200 1234 1200 34816 1234 4194304 5000 0 10 0 "
                                   "321 45 0 0 20 0 27 0 987654");
    struct proc_stat stat;
    for (size_t len = 0; len <= start_time_end; len++)
        assert_int_equal(proc_stat_parse(&stat, span_of(text, len)), PARSE_INCOMPLETE);
    assert_int_equal(proc_stat_parse(&stat, span_of(text, start_time_end + 1)), PARSE_OK);
    assert_int_equal(proc_stat_parse(&stat, SPAN_LITERAL("x (java) S 1\n")), PARSE_MALFORMED);
    assert_int_equal(proc_stat_parse(&stat, SPAN_LITERAL("1 (java) S x 1 1 1 1 1\n")),
                     PARSE_MALFORMED);
}

static void statm_is_in_pages(void **state)
{
    (void)state;
    struct proc_statm statm;
    assert_int_equal(proc_statm_parse(&statm, SPAN_LITERAL("900 300 20 1 0 50 0\n")), PARSE_OK);
    assert_int_equal(statm.resident_pages, 300);
    assert_int_equal(statm.shared_pages, 20);
    assert_int_equal(proc_statm_parse(&statm, SPAN_LITERAL("900 300")), PARSE_INCOMPLETE);
    assert_int_equal(proc_statm_parse(&statm, SPAN_LITERAL("900 -3 20 1\n")), PARSE_MALFORMED);
}

#define STATUS(nspid)                                                                              \
    "Name:\tjava\nState:\tT (stopped)\nUid:\t1000\t1001\t1000\t1000\n"                             \
    "Gid:\t50\t51\t50\t50\n" nspid "SigCgt:\t2000000181005ccf\n"

static void status_names_the_innermost_pid(void **state)
{
    (void)state;
    struct proc_status status;
    assert_int_equal(proc_status_parse(&status, SPAN_LITERAL(STATUS("NSpid:\t4711\t12\n"))),
                     PARSE_OK);
    assert_int_equal(status.state, 'T');
    assert_int_equal(status.real_uid, 1000);
    assert_int_equal(status.effective_uid, 1001);
    assert_int_equal(status.effective_gid, 51);
    assert_int_equal(status.nspid, 12);
    assert_int_equal(status.nspid_depth, 2);
    assert_true(proc_status_catches(&status, SIGQUIT));
    assert_false(proc_status_catches(&status, SIGKILL));
    assert_false(proc_status_catches(&status, 0));
    assert_false(proc_status_catches(&status, 65));
    assert_int_equal(proc_status_parse(&status, SPAN_LITERAL(STATUS(""))), PARSE_OK);
    assert_int_equal(status.nspid, -1);
}

static void damaged_status_is_refused(void **state)
{
    (void)state;
    struct proc_status status;
    static const char text[] = STATUS("NSpid:\t4711\n");
    for (size_t len = 0; len < sizeof text - 1; len++)
        assert_int_equal(proc_status_parse(&status, span_of(text, len)), PARSE_INCOMPLETE);
    static const char *const texts[] = {
        STATUS("NSpid:\t4711\tx\n"),    STATUS("NSpid:\n"), "State:\tS\nUid:\tx\n",
        "SigCgt:\t12345678901234567\n", "State:\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(proc_status_parse(&status, span_from_cstr(texts[i])), PARSE_MALFORMED);
}

static void a_mapping_has_a_path_or_none(void **state)
{
    (void)state;
    struct proc_map map;
    assert_int_equal(
        proc_map_parse(&map, SPAN_LITERAL("7f12a0000000-7f12a0021000 r-xp 00001000 08:01 1234"
                                          "                   /opt/my jdk/libjvm.so (deleted)")),
        PARSE_OK);
    assert_true(map.start_address == UINT64_C(0x7f12a0000000));
    assert_true(map.end_address == UINT64_C(0x7f12a0021000));
    assert_true(map.readable && map.executable && !map.writable && !map.shared && map.deleted);
    assert_true(span_equals(map.path, SPAN_LITERAL("/opt/my jdk/libjvm.so")));
    assert_int_equal(proc_map_parse(&map, SPAN_LITERAL("00400000-00401000 rw-s 0 00:00 0 \n")),
                     PARSE_OK);
    assert_int_equal(map.path.len, 0);
    assert_true(map.shared && !map.deleted);
    assert_int_equal(proc_map_parse(&map, SPAN_LITERAL("")), PARSE_INCOMPLETE);
    assert_int_equal(proc_map_parse(&map, SPAN_LITERAL("00400000-00401000 r-xp 0")),
                     PARSE_INCOMPLETE);
    assert_int_equal(proc_map_parse(&map, SPAN_LITERAL("00401000-00400000 r-xp 0 0 0")),
                     PARSE_MALFORMED);
    assert_int_equal(proc_map_parse(&map, SPAN_LITERAL("zz")), PARSE_MALFORMED);
}

static void an_unset_variable_is_not_an_empty_one(void **state)
{
    (void)state;
    struct span text = SPAN_LITERAL("PATH=/bin\0JAVA_TOOL_OPTIONS_X=1\0JAVA_TOOL_OPTIONS=-Xmx1g\0"
                                    "EMPTY=\0CUT=ab");
    struct span value = proc_environ_value(text, SPAN_LITERAL("JAVA_TOOL_OPTIONS"));
    assert_true(span_equals(value, SPAN_LITERAL("-Xmx1g")));
    value = proc_environ_value(text, SPAN_LITERAL("EMPTY"));
    assert_true(value.ptr && value.len == 0);
    assert_null(proc_environ_value(text, SPAN_LITERAL("ABSENT")).ptr);
    assert_true(span_equals(proc_environ_value(text, SPAN_LITERAL("CUT")), SPAN_LITERAL("ab")));
}

#define NMT "-XX:NativeMemoryTracking="

static void the_command_line_ends_at_the_program(void **state)
{
    (void)state;
    static const struct {
        struct span cmdline;
        enum nmt_level nmt;
        bool attach_disabled;
        const char *main;
    } cases[] = {
        {SPAN_INIT("java\0" NMT "summary\0Main\0" NMT "detail\0"), NMT_LEVEL_SUMMARY, false,
         "Main"},
        {SPAN_INIT("java\0" NMT "summary\0" NMT "off\0-jar\0/a b/app.jar\0"), NMT_LEVEL_OFF, false,
         "/a b/app.jar"},
        {SPAN_INIT("java\0-cp\0lib.jar\0-XX:+DisableAttachMechanism\0Main\0"), NMT_LEVEL_NOT_GIVEN,
         true, "Main"},
        {SPAN_INIT("java\0--module-path\0mods\0-m\0app/com.Main\0arg"), NMT_LEVEL_NOT_GIVEN, false,
         "app/com.Main"},
        {SPAN_INIT("java\0--module=app\0"), NMT_LEVEL_NOT_GIVEN, false, "app"},
        {SPAN_INIT("java\0@args\0" NMT "detail\0Main"), NMT_LEVEL_DETAIL, false, "Main"},
        {SPAN_INIT("java\0" NMT "\0Main"), NMT_LEVEL_OTHER, false, "Main"},
        {SPAN_INIT("java\0-jar"), NMT_LEVEL_NOT_GIVEN, false, ""},
        {SPAN_INIT("java"), NMT_LEVEL_NOT_GIVEN, false, ""},
        {SPAN_INIT(""), NMT_LEVEL_NOT_GIVEN, false, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct jvm_options options = {0};
        jvm_options_from_cmdline(&options, cases[i].cmdline);
        assert_int_equal(options.nmt, cases[i].nmt);
        assert_int_equal(options.attach_disabled, cases[i].attach_disabled);
        assert_true(span_equals(options.main, span_from_cstr(cases[i].main)));
    }
}

static void an_emulator_stands_before_the_launcher(void **state)
{
    (void)state;
    static const struct {
        struct span cmdline, launcher;
    } cases[] = {
        {SPAN_INIT("/usr/bin/qemu-aarch64\0/jdk/bin/java\0-Xmx1g\0java\0"),
         SPAN_INIT("/jdk/bin/java\0-Xmx1g\0java\0")},
        {SPAN_INIT("qemu\0-cpu\0max\0/jdk/bin/java\0java\0-Xmx1g\0Main\0"),
         SPAN_INIT("java\0-Xmx1g\0Main\0")},
        {SPAN_INIT("qemu\0/jdk/bin/java\0/jdk/bin/java\0-cp\0/java\0Main"),
         SPAN_INIT("/jdk/bin/java\0-cp\0/java\0Main")},
        {SPAN_INIT("java\0"), SPAN_INIT("java\0")},
        {SPAN_INIT("qemu\0/opt/server\0-Xmx1g"), SPAN_INIT("")},
        {SPAN_INIT(""), SPAN_INIT("")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(span_equals(proc_emulated_cmdline(cases[i].cmdline), cases[i].launcher));
}

static void later_sources_win(void **state)
{
    (void)state;
    struct jvm_options options = {0};
    jvm_options_from_string(&options, SPAN_LITERAL(" -Dx='a b'  " NMT "detail\n-Xmx1g"));
    assert_int_equal(options.nmt, NMT_LEVEL_DETAIL);
    jvm_options_from_string(&options,
                            SPAN_LITERAL("\"" NMT "summary\" '-XX:+DisableAttachMechanism'"));
    assert_int_equal(options.nmt, NMT_LEVEL_SUMMARY);
    assert_true(options.attach_disabled);
    jvm_options_from_string(&options,
                            SPAN_LITERAL("'-Dy=" NMT "detail' -XX:-DisableAttachMechanism"));
    assert_int_equal(options.nmt, NMT_LEVEL_SUMMARY);
    assert_false(options.attach_disabled);
    assert_string_equal(nmt_level_name(options.nmt), "summary");
    assert_string_equal(nmt_level_name(NMT_LEVEL_NOT_GIVEN), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_may_hold_spaces_and_parentheses),
        cmocka_unit_test(a_cut_stat_is_incomplete),
        cmocka_unit_test(statm_is_in_pages),
        cmocka_unit_test(status_names_the_innermost_pid),
        cmocka_unit_test(damaged_status_is_refused),
        cmocka_unit_test(a_mapping_has_a_path_or_none),
        cmocka_unit_test(an_unset_variable_is_not_an_empty_one),
        cmocka_unit_test(the_command_line_ends_at_the_program),
        cmocka_unit_test(an_emulator_stands_before_the_launcher),
        cmocka_unit_test(later_sources_win),
    };
    return cmocka_run_group_tests_name("parse/proc_text", tests, NULL, NULL);
}
