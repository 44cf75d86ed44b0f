/* apart: codes and signals pass through; a child that stands still is given up, and keeps nothing waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/process/apart.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/left_behind.h"
#include "nmtwatch/process/signals.h"
#include "tests/unit/process/held.h"
#include "tests/unit/skip.h"

#include <poll.h>
#include <stdlib.h>

#define GIVEN_UP 99

static int ready[2]; /* the child's pid is written there when it is as the test wants it */

static void tell(void)
{
    pid_t self = getpid();
    if (write(ready[1], &self, sizeof self) != (ssize_t)sizeof self)
        _exit(1);
}

static int returns(void *context)
{
    return *(int *)context;
}

static int ends_by_signal(void *context)
{
    signal(*(int *)context, SIG_DFL);
    raise(*(int *)context);
    return 0;
}

static int ends_when_asked(void *context)
{
    (void)context;
    signals_catch_in_child();
    tell();
    while (signals_asked() == 0)
        poll(NULL, 0, 1000);
    poll(NULL, 0, 300); /* something is switched off */
    return 40 + signals_asked();
}

static int ignores_all(void *context)
{
    (void)context;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    tell();
    for (;;)
        pause();
    return 0;
}

static int stands_still(void *context)
{
    (void)context;
    tell();
    raise(SIGSTOP);
    return 0;
}

/* A process that runs this apart; its code, or GIVEN_UP. */
static pid_t run_it(int (*work)(void *), int64_t limit_ms, pid_t *child)
{
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        int code = apart_run(work, NULL, limit_ms);
        _exit(code < 0 ? GIVEN_UP : code);
    }
    assert_int_equal(read(ready[0], child, sizeof *child), sizeof *child);
    close(ready[0]);
    close(ready[1]);
    return parent;
}

/* Its code; *took_ms from now. */
static int end_of(pid_t parent, int64_t *took_ms)
{
    int status;
    int64_t start_ms = clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    *took_ms = clock_ms(CLOCK_MONOTONIC) - start_ms;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool is_gone(pid_t pid)
{
    for (int ms = 0; ms < 10000 && kill(pid, 0) == 0; ms += 10)
        poll(NULL, 0, 10);
    return kill(pid, 0) != 0;
}

static void codes_and_signals_pass_through(void **state)
{
    (void)state;
    const int codes[] = {0, 1, 33, 255}, signals[] = {SIGKILL, SIGTERM, SIGUSR1};
    for (int i = 0; i < 4; i++)
        assert_int_equal(apart_run(returns, (void *)&codes[i], 0), codes[i]);
    for (int i = 0; i < 3; i++) {
        int64_t took_ms;
        pid_t parent = fork();
        if (parent == 0)
            _exit(apart_run(ends_by_signal, (void *)&signals[i], 0));
        assert_int_equal(end_of(parent, &took_ms), 128 + signals[i]);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_request_to_end_is_passed_on(void **state)
{
    (void)state;
    pid_t child, parent = run_it(ends_when_asked, 0, &child);
    int64_t took_ms;
    kill(parent, SIGTERM);
    assert_int_equal(end_of(parent, &took_ms), 41);
    assert_true(is_gone(child));
}

static void a_limit(void **state)
{
    (void)state;
    pid_t child, parent = run_it(ignores_all, 300, &child);
    int64_t took_ms;
    assert_int_equal(end_of(parent, &took_ms), GIVEN_UP);
    assert_true(took_ms < 3000);
    assert_true(is_gone(child));
}

static void asked_twice(void **state)
{
    (void)state;
    pid_t child, parent = run_it(ignores_all, 0, &child);
    int64_t took_ms;
    kill(parent, SIGINT);
    poll(NULL, 0, 300);
    assert_int_equal(waitpid(parent, NULL, WNOHANG), 0); /* it is given time to tidy up */
    kill(parent, SIGTERM);
    assert_int_equal(end_of(parent, &took_ms), GIVEN_UP);
    assert_true(took_ms < 3000);
    assert_true(is_gone(child));
}

/* It does not take the signal: once is enough. */
static void one_that_stands_still(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        pid_t child, parent = run_it(stands_still, 0, &child);
        int64_t took_ms;
        poll(NULL, 0, 100);
        kill(parent, numbers[i]);
        assert_int_equal(end_of(parent, &took_ms), GIVEN_UP);
        assert_in_range(took_ms, 0, 3000);
        assert_true(is_gone(child));
    }
}

/* As in a system call that a stranger withholds: not even SIGKILL lets it be reaped. */
static void one_that_cannot_be_reaped(void **state)
{
    (void)state;
    pid_t child, parent = run_it(ignores_all, 1500, &child), holder = hold(child);
    int64_t took_ms;
    if (holder < 0) {
        kill(child, SIGKILL);
        end_of(parent, &took_ms);
        skip_because("refused: no tracing here");
    }
    assert_int_equal(end_of(parent, &took_ms), GIVEN_UP);
    assert_true(took_ms < 4500);
    release(holder);
}

static void ends_with_its_parent(void **state)
{
    (void)state;
    pid_t child, parent = run_it(ignores_all, 0, &child);
    int64_t took_ms;
    kill(parent, SIGKILL);
    assert_int_equal(end_of(parent, &took_ms), 128 + SIGKILL);
    assert_true(is_gone(child));
}

/* What was caught before is caught again. */
static void handlers_are_put_back(void **state)
{
    (void)state;
    struct sigaction now;
    int code = 5;
    signal(SIGINT, SIG_IGN);
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(apart_run(returns, &code, 1000), 5);
    sigaction(SIGINT, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    sigaction(SIGUSR1, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_DFL);
    signal(SIGINT, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_and_signals_pass_through),
        cmocka_unit_test(a_request_to_end_is_passed_on),
        cmocka_unit_test(a_limit),
        cmocka_unit_test(asked_twice),
        cmocka_unit_test(one_that_stands_still),
        cmocka_unit_test(one_that_cannot_be_reaped),
        cmocka_unit_test(ends_with_its_parent),
        cmocka_unit_test(handlers_are_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
