/* The --per command: numbers, rubbish, failures, and one that hangs. */
#include "nmtwatch/soak/soak_run.h"

#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

/* Steps until a reading or a failure has come, for at most five seconds. */
static bool read_one(struct counter *counter, double *value)
{
    for (int64_t ms = 0; ms < 5000; ms += 10) {
        if (counter_step(counter, 4711, ms, value))
            return true;
        if (counter_counts(counter).failed > 0)
            return false;
        struct pollfd fd = {.fd = counter_fd(counter), .events = POLLIN};
        poll(&fd, 1, 10);
    }
    return false;
}

static void check(const char *command, bool good, double wanted, const char *why)
{
    double value = -1;
    struct counter *counter = counter_create(command, 100000);
    assert_int_equal(read_one(counter, &value), good);
    if (good)
        assert_float_equal(value, wanted, 1e-9);
    else
        assert_non_null(strstr(counter_counts(counter).last_failure, why));
    counter_destroy(counter);
}

static void readings(void **state)
{
    (void)state;
    check("echo 42", true, 42, NULL);
    check("echo ' 1.5e3  requests'", true, 1500, NULL);
    check("echo $NMTWATCH_PID", true, 4711, NULL);
    check("printf 7", true, 7, NULL);
    check("yes 3 | head -c 100000", true, 3, NULL);
    check("echo 5; sleep 100 >/dev/null &", true, 5, NULL);
    check("true", false, 0, "no number");
    check("echo 12abc", false, 0, "no number");
    check("echo nan", false, 0, "no number");
    check("echo inf", false, 0, "no number");
    check("echo 1e300", false, 0, "no number");
    check("echo 1; exit 3", false, 0, "exit code 3");
    check("kill -KILL $$", false, 0, "signal 9");
    check("no-such-command-here 2>/dev/null", false, 0, "exit code 127");
}

static void nothing_without_a_jvm(void **state)
{
    (void)state;
    double value;
    struct counter *counter = counter_create("echo 1", 1000);
    assert_false(counter_step(counter, 0, 0, &value));
    assert_int_equal(counter_fd(counter), -1);
    counter_destroy(counter);
    counter_destroy(NULL);
}

static void one_that_hangs_is_killed(void **state)
{
    (void)state;
    double value;
    struct counter *counter = counter_create("echo 1; sleep 100", 1000);
    assert_false(counter_step(counter, 1, 0, &value));
    assert_false(counter_step(counter, 1, COUNTER_TIMEOUT_MS - 1, &value));
    assert_int_equal(counter_counts(counter).failed, 0);
    for (int i = 0; i < 200 && counter_counts(counter).failed == 0; i++) {
        assert_false(counter_step(counter, 1, COUNTER_TIMEOUT_MS + i, &value));
        poll(NULL, 0, 10);
    }
    assert_non_null(strstr(counter_counts(counter).last_failure, "killed after 10 s"));
    counter_destroy(counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings),
        cmocka_unit_test(nothing_without_a_jvm),
        cmocka_unit_test(one_that_hangs_is_killed),
    };
    return cmocka_run_group_tests_name("counter", tests, NULL, NULL);
}
