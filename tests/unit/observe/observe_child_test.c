/* observe_child: what a stranger may ask for; an observation that is refused, in a process of its own. */
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/left_behind.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct observe_request GOOD = {
    .options = {.mode = OBSERVE_CLASSES, .duration_ms = 20000, .interval_ns = 10000000},
    .format_count = 2,
    .format = {PROFILE_HTML, PROFILE_TOP},
};

static bool valid(struct observe_request request)
{
    return observe_request_valid(&request, sizeof request, false);
}

static void what_may_be_asked(void **state)
{
    struct observe_request bad = GOOD;
    (void)state;
    assert_true(valid(GOOD));
    struct observe_request writes = GOOD;
    writes.options.activate = true; /* into a JVM: for a process that is trusted only */
    assert_true(observe_request_valid(&writes, sizeof writes, true));
    assert_false(observe_request_valid(&GOOD, sizeof GOOD - 1, false));
    bad.options.mode = OBSERVE_MODES;
    assert_false(valid(bad));
    bad = GOOD;
    bad.options.activate = true; /* would write into a JVM */
    assert_false(valid(bad));
    bad = GOOD;
    bad.options.mode = (enum observe_mode) - 1;
    assert_false(valid(bad));
    bad = GOOD;
    bad.options.duration_ms = 600001;
    assert_false(valid(bad));
    bad = GOOD;
    bad.options.interval_ns = 1;
    assert_false(valid(bad));
    bad = GOOD;
    bad.format_count = OBSERVE_FORMATS_MAX + 1;
    assert_false(valid(bad));
    bad = GOOD;
    bad.format[1] = PROFILE_JFR;
    assert_false(valid(bad));
}

static void refused(void **state)
{
    struct target target;
    struct failure failure;
    struct observe_result result;
    char error[400] = "";
    size_t bytes;
    (void)state;
    target_open(&target, getpid(), &failure);
    for (enum observe_mode mode = 0; mode < OBSERVE_MODES; mode++) {
        struct observe_request request = GOOD;
        request.options.mode = mode;
        struct observe_child *child = observe_child_start(&target, &request, error, sizeof error);
        assert_non_null(child);
        struct pollfd wait = {.fd = observe_child_fd(child), .events = POLLIN};
        do
            assert_int_equal(poll(&wait, 1, 60000), 1);
        while (!observe_child_ended(child, &result));
        assert_int_equal(result.code, 10);
        assert_true(result.sentence[0] != '\0');
        assert_null(observe_child_text(child, 0, &bytes));
        assert_true(observe_child_ended(child, &result)); /* told as often as it is asked */
        observe_child_close(child);
    }
    for (int ms = 0; left_behind_count() > 0 && ms < 5000; ms++)
        poll(NULL, 0, 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
    target_close(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_asked),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
