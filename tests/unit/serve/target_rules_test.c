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
    assert_string_equal(label("%{main}", "com.acme.Orders"), "com.acme.Orders");
    assert_string_equal(label("%{main}", "/opt/app/orders-1.2.jar"), "orders-1.2");
    assert_string_equal(label("%{main}", ""), "jvm");
    assert_string_equal(label("%{env:APP}-%{jdk}", "x"), "orders-17");
    assert_string_equal(label("%{prop:app.name}", "x"), "billing");
    assert_string_equal(label("%{env:NONE|prop:none|cgroup}", "x"), "orders.service");
    assert_string_equal(label("%{cgroup_path}", "x"), "/system.slice/orders.service");
    assert_string_equal(label("%{user}/%{uid}", "x"), "tomcat/998");
    assert_string_equal(label("plain 100%", "x"), "plain 100%");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_a_long_label_is_cut),
        cmocka_unit_test(test_bad_templates_are_refused),
        cmocka_unit_test(test_include_and_exclude),
        cmocka_unit_test(test_bad_rules_are_refused),
        cmocka_unit_test(test_control_groups),
    };
    return cmocka_run_group_tests_name("target_rules", tests, NULL, NULL);
}
