/* The near end of workers: one that is late or ends costs its deadline, its target and its owner, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/privileged.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/worker/worker.h"
#include "tests/sim/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t later_s; /* by how much the clock of this process is ahead */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_MONOTONIC)
        now->tv_sec += later_s;
    return result;
}

static pid_t worker; /* the last one that was started */
static int started;
static int
    ends_after_ms; /* each worker ends by itself, in the middle of what it is asked; 0: none does */

static void end_later(pid_t pid)
{
    kill(pid, SIGSTOP);
    if (fork() == 0) {
        if (fork() == 0) {
            poll(NULL, 0, ends_after_ms);
            kill(pid, SIGKILL);
        }
        _exit(0);
    }
    while (wait(NULL) < 0 && errno == EINTR) {
    }
}

static int start_worker(uid_t owner, pid_t *pid)
{
    int fd = worker_start(owner, pid);
    if (pid == NULL || fd < 0)
        return fd;
    worker = *pid;
    started++;
    if (ends_after_ms > 0)
        end_later(*pid);
    return fd;
}

struct pair {
    struct fake fake;
    struct target target;
};

static struct pair start(void)
{
    struct pair pair = {.fake = fake_start("--jdk", "17", "--socket", "now")};
    struct failure failure;
    ends_after_ms = 0;
    privileged_workers(start_worker);
    if (privileged_look(&pair.target, pair.fake.pid, &failure) != FAILURE_NONE)
        fail_msg("%s", failure.sentence);
    return pair;
}

static void stop(struct pair *pair)
{
    privileged_workers(NULL);
    workers_end();
    fake_end(&pair->fake);
}

/* What asking comes to: an errno. *ms: how long it took. */
static int ask(const struct target *target, int64_t *ms)
{
    char byte;
    int64_t began_ms = clock_ms(CLOCK_MONOTONIC);
    ssize_t got = privileged_read(PRIVILEGED_PERFDATA, target, 0, &byte, 1, NULL);
    int reason = got < 0 ? errno : 0;
    *ms = clock_ms(CLOCK_MONOTONIC) - began_ms;
    return reason;
}

static void a_late_one_is_left_behind(void **state)
{
    (void)state;
    struct pair pair = start();
    struct privileged_counts before = privileged_counts(), now;
    struct target other = pair.target;
    int64_t ms;
    other.accountable = pair.target.accountable + 1;
    pid_t late = worker;
    kill(late, SIGSTOP);
    assert_int_equal(ask(&pair.target, &ms), ETIMEDOUT);
    assert_in_range(ms, 900, 4000);
    now = privileged_counts();
    assert_int_equal(now.late, before.late + 1);
    assert_int_equal(now.passed_by, 1);
    assert_true(now.cpu_us - before.cpu_us >= 900000); /* what it may have taken */
    assert_true(privileged_passes_by(&pair.target));
    for (int i = 0; i < 100; i++) /* at once, and nothing is started for it */
        assert_int_equal(ask(&pair.target, &ms), ETIMEDOUT);
    assert_in_range(ms, 0, 500);
    int before_other = started;
    assert_int_not_equal(ask(&other, &ms), ETIMEDOUT); /* another owner's are asked */
    assert_int_equal(started, before_other + 1);
    for (int i = 0; i < 500 && kill(late, 0) == 0; i++) {
        privileged_counts();
        workers_end();
        poll(NULL, 0, 10);
    }
    assert_int_not_equal(kill(late, 0), 0); /* and it was reaped */
    stop(&pair);
}

static void a_target_is_passed_by_for_twice_as_long_each_time(void **state)
{
    (void)state;
    struct pair pair = start();
    int64_t ms;
    for (int seconds = 30; seconds <= 120; seconds *= 2) {
        kill(worker, SIGSTOP);
        assert_int_equal(ask(&pair.target, &ms), ETIMEDOUT);
        later_s += seconds - 2;
        assert_true(privileged_passes_by(&pair.target));
        later_s += 3;
        assert_false(privileged_passes_by(&pair.target));
        assert_int_not_equal(ask(&pair.target, &ms), ETIMEDOUT);
    }
    stop(&pair);
}

static void one_that_ended_is_replaced_once(void **state)
{
    (void)state;
    struct pair pair = start();
    int64_t ms, died = privileged_counts().died;
    kill(worker, SIGKILL); /* between two requests */
    assert_int_not_equal(ask(&pair.target, &ms), EIO);
    assert_int_equal(privileged_counts().died, died + 1);
    ends_after_ms = 200;
    end_later(worker); /* in the middle of one */
    ends_after_ms = 0;
    assert_int_not_equal(ask(&pair.target, &ms), EIO);
    assert_int_equal(privileged_counts().died, died + 2);
    assert_false(privileged_passes_by(&pair.target));
    ends_after_ms = 200; /* this target ends whoever reads it */
    end_later(worker);
    assert_int_equal(ask(&pair.target, &ms), EIO);
    assert_true(privileged_passes_by(&pair.target));
    assert_int_equal(privileged_counts().died, died + 4);
    stop(&pair);
}

static void an_idle_owner_makes_room(void **state)
{
    (void)state;
    struct pair pair = start();
    struct target one = pair.target;
    int64_t ms;
    for (int i = 0; i < 70; i++) {
        one.accountable = 100000 + (uid_t)i;
        assert_int_not_equal(ask(&one, &ms), ETIMEDOUT);
        assert_in_range(privileged_counts().workers, 1, 64);
    }
    assert_int_not_equal(ask(&pair.target, &ms), ETIMEDOUT); /* the first of all was the idle one */
    stop(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_one_is_left_behind),
        cmocka_unit_test(a_target_is_passed_by_for_twice_as_long_each_time),
        cmocka_unit_test(one_that_ended_is_replaced_once),
        cmocka_unit_test(an_idle_owner_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
