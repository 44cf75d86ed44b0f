#include "analyzers/classes/family.h"
#include "floor/base/normalize.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const struct {
    const char *id, *name;
} examples[] = {
#define EXAMPLE(id, name) {id, name},
#include "tests/unit/classes/family_examples.def"
#undef EXAMPLE
};
#define EXAMPLES (sizeof examples / sizeof examples[0])

static void examples_find_their_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        const struct family *family = family_match(span_from_cstr(examples[i].name));
        if (family == NULL || strcmp(family->id, examples[i].id) != 0)
            fail_msg("%s: %s instead of %s", examples[i].name, family ? family->id : "nothing",
                     examples[i].id);
        char stem[STEM_MAX];
        struct name_parts parts;
        size_t len = normalize(span_from_cstr(examples[i].name), stem, &parts);
        family = family_match(span_of(stem, len));
        if (family == NULL || strcmp(family->id, examples[i].id) != 0)
            fail_msg("stem %s: %s instead of %s", stem, family ? family->id : "nothing",
                     examples[i].id);
    }
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        const struct family *family = family_at(i);
        assert_int_equal(family_index(family), i);
        assert_ptr_equal(family_by_id(family->id), family); /* ids are unique */
        assert_true(strlen(family->producer) > 2);
        assert_true(strlen(family->cause) > 20 && family->cause[strlen(family->cause) - 1] == '.');
        assert_true(strlen(family->fix) > 10 && family->fix[strlen(family->fix) - 1] == '.');
        /* a pattern without a start to hold on to would be tried at every place of every name */
        assert_true(family->must[0] != '\0' || family->pattern[0] == '^');
        bool exemplified = false;
        for (size_t e = 0; e < EXAMPLES; e++)
            exemplified |= strcmp(examples[e].id, family->id) == 0;
        if (!exemplified)
            fail_msg("%s has no example", family->id);
    }
    assert_null(family_at(FAMILY_COUNT));
    assert_null(family_by_id("no-such-family"));
}

/* must never hides a match. */
static void must_is_in_every_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < EXAMPLES; i++) {
        for (size_t row = 0; row < FAMILY_COUNT; row++) {
            if (!pattern_match(family_at(row)->pattern, span_from_cstr(examples[i].name)))
                continue;
            const struct family *first = family_match(span_from_cstr(examples[i].name));
            assert_non_null(first);
            assert_true(family_index(first) <= row);
            break;
        }
    }
}

static void ordinary_names_are_nobodys(void **state)
{
    (void)state;
    static const char *const names[] = {
        "java.lang.String",
        "java.util.Base64$Encoder",
        "org.h2.engine.Session",
        "sun.nio.cs.ISO_8859_15",
        "java.lang.reflect.Proxy",
        "java.lang.reflect.Proxy$ProxyBuilder",
        "java.lang.invoke.LambdaForm$Holder",
        "java.lang.invoke.BoundMethodHandle$SpeciesData",
        "groovy.lang.Script",
        "com.x.Scripts1",
        "com.x.SC",
        "com.x.Outer$1",
        "net.sf.cglib.proxy.Enhancer$EnhancerKey",
        "org.mozilla.javascript.gen",
        "[Ljava.lang.String;",
        "",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct family *family = family_match(span_from_cstr(names[i]));
        if (family != NULL)
            fail_msg("%s is taken for %s", names[i], family->id);
    }
}

static void followers_are_secondary(void **state)
{
    (void)state;
    static const char *const ids[] = {"jdk-lambdaform", "jdk-bmh-species",      "jdk-stringconcat",
                                      "jdk-typeswitch", "jdk-injected-invoker", "groovy-closure"};
    size_t secondary = 0;
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        secondary += family_at(i)->role == FAMILY_SECONDARY;
    assert_int_equal(secondary, sizeof ids / sizeof ids[0]);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        assert_int_equal(family_by_id(ids[i])->role, FAMILY_SECONDARY);
}

static const struct {
    const char *type, *id;
} loader_rows[] = {
#define LOADER_TYPE(type, id) {type, id},
#include "analyzers/classes/loader_types.def"
};

static void loaders_and_sources_have_families(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof loader_rows / sizeof loader_rows[0]; i++) {
        const struct family *family = family_of_loader(span_from_cstr(loader_rows[i].type));
        assert_non_null(family); /* the id in the row exists */
        assert_string_equal(family->id, loader_rows[i].id);
    }
    assert_string_equal(
        family_of_loader(
            SPAN_LITERAL("org.x.shaded.net.bytebuddy.dynamic.loading.ByteArrayClassLoader"))
            ->id,
        "bytebuddy");
    assert_null(family_of_loader(SPAN_LITERAL("my.groovy.lang.GroovyClassLoader")));
    assert_null(family_of_loader(SPAN_LITERAL("xclojure.lang.DynamicClassLoader")));
    assert_null(family_of_loader(SPAN_LITERAL("")));
    assert_string_equal(family_of_source(SPAN_LITERAL("file:/groovy/script"))->id, "groovy-md5");
    assert_null(family_of_source(SPAN_LITERAL("file:/opt/app.jar")));
    assert_null(family_of_source(SPAN_LITERAL("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_find_their_row),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(must_is_in_every_example),
        cmocka_unit_test(ordinary_names_are_nobodys),
        cmocka_unit_test(followers_are_secondary),
        cmocka_unit_test(loaders_and_sources_have_families),
    };
    return cmocka_run_group_tests_name("classes/family", tests, NULL, NULL);
}
