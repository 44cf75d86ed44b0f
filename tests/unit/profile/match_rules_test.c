#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/profile/alloc_run.h"

#include <string.h>
#include <unistd.h>

static struct match_rules rules;
static char error[200];

static bool fits(const char *text, pid_t pid, const char *main_class, const char *cgroup)
{
    assert_true(match_rules_parse(&rules, text, error, sizeof error));
    return match_rules_fit_text(&rules, pid, main_class, cgroup);
}

static void a_rule_fits_when_all_its_terms_do(void **state)
{
    (void)state;
    assert_true(fits("main=org.example.*", 1, "org.example.Main", ""));
    assert_false(fits("main=org.example.*", 1, "org.other.Main", ""));
    assert_true(fits("main=*Main,pid=4711", 4711, "a.Main", ""));
    assert_false(fits("main=*Main,pid=4711", 4712, "a.Main", ""));
    assert_false(fits("pid=4711,main=*Main", 4711, "a.Other", ""));
}

static void one_of_the_rules_has_to_fit(void **state)
{
    (void)state;
    assert_true(fits("main=a,pid=1;pid=2", 2, "b", ""));
    assert_true(fits("main=a,pid=1;pid=2", 1, "a", ""));
    assert_false(fits("main=a,pid=1;pid=2", 1, "b", ""));
    assert_true(fits("pid=2;main=a,pid=1;pid=3", 1, "a", ""));
}

static void any_control_group_counts(void **state)
{
    (void)state;
    static const char one[] = "0::/system.slice/shop.service\n";
    static const char many[] = "12:memory:/docker/4f2a\n11:cpu,cpuacct:/docker/4f2a/x\n1:name=a:/b";
    assert_true(fits("cgroup=/system.slice/shop*", 1, "m", one));
    assert_false(fits("cgroup=/system.slice/other*", 1, "m", one));
    assert_true(fits("cgroup=/docker/*", 1, "m", many));
    assert_true(fits("cgroup=/b", 1, "m", many));
    assert_false(fits("cgroup=*", 1, "m", ""));
    assert_false(fits("cgroup=*", 1, "m", "nonsense\n"));
}

static void wrong_rules_are_a_sentence(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "main",
                                        "main=",
                                        "pid=0",
                                        "pid=-3",
                                        "pid=4711x",
                                        "user=me",
                                        "main=a;",
                                        ";pid=1",
                                        "main=a,,pid=1",
                                        "pid=99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error[0] = '\0';
        if (match_rules_parse(&rules, wrong[i], error, sizeof error) || error[0] == '\0')
            fail_msg("'%s' is taken for rules", wrong[i]);
    }
    char longest[600] = "main=";
    memset(longest + 5, 'x', 500);
    assert_false(match_rules_parse(&rules, longest, error, sizeof error));
    char most[10 * (MATCH_TERMS_MAX + 1)] = "pid=1";
    for (int i = 0; i < MATCH_TERMS_MAX; i++)
        strcat(most, ";pid=1");
    assert_false(match_rules_parse(&rules, most, error, sizeof error));
}

static void a_process_is_asked_for_its_groups(void **state)
{
    (void)state;
    struct target target = {.pid = getpid()};
    assert_true(match_rules_parse(&rules, "cgroup=*,pid=1;cgroup=*", error, sizeof error));
    assert_true(match_rules_fit(&rules, &target));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_fits_when_all_its_terms_do),
        cmocka_unit_test(one_of_the_rules_has_to_fit),
        cmocka_unit_test(any_control_group_counts),
        cmocka_unit_test(wrong_rules_are_a_sentence),
        cmocka_unit_test(a_process_is_asked_for_its_groups),
    };
    return cmocka_run_group_tests_name("match_rules", tests, NULL, NULL);
}
