#include "analyzers/classes/census.h"

#include <stdio.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define DEFINED "__JVM_DefineClass__"

static int setup(void **state)
{
    *state = census_create(0);
    return *state == NULL;
}

static int teardown(void **state)
{
    census_destroy(*state);
    return 0;
}

static void load(struct census *census, const char *name, const char *source)
{
    census_load(census, span_from_cstr(name), span_from_cstr(source));
}

/* count names of a format with one %d, numbered from first. */
static void load_numbered(struct census *census, int count, int first, const char *before,
                          const char *after, const char *source)
{
    for (int i = 0; i < count; i++) {
        char name[200];
        snprintf(name, sizeof name, "%s%d%s", before, first + i, after);
        load(census, name, source);
    }
}

static struct family_row rows[EVENT_ROWS_MAX];
static int row_count;

static const struct family_row *row_of(struct census *census, const char *family)
{
    row_count = census_rows(census, rows, EVENT_ROWS_MAX);
    for (int i = 0; i < row_count; i++) {
        if (strcmp(rows[i].family, family) == 0)
            return &rows[i];
    }
    return NULL;
}

static void stems_of_a_family_are_one_row(void **state)
{
    load_numbered(*state, 20, 1, "Script", "", DEFINED);
    load_numbered(*state, 12, 1, "Script", "$_run_closure1", DEFINED);
    load_numbered(*state, 3, 1, "Script", "$_run_closure1$_closure2", DEFINED);
    census_unload(*state, SPAN_LITERAL("Script3"));
    const struct family_row *row = row_of(*state, "groovy-shell");
    assert_non_null(row);
    assert_int_equal(row_count, 1);
    assert_int_equal(row->loads, 35);
    assert_int_equal(row->unloads, 1);
    assert_int_equal(row->repeating, 32); /* the stem seen three times is not one of them */
    assert_string_equal(row->stem, "Script#");
    assert_string_equal(row->example, "Script1");
    assert_string_equal(row->source, DEFINED);
    assert_int_equal(row->max_same_name, 1);
}

static void one_name_in_many_loaders(void **state)
{
    for (int i = 0; i < 50; i++)
        load(*state, "die.verwandlung.GregorSamsa", DEFINED);
    for (int i = 0; i < 40; i++)
        load(*state, "plugin.Util2", "file:/opt/plugin.jar");
    const struct family_row *row = row_of(*state, "jdk-xsltc");
    assert_non_null(row);
    assert_int_equal(row->names, 1);
    assert_int_equal(row->max_same_name, 50);
    assert_int_equal(row->repeating, 50);
    row = row_of(*state, "unknown:plugin.Util2"); /* not Util#: nothing shows that the 2 varies */
    assert_non_null(row);
    assert_int_equal(row->max_same_name, 40);
    assert_string_equal(row->stem, "plugin.Util2");
}

static void unknown_families_need_members(void **state)
{
    load_numbered(*state, 7, 1, "gen.Seven", "", DEFINED);
    load_numbered(*state, 8, 1, "gen.Eight", "", DEFINED);
    load_numbered(*state, 15, 1, "sun.nio.cs.ISO_8859_", "", "file:/x.jar");
    load_numbered(*state, 30, 1, "com.x.Outer$", "", "file:/x.jar");
    load(*state, "java.util.Base64", "file:/x.jar");
    load(*state, "org.h2.Driver", "file:/x.jar");
    assert_non_null(row_of(*state, "unknown:gen.Eight#"));
    assert_int_equal(row_count, 1);
    struct census_totals totals;
    census_totals(*state, &totals);
    assert_int_equal(totals.loads, 7 + 8 + 15 + 30 + 2);
}

static void the_archive_is_in_no_family(void **state)
{
    load_numbered(*state, 20, 1, "java.util.regex.Pattern$$Lambda/0x80000", "",
                  "shared objects file");
    load_numbered(*state, 20, 1, "com.acme.Archived", "", "shared objects file (top)");
    load_numbered(*state, 20, 1, "sun.nio.cs.ISO_8859_", "", "jrt:/jdk.charsets");
    load_numbered(*state, 20, 1, "sun.nio.cs.ISO_8859_", "", "/opt/jdk8/jre/lib/rt.jar");
    row_count = census_rows(*state, rows, EVENT_ROWS_MAX);
    assert_int_equal(row_count, 0);
    /* but a lambda's source is its host, archived or not */
    load_numbered(*state, 20, 1, "java.lang.Module$$Lambda$", "/0x00007f1dc4040a90",
                  "java.lang.Module");
    const struct family_row *row = row_of(*state, "jdk-lambda");
    assert_non_null(row);
    assert_int_equal(row->loads, 20);
    struct census_totals totals;
    census_totals(*state, &totals);
    assert_int_equal(totals.loads, 100);
    assert_int_equal(totals.archived, 80);
}

static void the_biggest_host_names_the_row(void **state)
{
    load_numbered(*state, 3, 1, "a.Small$$Lambda$", "/0x00007f1dc4040a90", "a.Small");
    load_numbered(*state, 30, 1, "b.Big$$Lambda$", "/0x00007f1dc4040a90", "b.Big");
    const struct family_row *row = row_of(*state, "jdk-lambda");
    assert_non_null(row);
    assert_int_equal(row->loads, 33);
    assert_int_equal(row->repeating, 30);
    assert_string_equal(row->stem, "b.Big$$Lambda$#/0x*");
    assert_string_equal(row->source, "b.Big");
}

static void weak_rows_need_members(void **state)
{
    load(*state, "SC", "file:/x.jar");
    load(*state, "com.x.MapFieldAccess", "file:/x.jar");
    load(*state, "T$H/0x00007f1368013000", "__JVM_LookupDefineClass__");
    row_count = census_rows(*state, rows, EVENT_ROWS_MAX);
    assert_int_equal(row_count, 0);
    for (int i = 0; i < 20; i++)
        load(*state, "SC", DEFINED);
    const struct family_row *row = row_of(*state, "janino");
    assert_non_null(row);
    assert_int_equal(row->loads, 21);
    assert_int_equal(row_count, 1);
}

static void a_source_can_tell_the_family(void **state)
{
    for (int i = 0; i < 9; i++)
        load(*state, "PriceRule", "file:/groovy/script");
    const struct family_row *row = row_of(*state, "groovy-md5");
    assert_non_null(row);
    assert_int_equal(row->loads, 9);
}

static void tails_that_look_like_words_join_the_random_ones(void **state)
{
    static const char *const tails[] = {"aB3dE5gH", "Zk2jQp9x", "q7Rt2Yw1", "3nMb8Kx0", "hJ6gF4dS",
                                        "p0O9iU8y", "T5rE4wQ3", "z1X2c3V4", "Abcdefgh", "qwertyui"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char name[40];
        snprintf(name, sizeof name, "a.Foo$%s", tails[i]);
        load(*state, name, DEFINED);
    }
    load(*state, "a.Foo$Builder", DEFINED); /* seven bytes: a word */
    const struct family_row *row = row_of(*state, "unknown:a.Foo$*");
    assert_non_null(row);
    assert_int_equal(row->loads, 10);
    assert_int_equal(row->names, 10);
    census_unload(*state, SPAN_LITERAL("a.Foo$qwertyui"));
    assert_int_equal(row_of(*state, "unknown:a.Foo$*")->unloads, 1);
}

static void accessors_carry_what_they_invoke(void **state)
{
    load_numbered(*state, 12, 1, "jdk.internal.reflect.GeneratedMethodAccessor", "", "");
    struct span accessor = SPAN_LITERAL("jdk.internal.reflect.GeneratedMethodAccessor7");
    for (int i = 0; i < 40; i++) { /* a crowd of others does not push the frequent one out */
        char other[40];
        snprintf(other, sizeof other, "x/Y::m%d ()V", i);
        census_invokes(*state, accessor, span_from_cstr(other));
        census_invokes(*state, accessor, SPAN_LITERAL("java/util/ArrayList::readObject"));
    }
    census_invokes(*state, SPAN_LITERAL("not.generated.Class"), SPAN_LITERAL("x/Y::z"));
    const struct family_row *row = row_of(*state, "jdk-reflect-accessor");
    assert_non_null(row);
    assert_string_equal(row->invokes, "java/util/ArrayList::readObject");
}

static void loaders_of_a_generator_are_a_row(void **state)
{
    census_loader_type(*state, SPAN_LITERAL("groovy.lang.GroovyClassLoader$InnerLoader"), 500,
                       1000);
    census_loader_type(*state, SPAN_LITERAL("my.PluginLoader"), 900, 9000);
    const struct family_row *row = row_of(*state, "groovy-shell");
    assert_non_null(row);
    assert_int_equal(row_count, 1);
    assert_int_equal(row->loads, 1000);
    assert_int_equal(row->repeating, 1000);
    assert_string_equal(row->source, "groovy.lang.GroovyClassLoader$InnerLoader");
    struct census_totals totals;
    census_totals(*state, &totals);
    assert_int_equal(totals.loads, 10000);
}

static void a_full_table_keeps_the_generators(void **state)
{
    (void)state;
    struct census *census = census_create(64);
    assert_non_null(census);
    for (int i = 0; i < 5000; i++) {
        char name[60];
        snprintf(name, sizeof name, "app.C%c%c%cx", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676);
        load(census, name, "");
        if (i % 10 == 0)
            load_numbered(census, 1, i, "Script", "", DEFINED);
        if (i % 10 == 5) { /* a known family whose stems come once each */
            snprintf(name, sizeof name, "app.C%c%c%cx$$Lambda/0x00007f1dc4040a90", 'a' + i % 26,
                     'a' + i / 26 % 26, 'a' + i / 676);
            load(census, name, "");
        }
    }
    assert_int_equal(row_of(census, "groovy-shell")->loads, 500);
    const struct family_row *lambda = row_of(census, "jdk-lambda");
    assert_int_equal(lambda->loads, 500);
    assert_int_equal(lambda->names, 500);
    assert_int_equal(lambda->repeating, 0);
    struct census_totals totals;
    census_totals(census, &totals);
    assert_int_equal(totals.loads, 6000);
    assert_int_equal(totals.folded, 0);
    assert_true(totals.stems <= 64);
    census_destroy(census);
}

static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct census *census = census_create(4);
    assert_non_null(census);
    for (int i = 0; i < 10; i++) {
        for (int round = 0; round < 20; round++) {
            char name[8] = {'C', (char)('a' + i), '\0'};
            load(census, name, "");
        }
    }
    struct census_totals totals;
    census_totals(census, &totals);
    assert_int_equal(totals.loads, 200);
    assert_int_equal(totals.stems, 4);
    assert_int_equal(totals.folded, 120);
    census_destroy(census);
}

static void rows_are_sorted_and_bounded(void **state)
{
    for (int family = 0; family < 40; family++) {
        char before[20];
        snprintf(before, sizeof before, "g%c.Gen", 'A' + family);
        load_numbered(*state, 10 + family, 0, before, "", DEFINED);
    }
    load_numbered(*state, 1000, 0, "jdk.proxy1.$Proxy", "", "__dynamic_proxy__");
    row_count = census_rows(*state, rows, 5);
    assert_int_equal(row_count, 5);
    assert_string_equal(rows[0].family, "jdk-proxy");
    for (int i = 1; i < row_count; i++)
        assert_int_equal(rows[i].loads, 50 - i);
    assert_int_equal(census_rows(*state, rows, EVENT_ROWS_MAX), EVENT_ROWS_MAX);
    assert_int_equal(census_rows(*state, rows, 0), 0);
    census_reset(*state);
    assert_int_equal(census_rows(*state, rows, EVENT_ROWS_MAX), 0);
}

static void hostile_names(void **state)
{
    static char name[70000];
    uint32_t seed = 3;
    for (int round = 0; round < 400; round++) {
        size_t len = (size_t)round * round / 3;
        for (size_t i = 0; i < len; i++) {
            seed = seed * 1103515245 + 12345;
            name[i] = round % 3 == 0 ? (char)(seed >> 24) : "$_/.0x1aZ#*+"[(seed >> 20) % 12];
        }
        census_load(*state, span_of(name, len), span_of(name, len / 2));
        census_load(*state, span_of(name, len), span_of(NULL, 0));
        census_unload(*state, span_of(name, len));
        census_invokes(*state, span_of(name, len), span_of(name, len));
        census_loader_type(*state, span_of(name, len), -1, round);
    }
    census_load(*state, span_of(NULL, 0), span_of(NULL, 0));
    census_unload(*state, span_of(NULL, 0));
    row_count = census_rows(*state, rows, EVENT_ROWS_MAX);
    for (int i = 0; i < row_count; i++) {
        assert_true(strlen(rows[i].family) < EVENT_FAMILY_MAX);
        assert_true(strlen(rows[i].example) < EVENT_NAME_MAX);
    }
}

#define WITH_CENSUS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CENSUS(stems_of_a_family_are_one_row),
        WITH_CENSUS(one_name_in_many_loaders),
        WITH_CENSUS(unknown_families_need_members),
        WITH_CENSUS(the_archive_is_in_no_family),
        WITH_CENSUS(the_biggest_host_names_the_row),
        WITH_CENSUS(weak_rows_need_members),
        WITH_CENSUS(a_source_can_tell_the_family),
        WITH_CENSUS(tails_that_look_like_words_join_the_random_ones),
        WITH_CENSUS(accessors_carry_what_they_invoke),
        WITH_CENSUS(loaders_of_a_generator_are_a_row),
        WITH_CENSUS(a_full_table_keeps_the_generators),
        WITH_CENSUS(what_finds_no_room_is_counted),
        WITH_CENSUS(rows_are_sorted_and_bounded),
        WITH_CENSUS(hostile_names),
    };
    return cmocka_run_group_tests_name("classes/census", tests, NULL, NULL);
}
