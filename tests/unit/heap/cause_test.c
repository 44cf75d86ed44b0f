/* holders.def: each example fits its own row first. */
#include "analyzers/heap/holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void examples_fit_their_rows(void **state)
{
    (void)state;
    for (int i = 0; i < holder_cause_count(); i++) {
        const struct holder_cause *cause = holder_cause(i);
        int row = holder_cause_of(cause->example);
        if (row != i)
            fail_msg("%s: its example fits %s", cause->id,
                     row < 0 ? "no row" : holder_cause(row)->id);
        assert_true(strlen(cause->title) > 0 && strlen(cause->cause) > 0 && strlen(cause->fix) > 0);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(cause->id, holder_cause(k)->id);
    }
}

static void own_paths_fit_no_row(void **state)
{
    (void)state;
    assert_int_equal(
        holder_cause_of("class of the boot loader > sun.launcher.LauncherHelper.appClass"
                        " > Plug.REG > java.util.ArrayList.elementData > <class>"),
        -1);
    assert_int_equal(holder_cause_of(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_fit_their_rows),
        cmocka_unit_test(own_paths_fit_no_row),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("heap/cause", tests, NULL, NULL);
}
