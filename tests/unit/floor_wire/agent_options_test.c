/* agent_options: every good form, and one sentence for every bad one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/context/nmtagent_context.h"
#include "floor/wire/agent_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct agent_options options;
static char error[400];

static bool parse(const char *text)
{
    /* On the heap, exactly as long as it is: reading beyond the end is seen. */
    char *exact = text != NULL ? strdup(text) : NULL;
    bool good = agent_options_parse(exact, &options, error, sizeof error);
    free(exact);
    assert_true(good == (error[0] == '\0'));
    return good;
}

static void commands(void **state)
{
    (void)state;
    assert_true(parse(NULL));
    assert_int_equal(options.command, AGENT_START);
    assert_string_equal(options.whole, "start");
    assert_true(parse(""));
    assert_int_equal(options.command, AGENT_START);
    for (int i = 0; i < AGENT_COMMAND_COUNT; i++) {
        assert_true(parse(agent_command_name((enum agent_command)i)));
        assert_int_equal(options.command, i);
        assert_int_equal(options.given, 0);
    }
}

static void defaults(void **state)
{
    (void)state;
    assert_true(parse("start"));
    assert_int_equal(options.number[OPTION_CPU], 10000000);
    assert_int_equal(options.number[OPTION_WALL], 0);
    assert_int_equal(options.number[OPTION_WALL_THREADS], 8);
    assert_int_equal(options.number[OPTION_CHUNK], 10000000000);
    assert_int_equal(options.number[OPTION_MAX_SIZE], 0);
    assert_int_equal(options.number[OPTION_DEPTH], 2048);
    assert_int_equal(options.number[OPTION_NATIVE], 1);
    assert_int_equal(options.number[OPTION_METHOD_CLEANUP], 1);
    assert_int_equal(options.number[OPTION_TRACES], 0); /* a share of the next */
    assert_int_equal(options.number[OPTION_MEMORY], 64 << 20);
    assert_int_equal(options.number[OPTION_WARN], 500 << 20);
    assert_int_equal(options.number[OPTION_SHED], 2LL << 30);
    assert_int_equal(options.number[OPTION_STOP_AT], 10LL << 30);
    assert_string_equal(options.text[OPTION_JMETHODID], ""); /* the engine's */
    assert_string_equal(options.text[OPTION_TIMER], "auto");
    assert_string_equal(options.text[OPTION_FILE], "");
}

/* A default that its own rules refuse would be silently 0. */
static void defaults_follow_the_rules(void **state)
{
    (void)state;
    for (int i = 0; i < AGENT_OPTION_COUNT; i++) {
        char text[256];
        const char *value = agent_option_default((enum agent_option)i);
        if (value[0] == '\0')
            continue;
        snprintf(text, sizeof text, "start,%s=%s", agent_option_name((enum agent_option)i), value);
        if (!parse(text))
            fail_msg("%s", error);
        assert_int_equal(options.given, 1u << i);
    }
}

static void values(void **state)
{
    (void)state;
    assert_true(
        parse("start,cpu=1ms,wall=50ms,wall_threads=16,alloc=512k,live=100,classes=true,"
              "file=/tmp/a b-%p-%t.jfr,chunk=1m,"
              "max_size=2G,depth=64,native=false,timer=posix,method_cleanup=false,"
              "jmethodid=lazy,memory=32m,warn=1m,shed=0,stop_at=2m,"
              "memory_level=detail,traces=16m,end_after=90s,context=route;tenant,engine=agct,"
              "answer=/tmp/x"));
    assert_int_equal(options.number[OPTION_CPU], 1000000);
    assert_int_equal(options.number[OPTION_WALL], 50000000);
    assert_int_equal(options.number[OPTION_WALL_THREADS], 16);
    assert_int_equal(options.number[OPTION_ALLOC], 512 << 10);
    assert_string_equal(options.text[OPTION_FILE], "/tmp/a b-%p-%t.jfr");
    assert_int_equal(options.number[OPTION_CHUNK], 60000000000);
    assert_int_equal(options.number[OPTION_MAX_SIZE], 2LL << 30);
    assert_int_equal(options.number[OPTION_DEPTH], 64);
    assert_int_equal(options.number[OPTION_NATIVE], 0);
    assert_int_equal(options.number[OPTION_METHOD_CLEANUP], 0);
    assert_string_equal(options.text[OPTION_MEMORY_LEVEL], "detail");
    assert_int_equal(options.number[OPTION_TRACES], 16 << 20);
    assert_int_equal(options.number[OPTION_END_AFTER], 90000000000);
    assert_string_equal(options.text[OPTION_CONTEXT], "route;tenant");
    assert_string_equal(options.text[OPTION_ANSWER], "/tmp/x");
    assert_int_equal(options.given, (1u << AGENT_OPTION_COUNT) - 1);

    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {{"100us", 100000},
                 {"200000ns", 200000},
                 {"1s", 1000000000},
                 {"10s", 10000000000LL},
                 {"0010ms", 10000000}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "start,cpu=%s", times[i].text);
        assert_true(parse(text));
        assert_int_equal(options.number[OPTION_CPU], times[i].ns);
    }
    assert_true(parse("start,chunk=24h"));
    assert_true(parse("start,chunk=2min"));
    assert_int_equal(options.number[OPTION_CHUNK], 120000000000);
    assert_true(parse("start,wall-threads=3,method-cleanup=false")); /* as on command lines */
    assert_int_equal(options.number[OPTION_WALL_THREADS], 3);
    assert_true(parse("start,method_cleanup,no-native"));
    assert_int_equal(options.number[OPTION_METHOD_CLEANUP], 1);
    assert_int_equal(options.number[OPTION_NATIVE], 0);
    assert_true(parse("start,no_method_cleanup"));
    assert_int_equal(options.number[OPTION_METHOD_CLEANUP], 0);
    assert_false(parse("start,no_cpu"));
    assert_false(parse("start,no_native=true"));
    assert_false(parse("start,native,no_native"));
}

static void id_policies(void **state)
{
    static const char *const WORDS[] = {"none", "lazy", "all", "budget=64M"};
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        snprintf(text, sizeof text, "start,jmethodid=%s", WORDS[i]);
        assert_true(parse(text));
        assert_string_equal(options.text[OPTION_JMETHODID], WORDS[i]);
        assert_int_equal(options.number[OPTION_JMETHODID], i == 3 ? 64 << 20 : 0);
    }
}

static void steps_come_one_after_another(void **state)
{
    (void)state;
    assert_true(parse("start,warn=64k,shed=128k,stop_at=256k"));
    assert_true(parse("start,warn=1G,shed=1G,stop_at=1G"));
    assert_true(parse("start,warn=0,shed=0,stop_at=0"));
    assert_true(parse("start,warn=0,shed=1k"));
    assert_true(parse("start,stop_at=0,shed=100G"));
}

static void escapes(void **state)
{
    (void)state;
    assert_true(parse("start,file=a\\,b\\\\,depth=7"));
    assert_string_equal(options.text[OPTION_FILE], "a,b\\");
    assert_int_equal(options.number[OPTION_DEPTH], 7);
    assert_true(parse("start,file=a\\b\\"));
    assert_string_equal(options.text[OPTION_FILE], "a\\b\\");
    assert_true(parse("start,file=a=b,depth=7"));
    assert_string_equal(options.text[OPTION_FILE], "a=b");
    assert_true(parse("start,file=100%%"));
    assert_string_equal(options.whole, "start,file=100%%");
}

static void every_bad_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part; /* of the sentence */
    } bad[] = {
        {"strat", "'strat' is no command"},
        {"cpu=10ms", "'cpu=10ms' is no command"},
        {",start", "'' is no command"},
        {"START", "is no command"},
        {"start ", "is no command"},
        {"stop,", "an empty option between two commas"},
        {"start,", "an empty option between two commas"},
        {"start,,cpu=1ms", "an empty option between two commas"},
        {"start,cpu", "cpu needs a value: CPU time between"},
        {"start,cpu=", "cpu needs a value"},
        {"start,file=", "file needs a value"},
        {"start,=5", "unknown option ''"},
        {"start,cpus=5ms", "unknown option 'cpus'"},
        {"start,CPU=5ms", "unknown option 'CPU'"},
        {"start, cpu=5ms", "unknown option ' cpu'"},
        {"start,cp=5ms", "unknown option 'cp'"},
        {"start,cpu=1ms,cpu=2ms", "cpu is given twice"},
        {"start,wall_threads=1,wall-threads=1", "wall_threads is given twice"},
        {"start,start", "unknown option 'start'"},
        {"stop,cpu=1ms", "stop takes no option cpu"},
        {"status,file=/x", "status takes no option file"},
        {"start,cpu=10", "expected a time such as"},
        {"start,cpu=ms", "expected a time such as"},
        {"start,cpu=-1ms", "expected a time such as"},
        {"start,cpu=+1ms", "expected a time such as"},
        {"start,cpu= 1ms", "expected a time such as"},
        {"start,cpu=1.5ms", "expected a time such as"},
        {"start,cpu=1e3ms", "expected a time such as"},
        {"start,cpu=1msec", "expected a time such as"},
        {"start,cpu=99999999999999999999ms", "expected a time such as"},
        {"start,cpu=9223372036854775807s", "expected a time such as"},
        {"start,cpu=1ns", "cpu=1ns: expected 100us to 10s, or 0"},
        {"start,wall=0", "wall=0: expected 1ms to 60s"},
        {"start,alloc=0", "alloc=0: expected 1K to 1G"},
        {"start,alloc=1023", "expected 1K to 1G"},
        {"start,alloc=2G", "expected 1K to 1G"},
        {"start,alloc", "alloc needs a value"},
        {"alloc,alloc=1M", "alloc takes no option alloc"},
        {"set,depth=3", "set takes no option depth"},
        {"set,cpu=99us", "cpu=99us: expected 100us to 10s, or 0"},
        {"start,wall=0", "wall=0: expected 1ms to 60s"},
        {"set,alloc=1", "alloc=1: expected 1K to 1G"},
        {"start,context=inNative", "'inNative' cannot be the name of a tag"},
        {"start,cpu=99us", "expected 100us to 10s"},
        {"start,cpu=11s", "expected 100us to 10s"},
        {"start,wall=999us", "expected 1ms to 60s"},
        {"start,wall_threads=0", "expected 1 to 1024"},
        {"start,wall_threads=1025", "expected 1 to 1024"},
        {"start,wall_threads=8x", "expected a whole number"},
        {"start,chunk=99ms", "expected 100ms to 24h"},
        {"start,depth=0", "expected 1 to 2048"},
        {"start,depth=2049", "expected 1 to 2048"},
        {"start,max_size=1T", "expected an amount such as"},
        {"start,max_size=9999999999G", "expected an amount such as"},
        {"start,traces=1M", "expected 4M to 4G"},
        {"start,memory=4M", "expected 8M to 1024G"},
        {"start,warn=-1", "expected an amount such as"},
        {"start,warn=2G,shed=1G", "warn is above shed: one comes after the other"},
        {"start,shed=20G", "shed is above stop_at"},
        {"start,shed=0,warn=20G", "warn is above stop_at"},
        {"start,jmethodid=some", "expected none, lazy, all or budget=SIZE"},
        {"start,jmethodid=budget", "expected none, lazy, all or budget=SIZE"},
        {"start,jmethodid=budget=", "expected budget= and an amount"},
        {"start,jmethodid=budget=x", "expected budget= and an amount"},
        {"start,jmethodid=budget=1K", "expected budget=64K to"},
        {"start,jmethodid=budget=0", "expected budget=64K to"},
        {"start,native=yes", "native=yes: expected true or false"},
        {"start,native=1", "expected true or false"},
        {"start,native=", "native needs a value"},
        {"start,timer=fast", "expected auto, perf, posix, itimer"},
        {"start,timer=Auto", "expected auto, perf, posix, itimer"},
        {"start,engine=best", "expected auto, vm, agct"},
        {"start,memory_level=all", "expected off, summary, detail"},
        {"start,file=/tmp/%d.jfr", "a % is followed by"},
        {"start,file=/tmp/x%", "a % is followed by"},
        {"start,answer=relative", "expected an absolute path"},
        {"start,context=a b", "'a b' cannot be the name of a tag"},
        {"start,context=a;;b", "'' cannot be the name of a tag"},
        {"start,context=a;", "'' cannot be the name of a tag"},
        {"start,context=1a", "'1a' cannot be"},
        {"start,context=spanId", "'spanId' cannot be"},
        {"start,context=stackTrace;x", "'stackTrace' cannot be"},
        {"start,context=a;b;c;d;e;f;g;h;i;j;k", "more than 10 tags"},
        {"start,cpu=1ms\n", "expected a time such as"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (parse(bad[i].text))
            fail_msg("'%s' was taken", bad[i].text);
        if (strstr(error, bad[i].part) == NULL)
            fail_msg("'%s': '%s' lacks '%s'", bad[i].text, error, bad[i].part);
        assert_null(strchr(error, '\n'));
    }
    assert_int_equal(NMTAGENT_CONTEXT_TAGS, 10); /* the bound in that sentence */
}

static void too_long(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'x', sizeof text);
    memcpy(text, "start,file=", 11);
    text[11 + AGENT_TEXT_MAX - 1] = '\0';
    assert_true(parse(text));
    assert_int_equal(strlen(options.text[OPTION_FILE]), AGENT_TEXT_MAX - 1);

    text[11 + AGENT_TEXT_MAX - 1] = 'x';
    text[11 + AGENT_TEXT_MAX] = '\0';
    assert_false(parse(text));
    assert_non_null(strstr(error, "file is longer than 1023 bytes"));

    text[11 + AGENT_TEXT_MAX] = 'x';
    text[sizeof text - 1] = '\0';
    assert_false(parse(text));
    assert_non_null(strstr(error, "longer than 2047 bytes"));
}

/* Whatever else is wrong, the asker learns it. */
static void the_answer_file_survives_a_mistake(void **state)
{
    (void)state;
    assert_false(parse("start,cpu=never,answer=/tmp/a,depth=7"));
    assert_string_equal(options.text[OPTION_ANSWER], "/tmp/a");
    assert_non_null(strstr(error, "cpu=never"));
    assert_int_equal(options.number[OPTION_DEPTH], 2048);
    assert_false(parse("nonsense,answer=/tmp/b"));
    assert_string_equal(options.text[OPTION_ANSWER], "/tmp/b");
    assert_false(parse("nonsense,answer=b"));
    assert_string_equal(options.text[OPTION_ANSWER], "");
}

static void sentences_fit_small_buffers(void **state)
{
    (void)state;
    for (size_t size = 1; size < 64; size++) {
        char *small = malloc(size);
        assert_false(
            agent_options_parse("start,context=!!!!!!!!!!!!!!!!!!", &options, small, size));
        assert_true(strlen(small) < size);
        free(small);
    }
    assert_false(agent_options_parse("x", &options, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(defaults),
        cmocka_unit_test(defaults_follow_the_rules),
        cmocka_unit_test(values),
        cmocka_unit_test(id_policies),
        cmocka_unit_test(steps_come_one_after_another),
        cmocka_unit_test(escapes),
        cmocka_unit_test(every_bad_form),
        cmocka_unit_test(too_long),
        cmocka_unit_test(the_answer_file_survives_a_mistake),
        cmocka_unit_test(sentences_fit_small_buffers),
    };
    return cmocka_run_group_tests_name("agent_options", tests, NULL, NULL);
}
