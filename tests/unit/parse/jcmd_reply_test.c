#include "analyzers/parse/jcmd_reply.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const struct {
    const char *text;
    enum jcmd_reply_kind kind;
} replies[] = {
    {"", JCMD_EMPTY},
    {"123:\n\n  \n", JCMD_EMPTY},
    {"Native memory tracking is not enabled\n", JCMD_NMT_OFF},
    {"32498:\nNative memory tracking is not enabled\n", JCMD_NMT_OFF},
    {"Native memory tracking has been shutdown\n", JCMD_NMT_SHUT_DOWN},
    {"No baseline for comparison\n", JCMD_NO_BASELINE},
    {"Detail tracking is not enabled\n", JCMD_DETAIL_OFF},
    {"Baseline succeeded\n", JCMD_BASELINE_TAKEN},
    {"Baseline taken\n", JCMD_BASELINE_TAKEN},
    {"Incorrect scale value: bogus\n", JCMD_BAD_SCALE},
    {"java.lang.IllegalArgumentException: Unknown diagnostic command\n", JCMD_UNKNOWN_COMMAND},
    {"1:\njava.lang.IllegalArgumentException: Unknown argument 'x' in diagnostic command.\n",
     JCMD_UNKNOWN_ARGUMENT},
    {"java.lang.OutOfMemoryError\n", JCMD_EXCEPTION},
    {"com.sun.tools.attach.AttachOperationFailedException: java.lang.IllegalArgumentException: "
     "Unknown diagnostic command\n",
     JCMD_UNKNOWN_COMMAND},
    {"\nNative Memory Tracking:\n", JCMD_OK},
    {"|--java.lang.Exception/null\n", JCMD_OK},
    {"12.5% done\n", JCMD_OK},
    {"exception in thread: java.lang.Error\n", JCMD_OK},
    {"see java.lang.Error: it is documented\n", JCMD_OK},
};

static void every_refusal_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct jcmd_reply reply = jcmd_reply_classify(span_from_cstr(replies[i].text));
        assert_int_equal(reply.kind, replies[i].kind);
    }
}

static void the_message_is_the_line_and_the_rest_follows(void **state)
{
    (void)state;
    struct span text = SPAN_LITERAL("7:\nNative memory tracking is not enabled\nUsage:\n");
    struct jcmd_reply reply = jcmd_reply_classify(text);
    assert_true(span_equals(reply.message, SPAN_LITERAL("Native memory tracking is not enabled")));
    assert_true(span_equals(reply.rest, SPAN_LITERAL("Usage:\n")));
}

static void output_comes_without_its_pid_line(void **state)
{
    (void)state;
    struct jcmd_reply reply = jcmd_reply_classify(SPAN_LITERAL("4711:\n17 s\n"));
    assert_int_equal(reply.kind, JCMD_OK);
    assert_true(span_equals(reply.rest, SPAN_LITERAL("17 s\n")));
    assert_int_equal(reply.message.len, 0);
}

static void only_a_pid_line_is_skipped(void **state)
{
    (void)state;
    assert_int_equal(jcmd_reply_skip_pid(SPAN_LITERAL("12:\nx")).len, 1);
    assert_int_equal(jcmd_reply_skip_pid(SPAN_LITERAL("12:")).len, 3);
    assert_int_equal(jcmd_reply_skip_pid(SPAN_LITERAL("12: x\ny")).len, 7);
    assert_int_equal(jcmd_reply_skip_pid(SPAN_LITERAL(":\ny")).len, 3);
    assert_int_equal(jcmd_reply_skip_pid(SPAN_LITERAL("")).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refusal_is_known),
        cmocka_unit_test(the_message_is_the_line_and_the_rest_follows),
        cmocka_unit_test(output_comes_without_its_pid_line),
        cmocka_unit_test(only_a_pid_line_is_skipped),
    };
    return cmocka_run_group_tests_name("parse/jcmd_reply", tests, NULL, NULL);
}
