/* json: commas, and texts as the JVM has them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/json/json.h"

#include <stdlib.h>

static char *text;
static size_t length;
static struct json json;

static int begin(void **state)
{
    (void)state;
    json = (struct json){.out = open_memstream(&text, &length)};
    return json.out == NULL;
}

static int end(void **state)
{
    (void)state;
    free(text);
    return 0;
}

static void is(const char *wanted)
{
    fclose(json.out);
    assert_string_equal(text, wanted);
}

static void commas_are_where_they_belong(void **state)
{
    (void)state;
    json_begin(&json, NULL, '{');
    json_begin(&json, "empty", '[');
    json_end(&json, ']');
    json_int(&json, "least", INT64_MIN);
    json_begin(&json, "list", '[');
    for (int i = 0; i < 2; i++) {
        json_begin(&json, NULL, '{');
        json_bool(&json, "first", i == 0);
        json_null(&json, "none");
        json_end(&json, '}');
    }
    json_int(&json, NULL, 7);
    json_double(&json, NULL, 2.4);
    json_end(&json, ']');
    json_int_if(&json, "unknown", 5, false);
    json_int_if(&json, "known", 5, true);
    json_text_or_null(&json, "reason", "");
    json_text_or_null(&json, "reason", "x");
    json_end(&json, '}');
    is("{\"empty\":[],\"least\":-9223372036854775808,"
       "\"list\":[{\"first\":true,\"none\":null},{\"first\":false,\"none\":null},7,2],"
       "\"unknown\":null,\"known\":5,\"reason\":null,\"reason\":\"x\"}");
}

/* A path in status was written byte by byte, as U+00C3 U+00A9, before. */
static void texts_are_utf_8(void **state)
{
    (void)state;
    json_begin(&json, NULL, '{');
    json_text(&json, "file", "/tmp/caf\xc3\xa9/\xe6\x97\xa5.jfr");
    json_end(&json, '}');
    is("{\"file\":\"/tmp/caf\xc3\xa9/\xe6\x97\xa5.jfr\"}");
}

/* A character of two surrogates, one without the other, a NUL, and a lone byte. */
static void texts_of_the_jvm(void **state)
{
    (void)state;
    json_text(&json, NULL,
              "a\"b\\c\n\x01 \xc3\xa9"
              "\xed\xa0\xbd\xed\xb8\x80 \xed\xa0\xbd \xc0\x80 \xff");
    is("\"a\\u0022b\\u005cc\\u000a\\u0001 \xc3\xa9"
       "\\ud83d\\ude00 \\ufffd \\ufffd \\ufffd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commas_are_where_they_belong, begin, end),
        cmocka_unit_test_setup_teardown(texts_are_utf_8, begin, end),
        cmocka_unit_test_setup_teardown(texts_of_the_jvm, begin, end),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
