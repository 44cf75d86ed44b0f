/* left_behind: a child that cannot be reaped keeps nobody waiting; one that can is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/process/left_behind.h"
#include "tests/unit/process/held.h"
#include "tests/unit/skip.h"

#include <poll.h>
#include <unistd.h>

static pid_t sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    return child;
}

static void ends_and_is_reaped(void **state)
{
    (void)state;
    left_behind(0);
    left_behind(-1); /* would be everybody */
    assert_int_equal(left_behind_count(), 0);
    for (int i = 0; i < 20; i++)
        left_behind(sleeper());
    for (int ms = 0; ms < 10000 && left_behind_count() > 0; ms += 10)
        poll(NULL, 0, 10);
    assert_int_equal(left_behind_count(), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
}

static void a_held_one_is_not_waited_for(void **state)
{
    (void)state;
    pid_t child = sleeper();
    pid_t holder = hold(child);
    if (holder < 0)
        skip_because("refused: no tracing here");
    left_behind(child);
    poll(NULL, 0, 200);
    assert_int_equal(left_behind_count(), 1);
    release(holder);
    for (int ms = 0; ms < 10000 && left_behind_count() > 0; ms += 10)
        poll(NULL, 0, 10);
    assert_int_equal(left_behind_count(), 0);
}

/* A child that was forked without exec has another parent's numbers, which are nothing to it. */
static void those_of_a_parent_are_not_ours(void **state)
{
    (void)state;
    pid_t child = sleeper(), holder = hold(child);
    if (holder < 0)
        skip_because("refused: no tracing here");
    left_behind(child);
    assert_int_equal(left_behind_count(), 1);
    pid_t other = fork();
    if (other == 0)
        _exit(left_behind_count());
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    release(holder);
    for (int ms = 0; ms < 10000 && left_behind_count() > 0; ms += 10)
        poll(NULL, 0, 10);
    assert_int_equal(left_behind_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_and_is_reaped),
        cmocka_unit_test(a_held_one_is_not_waited_for),
        cmocka_unit_test(those_of_a_parent_are_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
