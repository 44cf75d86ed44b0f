#include "analyzers/triage/triage.h"

#include <stdio.h>
#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct texts texts; /* of all findings here */

#define MB (INT64_C(1) << 20)

/* A healthy JVM: two samples of 5 000 classes, a minute apart. */
static struct jvm_facts *healthy(void)
{
    struct jvm_facts *facts = calloc(1, sizeof *facts);
    assert_non_null(facts);
    thresholds_default(&facts->thresholds);
    facts->identity.pid = 4711;
    facts->identity.jdk_major = 17;
    facts->have_sample = facts->have_before = true;
    facts->span_s = 60.0;
    sample_clear(&facts->sample);
    sample_set(&facts->sample, SAMPLE_CLASSES_LOADED, 5000);
    sample_set(&facts->sample, SAMPLE_CLASSES_UNLOADED, 10);
    sample_set(&facts->sample, SAMPLE_THREADS, 40);
    sample_set(&facts->sample, SAMPLE_LOADERS, 30);
    sample_set(&facts->sample, SAMPLE_LOADERS, 12);
    sample_set_nmt(&facts->sample, NMT_INTERNAL, (struct nmt_amount){MB, MB});
    sample_set_nmt(&facts->sample, NMT_OTHER, (struct nmt_amount){8 * MB, 8 * MB});
    sample_set_nmt(&facts->sample, NMT_SYMBOL, (struct nmt_amount){2 * MB, 2 * MB});
    facts->before = facts->sample;
    return facts;
}

static void grow(struct jvm_facts *facts, enum nmt_category category, int64_t bytes)
{
    struct nmt_amount amount;
    assert_true(sample_get_nmt(&facts->sample, category, &amount));
    amount.committed_bytes += bytes;
    sample_set_nmt(&facts->sample, category, amount);
}

static void load(struct jvm_facts *facts, int64_t classes, int64_t internal_bytes_each)
{
    int64_t loaded;
    assert_true(sample_get(&facts->sample, SAMPLE_CLASSES_LOADED, &loaded));
    sample_set(&facts->sample, SAMPLE_CLASSES_LOADED, loaded + classes);
    grow(facts, NMT_INTERNAL, classes * internal_bytes_each);
}

/* A minute of class loads of one family. */
static void flow(struct jvm_facts *facts, const char *family, int64_t loads, int64_t unloads,
                 int64_t late)
{
    struct facts_names *names = &facts->flow;
    names->have = names->has_span = true;
    names->span_s = 60.0;
    names->loads += loads;
    names->unloads += unloads;
    struct family_row *row = &names->rows[names->row_count];
    snprintf(row->family, sizeof row->family, "%s", family);
    snprintf(row->example, sizeof row->example, "com.acme.Example1");
    row->loads = row->names = loads;
    row->unloads = unloads;
    row->max_same_name = 1;
    names->late_loads[names->row_count++] = late;
}

static struct triage judged;

static const struct triage *judge(struct jvm_facts *facts)
{
    triage_judge(facts, NULL, 0, &judged);
    free(facts);
    return &judged;
}

static const struct finding *found(const struct triage *triage, enum finding_kind kind)
{
    for (int i = 0; i < triage->finding_count; i++) {
        if (triage->findings[i].kind == kind)
            return &triage->findings[i];
    }
    return NULL;
}

static void assert_first(const struct triage *triage, enum finding_kind kind)
{
    assert_true(triage->finding_count > 0);
    assert_string_equal(finding_row(triage->findings[0].kind)->id, finding_row(kind)->id);
}

static void health_is_silence(void **state)
{
    (void)state;
    const struct triage *triage = judge(healthy());
    assert_int_equal(triage->finding_count, 0);
    assert_int_equal(triage->suitability.suitability, SUITABILITY_APPROPRIATE);
    struct jvm_facts *warming = healthy(); /* a start-up: many loads that have stopped */
    flow(warming, "jdk-lambda", 300, 0, 10);
    triage = judge(warming);
    for (int i = 0; i < triage->finding_count; i++)
        assert_int_equal(triage->findings[i].severity, SEVERITY_INFO);
}

static void nothing_known_is_silence(void **state)
{
    (void)state;
    struct jvm_facts *facts = calloc(1, sizeof *facts);
    assert_non_null(facts);
    thresholds_default(&facts->thresholds);
    const struct triage *triage = judge(facts);
    assert_int_equal(triage->finding_count, 0);
    assert_int_equal(triage->explained.preallocates, EXPLAINED_CANNOT_TELL);
    assert_int_equal(triage->suitability.suitability, SUITABILITY_CAUTION);
}

static void an_explosion_names_family_and_fix_first(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    flow(facts, "cglib", 1200, 0, 400);
    flow(facts, "jdk-lambda", 60, 0, 0);
    load(facts, 1260, 0);
    grow(facts, NMT_SYMBOL, 8 * MB); /* its names: a consequence, no cause */
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_CLASS_EXPLOSION);
    assert_string_equal(triage->findings[0].family, "cglib");
    assert_int_equal(triage->findings[0].severity, SEVERITY_CRITICAL);
    assert_non_null(strstr(triage->findings[0].advice, "setUseCache"));
    assert_null(found(triage, FINDING_SYMBOL_GROWTH));
    assert_int_equal(triage->suitability.suitability, SUITABILITY_NOT_APPROPRIATE);
}

static void the_largest_of_two_families_is_first(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    flow(facts, "cglib", 100, 0, 40);
    flow(facts, "groovy-shell", 900, 0, 300);
    const struct triage *triage = judge(facts);
    assert_string_equal(triage->findings[0].family, "groovy-shell");
    assert_string_equal(triage->findings[1].family, "cglib");
}

static void what_is_unloaded_is_churn(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    flow(facts, "groovy-shell", 900, 850, 300);
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_CLASS_CHURN);
    assert_null(found(triage, FINDING_CLASS_EXPLOSION));
    assert_int_equal(triage->suitability.suitability, SUITABILITY_CAUTION);
}

static void what_the_judge_saw_is_not_said_twice(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    flow(facts, "cglib", 1200, 0, 400);
    struct finding alert;
    alert = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_family(&alert, "cglib");
    static struct triage triage;
    triage_judge(facts, &alert, 1, &triage);
    free(facts);
    assert_int_equal(triage.finding_count, 1);
}

static void an_agent_that_preallocates_is_named_and_harmless(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    facts_add_agent(facts, "/opt/profiler/libasync.so");
    load(facts, 1000, 80);
    const struct triage *triage = judge(facts);
    assert_int_equal(triage->explained.preallocates, EXPLAINED_YES);
    assert_string_equal(triage->explained.library, "libasync.so");
    assert_first(triage, FINDING_AGENT_PREALLOCATES);
    assert_int_equal(triage->findings[0].severity, SEVERITY_INFO);
}

static void an_agent_that_forgets_is_named_by_call_sites(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    facts_add_agent(facts, "libleaky.so");
    facts->have_sites = true;
    facts->sites.all.sites = 10;
    facts->sites.group[CALL_SITES_METHOD_ARRAYS].sites = 1;
    facts->sites.group[CALL_SITES_METHOD_ARRAYS].bytes = 3 * MB;
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_AGENT_RETAINS);
    assert_string_equal(finding_evidence(&triage->findings[0], "library")->text, "libleaky.so");
    assert_non_null(strstr(triage->findings[0].title, "GetClassMethods"));
}

static void an_agent_that_forgets_is_named_by_growth(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    facts_add_agent(facts, "libleaky.so");
    load(facts, 2000, 600);
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_AGENT_RETAINS);
    assert_non_null(strstr(triage->findings[0].title, "libleaky.so"));
    struct jvm_facts *nobody = healthy(); /* the same growth, and no agent is there */
    nobody->agents_known = true;
    load(nobody, 2000, 600);
    assert_null(found(judge(nobody), FINDING_AGENT_RETAINS));
}

static void fill_rss(struct rss_account *account, int64_t anonymous_bytes)
{
    account->mappings = 10;
    account->compared = account->heap_placed = true;
    account->nmt_malloc_bytes = 20 * MB;
    account->nmt_freed_bytes = MB;
    account->kind[RSS_MALLOC_MAIN].rss_bytes = 20 * MB;
    account->kind[RSS_ANONYMOUS].rss_bytes = anonymous_bytes;
    account->kind[RSS_ANONYMOUS].mappings = 3;
    account->kind[RSS_JAVA_HEAP].mappings = 1;
    account->rss_bytes = 20 * MB + anonymous_bytes;
    account->outside_nmt_bytes = anonymous_bytes;
    account->largest_count = 1;
    account->largest[0].low = 0x7f0000000000;
    account->largest[0].high = 0x7f0004000000;
    account->largest[0].rss_bytes = anonymous_bytes / 2;
}

static void growth_outside_nmt_names_its_mappings(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    facts->have_rss = facts->have_rss_before = true;
    fill_rss(&facts->rss, 100 * MB);
    fill_rss(&facts->rss_before, 10 * MB);
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_OUTSIDE_NMT);
    const struct evidence *grown = finding_evidence(&triage->findings[0], "growth_bytes");
    assert_non_null(grown);
    assert_true(grown->number >= 80 * MB && grown->number <= 90 * MB);
    assert_non_null(strstr(finding_evidence(&triage->findings[0], "mapping_1")->text,
                           "7f0000000000-7f0004000000"));
    struct jvm_facts *level = healthy(); /* it stays where it was */
    level->have_rss = level->have_rss_before = true;
    fill_rss(&level->rss, 10 * MB);
    fill_rss(&level->rss_before, 10 * MB);
    assert_null(found(judge(level), FINDING_OUTSIDE_NMT));
}

static void copies_of_an_application_are_a_redeployment_leak(void **state)
{
    (void)state;
    for (int copies = 2; copies <= 5; copies++) {
        struct jvm_facts *facts = healthy();
        struct loader_copies *group = &facts->leak.group[0];
        facts->leak.group_count = 1;
        snprintf(group->type, sizeof group->type, "org.apache.ParallelWebappClassLoader");
        group->copies = copies;
        group->classes = 800 * copies;
        group->chunk_bytes = 6 * MB * copies;
        const struct triage *triage = judge(facts);
        const struct finding *finding = found(triage, FINDING_REDEPLOY_LEAK);
        assert_int_equal(finding != NULL, copies >= LOADER_LEAK_COPIES_MIN);
        if (finding == NULL)
            continue;
        assert_int_equal(finding_evidence(finding, "copies")->number, copies);
        assert_int_equal(finding_evidence(finding, "metaspace_bytes_each")->number, 6 * MB);
        assert_int_equal(triage->suitability.suitability, SUITABILITY_NOT_APPROPRIATE);
    }
}

static void categories_that_grow(void **state)
{
    (void)state;
    struct jvm_facts *direct = healthy();
    grow(direct, NMT_OTHER, 64 * MB);
    assert_first(judge(direct), FINDING_DIRECT_MEMORY);
    struct jvm_facts *names = healthy();
    grow(names, NMT_SYMBOL, 16 * MB);
    assert_first(judge(names), FINDING_SYMBOL_GROWTH);
    struct jvm_facts *threads = healthy();
    sample_set(&threads->sample, SAMPLE_THREADS, 140);
    assert_first(judge(threads), FINDING_THREAD_GROWTH);
    struct jvm_facts *printed = calloc(1, sizeof *printed); /* by a difference the JVM printed */
    assert_non_null(printed);
    thresholds_default(&printed->thresholds);
    printed->have_diff = true;
    sample_clear(&printed->diff_now);
    sample_clear(&printed->diff_before);
    sample_set_nmt(&printed->diff_now, NMT_OTHER, (struct nmt_amount){80 * MB, 80 * MB});
    sample_set_nmt(&printed->diff_before, NMT_OTHER, (struct nmt_amount){16 * MB, 16 * MB});
    printed->diff_threads = 100;
    const struct triage *triage = judge(printed);
    assert_non_null(found(triage, FINDING_DIRECT_MEMORY));
    assert_non_null(found(triage, FINDING_THREAD_GROWTH));
}

/* The first look of a triage is no baseline: what was large before it is large. */
static void levels_count_as_in_check(void **state)
{
    (void)state;
    static const struct {
        enum nmt_category category;
        int64_t mb;
        enum finding_kind kind;
        enum severity severity;
        enum suitability suitability;
    } rows[] = {
        {NMT_INTERNAL, 501, FINDING_INTERNAL_INVESTIGATE, SEVERITY_WARNING, SUITABILITY_CAUTION},
        {NMT_INTERNAL, 3072, FINDING_INTERNAL_EXPLOSION, SEVERITY_CRITICAL,
         SUITABILITY_NOT_APPROPRIATE},
        {NMT_INTERNAL, 11776, FINDING_INTERNAL_UNACCEPTABLE, SEVERITY_CRITICAL,
         SUITABILITY_NOT_APPROPRIATE},
        {NMT_CLASS, 3072, FINDING_CLASS_METASPACE_GROWTH, SEVERITY_CRITICAL,
         SUITABILITY_NOT_APPROPRIATE},
        {NMT_CODE, 3072, FINDING_CATEGORY_GROWTH, SEVERITY_CRITICAL, SUITABILITY_CAUTION},
        {NMT_OTHER, 3072, FINDING_DIRECT_MEMORY, SEVERITY_CRITICAL, SUITABILITY_CAUTION},
        {NMT_THREAD, 3072, FINDING_THREAD_GROWTH, SEVERITY_CRITICAL, SUITABILITY_CAUTION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct jvm_facts *facts = healthy();
        struct nmt_amount amount = {rows[i].mb * MB, rows[i].mb * MB};
        sample_set_nmt(&facts->sample, rows[i].category, amount);
        sample_set_nmt(&facts->before, rows[i].category, amount);
        const struct triage *triage = judge(facts);
        assert_first(triage, rows[i].kind);
        assert_int_equal(triage->findings[0].severity, rows[i].severity);
        assert_int_equal(triage->suitability.suitability, rows[i].suitability);
    }
}

/* 3 GB more since the JVM's own baseline, of a category that is small else. */
static void levels_count_in_a_difference(void **state)
{
    (void)state;
    static const enum nmt_category categories[] = {NMT_ARENA_CHUNK, NMT_GC, NMT_COMPILER, NMT_CODE};
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        struct jvm_facts *printed = calloc(1, sizeof *printed);
        assert_non_null(printed);
        thresholds_default(&printed->thresholds);
        printed->have_diff = true;
        sample_clear(&printed->diff_now);
        sample_clear(&printed->diff_before);
        sample_set_nmt(&printed->diff_now, categories[i],
                       (struct nmt_amount){3090 * MB, 3090 * MB});
        sample_set_nmt(&printed->diff_before, categories[i], (struct nmt_amount){18 * MB, 18 * MB});
        const struct triage *triage = judge(printed);
        assert_first(triage, FINDING_CATEGORY_GROWTH);
        assert_int_equal(triage->findings[0].severity, SEVERITY_CRITICAL);
        assert_int_equal(triage->suitability.suitability, SUITABILITY_CAUTION);
    }
}

/* NMT detail makes the JVM read its symbol files: 4.6 MB of Internal, and nobody's ids. */
static void what_detail_brings_is_not_an_agents(void **state)
{
    (void)state;
    for (int read_now = 0; read_now < 2; read_now++) {
        struct jvm_facts *facts = healthy();
        load(facts, 20000, 10);
        grow(facts, NMT_INTERNAL, 4700 << 10);
        facts_add_agent(facts, "/opt/libnmtagent.so");
        facts->have_sites = true;
        facts->symbol_files_bytes = 4700 << 10;
        facts->symbol_files_grown_bytes = read_now ? 4700 << 10 : 0;
        const struct triage *triage = judge(facts);
        assert_int_equal(found(triage, FINDING_AGENT_RETAINS) != NULL, !read_now);
    }
}

static void a_native_oom_comes_before_everything(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    flow(facts, "cglib", 1200, 0, 400);
    struct hs_err file;
    hs_err_read(&file, SPAN_LITERAL("#  Out of Memory Error (os_linux.cpp:2798), pid=7, tid=8\n"));
    crash_take(&facts->crash, &file);
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_NATIVE_OOM);
    assert_non_null(found(triage, FINDING_CLASS_EXPLOSION));
}

static void our_own_effect_is_a_note(void **state)
{
    (void)state;
    struct jvm_facts *facts = healthy();
    facts->symbol_files_bytes = 5 * MB;
    const struct triage *triage = judge(facts);
    assert_first(triage, FINDING_OWN_EFFECT);
    assert_int_equal(triage->findings[0].severity, SEVERITY_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_is_silence),
        cmocka_unit_test(nothing_known_is_silence),
        cmocka_unit_test(an_explosion_names_family_and_fix_first),
        cmocka_unit_test(the_largest_of_two_families_is_first),
        cmocka_unit_test(what_is_unloaded_is_churn),
        cmocka_unit_test(what_the_judge_saw_is_not_said_twice),
        cmocka_unit_test(an_agent_that_preallocates_is_named_and_harmless),
        cmocka_unit_test(an_agent_that_forgets_is_named_by_call_sites),
        cmocka_unit_test(an_agent_that_forgets_is_named_by_growth),
        cmocka_unit_test(growth_outside_nmt_names_its_mappings),
        cmocka_unit_test(copies_of_an_application_are_a_redeployment_leak),
        cmocka_unit_test(categories_that_grow),
        cmocka_unit_test(a_native_oom_comes_before_everything),
        cmocka_unit_test(our_own_effect_is_a_note),
        cmocka_unit_test(levels_count_as_in_check),
        cmocka_unit_test(levels_count_in_a_difference),
        cmocka_unit_test(what_detail_brings_is_not_an_agents),
    };
    return cmocka_run_group_tests_name("triage", tests, NULL, NULL);
}
