/* options: spellings that are accepted, and the errors for those that are not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/commands/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command verb = {.name = "verb", .usage = "Usage: verb\n"};

struct values {
    bool json;
    const char *output;
    int64_t count, interval_ms, limit_bytes;
};

static char **arguments;
static int operands, code;

/* Parses words given as one text, separated by blanks. */
static bool parse(struct values *values, const char *text)
{
    static char copy[256], *words[32];
    int argc = 0;
    snprintf(copy, sizeof copy, "verb %s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[argc++] = word;
    words[argc] = NULL;
    arguments = words;
    *values = (struct values){0};
    const struct option_row rows[] = {
        {0, "json", NULL, NULL, &values->json, "as JSON"},
        {'o', "output", "FILE", option_take_text, &values->output, "where to"},
        {'n', "count", "N", option_take_count, &values->count, "how many"},
        {0, "interval", "TIME", option_take_duration_ms, &values->interval_ms, "how often"},
        {0, "limit", "SIZE", option_take_bytes, &values->limit_bytes, "how much"},
    };
    return options_parse(&verb, rows, OPTION_COUNT(rows), argc, words, &operands, &code);
}

static void spellings(void **state)
{
    (void)state;
    struct values values;
    assert_true(parse(&values, "12 --json --output=a=b 13 -n 4 --interval 2s --limit=1M 14"));
    assert_true(values.json);
    assert_string_equal(values.output, "a=b");
    assert_int_equal(values.count, 4);
    assert_int_equal(values.interval_ms, 2000);
    assert_int_equal(values.limit_bytes, 1 << 20);
    assert_int_equal(operands, 3);
    assert_string_equal(arguments[1], "12");
    assert_string_equal(arguments[3], "14");

    assert_true(parse(&values, "-ofile -n7 - -- --json -x"));
    assert_string_equal(values.output, "file");
    assert_int_equal(values.count, 7);
    assert_false(values.json);
    assert_int_equal(operands, 3);
    assert_string_equal(arguments[1], "-");
    assert_string_equal(arguments[3], "-x");

    assert_true(parse(&values, ""));
    assert_int_equal(operands, 0);
}

/* What the parse writes to this stream, as text. */
static const char *captured(FILE *stream, int fd, const char *text, bool *went_on)
{
    static char out[2048];
    struct values values;
    FILE *file = tmpfile();
    fflush(stream);
    int saved = dup(fd);
    dup2(fileno(file), fd);
    *went_on = parse(&values, text);
    fflush(stream);
    dup2(saved, fd);
    close(saved);
    rewind(file);
    out[fread(out, 1, sizeof out - 1, file)] = '\0';
    fclose(file);
    return out;
}

static void errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"--jsonn", "unknown option '--jsonn'"},
        {"--js", "unknown option '--js'"}, /* no abbreviations */
        {"--what=1", "unknown option '--what'"},
        {"-x", "unknown option '-x'"},
        {"--json=1", "--json takes no value"},
        {"--output", "--output needs a value: FILE"},
        {"1 -o", "--output needs a value: FILE"},
        {"--count 0", "--count '0': expected a whole number, 1 or more"},
        {"--count -3", "--count '-3': expected"},
        {"--count 99999999999999999999", "expected a whole number"},
        {"--count 1x", "expected a whole number"},
        {"--interval 5", "--interval '5': expected a time"},
        {"--limit lots", "--limit 'lots': expected an amount"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool went_on;
        const char *out = captured(stderr, STDERR_FILENO, cases[i].text, &went_on);
        assert_false(went_on);
        assert_int_equal(code, EXIT_USAGE);
        assert_ptr_equal(strstr(out, "nmtwatch verb: "), out);
        if (strstr(out, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].text, out);
        assert_non_null(strstr(out, " (see nmtwatch help verb)\n"));
        assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1); /* one line */
    }
}

static void help_lists_the_table(void **state)
{
    (void)state;
    bool went_on;
    const char *out = captured(stdout, STDOUT_FILENO, "--json --help", &went_on);
    assert_false(went_on);
    assert_int_equal(code, 0);
    assert_ptr_equal(strstr(out, "Usage: verb\n"), out);
    assert_non_null(strstr(out, "  -o, --output FILE"));
    assert_non_null(strstr(out, "      --json "));
    assert_non_null(strstr(out, "how much"));
    assert_non_null(strstr(out, "--help"));
}

static void process_ids(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "0", "-1", "+1", " 1", "99999999999"};
    pid_t pid = 0;
    assert_int_equal(target_option_pid(&verb, "4711", &pid), 0);
    assert_int_equal(pid, 4711);
    fflush(stderr);
    int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    close(null);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(target_option_pid(&verb, bad[i], &pid), EXIT_USAGE);
    /* A name that no JVM has. */
    assert_int_equal(target_option_pid(&verb, "1x-no-such-jvm", &pid),
                     failure_exit_code(FAILURE_NOT_A_JVM));
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(pid, 4711);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings),
        cmocka_unit_test(errors),
        cmocka_unit_test(help_lists_the_table),
        cmocka_unit_test(process_ids),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
