#include "analyzers/triage/facts_read.h"
#include "analyzers/triage/triage.h"

#include <stdio.h>
#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct facts_input inputs[32];
static int input_count;

static void on_input(void *context, const struct facts_input *input)
{
    (void)context;
    if (input_count < 32)
        inputs[input_count++] = *input;
}

static struct facts_reader *create(void)
{
    struct thresholds thresholds;
    thresholds_default(&thresholds);
    input_count = 0;
    struct facts_reader *reader = facts_reader_create(&thresholds, on_input, NULL);
    assert_non_null(reader);
    return reader;
}

static bool feed(struct facts_reader *reader, const char *text)
{
    int64_t ignored;
    return facts_reader_feed(reader, "a.txt", span_from_cstr(text), &ignored);
}

#define NMT(unit, other, scale_total)                                                              \
    "Native Memory Tracking:\n\nTotal: reserved=" scale_total unit ", committed=" scale_total unit \
    "\n\n-                     Other (reserved=" other unit ", committed=" other unit ")\n"        \
    "                            (malloc=" other unit " #2) \n \n"

static void two_summaries_are_two_looks(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    assert_true(feed(reader, "7:\n" NMT("KB", "1000", "90000")));
    assert_true(feed(reader, "7:\n" NMT("KB", "1500", "90500")));
    facts_reader_finish(reader);
    assert_int_equal(facts_reader_count(reader), 1);
    int64_t bytes;
    assert_true(facts_growth(facts_reader_at(reader, 0), NMT_OTHER, &bytes));
    assert_int_equal(bytes, 500 << 10);
    assert_true(inputs[0].used && inputs[1].used);
    assert_int_equal(inputs[0].pid, 7);
    facts_reader_destroy(reader);
}

/* Each figure of a text that was cut at any byte is one of the whole text, or missing. */
static void a_cut_text_has_no_wrong_figure(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t member; /* int64_t, -1 or 0 when missing */
        int64_t bytes;
    } rows[] = {
        {"Name: java\nVmSize:  7036128 kB\nVmRSS:\t  524288 kB\n",
         offsetof(struct jvm_facts, row.rss_bytes), INT64_C(524288) << 10},
        {"CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %\n"
         "f1a2b3c4d5e6   java-app  12.34%    1.907GiB / 2048MiB       95.35%\n",
         offsetof(struct jvm_facts, row.limit_bytes), INT64_C(2) << 30},
        {" garbage-first heap   total 524288K, used 498112K [0x00000000e0000000, "
         "0x0000000100000000)\n  region size 1024K, 3 young (3072K), 1 survivors (1024K)\n"
         " Metaspace       used 340496K, committed 349920K, reserved 1114112K\n",
         offsetof(struct jvm_facts, heap_used_bytes), INT64_C(498112) << 10},
        {"[1.2s] Memory cgroup out of memory: Killed process 4242 (java) total-vm:7036128kB, "
         "anon-rss:520000kB, file-rss:0kB, shmem-rss:0kB\n",
         offsetof(struct jvm_facts, kill.anon_rss_bytes), INT64_C(520000) << 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t length = 1; length <= strlen(rows[i].text); length++) {
            struct facts_reader *reader = create();
            int64_t ignored;
            facts_reader_feed(reader, "a", span_of(rows[i].text, length), &ignored);
            facts_reader_finish(reader);
            int64_t bytes = -1;
            if (facts_reader_count(reader) > 0)
                memcpy(&bytes, (const char *)facts_reader_at(reader, 0) + rows[i].member,
                       sizeof bytes);
            if (length == strlen(rows[i].text) || bytes > 0)
                assert_int_equal(bytes, rows[i].bytes);
            facts_reader_destroy(reader);
        }
    }
}

#define HISTOGRAM(strings, grows, name)                                                            \
    " num     #instances         #bytes  class name (module)\n-----\n   1:        2000       "     \
    " " strings "  java.lang.String (java.base@17.0.2)\n   2:        1000        " grows "  " name \
    "\nTotal         9999        9999\n"

static void two_histograms_rank_what_grew(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    struct triage *triage = calloc(1, sizeof *triage);
    assert_true(feed(reader, HISTOGRAM("48000", "64000", "com.acme.Session")));
    assert_int_equal(facts_reader_at(reader, 0)->heap_growth.histograms, 1);
    assert_true(feed(reader, HISTOGRAM("49000", "64000000", "com.acme.Session")));
    facts_reader_finish(reader);
    const struct jvm_facts *facts = facts_reader_at(reader, 0);
    assert_int_equal(facts->heap_growth.row_count, 2);
    assert_string_equal(facts->heap_growth.rows[0].name, "com.acme.Session");
    assert_int_equal(facts->heap_growth.rows[0].bytes_growth, 64000000 - 64000);
    triage_judge(facts, NULL, 0, triage);
    assert_int_equal(triage->findings[0].kind, FINDING_HEAP_GROWTH);
    assert_int_equal(triage->findings[0].severity, SEVERITY_WARNING);
    triage_free(triage);
    free(triage);
    facts_reader_destroy(reader);
}

/* Before JDK 19 a GC fills gaps with them. */
static void int_arrays_that_grew_are_no_warning(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    struct triage *triage = calloc(1, sizeof *triage);
    assert_true(feed(reader, HISTOGRAM("48000", "64000", "[I")));
    assert_true(feed(reader, HISTOGRAM("49000", "64000000", "[I")));
    facts_reader_finish(reader);
    triage_judge(facts_reader_at(reader, 0), NULL, 0, triage);
    assert_int_equal(triage->findings[0].kind, FINDING_HEAP_GROWTH);
    assert_int_equal(triage->findings[0].severity, SEVERITY_INFO);
    assert_non_null(strstr(triage->findings[0].title, "fills gaps"));
    triage_free(triage);
    free(triage);
    facts_reader_destroy(reader);
}

static void a_coarser_summary_is_not_compared(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    feed(reader, "7:\n" NMT("KB", "1000", "90000"));
    feed(reader, "7:\n" NMT("GB", "3", "4"));
    feed(reader, "7:\n" NMT("KB", "1200", "90000"));
    facts_reader_finish(reader);
    int64_t bytes;
    assert_true(facts_growth(facts_reader_at(reader, 0), NMT_OTHER, &bytes));
    assert_int_equal(bytes, 200 << 10);
    assert_false(inputs[1].used);
    assert_true(inputs[1].note[0] != '\0');
    facts_reader_destroy(reader);
}

static void two_jvms_are_kept_apart(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    feed(reader, "7:\n" NMT("KB", "1000", "90000"));
    feed(reader, "8:\n" NMT("KB", "900000", "990000"));
    feed(reader, "8:\n75.302 s\n");
    facts_reader_finish(reader);
    assert_int_equal(facts_reader_count(reader), 2);
    assert_int_equal(facts_reader_at(reader, 0)->identity.pid, 8); /* most texts first */
    int64_t bytes;
    assert_false(facts_growth(facts_reader_at(reader, 0), NMT_OTHER, &bytes));
    facts_reader_destroy(reader);
}

static void words_beat_the_form(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    feed(reader, "7:\nOpenJDK 64-Bit Server VM version 23.0.1\nJDK 23.0.1\n");
    feed(reader, "7:\nNative Memory Tracking:\n\nTotal: reserved=9000KB, committed=9000KB\n"
                 "       malloc: 15874KB #14596\n\n"
                 "-                     Other (reserved=9KB, committed=9KB)\n"
                 "                            (malloc=9KB #2) \n \n");
    facts_reader_finish(reader);
    assert_int_equal(facts_reader_at(reader, 0)->identity.jdk_major, 23);
    assert_int_equal(inputs[1].jdk_major, 17);
    facts_reader_destroy(reader);
}

#define CGLIB "[%d.000s][info][class,load] a.B$$EnhancerByCGLIB$$%08x source: __JVM_DefineClass__\n"

static char *cglib_log(int count)
{
    char *text = malloc((size_t)count * 120 + 1);
    size_t used = 0;
    assert_non_null(text);
    text[0] = '\0';
    for (int i = 1; i <= count; i++)
        used += (size_t)sprintf(text + used, CGLIB, i, (unsigned)i);
    return text;
}

static void a_log_that_goes_on_is_an_explosion(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    char *text = cglib_log(300);
    feed(reader, text);
    free(text);
    facts_reader_finish(reader);
    const struct jvm_facts *facts = facts_reader_at(reader, 0);
    assert_true(facts->flow.have && facts->flow.has_span);
    assert_int_equal(facts->flow.loads, 300);
    static struct triage triage;
    triage_judge(facts, NULL, 0, &triage);
    assert_int_equal(triage.findings[0].kind, FINDING_CLASS_EXPLOSION);
    assert_string_equal(triage.findings[0].family, "cglib");
    assert_int_equal(triage.findings[0].severity, SEVERITY_CRITICAL);
    facts_reader_destroy(reader);
}

static void a_log_that_has_stopped_is_a_note(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    char *early = cglib_log(100);
    char *whole = malloc(strlen(early) + 200);
    assert_non_null(whole);
    sprintf(whole, "%s[900.000s][info][class,load] a.Last source: file:/app.jar\n", early);
    feed(reader, whole);
    free(whole);
    free(early);
    facts_reader_finish(reader);
    static struct triage triage;
    triage_judge(facts_reader_at(reader, 0), NULL, 0, &triage);
    for (int i = 0; i < triage.finding_count; i++)
        assert_int_equal(triage.findings[i].severity, SEVERITY_INFO);
    facts_reader_destroy(reader);
}

static void a_log_without_loads_leaves_the_lists_in_force(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    feed(reader, "[0.077s][info][class,loader,data] Dictionary start size: 1024 (10)\n");
    facts_reader_finish(reader);
    assert_false(facts_reader_at(reader, 0)->flow.have);
    assert_false(inputs[0].used);
    assert_true(inputs[0].note[0] != '\0');
    facts_reader_destroy(reader);
}

#define ERROR_FILE                                                                                 \
    "#\n# There is insufficient memory for the Java Runtime Environment to continue.\n"            \
    "# Native memory allocation (mmap) failed to map 65536 bytes.\n"                               \
    "#  Out of Memory Error (os_linux.cpp:2798), pid=17371, tid=17372\n"                           \
    "# JRE version: OpenJDK Runtime Environment (17.0.21+9) (build 17.0.21+9)\n"

static void an_error_file_of_native_memory(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    feed(reader, ERROR_FILE NMT("KB", "1000", "90000"));
    facts_reader_finish(reader);
    const struct jvm_facts *facts = facts_reader_at(reader, 0);
    assert_int_equal(facts->crash.end, HS_ERR_NATIVE_OOM);
    assert_int_equal(facts->identity.pid, 17371);
    assert_int_equal(facts->identity.jdk_major, 17);
    assert_int_equal(inputs[1].kind, TEXT_NMT_SUMMARY);
    assert_int_equal(inputs[1].jdk_major, 17); /* it is inside */
    assert_true(sample_has_nmt(&facts->sample));
    static struct triage triage;
    triage_judge(facts, NULL, 0, &triage);
    assert_int_equal(triage.findings[0].kind, FINDING_NATIVE_OOM);
    facts_reader_destroy(reader);
}

static void agents_of_a_command_line(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    feed(reader,
         "7:\nVM Arguments:\njvm_args: -agentpath:/opt/libasync.so=start -javaagent:/a/b.jar "
         "-agentpath:/opt/libasync.so\njava_command: x\n");
    facts_reader_finish(reader);
    const struct jvm_facts *facts = facts_reader_at(reader, 0);
    assert_true(facts->agents_known);
    assert_int_equal(facts->agent_count, 2);
    assert_string_equal(facts->agents[0], "libasync.so");
    assert_string_equal(facts->agents[1], "b.jar");
    facts_reader_destroy(reader);
}

static void loaders_of_jdk_8(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    char text[2048] = "class_loader\tclasses\tbytes\tparent_loader\talive?\ttype\n\n";
    for (int i = 1; i <= 4; i++)
        sprintf(text + strlen(text), "0x%d\t500\t4000000\tnull\tdead\torg/apache/Webapp@0x1\n", i);
    feed(reader, text);
    facts_reader_finish(reader);
    const struct jvm_facts *facts = facts_reader_at(reader, 0);
    assert_int_equal(facts->loaders.loaders, 4);
    assert_int_equal(facts->identity.jdk_major, 8);
    static struct triage triage;
    triage_judge(facts, NULL, 0, &triage);
    assert_int_equal(triage.findings[0].kind, FINDING_REDEPLOY_LEAK);
    facts_reader_destroy(reader);
}

/* Whatever is fed: no crash, and what is told is of the table. */
static void every_cut(void **state)
{
    (void)state;
    static const char text[] =
        ERROR_FILE NMT("KB", "1000", "90000") "8:\n75.302 s\n8:\n"
                                              "class_loader\tclasses\tbytes\tparent_loader\talive?"
                                              "\ttype\n0x1\t5\t4\tnull\tdead\tA@0x1\n"
                                              "8:\ngarbage-first heap   total 262144K\n region "
                                              "[0x00000000f0000000, 0x00000000f5550000)\n";
    static struct triage triage;
    for (size_t cut = 0; cut < sizeof text; cut += 3) {
        struct facts_reader *reader = create();
        char *copy = malloc(cut > 0 ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, text, cut);
        int64_t ignored;
        facts_reader_feed(reader, "a", span_of(copy, cut), &ignored);
        free(copy); /* texts are not kept */
        facts_reader_finish(reader);
        for (int i = 0; i < facts_reader_count(reader); i++)
            triage_judge(facts_reader_at(reader, i), NULL, 0, &triage);
        facts_reader_destroy(reader);
    }
}

static void too_many_jvms_are_told(void **state)
{
    (void)state;
    struct facts_reader *reader = create();
    for (int i = 1; i <= FACTS_READER_JVMS_MAX + 1; i++) {
        char text[64];
        snprintf(text, sizeof text, "%d:\n75.302 s\n", i);
        input_count = 0;
        feed(reader, text);
    }
    assert_int_equal(facts_reader_count(reader), FACTS_READER_JVMS_MAX);
    assert_false(inputs[0].used);
    assert_true(inputs[0].note[0] != '\0');
    facts_reader_destroy(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_summaries_are_two_looks),
        cmocka_unit_test(a_cut_text_has_no_wrong_figure),
        cmocka_unit_test(two_histograms_rank_what_grew),
        cmocka_unit_test(int_arrays_that_grew_are_no_warning),
        cmocka_unit_test(a_coarser_summary_is_not_compared),
        cmocka_unit_test(two_jvms_are_kept_apart),
        cmocka_unit_test(words_beat_the_form),
        cmocka_unit_test(a_log_that_goes_on_is_an_explosion),
        cmocka_unit_test(a_log_that_has_stopped_is_a_note),
        cmocka_unit_test(a_log_without_loads_leaves_the_lists_in_force),
        cmocka_unit_test(an_error_file_of_native_memory),
        cmocka_unit_test(agents_of_a_command_line),
        cmocka_unit_test(loaders_of_jdk_8),
        cmocka_unit_test(every_cut),
        cmocka_unit_test(too_many_jvms_are_told),
    };
    return cmocka_run_group_tests_name("facts_read", tests, NULL, NULL);
}
