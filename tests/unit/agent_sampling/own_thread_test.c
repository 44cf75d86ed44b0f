/* A thread of the agent's: which signals it blocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/sampling/own_thread.h"

#include <signal.h>

static void *read_mask(void *mask)
{
    pthread_sigmask(SIG_BLOCK, NULL, mask);
    return NULL;
}

static void what_it_faults_with_is_not_blocked(void **state)
{
    (void)state;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    static const int sent[] = {SIGPROF, SIGTERM, SIGINT,  SIGHUP,
                               SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t mask, before, after;
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(own_thread_start(&thread, read_mask, &mask), 0);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_false(sigismember(&mask, faults[i]));
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        assert_true(sigismember(&mask, sent[i]));
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int signal = 1; signal < NSIG; signal++)
        assert_int_equal(sigismember(&after, signal), sigismember(&before, signal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_it_faults_with_is_not_blocked)};
    return cmocka_run_group_tests_name("own_thread", tests, NULL, NULL);
}
