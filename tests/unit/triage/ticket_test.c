/* Texts beside those of a JVM (tests/golden/ticket): what is read of them, and what follows. */
#include "analyzers/judge/finding.h"
#include "analyzers/triage/facts_read.h"
#include "analyzers/triage/triage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct facts_reader *reader;
static struct triage triage;

static const struct jvm_facts *judged(const char *const *names, int count)
{
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    reader = facts_reader_create(&thresholds, NULL, NULL);
    assert_non_null(reader);
    for (int i = 0; i < count; i++) {
        char path[200], text[8192];
        int64_t ignored;
        snprintf(path, sizeof path, "tests/golden/ticket/%s.txt", names[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        size_t length = fread(text, 1, sizeof text, file);
        fclose(file);
        assert_true(length > 0 && length < sizeof text);
        assert_true(facts_reader_feed(reader, path, span_of(text, length), &ignored));
    }
    facts_reader_finish(reader);
    assert_int_equal(facts_reader_count(reader), 1);
    memset(&triage, 0, sizeof triage);
    triage_judge(facts_reader_at(reader, 0), NULL, 0, &triage);
    return facts_reader_at(reader, 0);
}

static int teardown(void **state)
{
    (void)state;
    triage_free(&triage);
    facts_reader_destroy(reader);
    reader = NULL;
    return 0;
}

static const char *text_of(const char *key)
{
    const struct evidence *evidence = finding_evidence(&triage.findings[0], key);
    return evidence == NULL ? "" : evidence->text;
}

static int64_t number_of(const char *key)
{
    const struct evidence *evidence = finding_evidence(&triage.findings[0], key);
    return evidence == NULL ? -1 : evidence->number;
}

static void each_alone(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum finding_kind kind;
        enum severity severity;
        const char *cause;
    } rows[] = {
        {"oom_killer", FINDING_OOM_KILLED, SEVERITY_CRITICAL, "container-limit"},
        {"console_heap", FINDING_JAVA_OOM, SEVERITY_CRITICAL, "java-heap"},
        {"console_metaspace", FINDING_JAVA_OOM, SEVERITY_CRITICAL, "metaspace-limit"},
        {"console_direct", FINDING_JAVA_OOM, SEVERITY_CRITICAL, "direct-memory"},
        {"console_threads", FINDING_NATIVE_OOM, SEVERITY_CRITICAL, "thread-limit"},
        {"docker_stats", FINDING_CONTAINER_LIMIT, SEVERITY_WARNING, ""},
        {"pmap", FINDING_MALLOC_ARENAS, SEVERITY_WARNING, ""},
        {"gc_log", FINDING_JAVA_OOM, SEVERITY_WARNING, "java-heap"},
        {"clstats_jdk8", FINDING_LOADER_GROWTH, SEVERITY_WARNING, ""},
        {"mat_histogram", FINDING_HEAP_OBJECTS, SEVERITY_WARNING, "groovy-class-info"},
        {"mat_leak_report", FINDING_HEAP_OBJECTS, SEVERITY_WARNING, "groovy-class-info"},
        {"mat_loaders", FINDING_REDEPLOY_LEAK, SEVERITY_WARNING, ""},
        {"kill_alone", FINDING_OOM_KILLED, SEVERITY_CRITICAL, "container-limit"},
        {"kill_other", FINDING_OOM_KILLED, SEVERITY_CRITICAL, "other-process"},
        {"xloggc_jdk8", FINDING_JAVA_OOM, SEVERITY_WARNING, "java-heap"},
        {"top", FINDING_OBSERVATION, SEVERITY_INFO, ""},
        {"ps", FINDING_OBSERVATION, SEVERITY_INFO, ""},
        {"kubectl_top", FINDING_OBSERVATION, SEVERITY_INFO, ""},
        {"proc_status", FINDING_OBSERVATION, SEVERITY_INFO, ""},
        {"heap_info", FINDING_OBSERVATION, SEVERITY_INFO, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        judged(&rows[i].name, 1);
        if (triage.finding_count == 0 || triage.findings[0].kind != rows[i].kind)
            fail_msg("%s: %s", rows[i].name,
                     triage.finding_count > 0 ? triage.findings[0].title : "none");
        assert_int_equal(triage.findings[0].severity, rows[i].severity);
        assert_string_equal(text_of("cause"), rows[i].cause);
        teardown(state);
    }
    judged((const char *const[]){"top"}, 1);
}

static void figures_of_a_kill(void **state)
{
    (void)state;
    const struct jvm_facts *facts = judged((const char *const[]){"oom_killer"}, 1);
    assert_int_equal(facts->container_limit_bytes, INT64_C(1) << 30);
    assert_int_equal(number_of("killed_pid"), 40180);
    assert_int_equal(number_of("held_bytes"), INT64_C(1024) * (1041204 + 8000));
    /* No plan without a heap: no text says how large it is. */
    assert_null(finding_evidence(&triage.findings[0], "flags"));
    assert_null(finding_evidence(&triage.findings[0], "proposed_limit_bytes"));
    teardown(state);
    judged((const char *const[]){"oom_killer", "flags"}, 2);
    assert_int_equal(number_of("max_heap_bytes"), INT64_C(256) << 20);
    teardown(state);
    judged((const char *const[]){"kill_alone", "ps"}, 2); /* -Xmx2g */
    assert_true(number_of("proposed_limit_bytes") >= number_of("held_bytes"));
    assert_string_equal(text_of("plan_assumes"), "15 000 classes: the texts do not say");
    teardown(state);
    /* A heap of 256 MB and what belongs to it do not explain 2 GB: no limit below that is proposed. */
    judged((const char *const[]){"flags", "kill_alone"}, 2);
    assert_null(finding_evidence(&triage.findings[0], "proposed_limit_bytes"));
    assert_string_equal(text_of("cause"), "not-heap");
    assert_int_equal(number_of("not_heap_bytes"), INT64_C(1024) * 2084000 - (INT64_C(256) << 20));
}

/* All of a ticket is one facts: the limit of docker stats, threads of /proc, a heap of ps. */
static void together(void **state)
{
    (void)state;
    const struct jvm_facts *facts =
        judged((const char *const[]){"ps", "docker_stats", "console_heap"}, 3);
    assert_int_equal(facts->max_heap_bytes, INT64_C(2) << 30);
    assert_int_equal(facts->container_limit_bytes, INT64_C(2) << 30);
    assert_int_equal(triage.findings[0].kind, FINDING_JAVA_OOM);
    assert_int_equal(triage.findings[1].kind, FINDING_CONTAINER_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_alone, teardown),
        cmocka_unit_test_teardown(figures_of_a_kill, teardown),
        cmocka_unit_test_teardown(together, teardown),
    };
    return cmocka_run_group_tests_name("ticket", tests, NULL, NULL);
}
