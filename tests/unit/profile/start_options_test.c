/* start_options: the command line becomes the agent's option string, or one sentence. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/commands/options.h"

#include <stdio.h>
#include <string.h>

static const struct command verb = {.name = "verb", .usage = "Usage: verb\n"};
static struct start_options options;
static char text[AGENT_WHOLE_MAX], error[400];
static int operands, code;

/* Words separated by blanks. */
static bool parse(const char *words)
{
    static char copy[4096], *argv[64];
    struct option_row rows[START_OPTION_ROWS_MAX];
    int argc = 0;
    snprintf(copy, sizeof copy, "verb %s", words);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    size_t count = options_agent(&options, rows);
    start_options_spell(&options, argc, argv);
    return options_parse(&verb, rows, count, argc, argv, &operands, &code);
}

static bool start_text(const char *words)
{
    assert_true(parse(words));
    return start_options_text(&options, AGENT_START, NULL, text, sizeof text, error, sizeof error);
}

static void nothing_given(void **state)
{
    (void)state;
    assert_true(start_text("12"));
    assert_string_equal(text, "start");
    assert_true(
        start_options_text(&options, AGENT_DUMP, NULL, text, sizeof text, error, sizeof error));
    assert_string_equal(text, "dump");
}

static void booleans_may_stand_alone(void **state)
{
    (void)state;
    assert_true(start_text("12 --method-cleanup --cpu 1ms"));
    assert_string_equal(text, "start,cpu=1ms,method_cleanup=true");
    assert_true(start_text("--method_cleanup 12"));
    assert_string_equal(text, "start,method_cleanup=true");
    assert_true(start_text("12 --native false --classes=true --method-cleanup"));
    assert_string_equal(text, "start,native=false,method_cleanup=true,classes=true");
}

static void names_of_both_kinds(void **state)
{
    (void)state;
    assert_true(start_text("--wall-threads 4 --file=/tmp/my_file --cpu 1ms"));
    assert_string_equal(text, "start,cpu=1ms,wall_threads=4,file=/tmp/my_file");
    assert_true(start_text("--wall_threads=4 --method_cleanup false"));
    assert_string_equal(text, "start,wall_threads=4,method_cleanup=false");
    assert_true(start_text("--no-method-cleanup --no-native"));
    assert_string_equal(text, "start,native=false,method_cleanup=false");
    assert_true(start_text("-- --wall_threads"));
    assert_string_equal(text, "start");
}

static void every_option_of_the_table_but_answer(void **state)
{
    (void)state;
    for (int i = 0; i < AGENT_OPTION_COUNT; i++) {
        char words[64];
        snprintf(words, sizeof words, "--%s true", agent_option_name((enum agent_option)i));
        if (i == OPTION_ANSWER) /* a file of whoever runs nmtwatch is not for the agent to fill */
            assert_false(parse(words));
        else
            assert_true(parse(words));
    }
}

/* What a shell lets through must not become another option. */
static void commas_stay_text(void **state)
{
    (void)state;
    assert_true(start_text("--file=/tmp/a,cpu=1ms"));
    assert_string_equal(text, "start,file=/tmp/a\\,cpu=1ms");
    assert_true(start_text("--file=/tmp/a\\,answer=/etc/passwd"));
    assert_string_equal(text, "start,file=/tmp/a\\\\\\,answer=/etc/passwd");
}

static void another_file(void **state)
{
    (void)state;
    assert_true(parse("--file x"));
    assert_true(start_options_text(&options, AGENT_START, "/abs/x", text, sizeof text, error,
                                   sizeof error));
    assert_string_equal(text, "start,file=/abs/x");
}

static void mistakes(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"--cpu 5", "cpu=5: expected a time"},
        {"--native yes", "native=yes: expected true or false"},
        {"--native true --no-native", "--native and --no-native together"},
        {"--depth 0", "depth=0: expected 1 to 2048"},
        {"--context spanId", "cannot be the name of a tag"},
        {"--file=", "file needs a value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(start_text(bad[i][0]));
        assert_non_null(strstr(error, bad[i][1]));
    }
    assert_true(parse("--cpu 5ms"));
    assert_false(
        start_options_text(&options, AGENT_STOP, NULL, text, sizeof text, error, sizeof error));
    assert_string_equal(error, "stop takes no option cpu");
}

static void too_long(void **state)
{
    (void)state;
    char words[3000] = "--file=";
    memset(words + 7, ',', 1500); /* doubled by the escapes */
    assert_false(start_text(words));
    assert_non_null(strstr(error, "longer than"));
    /* Any size of buffer: never beyond its end. */
    assert_true(parse("--file=/tmp/,,,\\\\ --cpu=1ms"));
    for (size_t size = 1; size < 40; size++) {
        char small[40];
        memset(small, '#', sizeof small);
        start_options_text(&options, AGENT_START, NULL, small, size, error, sizeof error);
        for (size_t i = size; i < sizeof small; i++)
            assert_int_equal(small[i], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given),
        cmocka_unit_test(booleans_may_stand_alone),
        cmocka_unit_test(names_of_both_kinds),
        cmocka_unit_test(every_option_of_the_table_but_answer),
        cmocka_unit_test(commas_stay_text),
        cmocka_unit_test(another_file),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(too_long),
    };
    return cmocka_run_group_tests_name("start_options", tests, NULL, NULL);
}
