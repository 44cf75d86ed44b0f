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
    return (struct target_facts){.pid = 4711,
                                 .main = main_text,
                                 .user = "tomcat",
                                 .uid = "998",
                                 .cgroup = "/system.slice/orders.service",
                                 .jdk = "17",
                                 .host = "shop-7.example.org",
                                 .place = {.unit = "orders"},
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
    about.template = rules.template;
    target_label(&about, out);
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
    assert_string_equal(label("%{main}%{@unit|@pod}", "x"), "tomcat/x@orders");
    assert_string_equal(label("%{main}%{@pod}", "x"), "tomcat/x");
    assert_string_equal(label("%{pod|unit}", "x"), "tomcat/orders");
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
    const char *const bad[] = {"",    "%{",      "%{main",        "%{pid}", "%{main|}",
                               "%{}", "%{env:}", "%{main||user}", "%{@}",   "%{@@unit}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error[0] = '\0';
        assert_false(target_rules_template(&rules, bad[i], error, sizeof error));
        assert_true(error[0] != '\0');
    }
    assert_string_equal(rules.template, "%{user}/%{main}%{@unit|@pod|@container}");
}

static bool watched(const char *include, const char *exclude, const char *main_text)
{
    char error[200];
    struct target_rules rules;
    struct target_facts about = facts(main_text);
    target_rules_default(&rules);
    if (include != NULL)
        assert_true(target_match_add(&rules.include, include, error, sizeof error));
    if (exclude != NULL)
        assert_true(target_match_add(&rules.exclude, exclude, error, sizeof error));
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
    assert_true(watched("label:*/a.?@orders", NULL, "a.B"));
    assert_false(watched("label:b*", NULL, "a.B"));
    assert_true(watched("label=*@orders", NULL, "a.B"));
    assert_true(watched("main=a.*,unit=orders", NULL, "a.B"));
    assert_false(watched("main=a.*,unit=billing", NULL, "a.B"));
    assert_true(watched("unit:orders.service", NULL, "a.B"));
    assert_false(watched("pod=*", NULL, "a.B"));
    assert_true(watched("env:APP=orders", NULL, "a.B"));
}

static void test_bad_rules_are_refused(void **state)
{
    (void)state;
    char error[200], text[400];
    struct target_rules rules;
    target_rules_default(&rules);
    assert_false(target_match_add(&rules.include, "com.acme.*", error, sizeof error));
    assert_false(target_match_add(&rules.include, "main:", error, sizeof error));
    snprintf(text, sizeof text, "main:%0300d", 1);
    assert_false(target_match_add(&rules.include, text, error, sizeof error));
    for (int i = 0; i < TARGET_TERMS_MAX; i++)
        assert_true(target_match_add(&rules.exclude, "user:x", error, sizeof error));
    assert_false(target_match_add(&rules.exclude, "user:x", error, sizeof error));
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

static void is_place(const char *path, const char *unit, const char *container, const char *pod)
{
    struct target_place place;
    target_place_of(path, &place);
    assert_string_equal(place.unit, unit);
    assert_string_equal(place.container, container);
    assert_string_equal(place.pod, pod);
}

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "8a1b6e2c-0d5f-4c3a-9b7e-112233445566"

static void test_units_containers_and_pods(void **state)
{
    (void)state;
    is_place("", "", "", "");
    is_place("/", "", "", "");
    is_place("/system.slice/orders.service", "orders", "", "");
    is_place("/user.slice/user-1000.slice/session-3.scope", "", "", "");
    is_place("/user.slice/user-1000.slice/user@1000.service/app.slice/ide.service", "ide", "", "");
    is_place("/user.slice/user-1000.slice/user@1000.service/init.scope", "", "", "");
    is_place("/system.slice/docker-" ID ".scope", "", "0123456789ab", "");
    is_place("/docker/" ID, "", "0123456789ab", "");
    is_place("/machine.slice/libpod-" ID ".scope/container", "", "0123456789ab", "");
    is_place("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
             "pod8a1b6e2c_0d5f_4c3a_9b7e_112233445566.slice/cri-containerd-" ID ".scope",
             "", "0123456789ab", UID);
    is_place("/system.slice/containerd.service/kubepods/burstable/pod" UID "/" ID, "",
             "0123456789ab", UID);
    is_place("/machine.slice/machine-web1.scope/payload/system.slice/shop.service", "shop", "web1",
             "");
    is_place("/lxc.payload.db/system.slice/x.service", "x", "db", "");
    is_place("/app/podium/abcdef-0123.scope", "", "", "");
}

/* --- on a command line ------------------------------------------------------------------------ */

static bool fits(const char *text, const char *main_text)
{
    char error[300];
    struct target_match match = {0};
    struct target_facts about = facts(main_text);
    if (!target_match_add(&match, text, error, sizeof error))
        fail_msg("%s", error);
    return target_match_fits(&match, &about);
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
    assert_true(target_match_fits(&(struct target_match){0}, &about));
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
                                        "main=a;",
                                        ";pid=1",
                                        "env:=a",
                                        "env:A",
                                        "env:A=",
                                        "main=a,,pid=1",
                                        "prop:a",
                                        "host=",
                                        "main=a,user",
                                        "jdk=17"};
    char error[300], longest[600] = "main=", most[10 * (TARGET_TERMS_MAX + 1)] = "pid=1";
    struct target_match match = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error[0] = '\0';
        if (target_match_add(&match, wrong[i], error, sizeof error) || error[0] == '\0')
            fail_msg("'%s' is taken for rules", wrong[i]);
    }
    memset(longest + 5, 'x', 500);
    assert_false(target_match_add(&match, longest, error, sizeof error));
    for (int i = 0; i < TARGET_TERMS_MAX; i++)
        strcat(most, ";pid=1");
    match.count = 0;
    assert_false(target_match_add(&match, most, error, sizeof error));
    assert_non_null(strstr(error, "more than"));
}

/* 2: by the whole name, 1: by a part of it, 0: by neither, -1: no JVM can have such a name. */
static int named(const char *name, const char *main_text)
{
    struct target_match match[2];
    struct target_facts about = facts(main_text);
    if (!target_match_name(match, name))
        return -1;
    return target_match_fits(&match[0], &about) ? 2 : target_match_fits(&match[1], &about);
}

static void test_names_stand_for_process_ids(void **state)
{
    (void)state;
    assert_int_equal(named("Bootstrap", "org.apache.catalina.startup.Bootstrap"), 2);
    assert_int_equal(named("catalina", "org.apache.catalina.startup.Bootstrap"), 1);
    assert_int_equal(named("app-1.2.jar", "/opt/app-1.2.jar"), 2);
    assert_int_equal(named("app-1.2", "/opt/app-1.2.jar"), 2);
    assert_int_equal(named("app", "/opt/app-1.2.jar"), 1);
    assert_int_equal(named("orders", "x"), 2);
    assert_int_equal(named("order", "x"), 1);
    assert_int_equal(named("unit=orders,user=tomcat", "x"), 2);
    assert_int_equal(named("unit:orders,user=alice", "x"), 0);
    assert_int_equal(named("Other", "x"), 0);
    assert_int_equal(named("a,b", "x"), -1);
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
        cmocka_unit_test(test_units_containers_and_pods),
        cmocka_unit_test(test_names_stand_for_process_ids),
    };
    return cmocka_run_group_tests_name("target_rules", tests, NULL, NULL);
}
