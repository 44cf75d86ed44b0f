#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/commands/options.h"
#include "nmtwatch/serve/serve_options.h"
#include "nmtwatch/serve/snapshot.h"
#include "nmtwatch/serve/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static const char *file_of(const char *text, mode_t mode)
{
    snprintf(path, sizeof path, "/tmp/nmtwatch-options.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static bool load(const char *text, struct serve_options *options, char *error, size_t size)
{
    serve_options_default(options);
    bool good = config_load_serve(file_of(text, 0600), options, NULL, error, size);
    unlink(path);
    return good;
}

static void test_a_whole_file(void **state)
{
    char error[400] = "";
    struct serve_options options;
    (void)state;
    assert_true(load("[serve]\nlisten = [::1]:80\ndiscover = 2s\ninclude = main:a.*\n"
                     "include = user:tomcat\nexclude = cgroup:*x*\ntarget = %{env:A|main}\n"
                     "rotate_size = 1M\nkeep_age = 7d\n[watch]\ninterval = 2s\n",
                     &options, error, sizeof error));
    assert_string_equal(options.listen, "[::1]:80");
    assert_int_equal(options.discover_ms, 2000);
    assert_int_equal(options.rules.include.count, 2);
    assert_int_equal(options.rules.exclude.count, 1);
    assert_string_equal(options.rules.template, "%{user}/%{env:A|main}");
    assert_int_equal(options.rotate_bytes, 1 << 20);
    assert_int_equal(options.keep_ms, 7 * INT64_C(86400000));
    assert_int_equal(options.watch.interval_ms, 2000);
    assert_string_equal(options.state, "");
}

static void test_receivers(void **state)
{
    static const struct {
        const char *text, *problem;
    } bad[] = {
        {"[receiver a/b]\nurl = http://x/\n", ":2: [receiver NAME]"},
        {"[receiver a]\nurl = x\n", ":2: url: 'x'"},
        {"[receiver a]\nkind = pager\n", ":2: kind: 'pager'"},
        {"[receiver a]\nurl = http://x/\n", "receivers of alerts need a state folder"},
        {"[serve]\nstate = s\n[receiver a]\nkind = webhook\n", "a [receiver] has no url"},
        {"[serve]\nwebhook = nowhere\n", ":2: webhook: url: 'nowhere'"},
        {"[receiver webhook]\nurl = http://x/\n", ":2: [receiver webhook]: that is the name"},
        {"[receiver]\nurl = http://x/\n", "unknown section [receiver]"},
    };
    char error[400] = "";
    struct serve_options options;
    struct receiver_options receivers[RECEIVERS_MAX];
    (void)state;
    assert_true(load("[serve]\nstate = s\nalertmanager = http://am:9093\n[receiver ops]\n"
                     "kind = alertmanager\nurl = https://ops/\nca_file = ca\nuser_file = u\n"
                     "timeout = 3s\n[receiver chat]\nurl = http://chat/x\n",
                     &options, error, sizeof error));
    assert_int_equal(serve_options_receivers(&options, receivers), 3);
    assert_string_equal(receivers[0].name, "ops");
    assert_int_equal(receivers[0].kind, RECEIVER_ALERTMANAGER);
    assert_string_equal(receivers[0].ca_file, "ca");
    assert_int_equal(receivers[0].timeout_ms, 3000);
    assert_int_equal(receivers[1].kind, RECEIVER_WEBHOOK);
    assert_string_equal(receivers[2].name, "alertmanager");
    assert_string_equal(receivers[2].url, "http://am:9093");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(load(bad[i].text, &options, error, sizeof error));
        if (strstr(error, bad[i].problem) == NULL)
            fail_msg("%s: %s", bad[i].text, error);
    }
}

static void test_observe_sections(void **state)
{
    static const struct {
        const char *text, *problem;
    } bad[] = {
        {"[observe a/b]\nwhat = cpu\n", ":2: [observe a/b]: a name is"},
        {"[observe a]\nwhat = heap\n", ":2: what: 'heap' is none of"},
        {"[observe a]\non = class-explosion, nothing\n", ":2: on: 'nothing' is no finding"},
        {"[observe a]\non = heap-histogram\n", ":2: on: 'heap-histogram' is no finding"},
        {"[observe a]\nfor = 11m\n", ":2: for: at most 10m"},
        {"[observe a]\nmatch = colour=red\n", ":2: match: "},
        {"[observe a]\nfrom = x\n", ":2: unknown key 'from' in [observe a]"},
        {"[observe a]\nwhat = cpu\nevery = 1h\n", "need a folder: observations"},
        {"[serve]\nobservations = o\n[observe a]\nevery = 1h\n", "does not say what"},
        {"[serve]\nobservations = o\n[observe a]\nwhat = cpu\n", "it would never start"},
        {"[serve]\nobservations_cpu = 0\n", ":2: observations_cpu: a percentage"},
        {"[serve]\nobservations_cpu = 2x\n", ":2: observations_cpu: a percentage"},
    };
    char error[400] = "", many[2000] = "";
    struct serve_options options;
    (void)state;
    assert_true(load("[serve]\nobservations = o\nobservations_cpu = 0.5 %\n[observe a]\n"
                     "what = classes\non = class-explosion, memory-outside-nmt\n"
                     "[observe b]\nwhat = cpu\nevery = 1h\nmatch = main=x;user=y\nat_once = 3\n",
                     &options, error, sizeof error));
    assert_int_equal(options.section_count, 2);
    assert_int_equal(options.observations_cpu_mpercent, 500);
    assert_true(observe_section_on(&options.sections[0], "class-explosion"));
    assert_true(observe_section_on(&options.sections[0], OBSERVE_OUTSIDE));
    assert_false(observe_section_on(&options.sections[0], "class"));
    assert_false(observe_section_on(&options.sections[1], "class-explosion"));
    assert_int_equal(options.sections[0].at_once, 1);
    assert_int_equal(options.sections[1].at_once, 3);
    assert_string_equal(options.sections[1].match, "main=x;user=y");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(load(bad[i].text, &options, error, sizeof error));
        if (strstr(error, bad[i].problem) == NULL)
            fail_msg("%s: %s", bad[i].text, error);
    }
    for (int i = 0; i <= OBSERVE_SECTIONS_MAX; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "[observe n%d]\nwhat = cpu\n", i);
    assert_false(load(many, &options, error, sizeof error));
    assert_non_null(strstr(error, "there is room for 16 sections"));
}

static void test_errors_name_the_line(void **state)
{
    static const struct {
        const char *text;
        const char *wanted;
    } rows[] = {
        {"[serve]\nlisten = here\n", ":2: "},
        {"[serve]\n\nno_such = 1\n", ":3: unknown key 'no_such'"},
        {"[serve]\nhistogram = 10m\n",
         ":2: unknown key 'histogram' in [serve]: it is one of [watch]"},
        {"[serve]\ninclude = a.*\n", "include: "},
        {"[serve]\ntarget = %{pid}\n", "target: "},
        {"[serve]\ndiscover = 5\n", "discover: "},
        {"[serve]\nkeep_size = 1\n", "keep_size: "},
        {"[serve]\ntls_cert = a\n", "belong together"},
        {"[serve]\nkeep_size = 1M\n", "smaller than rotate_size"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char error[400] = "";
        struct serve_options options;
        assert_false(load(rows[i].text, &options, error, sizeof error));
        assert_non_null(strstr(error, rows[i].wanted));
    }
}

static void test_a_watch_takes_the_same_file(void **state)
{
    char error[400] = "";
    struct watch_options options;
    (void)state;
    watch_options_default(&options);
    assert_true(config_load(file_of("[serve]\nlisten = :1\n[watch]\ninterval = 3s\n", 0600),
                            &options, error, sizeof error));
    unlink(path);
    assert_int_equal(options.interval_ms, 3000);
    assert_false(
        config_load(file_of("[serve]\nlisten = x\n", 0600), &options, error, sizeof error));
    unlink(path);
}

static void test_addresses(void **state)
{
    static const struct {
        const char *text;
        int family; /* 0: refused */
        bool loopback;
    } rows[] = {
        {"127.0.0.1:9779", AF_INET, true},
        {"127.8.8.8:0", AF_INET, true},
        {"localhost:1", AF_INET, true},
        {":9779", AF_INET, false},
        {"0.0.0.0:9", AF_INET, false},
        {"10.0.0.1:65535", AF_INET, false},
        {"[::1]:9779", AF_INET6, true},
        {"[::]:9779", AF_INET6, false},
        {"127.0.0.1", 0, false},
        {"127.0.0.1:", 0, false},
        {"127.0.0.1:65536", 0, false},
        {"127.0.0.1:-1", 0, false},
        {"host.example:80", 0, false},
        {"[::1:80", 0, false},
        {"", 0, false},
        {"127.0.0.1:80x", 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sockaddr_storage address;
        char error[200];
        bool good = serve_listen_parse(rows[i].text, &address, error, sizeof error);
        assert_int_equal(good, rows[i].family != 0);
        if (!good)
            continue;
        assert_int_equal(address.ss_family, rows[i].family);
        assert_int_equal(serve_listen_is_loopback(&address), rows[i].loopback);
    }
}

static void test_users(void **state)
{
    char error[300] = "";
    (void)state;
    struct users *users =
        users_read(file_of("# who\nprom:se:cret\nann:b\n\n", 0600), error, sizeof error);
    unlink(path);
    assert_non_null(users);
    assert_true(users_know(users, "prom", "se:cret"));
    assert_true(users_know(users, "ann", "b"));
    assert_false(users_know(users, "prom", "se:cre"));
    assert_false(users_know(users, "prom:se", "cret"));
    assert_false(users_know(users, "", ""));
    assert_false(users_know(users, "# who", ""));
    users_free(users);
    assert_null(users_read(file_of("a:b\n", 0644), error, sizeof error));
    unlink(path);
    assert_non_null(strstr(error, "chmod 600"));
    assert_null(users_read(file_of("a\n", 0600), error, sizeof error));
    unlink(path);
    assert_null(users_read(file_of("\n", 0600), error, sizeof error));
    unlink(path);
    assert_null(users_read("/nowhere", error, sizeof error));
}

static void test_a_sparkline_halves_itself(void **state)
{
    struct sparkline spark = {0};
    (void)state;
    int64_t ms = 0;
    for (int i = 0; i < 100000; i++, ms += 1000) {
        const float values[SPARK_COUNT] = {(float)i, SPARK_MISSING, 1, 2};
        if (sparkline_due(&spark, ms))
            sparkline_add(&spark, ms, values);
    }
    assert_in_range(spark.count, SPARK_POINTS / 2, SPARK_POINTS);
    assert_true(spark.value[SPARK_RSS][0] == 0);
    assert_true(spark.value[SPARK_INTERNAL][3] == SPARK_MISSING);
    float step = spark.value[SPARK_RSS][1] - spark.value[SPARK_RSS][0];
    for (int i = 2; i < spark.count; i++)
        assert_true(spark.value[SPARK_RSS][i] - spark.value[SPARK_RSS][i - 1] == step);
    assert_true(spark.value[SPARK_RSS][spark.count - 1] > 90000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_file),
        cmocka_unit_test(test_receivers),
        cmocka_unit_test(test_observe_sections),
        cmocka_unit_test(test_errors_name_the_line),
        cmocka_unit_test(test_a_watch_takes_the_same_file),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_a_sparkline_halves_itself),
    };
    return cmocka_run_group_tests_name("serve_options", tests, NULL, NULL);
}
