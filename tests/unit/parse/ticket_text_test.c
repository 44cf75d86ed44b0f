/* Which text of a ticket a line begins. */
#include "analyzers/parse/text_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void each_begins_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum text_kind kind;
    } rows[] = {
        {"# There is insufficient memory for the Java Runtime Environment to continue.",
         TEXT_HS_ERR},
        {"---------------  S Y S T E M  ---------------", TEXT_HS_ERR},
        {"Event: 1.5 Thread 0x00007f00 Exception <a 'java/lang/Error'> thrown", TEXT_HS_ERR},
        {"java invoked oom-killer: gfp_mask=0x1, order=0", TEXT_OOM_KILLER},
        {"CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %", TEXT_PROCESS},
        {"VmRSS:   700 kB", TEXT_PROCESS},
        {"00007f1b24000000   65508   64212   64212 rw---   [ anon ]", TEXT_PMAP},
        {"S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT",
         TEXT_JSTAT},
        {"Class Name | Objects | Shallow Heap", TEXT_MAT_TABLE},
        {"java.lang.OutOfMemoryError: Metaspace", TEXT_CONSOLE},
        {"GC(7) Metaspace: 34049K(34992K)->34049K(34992K)", TEXT_CONSOLE},
        {"1TISIGINFO     Dump Event \"user\" (00004000) received", TEXT_JAVACORE},
        {"it does not work", TEXT_UNRECOGNISED},
        {"", TEXT_UNRECOGNISED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(ticket_text_heading(span_from_cstr(rows[i].line), TEXT_UNRECOGNISED),
                         rows[i].kind);
}

/* Some lines mean another thing inside of a text. */
static void what_a_text_keeps(void **state)
{
    (void)state;
    struct span error = SPAN_LITERAL("java.lang.OutOfMemoryError: Metaspace");
    assert_int_equal(ticket_text_heading(error, TEXT_HS_ERR), TEXT_UNRECOGNISED);
    assert_int_equal(ticket_text_heading(error, TEXT_CLASS_LOG), TEXT_UNRECOGNISED);
    assert_int_equal(ticket_text_heading(error, TEXT_JAVACORE), TEXT_UNRECOGNISED);
    assert_int_equal(
        ticket_text_heading(SPAN_LITERAL("VM state: not at safepoint"), TEXT_NMT_SUMMARY),
        TEXT_UNRECOGNISED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_begins_with_its_line),
        cmocka_unit_test(what_a_text_keeps),
    };
    return cmocka_run_group_tests_name("ticket_text", tests, NULL, NULL);
}
