#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/native/call_site_group.h"

static const struct explained_amounts UNKNOWN = {-1, -1, -1, -1, -1, -1};
static const char *const ONE_AGENT[] = {"libprofiler.so"};
static const char *const TWO_AGENTS[] = {"liba.so", "libb.so"};

/* Two looks of a JVM in which `loads` classes were loaded and Internal grew by so many bytes. */
static struct explained_facts grown(int jdk, int64_t loads, int64_t internal, int64_t jni)
{
    struct explained_facts facts = {.jdk_major = jdk, .methods_per_class = 15, .have_before = true};
    facts.before = UNKNOWN;
    facts.before.classes_loaded = 1000;
    facts.before.classes_unloaded = 0;
    facts.before.internal_bytes = 4 << 20;
    facts.before.jni_bytes = jni < 0 ? -1 : 100;
    facts.now = facts.before;
    facts.now.classes_loaded += loads;
    facts.now.loaders = loads;
    facts.now.internal_bytes += internal;
    facts.now.jni_bytes += jni < 0 ? 0 : jni;
    return facts;
}

static void growth_by_the_slots_of_each_class_is_an_agent(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = grown(17, 20000, 20000 * 120 + (1 << 20), -1);
    facts.agents_known = true;
    facts.agent_count = 1;
    facts.agents = ONE_AGENT;
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_YES);
    assert_string_equal(out.library, "libprofiler.so");
    assert_int_equal(out.bytes_per_class_load, 288);
    assert_int_equal(out.kept_bytes_per_class, 160);
    assert_int_equal(out.explained_growth_bytes, 20000 * 120);
    assert_int_equal(out.unexplained_growth_bytes, 1 << 20);
}

/* 3 000 classes of 100 methods, 721 of the JDK's with 17.7. */
static void what_was_counted_is_believed(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = {.jdk_major = 17, .now = UNKNOWN, .before = UNKNOWN};
    facts.now.classes_loaded = 3721;
    facts.now.classes_unloaded = 0;
    facts.now.loaders = 304;
    facts.ids_counted = true;
    facts.ids = 7;
    facts.id_classes = 3721;
    facts.id_methods = 312782;
    facts.id_loaders = 304;
    facts.methods_per_class = 100.0;
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_NO);
    assert_int_equal(out.bytes_per_class_load, 8 * 101 + 800 + 40);
    assert_in_range(jmethodid_loaded_bytes(&out.alive), 5050000, 5150000);
}

static void growth_without_it_is_none(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = grown(17, 20000, 200 << 10, -1);
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_NO);
    assert_int_equal(out.unexplained_growth_bytes, 200 << 10);
    assert_string_equal(out.library, "");
}

static void jdk_26_shows_it_in_jni(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = grown(26, 20000, 0, 20000 * 387);
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_YES);
    assert_int_equal(out.kept_bytes_per_class, 0);
    facts = grown(26, 20000, 0, 4096);
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_NO);
}

/* 66 bytes for each loader, from its locks' names and a weak handle: measured without an agent. */
static void what_loaders_cost_is_no_agent(void **state)
{
    (void)state;
    struct explained out;
    for (int jdk = 21; jdk <= 27; jdk += 6) {
        struct explained_facts facts = grown(jdk, 1200, 1200 * 69, 0);
        facts.before.loaders = 500;
        facts.now.loaders = 1700;
        explain_internal(&out, &facts);
        assert_int_equal(out.preallocates, EXPLAINED_NO);
        facts.now.internal_bytes += 1200 * 120;
        explain_internal(&out, &facts);
        assert_int_equal(out.preallocates, EXPLAINED_YES);
        facts = grown(jdk, 1200, 1200 * 69, 0); /* loaders before: not known */
        explain_internal(&out, &facts);
        assert_int_equal(out.preallocates, EXPLAINED_CANNOT_TELL);
    }
}

static void few_loads_with_an_agent_are_no_evidence(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = grown(17, EXPLAINED_LOADS_MIN - 1, 1 << 20, -1);
    facts.agents_known = true;
    facts.agent_count = 2;
    facts.agents = TWO_AGENTS;
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_CANNOT_TELL);
    facts.agent_count = 0;
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_NO);
}

static void jdk_8_is_cannot_tell_without_call_sites(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = grown(8, 20000, 30 << 20, -1);
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_CANNOT_TELL);
    assert_int_equal(out.unexplained_growth_bytes, 30 << 20);
}

static void call_sites_overrule_growth(void **state)
{
    (void)state;
    struct explained out;
    struct call_site_totals sites;
    memset(&sites, 0, sizeof sites);
    sites.all.bytes = 20 << 20;
    struct explained_facts facts = grown(17, 20000, 20000 * 120, -1);
    facts.sites = &sites; /* it grew, but not below GetClassMethods */
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_NO);
    sites.group[CALL_SITES_JMETHODIDS_AGENT].bytes = 21000 * 288;
    facts.agent_count = 2;
    facts.agents = TWO_AGENTS;
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_YES);
    assert_string_equal(out.library, "one of liba.so, libb.so");
}

static void nothing_known_is_cannot_tell(void **state)
{
    (void)state;
    struct explained out;
    struct explained_facts facts = {.jdk_major = 21, .now = UNKNOWN};
    explain_internal(&out, &facts);
    assert_int_equal(out.preallocates, EXPLAINED_CANNOT_TELL);
    assert_false(out.have_growth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_by_the_slots_of_each_class_is_an_agent),
        cmocka_unit_test(growth_without_it_is_none),
        cmocka_unit_test(what_was_counted_is_believed),
        cmocka_unit_test(jdk_26_shows_it_in_jni),
        cmocka_unit_test(what_loaders_cost_is_no_agent),
        cmocka_unit_test(few_loads_with_an_agent_are_no_evidence),
        cmocka_unit_test(jdk_8_is_cannot_tell_without_call_sites),
        cmocka_unit_test(call_sites_overrule_growth),
        cmocka_unit_test(nothing_known_is_cannot_tell),
    };
    return cmocka_run_group_tests_name("explained", tests, NULL, NULL);
}
