#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/serve/member.h"
#include "nmtwatch/serve/target_rules.h"

#include <stdio.h>
#include <string.h>

static bool look_up(void *context, bool property, const char *name, char *out, size_t size)
{
    (void)context;
    if (!property && strcmp(name, "APP") == 0)
        snprintf(out, size, "orders");
    else if (property && strcmp(name, "app.name") == 0)
        snprintf(out, size, "billing");
    else
        return false;
    return true;
}

static struct target_facts facts(const char *main_text)
{
    return (struct target_facts){.main = main_text,
                                 .user = "tomcat",
                                 .uid = "998",
                                 .cgroup = "/system.slice/orders.service",
                                 .jdk = "17",
                                 .look_up = look_up};
}

static const char *label(const char *template, const char *main_text)
{
    static char out[TARGET_LABEL_MAX];
    char error[200];
    struct target_rules rules;
    struct target_facts about = facts(main_text);
    target_rules_default(&rules);
    assert_true(target_rules_template(&rules, template, error, sizeof error));
    target_rules_label(&rules, &about, out);
    return out;
}

static void test_labels(void **state)
{
    (void)state;
    assert_string_equal(label("%{main}", "com.acme.Orders"), "tomcat/com.acme.Orders");
    assert_string_equal(label("%{main}", "/opt/app/orders-1.2.jar"), "tomcat/orders-1.2");
    assert_string_equal(label("%{main}", ""), "tomcat/");
    assert_string_equal(label("%{env:APP}-%{jdk}", "x"), "tomcat/orders-17");
    assert_string_equal(label("%{prop:app.name}", "x"), "tomcat/billing");
    assert_string_equal(label("%{env:NONE|prop:none|cgroup}", "x"), "tomcat/orders.service");
    assert_string_equal(label("%{cgroup_path}", "x"), "tomcat//system.slice/orders.service");
    assert_string_equal(label("%{user}/%{uid}", "x"), "tomcat/998");
    assert_string_equal(label("%{uid|main}-%{jdk}", "x"), "998-17");
    assert_string_equal(label("%{main|user}", "x"),
                        "tomcat/x"); /* the user is not in every label */
    assert_string_equal(label("plain 100%", "x"), "tomcat/plain 100%");
}

static void test_a_long_label_is_cut(void **state)
{
    (void)state;
    char long_main[300];
    memset(long_main, 'm', sizeof long_main - 1);
    long_main[sizeof long_main - 1] = '\0';
    assert_int_equal(strlen(label("%{main}%{main}", long_main)), TARGET_LABEL_MAX - 1);
}

static void test_bad_templates_are_refused(void **state)
{
    (void)state;
    char error[200];
    struct target_rules rules;
    target_rules_default(&rules);
    const char *const bad[] = {"",         "%{",  "%{main",  "%{pid}",
                               "%{main|}", "%{}", "%{env:}", "%{main||user}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error[0] = '\0';
        assert_false(target_rules_template(&rules, bad[i], error, sizeof error));
        assert_true(error[0] != '\0');
    }
    assert_string_equal(rules.template, "%{user}/%{main}");
}

static bool watched(const char *include, const char *exclude, const char *main_text)
{
    char error[200];
    struct target_rules rules;
    struct target_facts about = facts(main_text);
    target_rules_default(&rules);
    if (include != NULL)
        assert_true(target_rules_include(&rules, include, error, sizeof error));
    if (exclude != NULL)
        assert_true(target_rules_exclude(&rules, exclude, error, sizeof error));
    return target_rules_watch(&rules, &about);
}

static void test_include_and_exclude(void **state)
{
    (void)state;
    assert_true(watched(NULL, NULL, "a.B"));
    assert_true(watched("main:a.*", NULL, "a.B"));
    assert_false(watched("main:a.*", NULL, "c.B"));
    assert_false(watched("main:a.*", "main:*B", "a.B"));
    assert_true(watched("main:orders*", NULL, "/opt/orders.jar"));
    assert_true(watched("main:/opt/*.jar", NULL, "/opt/orders.jar"));
    assert_true(watched("user:tom*", NULL, "a.B"));
    assert_true(watched("user:998", NULL, "a.B"));
    assert_false(watched("user:99", NULL, "a.B"));
    assert_false(watched(NULL, "cgroup:/system.slice/*", "a.B"));
    assert_true(watched("label:*/a.?", NULL, "a.B"));
    assert_false(watched("label:b*", NULL, "a.B"));
}

static void test_bad_rules_are_refused(void **state)
{
    (void)state;
    char error[200], text[400];
    struct target_rules rules;
    target_rules_default(&rules);
    assert_false(target_rules_include(&rules, "com.acme.*", error, sizeof error));
    assert_false(target_rules_include(&rules, "main:", error, sizeof error));
    snprintf(text, sizeof text, "main:%0300d", 1);
    assert_false(target_rules_include(&rules, text, error, sizeof error));
    for (int i = 0; i < TARGET_RULES_MAX; i++)
        assert_true(target_rules_exclude(&rules, "user:x", error, sizeof error));
    assert_false(target_rules_exclude(&rules, "user:x", error, sizeof error));
    assert_non_null(strstr(error, "more than"));
}

static void test_control_groups(void **state)
{
    (void)state;
    char path[64];
    facts_cgroup_path(SPAN_LITERAL("0::/a/b\n"), path, sizeof path);
    assert_string_equal(path, "/a/b");
    facts_cgroup_path(SPAN_LITERAL("12:memory:/docker/x\n1:name=systemd:/docker/x\n0::/\n"), path,
                      sizeof path);
    assert_string_equal(path, "/");
    facts_cgroup_path(SPAN_LITERAL("12:memory:/docker/x\n1:name=systemd:/y\n"), path, sizeof path);
    assert_string_equal(path, "/docker/x");
    facts_cgroup_path(SPAN_LITERAL("rubbish\n"), path, sizeof path);
    assert_string_equal(path, "");
}

/* --- on a command line ------------------------------------------------------------------------ */

static bool fits(const char *text, const char *main_text)
{
    char error[300];
    struct target_match match;
    struct target_facts about = facts(main_text);
    if (!target_match_parse(&match, text, error, sizeof error))
        fail_msg("%s", error);
    return target_match_fits(&match, &about, 4711, "shop-7.example.org");
}

static void test_a_rule_fits_when_all_its_terms_do(void **state)
{
    (void)state;
    assert_true(fits("main=org.example.*", "org.example.Main"));
    assert_true(fits("main=orders-*", "/opt/app/orders-1.2.jar"));
    assert_false(fits("main=org.example.*", "org.other.Main"));
    assert_true(fits("main=*Main,pid=4711", "a.Main"));
    assert_false(fits("main=*Main,pid=4712", "a.Main"));
    assert_false(fits("pid=4711,main=*Main", "a.Other"));
    assert_true(fits("user=tom*,cgroup=/system.slice/*", "a"));
    assert_true(fits("user=998", "a"));
    assert_false(fits("user=root", "a"));
    assert_true(fits("host=shop-*,env:APP=order?", "a"));
    assert_false(fits("host=db-*", "a"));
    assert_true(fits("prop:app.name=billing", "a"));
    assert_false(fits("env:NONE=*", "a"));
}

static void test_one_of_the_rules_has_to_fit(void **state)
{
    (void)state;
    assert_true(fits("main=a,pid=1;pid=4711", "b"));
    assert_true(fits("main=a,pid=4711;pid=2", "a"));
    assert_false(fits("main=a,pid=4711;pid=2", "b"));
    assert_true(fits("pid=2;main=a,pid=4711;pid=3", "a"));
    struct target_facts about = facts("a");
    assert_true(target_match_fits(&(struct target_match){0}, &about, 1, ""));
}

static void test_wrong_terms_are_a_sentence(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "main",
                                        "main=",
                                        "pid=0",
                                        "pid=-3",
                                        "pid=4711x",
                                        "pid=99999999999999999999",
                                        "label=me",
                                        "main=a;",
                                        ";pid=1",
                                        "env:=a",
                                        "env:A",
                                        "env:A=",
                                        "main=a,,pid=1",
                                        "prop:a",
                                        "host=",
                                        "main=a,user:me",
                                        "jdk=17"};
    char error[300], longest[600] = "main=", most[10 * (TARGET_TERMS_MAX + 1)] = "pid=1";
    struct target_match match;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error[0] = '\0';
        if (target_match_parse(&match, wrong[i], error, sizeof error) || error[0] == '\0')
            fail_msg("'%s' is taken for rules", wrong[i]);
    }
    memset(longest + 5, 'x', 500);
    assert_false(target_match_parse(&match, longest, error, sizeof error));
    for (int i = 0; i < TARGET_TERMS_MAX; i++)
        strcat(most, ";pid=1");
    assert_false(target_match_parse(&match, most, error, sizeof error));
    assert_non_null(strstr(error, "more than"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_a_long_label_is_cut),
        cmocka_unit_test(test_bad_templates_are_refused),
        cmocka_unit_test(test_include_and_exclude),
        cmocka_unit_test(test_bad_rules_are_refused),
        cmocka_unit_test(test_control_groups),
        cmocka_unit_test(test_a_rule_fits_when_all_its_terms_do),
        cmocka_unit_test(test_one_of_the_rules_has_to_fit),
        cmocka_unit_test(test_wrong_terms_are_a_sentence),
    };
    return cmocka_run_group_tests_name("target_rules", tests, NULL, NULL);
}
