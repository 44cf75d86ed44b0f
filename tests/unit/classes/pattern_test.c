/* Every row of families.def is held against the C library's own matcher: on the examples, on names
 * damaged from them, and on the traps below. */
#include "analyzers/classes/family.h"
#include "floor/base/normalize.h"

#include <regex.h>
#include <stdlib.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const names[] = {
#define EXAMPLE(id, name) name,
#include "tests/unit/classes/family_examples.def"
#undef EXAMPLE
    "",
    "$",
    "java.lang.String",
    "java.util.Base64",
    "sun.nio.cs.ISO_8859_15",
    "java.lang.invoke.LambdaForm$Holder",
    "java.lang.invoke.LambdaForm$MH/",
    "x$$Lambda$",
    "x$$Lambda$1/0x",
    "Scripts1",
    "xScript1",
    "Script1$",
    "SC1",
    "Bazaar",
    "Baz$",
    "a$_run_closure1$_closure2$_closure3x",
    "a$_run_closure$_closure2",
    "io.trino.$gen.X_2022031_101112_42",
};
#define NAMES (sizeof names / sizeof names[0])

static void same(const regex_t *compiled, const char *pattern, const char *name)
{
    bool theirs = regexec(compiled, name, 0, NULL, 0) == 0;
    if (pattern_match(pattern, span_from_cstr(name)) != theirs)
        fail_msg("%s on '%s': regexec says %d", pattern, name, theirs);
}

static void agrees_with_the_c_library(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (size_t row = 0; family_at(row) != NULL; row++) {
        const char *pattern = family_at(row)->pattern;
        regex_t compiled;
        assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
        for (size_t i = 0; i < NAMES; i++) {
            same(&compiled, pattern, names[i]);
            for (int round = 0; round < 4 && *names[i] != '\0'; round++) {
                char damaged[256];
                strncpy(damaged, names[i], sizeof damaged - 1);
                damaged[sizeof damaged - 1] = '\0';
                seed = seed * 1103515245 + 12345;
                damaged[(seed >> 8) % strlen(damaged)] = "_$.0aZx/"[seed >> 29];
                same(&compiled, pattern, damaged);
            }
        }
        regfree(&compiled);
    }
}

static void the_grammar(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "a|b|^c$",    "(a|b)+c",    "x(y(z)?)*$", "[a-c-]+$",     "a{2}b",
        "a{2,}b",     "a{1,2}b",    "^(|a)b",     "\\.\\$x",      ".+_[0-9]$",
        "[A-Z$]x?y*", "(ab){2,3}$", "^$",         "((a|b)c|d)+e", "a.c",
    };
    static const char alphabet[] = "abcdexyz-.$_09ABZ";
    uint32_t seed = 7;
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        regex_t compiled;
        assert_int_equal(regcomp(&compiled, patterns[p], REG_EXTENDED | REG_NOSUB), 0);
        for (int round = 0; round < 2000; round++) {
            char text[12];
            size_t len = 0;
            for (; len < (size_t)round % sizeof text; len++) {
                seed = seed * 1103515245 + 12345;
                text[len] = alphabet[(seed >> 16) % (round & 1 ? 3 : sizeof alphabet - 1)];
            }
            text[len < sizeof text ? len : sizeof text - 1] = '\0';
            same(&compiled, patterns[p], text);
        }
        regfree(&compiled);
    }
}

static void a_stem_matches_like_its_names(void **state)
{
    (void)state;
    assert_true(pattern_match("^S[0-9]{13}_[0-9]+$", SPAN_LITERAL("S#_#")));
    assert_true(pattern_match("x[0-9a-f]{8,}$", SPAN_LITERAL("x*")));
    assert_false(pattern_match("x[0-9]+$", SPAN_LITERAL("x*")));
    assert_false(pattern_match("xyz$", SPAN_LITERAL("x*")));
    assert_false(pattern_match("x[0-9]{2}$", SPAN_LITERAL("x1")));
}

static void hostile_names_end_soon(void **state)
{
    (void)state;
    size_t len = 65535;
    char *name = malloc(len);
    assert_non_null(name);
    static const char *const seeds[] = {"1",          "_1",    "$_closure1", "$",
                                        "$$Lambda$1", "Rule_", "(",          "#"};
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        for (size_t i = 0; i < len; i++)
            name[i] = seeds[s][i % strlen(seeds[s])];
        for (size_t row = 0; family_at(row) != NULL; row++)
            pattern_match(family_at(row)->pattern, span_of(name, len));
    }
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_c_library),
        cmocka_unit_test(the_grammar),
        cmocka_unit_test(a_stem_matches_like_its_names),
        cmocka_unit_test(hostile_names_end_soon),
    };
    return cmocka_run_group_tests_name("classes/pattern", tests, NULL, NULL);
}
