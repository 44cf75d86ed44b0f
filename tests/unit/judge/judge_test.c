/* The judge on made-up JVMs whose truth is known: one that explodes, one that starts up, one that
 * churns, one that leaks slowly, one that is healthy. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/judge/judge.h"

#include <stdio.h>

#define MB INT64_C(1048576)

struct jvm {
    struct judge *judge;
    struct thresholds thresholds;
    int64_t ms;
    int64_t loaded, unloaded, gc_old;
    int64_t starved_per_s, starved_ms; /* by others, of each second */
    int alerts;
    struct alert alert[64];
};

static struct texts texts; /* of the alerts that are kept */

static void feed(struct jvm *jvm, const struct event *event)
{
    struct alerts alerts;
    judge_feed(jvm->judge, event, &alerts);
    for (int i = 0; i < alerts.count; i++) {
        struct alert *kept = &jvm->alert[jvm->alerts++];
        assert_true(jvm->alerts <= 64);
        *kept = alerts.alert[i];
        finding_copy(&kept->finding, &texts, &kept->finding);
    }
}

static void start(struct jvm *jvm, int jdk, int64_t uptime_ms, int64_t warmup_s)
{
    struct target_identity identity = {.pid = 1, .jdk_major = jdk, .uptime_ms = uptime_ms};
    struct thresholds thresholds = jvm->thresholds;
    memset(jvm, 0, sizeof *jvm);
    jvm->thresholds = thresholds;
    jvm->judge = judge_create(&identity, &jvm->thresholds, warmup_s);
    assert_non_null(jvm->judge);
}

static void setup_default(struct jvm *jvm, int jdk, int64_t uptime_ms)
{
    thresholds_default(&jvm->thresholds);
    start(jvm, jdk, uptime_ms, -1);
    jvm->loaded = 5000;
}

/* One second passes; so many classes were loaded and unloaded in it. */
static void second(struct jvm *jvm, int64_t loads, int64_t unloads)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = jvm->ms};
    jvm->loaded += loads;
    jvm->unloaded += unloads;
    sample_set(&event.sample, SAMPLE_CLASSES_LOADED, jvm->loaded);
    sample_set(&event.sample, SAMPLE_CLASSES_UNLOADED, jvm->unloaded);
    sample_set(&event.sample, SAMPLE_GC_OLD, jvm->gc_old);
    if (jvm->starved_per_s > 0)
        sample_set(&event.sample, SAMPLE_STARVED_MS, jvm->starved_ms);
    feed(jvm, &event);
    jvm->starved_ms += jvm->starved_per_s;
    jvm->ms += 1000;
}

static void names(struct jvm *jvm, const char *family, int64_t from_ms, int64_t loads)
{
    struct family_row row = {.loads = loads, .repeating = loads, .names = loads};
    snprintf(row.family, sizeof row.family, "%s", family);
    snprintf(row.example, sizeof row.example, "Script1");
    struct event event = {.kind = EVENT_NAMES, .ms = jvm->ms};
    event.names = (struct names_event){.method = CENSUS_LOAD_LOG,
                                       .load_log = 1,
                                       .from_ms = from_ms,
                                       .loads = loads,
                                       .row_count = 1,
                                       .rows = &row};
    feed(jvm, &event);
}

static void memory(struct jvm *jvm, int64_t internal, int64_t class_bytes)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = jvm->ms};
    sample_set(&event.sample, SAMPLE_CLASSES_LOADED, jvm->loaded);
    sample_set(&event.sample, SAMPLE_CLASSES_UNLOADED, jvm->unloaded);
    sample_set_nmt(&event.sample, NMT_INTERNAL, (struct nmt_amount){internal, internal});
    sample_set_nmt(&event.sample, NMT_CLASS, (struct nmt_amount){class_bytes, class_bytes});
    feed(jvm, &event);
}

static int count(const struct jvm *jvm, enum finding_kind kind, enum alert_state state)
{
    int found = 0;
    for (int i = 0; i < jvm->alerts; i++)
        found += jvm->alert[i].finding.kind == kind && jvm->alert[i].state == state;
    return found;
}

/* Explodes at per_s from now on for so long, with a census every two seconds once asked for. */
static void explode(struct jvm *jvm, const char *family, int64_t per_s, int seconds)
{
    int64_t load_log_from_ms = -1, load_log_from_loaded = 0;
    for (int i = 0; i < seconds; i++) {
        second(jvm, per_s, 0);
        if (load_log_from_ms < 0 && judge_wants_names(jvm->judge)) {
            load_log_from_ms = jvm->ms;
            load_log_from_loaded = jvm->loaded;
        } else if (load_log_from_ms >= 0 && i % 2 == 0) {
            names(jvm, family, load_log_from_ms, jvm->loaded - load_log_from_loaded);
        }
        if (i % 5 == 0)
            memory(jvm, MB, (jvm->loaded - 5000) * 8000);
    }
}

static void test_explosion_is_named_within_thirty_seconds(void **state)
{
    (void)state;
    static const int64_t rates[] = {10, 20, 50};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 600000);
        for (int s = 0; s < 40; s++)
            second(&jvm, 0, 0);
        int64_t began_ms = jvm.ms;
        explode(&jvm, "groovy-shell", rates[i], 60);
        assert_int_equal(jvm.alerts, 1);
        const struct alert *alert = &jvm.alert[0];
        assert_int_equal(alert->finding.kind, FINDING_CLASS_EXPLOSION);
        assert_string_equal(alert->finding.family, "groovy-shell");
        assert_int_equal(alert->finding.severity, SEVERITY_CRITICAL);
        assert_true(alert->ms - began_ms <= 20000);
        const struct evidence *rate = finding_evidence(&alert->finding, "rate_per_s");
        assert_non_null(rate);
        assert_true(rate->real > 0.9 * (double)rates[i] && rate->real < 1.1 * (double)rates[i]);
        const struct evidence *bytes = finding_evidence(&alert->finding, "bytes_per_class");
        assert_non_null(bytes);
        assert_in_range(bytes->number, 7900, 8100);
        judge_destroy(jvm.judge);
    }
}

static void callers(struct jvm *jvm, bool last, const char *family, const char *call_site)
{
    struct caller_row rows[2] = {{.family = "java.util.*", .call_site = "com.acme.Main.main:1"},
                                 {.classes = 50, .stacks = 49}};
    snprintf(rows[1].family, sizeof rows[1].family, "%s", family);
    snprintf(rows[1].call_site, sizeof rows[1].call_site, "%s", call_site);
    const struct event event = {
        .kind = EVENT_CALLERS,
        .ms = jvm->ms,
        .callers = {.last = last, .for_ms = 5000, .row_count = last ? 2 : 0, .rows = rows}};
    feed(jvm, &event);
}

/* Reported: a healthy start of JRuby at load 48, 6 s of CPU time in 71 s, was an explosion of 6.1 classes/s for 24 s.
 * Others have the CPUs for 19 of 20 seconds: what is generated in 3 s of a start comes for a minute. A JVM that waits
 * for five of six seconds is no such one. */
static void test_a_start_that_others_stretch_is_no_explosion(void **state)
{
    (void)state;
    static const int64_t starved_per_s[] = {0, 830, 950};
    for (size_t i = 0; i < sizeof starved_per_s / sizeof *starved_per_s; i++) {
        static struct jvm jvm;
        bool starved = starved_per_s[i] > 900;
        setup_default(&jvm, 17, 2000);
        jvm.starved_per_s = starved_per_s[i];
        for (int s = 0; s < 12; s++)
            second(&jvm, 20, 0);
        explode(&jvm, "jdk-lambda", 6, 60);
        assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), !starved);
        /* What goes on for longer than a start is one all the same. */
        if (starved)
            explode(&jvm, "jdk-lambda", 6, 400);
        assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), 1);
        judge_destroy(jvm.judge);
    }
}

/* The same for the rate of all classes: what others stretch to a minute and a half was loaded in some seconds. */
static void test_a_load_rate_is_one_of_the_jvms_own_time(void **state)
{
    (void)state;
    for (int64_t starved_per_s = 0; starved_per_s <= 950; starved_per_s += 950) {
        static struct jvm jvm;
        thresholds_default(&jvm.thresholds);
        start(&jvm, 17, 600000, 0);
        jvm.starved_per_s = starved_per_s;
        for (int s = 0; s < 90; s++)
            second(&jvm, 8, 0);
        assert_int_equal(count(&jvm, FINDING_CLASS_LOAD_RATE, ALERT_RAISED), starved_per_s == 0);
        for (int s = 0; s < 1500; s++)
            second(&jvm, 8, 0);
        assert_int_equal(count(&jvm, FINDING_CLASS_LOAD_RATE, ALERT_RAISED), 1);
        judge_destroy(jvm.judge);
    }
}

/* An observation from outside is under way: the alert waits for the call site, but not for ever. */
static void test_explosion_names_its_call_site(void **state)
{
    (void)state;
    static const char *const families[] = {"Script#", "Other#", NULL};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 600000);
        for (int s = 0; s < 40; s++)
            second(&jvm, 0, 0);
        int64_t began_ms = jvm.ms, seconds = 0;
        while (!judge_wants_names(jvm.judge))
            second(&jvm, 20, 0);
        int64_t from_ms = jvm.ms, from = jvm.loaded;
        for (; seconds < 7; seconds++) {
            second(&jvm, 20, 0);
            names(&jvm, "groovy-shell", from_ms, jvm.loaded - from);
        }
        assert_int_equal(jvm.alerts, 0);
        callers(&jvm, false, "", "");
        for (; seconds < 12; seconds++) {
            second(&jvm, 20, 0);
            names(&jvm, "groovy-shell", from_ms, jvm.loaded - from);
        }
        assert_int_equal(jvm.alerts, 0); /* it would be up by now */
        if (families[i] != NULL)
            callers(&jvm, true, families[i], "com.acme.Rules.eval:88");
        for (; seconds < 20; seconds++) {
            second(&jvm, 20, 0);
            names(&jvm, "groovy-shell", from_ms, jvm.loaded - from);
        }
        assert_int_equal(jvm.alerts, 1);
        const struct finding *finding = &jvm.alert[0].finding;
        assert_true(jvm.alert[0].ms - began_ms <= 25000);
        if (families[i] == NULL) { /* known later: what is up has it, and nothing is raised again */
            struct alert up;
            callers(&jvm, true, "Script#", "com.acme.Late.eval:9");
            assert_int_equal(jvm.alerts, 1);
            assert_int_equal(judge_active_alerts(jvm.judge, &up, 1), 1);
            assert_string_equal(finding_evidence(&up.finding, "asked_for_by")->text,
                                "com.acme.Late.eval:9");
        }
        bool named = families[i] != NULL && strcmp(families[i], "Script#") == 0;
        const struct evidence *site = finding_evidence(finding, "asked_for_by");
        assert_true((site != NULL) == named);
        assert_true((strstr(finding->title, "; asked for by com.acme.Rules.eval:88") != NULL) ==
                    named);
        if (named) {
            assert_string_equal(site->text, "com.acme.Rules.eval:88");
            assert_int_equal(finding_evidence(finding, "asked_for_by_percent")->number, 98);
        }
        judge_destroy(jvm.judge);
    }
}

/* The one observation saw a start. The alert waits for another one, which sees the family. */
static void test_an_explosion_is_observed_again(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 600000);
    for (int s = 0; s < 40; s++)
        second(&jvm, 0, 0);
    callers(&jvm, false, "", "");
    callers(&jvm, true, "com.acme.start.*", "com.acme.Main.main:1");
    assert_false(judge_wants_callers(jvm.judge));
    while (!judge_wants_names(jvm.judge))
        second(&jvm, 20, 0);
    int64_t from_ms = jvm.ms, from = jvm.loaded;
    int seconds = 0;
    for (; seconds < 30 && !judge_wants_callers(jvm.judge); seconds++) {
        second(&jvm, 20, 0);
        names(&jvm, "groovy-shell", from_ms, jvm.loaded - from);
    }
    assert_true(seconds < 30);
    assert_int_equal(jvm.alerts, 0);
    callers(&jvm, false, "", "");
    for (int s = 0; s < 5; s++) {
        second(&jvm, 20, 0);
        names(&jvm, "groovy-shell", from_ms, jvm.loaded - from);
    }
    assert_int_equal(jvm.alerts, 0);
    callers(&jvm, true, "Script#", "com.acme.Rules.eval:88");
    assert_false(judge_wants_callers(jvm.judge));
    second(&jvm, 20, 0);
    names(&jvm, "groovy-shell", from_ms, jvm.loaded - from);
    assert_int_equal(jvm.alerts, 1);
    assert_string_equal(finding_evidence(&jvm.alert[0].finding, "asked_for_by")->text,
                        "com.acme.Rules.eval:88");
    judge_destroy(jvm.judge);
}

static void test_explosion_from_the_first_second_of_a_young_jvm(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 500);
    explode(&jvm, "cglib", 10, 40);
    assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), 1);
    assert_true(jvm.alert[0].ms <= 25000);
    judge_destroy(jvm.judge);
}

/* One cause, several families: each census of the load log brings all of them. */
static void explode_together(struct jvm *jvm, const struct family_row *kinds, int count)
{
    setup_default(jvm, 17, 600000);
    for (int s = 0; s < 20; s++)
        second(jvm, 0, 0);
    int64_t load_log_from_ms = -1;
    for (int i = 0; i < 40; i++) {
        second(jvm, 10 * count, 0);
        if (load_log_from_ms < 0 && judge_wants_names(jvm->judge))
            load_log_from_ms = jvm->ms;
        if (load_log_from_ms < 0 || i % 2 != 0)
            continue;
        struct family_row rows[8];
        for (int k = 0; k < count; k++) {
            rows[k] = kinds[k];
            rows[k].loads = rows[k].repeating = (jvm->ms - load_log_from_ms) / 1000 *
                                                (kinds[k].repeating > 0 ? kinds[k].repeating : 10);
        }
        struct event event = {.kind = EVENT_NAMES, .ms = jvm->ms};
        event.names = (struct names_event){.method = CENSUS_LOAD_LOG,
                                           .load_log = 1,
                                           .from_ms = load_log_from_ms,
                                           .row_count = count,
                                           .rows = rows};
        feed(jvm, &event);
    }
}

static void test_one_cause_is_one_alert(void **state)
{
    (void)state;
    static const struct {
        struct family_row rows[3];
        int count;
        int alerts;
        const char *family, *together;
    } cases[] = {
        /* a generated host with two lambdas each: the host is the one to fix */
        {{{.family = "jdk-lambda",
           .stem = "Rule#$$Lambda$#/0x*",
           .example = "Rule3$$Lambda$9/0x1",
           .repeating = 20},
          {.family = "unknown:Rule#", .stem = "Rule#", .example = "Rule1"}},
         2,
         1,
         "unknown:Rule#",
         "jdk-lambda"},
        /* the same host, loaded again and again */
        {{{.family = "jdk-lambda", .stem = "H#$$Lambda$#/0x*", .example = "H1$$Lambda$9/0x1"},
          {.family = "unknown:H1", .stem = "H1", .example = "H1"}},
         2,
         1,
         "unknown:H1",
         "jdk-lambda"},
        /* a host that is not generated leaves the lambda alone */
        {{{.family = "jdk-lambda", .stem = "App$$Lambda$#/0x*", .example = "App$$Lambda$9/0x1"},
          {.family = "unknown:Rule#", .stem = "Rule#", .example = "Rule1"}},
         2,
         2,
         "jdk-lambda",
         ""},
        /* a proxy for each new interface: the family that has a fix speaks */
        {{{.family = "unknown:Api#", .stem = "Api#", .example = "Api1"},
          {.family = "jdk-proxy", .stem = "$Proxy#", .example = "$Proxy1"}},
         2,
         1,
         "jdk-proxy",
         "unknown:Api#"},
        /* a plug-in of three classes, deployed again and again */
        {{{.family = "unknown:P", .stem = "P", .example = "P"},
          {.family = "unknown:Q", .stem = "Q", .example = "Q"},
          {.family = "unknown:R", .stem = "R", .example = "R"}},
         3,
         1,
         "unknown:P",
         "unknown:Q, unknown:R"},
        /* two generators, each at its own rate */
        {{{.family = "unknown:P", .stem = "P", .example = "P", .repeating = 15},
          {.family = "unknown:Q", .stem = "Q", .example = "Q"}},
         2,
         2,
         "unknown:P",
         ""},
        {{{.family = "cglib", .stem = "A", .example = "A"},
          {.family = "groovy-shell", .stem = "B", .example = "B"}},
         2,
         2,
         "cglib",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct jvm jvm;
        explode_together(&jvm, cases[i].rows, cases[i].count);
        assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), cases[i].alerts);
        const struct finding *finding = &jvm.alert[0].finding;
        assert_string_equal(finding->family, cases[i].family);
        const struct evidence *together = finding_evidence(finding, "together_with");
        assert_string_equal(together != NULL ? together->text : "", cases[i].together);
        judge_destroy(jvm.judge);
    }
}

/* 600 lambdas, 300 LambdaForms and thousands of AOT classes, and then nothing: JRuby, Clojure. */
static void test_start_up_burst_is_silent(void **state)
{
    (void)state;
    static const struct {
        int64_t per_s;
        int seconds;
    } bursts[] = {{3000, 1}, {500, 6}, {60, 10}, {20, 12}};
    for (size_t b = 0; b < sizeof bursts / sizeof *bursts; b++) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 300);
        int64_t load_log_from_ms = -1, load_log_from_loaded = 0;
        for (int i = 0; i < 120; i++) {
            second(&jvm, i < bursts[b].seconds ? bursts[b].per_s : 0, 0);
            if (load_log_from_ms < 0 && judge_wants_names(jvm.judge)) {
                load_log_from_ms = jvm.ms;
                load_log_from_loaded = jvm.loaded;
            } else if (load_log_from_ms >= 0 && i % 2 == 0) {
                names(&jvm, "jdk-lambda", load_log_from_ms, jvm.loaded - load_log_from_loaded);
            }
        }
        assert_int_equal(jvm.alerts, 0);
        struct judge_view view;
        judge_view(jvm.judge, &view);
        assert_true(view.warm);
        judge_destroy(jvm.judge);
    }
}

static void test_secondary_family_needs_more_proof(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 600000);
    explode(&jvm, "jdk-lambdaform", 20, 20);
    assert_int_equal(jvm.alerts, 0);
    explode(&jvm, "jdk-lambdaform", 20, 30);
    assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), 1);
    judge_destroy(jvm.judge);
}

static void test_explosion_clears_once_after_it_stopped(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 600000);
    explode(&jvm, "groovy-shell", 20, 30);
    assert_int_equal(jvm.alerts, 1);
    for (int i = 0; i < 35; i++)
        second(&jvm, 0, 0);
    assert_int_equal(jvm.alerts, 1); /* ten seconds of window, thirty of hysteresis */
    for (int i = 0; i < 60; i++)
        second(&jvm, 0, 0);
    assert_int_equal(jvm.alerts, 2);
    assert_int_equal(jvm.alert[1].state, ALERT_CLEARED);
    assert_int_equal(jvm.alert[1].finding.kind, FINDING_CLASS_EXPLOSION);
    judge_destroy(jvm.judge);
}

/* 500 classes/s, a GC every so often takes all of them back. */
static void churn(struct jvm *jvm, int gc_every_s, int seconds)
{
    int64_t pending = 0, load_log_from_ms = -1, load_log_from_loaded = 0;
    for (int i = 1; i <= seconds; i++) {
        bool gc = i % gc_every_s == 0;
        if (gc)
            jvm->gc_old++;
        second(jvm, 500, gc ? pending : 0);
        pending = gc ? 500 : pending + 500;
        if (load_log_from_ms < 0 && judge_wants_names(jvm->judge)) {
            load_log_from_ms = jvm->ms;
            load_log_from_loaded = jvm->loaded;
        } else if (load_log_from_ms >= 0 && i % 2 == 0) {
            names(jvm, "bytebuddy", load_log_from_ms, jvm->loaded - load_log_from_loaded);
        }
    }
}

static void test_churn_is_churn_and_no_leak(void **state)
{
    (void)state;
    static const int gc_every_s[] = {1, 3, 5, 10};
    for (size_t i = 0; i < sizeof gc_every_s / sizeof *gc_every_s; i++) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 600000);
        churn(&jvm, gc_every_s[i], 120);
        assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), 0);
        assert_int_equal(count(&jvm, FINDING_CLASS_LOAD_RATE, ALERT_RAISED), 0);
        assert_int_equal(count(&jvm, FINDING_CLASS_CHURN, ALERT_RAISED), 1);
        assert_string_equal(jvm.alert[0].finding.family, "bytebuddy");
        judge_destroy(jvm.judge);
    }
}

static void test_late_gc_turns_explosion_into_churn(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 600000);
    churn(&jvm, 45, 100);
    assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), 1);
    assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_CLEARED), 1);
    assert_int_equal(count(&jvm, FINDING_CLASS_CHURN, ALERT_RAISED), 1);
    judge_destroy(jvm.judge);
}

/* Never both at once, also when the first GC comes while the load log is still on. */
static void test_explosion_gives_way_to_churn(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 600000);
    churn(&jvm, 27, 50);
    assert_int_equal(jvm.alerts, 3);
    assert_int_equal(jvm.alert[0].finding.kind, FINDING_CLASS_EXPLOSION);
    assert_int_equal(jvm.alert[1].finding.kind, FINDING_CLASS_EXPLOSION);
    assert_int_equal(jvm.alert[1].state, ALERT_CLEARED);
    assert_int_equal(jvm.alert[2].finding.kind, FINDING_CLASS_CHURN);
    judge_destroy(jvm.judge);
}

static void test_nameless_load_rate(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 8, 600000);
    for (int i = 0; i < 60; i++)
        second(&jvm, 10, 0);
    assert_int_equal(jvm.alerts, 0);
    for (int i = 0; i < 60; i++)
        second(&jvm, 10, 0);
    assert_int_equal(count(&jvm, FINDING_CLASS_LOAD_RATE, ALERT_RAISED), 1);
    judge_destroy(jvm.judge);
}

/* A cache that is filled anew every 20 s, 100 classes at a time: fine while the old ones go. */
static void test_waves(void **state)
{
    (void)state;
    for (int unloads = 1; unloads >= 0; unloads--) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 600000);
        for (int i = 0; i < 300; i++) {
            bool wave = i % 20 == 0;
            second(&jvm, wave ? 101 : 0, unloads && wave && i > 0 ? 101 : 0);
        }
        assert_int_equal(jvm.alerts, unloads ? 0 : 1);
        assert_int_equal(count(&jvm, FINDING_CLASS_LOAD_RATE, ALERT_RAISED), unloads ? 0 : 1);
        judge_destroy(jvm.judge);
    }
}

/* Feeds the census of a load log: one family beside so many other loads. */
static void census(struct jvm *jvm, const struct family_row *kind, int64_t from_ms, int64_t loads,
                   int64_t others)
{
    struct family_row row = *kind;
    row.loads = row.repeating = loads;
    struct event event = {.kind = EVENT_NAMES, .ms = jvm->ms};
    event.names = (struct names_event){.method = CENSUS_LOAD_LOG,
                                       .load_log = 1,
                                       .from_ms = from_ms,
                                       .loads = loads + others,
                                       .row_count = loads > 0,
                                       .rows = &row};
    feed(jvm, &event);
}

static void test_what_a_start_up_generates(void **state)
{
    (void)state;
    static const struct {
        struct family_row row;
        int64_t per_s, others_per_s;
        int from_s, to_s;
        int64_t seen_from; /* members that the shape rules ask for */
        int alerts;
    } cases[] = {
        /* 200 proxies in a start-up that loads 10 000 classes in 30 s */
        {{.family = "jdk-proxy"}, 6, 330, 0, 30, 1, 0},
        {{.family = "jdk-proxy"}, 10, 0, 0, 30, 1, 1},
        /* a plug-in of fifty classes that is deployed again every second */
        {{.family = "unknown:P", .max_same_name = 20}, 2, 98, 0, 40, 8, 1},
        /* dgm$0, dgm$1, ... while a jar is walked through */
        {{.family = "unknown:dgm$#", .stem = "dgm$#", .source = "file:/x.jar"},
         80,
         0,
         20,
         33,
         64,
         0},
        {{.family = "unknown:Dyn#", .stem = "Dyn#", .source = "file:/x.jar"}, 10, 0, 0, 34, 64, 1},
        /* an explosion that begins late in a load log is judged from where it began */
        {{.family = "cglib"}, 10, 0, 20, 36, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 500);
        int64_t loads = 0, others = 0;
        for (int s = 0; s < 42; s++) {
            bool on = s >= cases[i].from_s && s < cases[i].to_s;
            int64_t other = on ? cases[i].others_per_s : s < cases[i].to_s ? 80 : 0;
            int64_t mine = on ? cases[i].per_s : 0;
            second(&jvm, mine + other, 0);
            loads += s >= 4 ? mine : 0;
            others += s >= 4 ? other : 0;
            if (s >= 4 && s % 2 == 0)
                census(&jvm, &cases[i].row, 4000, loads >= cases[i].seen_from ? loads : 0, others);
        }
        assert_int_equal(jvm.alerts, cases[i].alerts);
        if (jvm.alerts > 0) {
            const struct evidence *rate = finding_evidence(&jvm.alert[0].finding, "rate_per_s");
            assert_true(rate->real > 0.8 * (double)cases[i].per_s &&
                        rate->real < 1.2 * (double)cases[i].per_s);
        }
        judge_destroy(jvm.judge);
    }
}

/* Without a load log: loaders every seven seconds, a class list every twelve. */
static void test_stocks_close_together(void **state)
{
    (void)state;
    for (int explodes = 0; explodes <= 1; explodes++) {
        static struct jvm jvm;
        setup_default(&jvm, 17, 600000);
        for (int i = 0; i < 60; i++) {
            second(&jvm, i < 20 ? 0 : 20, 0);
            bool list = i >= 20 && i % 12 == 0, loaders = i >= 20 && i % 7 == 0;
            struct family_row row = {.family = "groovy-shell"};
            /* what was there before; a list sees half of what the loaders hold */
            row.repeating = 2000 / (list ? 2 : 1) + (explodes ? (jvm.loaded - 5000) : 0);
            struct event event = {.kind = EVENT_NAMES, .ms = jvm.ms};
            event.names =
                (struct names_event){.method = list ? CENSUS_CLASS_HIERARCHY : CENSUS_LOADER_TYPES,
                                     .row_count = 1,
                                     .rows = &row};
            if ((list || loaders) && i > 21)
                feed(&jvm, &event);
        }
        assert_int_equal(count(&jvm, FINDING_CLASS_EXPLOSION, ALERT_RAISED), explodes);
        judge_destroy(jvm.judge);
    }
}

static void test_documented_steps_on_internal(void **state)
{
    (void)state;
    static struct jvm jvm;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    static const struct {
        int64_t internal_mb;
        int raised;
    } steps[] = {{100, 0},  {599, 0},   {600, 0},   {601, 1},  {2147, 1},
                 {2149, 2}, {10340, 2}, {10341, 3}, {10341, 3}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        memory(&jvm, steps[i].internal_mb * MB, MB);
        second(&jvm, 0, 0);
        assert_int_equal(jvm.alerts, steps[i].raised);
    }
    assert_int_equal(jvm.alert[0].finding.kind, FINDING_INTERNAL_INVESTIGATE);
    assert_int_equal(jvm.alert[0].finding.severity, SEVERITY_WARNING);
    assert_int_equal(jvm.alert[1].finding.kind, FINDING_INTERNAL_EXPLOSION);
    assert_int_equal(jvm.alert[2].finding.kind, FINDING_INTERNAL_UNACCEPTABLE);
    assert_int_equal(jvm.alert[2].finding.severity, SEVERITY_CRITICAL);
    /* Below the threshold but above 70 % of it: held. Below: cleared after half a minute. */
    for (int i = 0; i < 60; i++) {
        memory(&jvm, 500 * MB, MB);
        second(&jvm, 0, 0);
    }
    assert_int_equal(count(&jvm, FINDING_INTERNAL_INVESTIGATE, ALERT_CLEARED), 0);
    assert_int_equal(count(&jvm, FINDING_INTERNAL_UNACCEPTABLE, ALERT_CLEARED), 1);
    for (int i = 0; i < 60; i++) {
        memory(&jvm, 400 * MB, MB);
        second(&jvm, 0, 0);
    }
    assert_int_equal(count(&jvm, FINDING_INTERNAL_INVESTIGATE, ALERT_CLEARED), 1);
    judge_destroy(jvm.judge);
}

static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1 << 24) - 0.5;
}

static void test_slope_of_internal(void **state)
{
    (void)state;
    static const struct {
        double mb_per_h;
        bool raised;
    } truths[] = {{0, false}, {3, false}, {20, true}, {100, true}};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
        static struct jvm jvm;
        unsigned seed = 7;
        thresholds_default(&jvm.thresholds);
        start(&jvm, 17, 600000, 0);
        for (int s = 0; s < 3600; s += 5) {
            double mb = 50 + truths[i].mb_per_h * s / 3600.0 + 0.2 * noise(&seed);
            jvm.ms = s * INT64_C(1000);
            memory(&jvm, (int64_t)(mb * (double)MB), MB);
        }
        assert_int_equal(count(&jvm, FINDING_INTERNAL_NOT_CONVERGING, ALERT_RAISED),
                         truths[i].raised);
        judge_destroy(jvm.judge);
    }
}

/* 2 MB/s, from the start and from any moment on: told within 15 minutes. */
static void test_steep_growth_of_internal_is_told_in_time(void **state)
{
    (void)state;
    static const int from_s[] = {0, 60, 300, 500, 1700, 4000};
    for (size_t i = 0; i < sizeof from_s / sizeof *from_s; i++) {
        static struct jvm jvm;
        unsigned seed = 7;
        thresholds_default(&jvm.thresholds);
        start(&jvm, 17, 600000, 0);
        for (int s = 0; s <= from_s[i] + 900; s += 5) {
            double mb = 50 + (s > from_s[i] ? 2 * (s - from_s[i]) : 0) + 0.5 * noise(&seed);
            jvm.ms = s * INT64_C(1000);
            memory(&jvm, (int64_t)(mb * (double)MB), MB);
            if (s < from_s[i] + 60)
                assert_int_equal(count(&jvm, FINDING_INTERNAL_NOT_CONVERGING, ALERT_RAISED), 0);
        }
        assert_int_equal(count(&jvm, FINDING_INTERNAL_NOT_CONVERGING, ALERT_RAISED), 1);
        judge_destroy(jvm.judge);
    }
}

/* One owner of memory holds so much more than at first. */
enum grows { NOTHING, HEAP, DIRECT, STACKS, NATIVE, TMPFS, MAPPED, SYMBOLS, TOUCHES };

static void owners(struct jvm *jvm, enum grows grows, int64_t more, int64_t collections)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = jvm->ms};
    struct sample *sample = &event.sample;
    int64_t heap = 100 * MB + (grows == HEAP || grows == TOUCHES ? more : 0);
    int64_t direct = 5 * MB + (grows == DIRECT ? more : 0);
    int64_t symbols = 5 * MB + (grows == SYMBOLS ? more : 0);
    int64_t native = 10 * MB + (grows == NATIVE ? more : 0);
    sample_set(sample, SAMPLE_CLASSES_LOADED, 5000);
    sample_set(sample, SAMPLE_THREADS, 30 + (grows == STACKS ? more / MB : 0));
    sample_set(sample, SAMPLE_GC_YOUNG, collections);
    sample_set(sample, SAMPLE_GC_OLD, collections / 10);
    sample_set(sample, SAMPLE_HEAP_USED_BYTES, 50 * MB + (grows == HEAP ? more : 0));
    sample_set_nmt(sample, NMT_JAVA_HEAP, (struct nmt_amount){2048 * MB, 2048 * MB});
    sample_set_nmt(sample, NMT_OTHER, (struct nmt_amount){direct, direct});
    sample_set_nmt(sample, NMT_SYMBOL, (struct nmt_amount){symbols, symbols});
    sample_set(sample, SAMPLE_RSS_HEAP_BYTES, heap);
    sample_set(sample, SAMPLE_RSS_ANON_BYTES, heap + direct + symbols + native);
    sample_set(sample, SAMPLE_RSS_FILE_BYTES, 20 * MB + (grows == MAPPED ? more : 0));
    sample_set(sample, SAMPLE_RSS_SHARED_BYTES, grows == TMPFS ? more : 0);
    feed(jvm, &event);
}

/* 100 KB/s for five minutes, of one owner each: reported as that, and as nothing else; when the growth has ended the
 * alert ends. */
static void test_growth_of_each_owner(void **state)
{
    static const struct {
        enum grows grows;
        enum finding_kind kind;
        bool raised;
    } cases[] = {
        {NOTHING, FINDING_DIRECT_MEMORY, false},    {HEAP, FINDING_JAVA_HEAP_GROWTH, true},
        {DIRECT, FINDING_DIRECT_MEMORY, true},      {STACKS, FINDING_THREAD_GROWTH, true},
        {NATIVE, FINDING_OUTSIDE_NMT, true},        {TMPFS, FINDING_SHARED_MEMORY_GROWTH, true},
        {MAPPED, FINDING_MAPPED_FILE_GROWTH, true}, {SYMBOLS, FINDING_SYMBOL_GROWTH, true},
        {TOUCHES, FINDING_JAVA_HEAP_GROWTH, false}, /* a lazy heap: nothing is kept */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct jvm jvm;
        unsigned seed = 7;
        thresholds_default(&jvm.thresholds);
        start(&jvm, 17, 600000, 0);
        for (int s = 0; s < 1800; s += 5) {
            int64_t more = MIN(s, 300) * (cases[i].grows == STACKS ? MB / 5 : 100 * 1024);
            jvm.ms = s * INT64_C(1000);
            owners(&jvm, cases[i].grows, more + (int64_t)(20000 * noise(&seed)), s / 5);
            if (s == 300)
                assert_int_equal(jvm.alerts, cases[i].raised);
        }
        assert_int_equal(count(&jvm, cases[i].kind, ALERT_RAISED), cases[i].raised);
        assert_int_equal(count(&jvm, cases[i].kind, ALERT_CLEARED), cases[i].raised);
        assert_int_equal(jvm.alerts, 2 * cases[i].raised);
        judge_destroy(jvm.judge);
    }
}

/* Until an old collection has run it may be garbage. */
static void test_a_heap_without_old_collection_is_not_judged(void **state)
{
    (void)state;
    static struct jvm jvm;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    for (int s = 0; s < 300; s += 5) {
        jvm.ms = s * INT64_C(1000);
        owners(&jvm, HEAP, s * MB, s >= 250 ? 10 : s % 9);
        if (s < 250)
            assert_int_equal(jvm.alerts, 0);
    }
    judge_destroy(jvm.judge);
}

static void metaspace(struct jvm *jvm, int64_t committed)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = jvm->ms};
    sample_set(&event.sample, SAMPLE_METASPACE_COMMITTED_BYTES, committed);
    sample_set(&event.sample, SAMPLE_METASPACE_MAX_BYTES, 64 * MB);
    feed(jvm, &event);
    jvm->ms += 5000;
}

/* The end is told while there is time: by the pace, not by the share alone. */
static void test_metaspace_runs_to_its_limit(void **state)
{
    (void)state;
    static struct jvm jvm;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    second(&jvm, 0, 0);
    for (int64_t kb = 10 << 10; kb < 64 << 10 && jvm.alerts == 0; kb += 4096) /* 0.8 MB/s */
        metaspace(&jvm, kb << 10);
    assert_int_equal(count(&jvm, FINDING_METASPACE_LIMIT, ALERT_RAISED), 1);
    int64_t left_s = finding_evidence(&jvm.alert[0].finding, "limit_in_s")->number;
    assert_in_range(left_s, 15, 59);
    judge_destroy(jvm.judge);

    start(&jvm, 17, 600000, 0); /* as fast, and levels off at half of it; later it is 91 % */
    second(&jvm, 0, 0);
    for (int64_t kb = 10 << 10; kb < 26 << 10; kb += 4096)
        metaspace(&jvm, kb << 10);
    for (int64_t kb = 26 << 10, step = 2048; kb < 30 << 10; kb += step, step = step * 3 / 5 + 1)
        metaspace(&jvm, kb << 10);
    assert_int_equal(jvm.alerts, 0);
    for (int i = 0; i < 10; i++)
        metaspace(&jvm, 59 * MB);
    assert_int_equal(count(&jvm, FINDING_METASPACE_LIMIT, ALERT_RAISED), 1);
    judge_destroy(jvm.judge);
}

static void test_plateau_of_internal_is_silent(void **state)
{
    (void)state;
    static struct jvm jvm;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    for (int s = 0; s < 7200; s += 5) { /* a cache that fills within ten minutes */
        double mb = s < 600 ? 50 + 40.0 * s / 600 : 90;
        jvm.ms = s * INT64_C(1000);
        if (s >= 300)
            memory(&jvm, (int64_t)(mb * (double)MB), MB);
    }
    assert_int_equal(count(&jvm, FINDING_INTERNAL_NOT_CONVERGING, ALERT_RAISED), 0);
    judge_destroy(jvm.judge);
}

static void methods(struct jvm *jvm, int64_t number, enum methods_source source)
{
    struct method_family family = {.family = "Gen#", .classes = number / 20, .methods = number / 2};
    struct event event = {.kind = EVENT_SAMPLE, .ms = jvm->ms};
    sample_set(&event.sample, SAMPLE_METHODS, number);
    sample_set(&event.sample, SAMPLE_METHODS_SOURCE, source);
    feed(jvm, &event);
    event = (struct event){.kind = EVENT_METHODS, .ms = jvm->ms};
    event.methods = (struct methods_event){
        .classes = number / 15, .methods = number, .row_count = 1, .rows = &family};
    if (source != METHODS_MEAN)
        feed(jvm, &event);
    jvm->ms += 60000;
}

static void test_methods_beyond_the_typical_number(void **state)
{
    (void)state;
    static struct jvm jvm;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    methods(&jvm, 1499999, METHODS_COUNTED);
    methods(&jvm, 9000000, METHODS_MEAN); /* says no more than the classes do */
    assert_int_equal(count(&jvm, FINDING_MANY_METHODS, ALERT_RAISED), 0);
    methods(&jvm, 1500000, METHODS_COUNTED);
    methods(&jvm, 3000000, METHODS_COUNTED);
    assert_int_equal(count(&jvm, FINDING_MANY_METHODS, ALERT_RAISED), 1);
    methods(&jvm, 1000000, METHODS_COUNTED);
    methods(&jvm, 1000000, METHODS_COUNTED);
    assert_int_equal(count(&jvm, FINDING_MANY_METHODS, ALERT_CLEARED), 1);
    methods(&jvm, 2000000, METHODS_AGENT);
    assert_int_equal(count(&jvm, FINDING_MANY_METHODS, ALERT_RAISED), 2);
    judge_destroy(jvm.judge);
}

static void loaders(struct jvm *jvm, int64_t number)
{
    struct loader_row row = {.type = "org.apache.catalina.loader.ParallelWebappClassLoader",
                             .loaders = number};
    struct event event = {.kind = EVENT_LOADERS, .ms = jvm->ms};
    event.loaders = (struct loaders_event){.loaders = number, .row_count = 1, .rows = &row};
    feed(jvm, &event);
    jvm->ms += 60000;
}

static void test_loaders_that_multiply(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 600000);
    static const int64_t sawtooth[] = {50, 400, 60, 500, 55, 450, 50};
    for (size_t i = 0; i < sizeof sawtooth / sizeof *sawtooth; i++)
        loaders(&jvm, sawtooth[i]);
    assert_int_equal(jvm.alerts, 0);
    for (int64_t number = 100; number <= 400; number += 100)
        loaders(&jvm, number);
    assert_int_equal(count(&jvm, FINDING_LOADER_GROWTH, ALERT_RAISED), 1);
    judge_destroy(jvm.judge);
}

/* Every ten minutes for eight hours: Session leaks 20 MB/h, byte arrays go up and down with the GCs,
 * a cache has filled after an hour; a rule engine keeps objects of classes that it generates. Ten
 * histograms show it; that it is no garbage, the first old collection. */
static void test_objects_of_one_class_that_grow(void **state)
{
    (void)state;
    static struct jvm jvm;
    unsigned seed = 11;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    second(&jvm, 0, 0);
    for (int i = 0; i < 96; i++) {
        double h = i / 6.0, leak = h < 8 ? h : 8; /* mended then */
        double values[] = {5 + 20 * leak + 0.2 * noise(&seed), 50 + 60 * (i * 7 % 10) / 10.0,
                           h < 1 ? 40 * h : 40, 1 + 9 * leak + 0.05 * noise(&seed)};
        struct histogram_class rows[] = {
            {.name = "com.acme.Session"},
            {.name = "[B"},
            {.name = "com.acme.Cached"},
            {.name = "com.acme.Gen#", .family = "unknown:com.acme.Gen#"}};
        for (int r = 0; r < 4; r++) {
            rows[r].bytes = (int64_t)(values[r] * (double)MB);
            rows[r].instances = rows[r].bytes / 64;
            rows[r].bytes_growth = rows[r].bytes - MB;
            rows[r].classes = 1;
        }
        struct event event = {.kind = EVENT_HISTOGRAM, .ms = jvm.ms + i * INT64_C(600000)};
        event.histogram = (struct histogram_event){.row_count = 4, .rows = rows};
        feed(&jvm, &event);
        if (i == 10 || i == 12)
            assert_int_equal(count(&jvm, FINDING_HEAP_CLASS_GROWTH, ALERT_RAISED), 2);
        if (i == 12) {
            jvm.ms += i * INT64_C(600000);
            jvm.gc_old = 1;
            second(&jvm, 0, 0);
            jvm.ms -= i * INT64_C(600000) + 1000;
        }
    }
    assert_int_equal(count(&jvm, FINDING_HEAP_CLASS_GROWTH, ALERT_RAISED), 4);
    assert_int_equal(count(&jvm, FINDING_HEAP_CLASS_GROWTH, ALERT_CLEARED), 4);
    assert_int_equal(jvm.alert[0].finding.severity, SEVERITY_INFO);
    assert_non_null(strstr(jvm.alert[0].finding.title, "; no old collection in that time"));
    assert_int_equal(finding_evidence(&jvm.alert[0].finding, "histograms")->number, 10);
    assert_int_equal(jvm.alert[3].finding.severity, SEVERITY_WARNING);
    assert_null(strstr(jvm.alert[3].finding.title, "; no old collection in that time"));
    assert_string_equal(finding_evidence(&jvm.alert[0].finding, "class")->text, "com.acme.Session");
    assert_string_equal(jvm.alert[0].finding.family, "");
    assert_string_equal(jvm.alert[1].finding.family, "unknown:com.acme.Gen#");
    judge_destroy(jvm.judge);
}

/* Histograms of a JVM whose sessions and int arrays grow by so much an hour, with an old collection after the sixth
 * or without one: severity of the first alert about int arrays, -1: none. */
static int alert_about_ints(int jdk, double sessions_mb_per_h, double ints_mb_per_h, bool old_gc)
{
    static struct jvm jvm;
    unsigned seed = 5;
    int severity = -1;
    thresholds_default(&jvm.thresholds);
    start(&jvm, jdk, 600000, 0);
    second(&jvm, 0, 0);
    for (int i = 0; i < 40 && severity < 0; i++) {
        double values[] = {5 + ints_mb_per_h * i / 6.0 + 0.05 * noise(&seed),
                           5 + sessions_mb_per_h * i / 6.0 + 0.2 * noise(&seed)};
        struct histogram_class rows[] = {{.name = "[I"}, {.name = "com.acme.Session"}};
        for (int r = 0; r < 2; r++) {
            rows[r].bytes = (int64_t)(values[r] * (double)MB);
            rows[r].bytes_growth = rows[r].bytes - MB;
            rows[r].classes = 1;
        }
        struct event event = {.kind = EVENT_HISTOGRAM, .ms = jvm.ms + i * INT64_C(600000)};
        event.histogram = (struct histogram_event){.row_count = 2, .rows = rows};
        jvm.alerts = 0;
        feed(&jvm, &event);
        for (int at = 0; at < jvm.alerts; at++) {
            const struct finding *finding = &jvm.alert[at].finding;
            if (jvm.alert[at].state == ALERT_RAISED &&
                strcmp(finding_evidence(finding, "class")->text, "[I") == 0)
                severity = (int)finding->severity;
        }
        if (i == 5 && old_gc) {
            jvm.ms += i * INT64_C(600000);
            jvm.gc_old = 1;
            second(&jvm, 0, 0);
            jvm.ms -= i * INT64_C(600000) + 1000;
        }
    }
    judge_destroy(jvm.judge);
    return severity;
}

/* Before JDK 19 a GC fills gaps with int arrays: by a tenth of what is promoted, with humongous objects as much as
 * they are. */
static void test_int_arrays_may_be_fillers(void **state)
{
    (void)state;
    assert_int_equal(alert_about_ints(17, 60, 9, true), -1);
    assert_int_equal(alert_about_ints(17, 60, 59, true), -1);
    assert_int_equal(alert_about_ints(17, 0, 30, false), -1);
    assert_int_equal(alert_about_ints(17, 0, 30, true), SEVERITY_WARNING);
    assert_int_equal(alert_about_ints(17, 20, 60, true), SEVERITY_WARNING);
    assert_int_equal(alert_about_ints(21, 60, 9, true), SEVERITY_WARNING);
    assert_int_equal(alert_about_ints(21, 60, 9, false), SEVERITY_INFO);
}

/* Promoted garbage: each two and a half hours an old collection frees it. It grows in between, and is never more
 * than that: what has begun to grow after a collection has not outlived it. */
static void test_promoted_garbage_is_no_warning(void **state)
{
    (void)state;
    static struct jvm jvm;
    unsigned seed = 7;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 25, 600000, 0);
    for (int i = 0; i < 150; i++) {
        double mb = 5 + 4 * (i % 15) + 0.05 * noise(&seed);
        struct histogram_class row = {
            .name = "com.acme.Promoted", .classes = 1, .bytes = (int64_t)(mb * (double)MB)};
        row.bytes_growth = row.bytes - 5 * MB;
        jvm.ms = i * INT64_C(600000);
        jvm.gc_old = i / 15;
        second(&jvm, 0, 0);
        struct event event = {.kind = EVENT_HISTOGRAM, .ms = jvm.ms};
        event.histogram = (struct histogram_event){.row_count = 1, .rows = &row};
        feed(&jvm, &event);
    }
    assert_in_range(jvm.alerts, 1, 20);
    for (int i = 0; i < jvm.alerts; i++)
        assert_int_equal(jvm.alert[i].finding.severity, SEVERITY_INFO);
    judge_destroy(jvm.judge);
}

/* Until a GC runs, all that was allocated is there. */
static void test_histograms_without_a_gc_between_them(void **state)
{
    (void)state;
    static struct jvm jvm;
    thresholds_default(&jvm.thresholds);
    start(&jvm, 17, 600000, 0);
    for (int i = 0; i < 40; i++) {
        struct histogram_class row = {
            .name = "com.acme.Request", .classes = 1, .bytes = (i + 1) * 5 * MB};
        row.bytes_growth = row.bytes - 5 * MB;
        struct event gcs = {.kind = EVENT_SAMPLE, .ms = i * INT64_C(600000)};
        sample_set(&gcs.sample, SAMPLE_GC_YOUNG, i < 20 ? 3 : i);
        feed(&jvm, &gcs);
        struct event event = {.kind = EVENT_HISTOGRAM, .ms = gcs.ms};
        event.histogram = (struct histogram_event){.row_count = 1, .rows = &row};
        feed(&jvm, &event);
        if (i == 20)
            assert_int_equal(jvm.alerts, 0);
    }
    assert_int_equal(count(&jvm, FINDING_HEAP_CLASS_GROWTH, ALERT_RAISED), 1);
    judge_destroy(jvm.judge);
}

static void test_hostile_recordings(void **state)
{
    (void)state;
    static struct jvm jvm;
    setup_default(&jvm, 17, 0);
    unsigned seed = 3;
    int raised = 0;
    for (int i = 0; i < 20000; i++) {
        struct event event = {.kind = (enum event_kind)(i % EVENT_KIND_COUNT)};
        static struct family_row rows[2];
        static struct loader_row loader;
        static struct histogram_class class;
        /* Times that jump about, then such as a recording has. */
        event.ms =
            i < 10000 ? (int64_t)(noise(&seed) * 1e9) : INT64_C(1000000000) + i * INT64_C(1000);
        switch (event.kind) {
        case EVENT_SAMPLE:
            sample_set(&event.sample, SAMPLE_CLASSES_LOADED, (int64_t)(noise(&seed) * 9e18));
            sample_set(&event.sample, SAMPLE_CLASSES_UNLOADED, (int64_t)(noise(&seed) * 9e18));
            sample_set_nmt(&event.sample, NMT_INTERNAL,
                           (struct nmt_amount){0, (int64_t)(noise(&seed) * 9e18)});
            break;
        case EVENT_NAMES:
            snprintf(rows[0].family, sizeof rows[0].family, "f%u", seed);
            rows[0].repeating = (int64_t)(noise(&seed) * 9e18);
            event.names = (struct names_event){.method = (enum census_method)(i % 5),
                                               .row_count = 2,
                                               .from_ms = (int64_t)(noise(&seed) * 1e9),
                                               .rows = rows};
            break;
        case EVENT_LOADERS:
            snprintf(loader.type, sizeof loader.type, "l%u", seed);
            loader.loaders = (int64_t)(noise(&seed) * 9e18);
            event.loaders = (struct loaders_event){.row_count = 1, .rows = &loader};
            break;
        case EVENT_HISTOGRAM:
            snprintf(class.name, sizeof class.name, "c%u", seed % 200);
            class.bytes = (int64_t)(noise(&seed) * 9e18);
            class.bytes_growth = (int64_t)(noise(&seed) * 9e18);
            class.instances = (int64_t)(noise(&seed) * 9e18);
            event.histogram = (struct histogram_event){.row_count = 1, .rows = &class};
            break;
        default:
            break;
        }
        jvm.alerts = 0;
        feed(&jvm, &event);
        for (int at = 0; at < jvm.alerts; at++) {
            const struct finding *finding = &jvm.alert[at].finding;
            assert_in_range(finding->kind, 0, FINDING_KIND_COUNT - 1);
            assert_in_range(strlen(finding->title), 1, FINDING_TITLE_MAX - 1);
            assert_in_range(finding->evidence_count, 1, EVIDENCE_MAX);
            raised++;
        }
    }
    assert_true(raised > 100); /* it was looked at, not left aside */
    judge_destroy(jvm.judge);
}

static void breaker(struct jvm *jvm, int64_t step)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = jvm->ms};
    if (step >= 0)
        sample_set(&event.sample, SAMPLE_AGENT_BREAKER, step);
    feed(jvm, &event);
    jvm->ms += 1000;
}

static void test_steps_of_the_agents_breaker(void **state)
{
    (void)state;
    static const struct {
        int64_t step;
        const char *word; /* NULL: no alert */
    } STEPS[] = {{-1, NULL},      {0, NULL}, {1, "warned"},  {1, NULL}, {-1, NULL},
                 {2, "shedding"}, {2, NULL}, {4, "stopped"}, {4, NULL}};
    struct jvm jvm;
    setup_default(&jvm, 17, 0);
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        int before = jvm.alerts;
        breaker(&jvm, STEPS[i].step);
        assert_int_equal(jvm.alerts - before, STEPS[i].word != NULL);
        if (STEPS[i].word != NULL)
            assert_string_equal(finding_evidence(&jvm.alert[before].finding, "step")->text,
                                STEPS[i].word);
    }
    assert_int_equal(count(&jvm, FINDING_AGENT_SHEDDING, ALERT_RAISED), 3);
    for (int i = 0; i < 60; i++) /* started anew */
        breaker(&jvm, 0);
    assert_int_equal(count(&jvm, FINDING_AGENT_SHEDDING, ALERT_CLEARED), 3);
    breaker(&jvm, 1);
    assert_int_equal(count(&jvm, FINDING_AGENT_SHEDDING, ALERT_RAISED), 4);
    judge_destroy(jvm.judge);
}

/* Asked for during warm-up, and again after growth: what has been raised clears, growth counts from there. */
static void test_new_baseline(void **state)
{
    struct jvm jvm = {0};
    struct judge_view view;
    struct event anew = {.kind = EVENT_BASELINE};
    struct event typed = {.kind = EVENT_NOTE, .text = EVENT_BASELINE_TEXT};
    (void)state;
    setup_default(&jvm, 17, 0);
    second(&jvm, 100, 0);
    memory(&jvm, 20 * MB, 10 * MB);
    judge_view(jvm.judge, &view);
    assert_false(view.warm);
    typed.ms = jvm.ms; /* a note is words: the judge does not act on them */
    feed(&jvm, &typed);
    judge_view(jvm.judge, &view);
    assert_false(view.warm);
    anew.ms = jvm.ms;
    feed(&jvm, &anew);
    judge_view(jvm.judge, &view);
    assert_true(view.warm);
    assert_int_equal(view.baseline_ms, jvm.ms);
    for (int i = 0; i < 20; i++) {
        second(&jvm, 0, 0);
        memory(&jvm, 3000 * MB, 10 * MB);
    }
    judge_view(jvm.judge, &view);
    assert_int_equal(view.internal_growth_bytes, 2980 * MB);
    assert_int_equal(view.baseline_ms, 1000); /* warm-up does not end a second time */
    int raised = count(&jvm, FINDING_INTERNAL_EXPLOSION, ALERT_RAISED);
    assert_true(raised > 0);
    anew.ms = jvm.ms;
    feed(&jvm, &anew);
    for (int i = 0; i < 600; i++) {
        second(&jvm, 0, 0);
        memory(&jvm, 3001 * MB, 10 * MB);
    }
    judge_view(jvm.judge, &view);
    assert_int_equal(view.internal_growth_bytes, 1 * MB);
    assert_int_equal(count(&jvm, FINDING_INTERNAL_EXPLOSION, ALERT_CLEARED), raised);
    judge_destroy(jvm.judge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explosion_is_named_within_thirty_seconds),
        cmocka_unit_test(test_a_start_that_others_stretch_is_no_explosion),
        cmocka_unit_test(test_a_load_rate_is_one_of_the_jvms_own_time),
        cmocka_unit_test(test_explosion_names_its_call_site),
        cmocka_unit_test(test_an_explosion_is_observed_again),
        cmocka_unit_test(test_explosion_from_the_first_second_of_a_young_jvm),
        cmocka_unit_test(test_one_cause_is_one_alert),
        cmocka_unit_test(test_start_up_burst_is_silent),
        cmocka_unit_test(test_secondary_family_needs_more_proof),
        cmocka_unit_test(test_explosion_clears_once_after_it_stopped),
        cmocka_unit_test(test_churn_is_churn_and_no_leak),
        cmocka_unit_test(test_late_gc_turns_explosion_into_churn),
        cmocka_unit_test(test_explosion_gives_way_to_churn),
        cmocka_unit_test(test_nameless_load_rate),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_what_a_start_up_generates),
        cmocka_unit_test(test_stocks_close_together),
        cmocka_unit_test(test_documented_steps_on_internal),
        cmocka_unit_test(test_slope_of_internal),
        cmocka_unit_test(test_growth_of_each_owner),
        cmocka_unit_test(test_a_heap_without_old_collection_is_not_judged),
        cmocka_unit_test(test_steep_growth_of_internal_is_told_in_time),
        cmocka_unit_test(test_metaspace_runs_to_its_limit),
        cmocka_unit_test(test_plateau_of_internal_is_silent),
        cmocka_unit_test(test_methods_beyond_the_typical_number),
        cmocka_unit_test(test_loaders_that_multiply),
        cmocka_unit_test(test_steps_of_the_agents_breaker),
        cmocka_unit_test(test_objects_of_one_class_that_grow),
        cmocka_unit_test(test_new_baseline),
        cmocka_unit_test(test_int_arrays_may_be_fillers),
        cmocka_unit_test(test_promoted_garbage_is_no_warning),
        cmocka_unit_test(test_histograms_without_a_gc_between_them),
        cmocka_unit_test(test_hostile_recordings),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
