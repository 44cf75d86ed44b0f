#include "floor/base/normalize.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void names_have_stems(void **state)
{
    (void)state;
    static const struct {
        const char *name, *stem;
    } cases[] = {
        {"Script12$_run_closure1", "Script#$_run_closure#"},
        {"T$$Lambda$1/0x00007f1368000c08", "T$$Lambda$#/0x*"},
        {"T$$Lambda/0x000000009b057208", "T$$Lambda/0x*"},
        {"Foo$$Lambda$171/2132586099", "Foo$$Lambda$#/#"},
        {"T$H+0x00007f1368013000", "T$H+0x*"},
        {"AnonTmpl/772777427", "AnonTmpl/#"},
        {"jdk.proxy12.$Proxy7", "jdk.proxy#.$Proxy#"},
        {"com.sun.proxy.$Proxy15555", "com.sun.proxy.$Proxy#"},
        {"User$$EnhancerByCGLIB$$bcd751d", "User$$EnhancerByCGLIB$$*"},
        {"User$$EnhancerByCGLIB$$bcd751d_2", "User$$EnhancerByCGLIB$$*"},
        {"User$$FastClassByCGLIB$$538d442b", "User$$FastClassByCGLIB$$*"},
        {"com.x.Foo$$SpringCGLIB$$FastClass$$1", "com.x.Foo$$SpringCGLIB$$FastClass$$#"},
        {"BB$User$ByteBuddy$QfmHDdaB", "BB$User$ByteBuddy$*"},
        {"com.x.Foo$auxiliary$Zk2jQp9x", "com.x.Foo$auxiliary$*"},
        {"CG$User_$$_jvst672_0", "CG$User_$$_jvst*_*"},
        {"CG$User_$$_jvst672_1f", "CG$User_$$_jvst*_*"},
        {"Script_0cc175b9c0f1b6a831c399e269772661", "Script_*"},
        {"script1421654654321987654", "script#"},
        {"Invoice_1598516012345_123456", "Invoice_#_#"},
        {"org.kie.x.P86.LambdaPredicate86A0C95BB5846811D5A8415621484FCA",
         "org.kie.x.P#.LambdaPredicate*"},
        {"build_7k5pbxyzq0a1b2c3d4e5f6g7", "build_*"},
        {"x.Job_550e8400_e29b_41d4_a716_446655440000", "x.Job_*_*_*_*_*"},
        {"com.x.Foo$3f2a9c81", "com.x.Foo$*"},
        {"com.x.Foo$aB3dE5gH", "com.x.Foo$*"},
        {"com.acme.p17.Handler", "com.acme.p#.Handler"},
        {"com.acme.xQ7rt2Yw1k.Handler", "com.acme.*.Handler"},
        {"com.acme.Rule5f3a09c1", "com.acme.Rule*"},
        {"java.util.Base64", "java.util.Base#"},
        /* what merely has digits or short words in it */
        {"java.util.Base64$Encoder", "java.util.Base#$Encoder"},
        {"org.h2.engine.Session", "org.h2.engine.Session"},
        {"sun.security.x509.X500Name", "sun.security.x#.X#Name"},
        {"org.bukkit.v1_20_R1.Entity", "org.bukkit.v1_20_R1.Entity"},
        {"org.apache.log4j.Logger", "org.apache.log4j.Logger"},
        {"x.Decade200", "x.Decade#"},
        {"extra166y.Ops", "extra166y.Ops"},
        {"java.util.HashMap$EntrySet", "java.util.HashMap$EntrySet"},
        {"x.Cipher$CBC128", "x.Cipher$CBC#"},
        {"net.bytebuddy.ByteBuddy$EnumerationImplementation",
         "net.bytebuddy.ByteBuddy$EnumerationImplementation"},
        {"$", "$"},
        {"/", "/"},
        {"a/", "a/"},
        {"a/0x", "a/0x"},
        {".", "."},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char stem[STEM_MAX];
        struct name_parts parts;
        size_t len = normalize(span_from_cstr(cases[i].name), stem, &parts);
        if (strcmp(cases[i].name, "a/0x") == 0) /* not an address; its digit is folded, no more */
            assert_false(parts.hidden);
        else
            assert_string_equal(stem, cases[i].stem);
        assert_int_equal(len, strlen(stem));
        assert_int_equal(parts.folded, strcmp(stem, cases[i].name) != 0);
    }
}

static void parts_tell_what_was_folded(void **state)
{
    (void)state;
    char stem[STEM_MAX];
    struct name_parts parts;

    normalize(SPAN_LITERAL("Gen7_900"), stem, &parts);
    assert_true(parts.counted && !parts.hidden && !parts.anonymous);
    assert_int_equal(parts.first_number, 7);
    assert_int_equal(parts.last_number, 900);

    normalize(SPAN_LITERAL("ASMAccessorImpl_99999999999999999999999"), stem, &parts);
    assert_true(parts.last_number == UINT64_MAX);

    normalize(SPAN_LITERAL("com.x.Outer$12"), stem, &parts);
    assert_true(parts.anonymous);
    normalize(SPAN_LITERAL("com.x.Outer$1Local"), stem, &parts);
    assert_true(parts.anonymous);
    normalize(SPAN_LITERAL("com.x.Outer$$12"), stem, &parts);
    assert_true(parts.anonymous); /* the separator next to the number decides */

    normalize(SPAN_LITERAL("com.x.Foo$aB3dE5gH"), stem, &parts);
    assert_int_equal(parts.random_bytes, 8);
    assert_int_equal(parts.tail_bytes, 0);

    normalize(SPAN_LITERAL("com.x.Foo$Abcdefgh"), stem, &parts);
    assert_int_equal(parts.random_bytes, 0);
    assert_int_equal(parts.tail_bytes, 8);
    assert_int_equal(parts.tail_at, strlen("com.x.Foo$"));

    normalize(SPAN_LITERAL("T$H/0x00007f1368013000"), stem, &parts);
    assert_true(parts.hidden);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    static char name[65535];
    char stem[STEM_MAX];
    struct name_parts parts;
    memset(name, 'a', sizeof name);
    assert_int_equal(normalize(span_of(name, sizeof name), stem, &parts), STEM_MAX - 1);
    assert_int_equal(stem[STEM_MAX - 1], '\0');
    memset(name, '$', sizeof name);
    assert_int_equal(normalize(span_of(name, sizeof name), stem, &parts), STEM_MAX - 1);
    memset(name, '1', sizeof name);
    assert_int_equal(normalize(span_of(name, sizeof name), stem, &parts), 1);
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = (char)(i * 7919 >> 3);
    for (size_t len = 0; len < 3000; len++)
        assert_true(normalize(span_of(name + len, len), stem, &parts) < STEM_MAX);
}

/* Names of generators, and what varies in them replaced at random: a name that fits the pattern of
 * another has its stem, and its parts. */
static void a_pattern_knows_what_normalize_does(void **state)
{
    static const char *const forms[] = {"Script%",
                                        "Script%$_run_closure1",
                                        "com.acme.p17.Gen%",
                                        "a.Host$$Lambda/0x%",
                                        "a.Host$$Lambda$171/0x%",
                                        "a.B/%",
                                        "a.B$$EnhancerByCGLIB$$%",
                                        "a.B$ByteBuddy$%",
                                        "a.B$%",
                                        "a.B_%",
                                        "jdk.proxy2.$Proxy%",
                                        "a.B_$$_jvst%_%",
                                        "a.R_%_%",
                                        "a.Rule%",
                                        "%",
                                        "a.%.B",
                                        "$%x",
                                        "a.B$%Local",
                                        "a.Accessor%x%"};
    static const char digits[] = "0123456789abcdefABCDEFghijvstXYZ$_/.";
    size_t fits = 0;
    unsigned seed = 1;
    (void)state;
    for (int round = 0; round < 200000; round++) {
        char names[2][128], stems[2][STEM_MAX];
        const char *form = forms[(size_t)round % (sizeof forms / sizeof forms[0])];
        struct name_parts parts[2], fitted;
        struct name_pattern pattern;
        size_t len[2];
        int few = round / 19 % 3; /* digits, hexadecimal digits, anything */
        for (int k = 0; k < 2; k++) {
            size_t at = 0;
            for (const char *p = form; *p != '\0'; p++) {
                if (*p != '%') {
                    names[k][at++] = *p;
                    continue;
                }
                seed = seed * 1103515245 + 12345;
                for (unsigned n = 1 + (seed >> 16) % 12; n > 0; n--) {
                    seed = seed * 1103515245 + 12345;
                    unsigned kinds = few == 0 ? 10 : few == 1 ? 16 : sizeof digits - 1;
                    names[k][at++] = digits[(seed >> 16) % kinds];
                }
            }
            len[k] = at;
        }
        normalize_pattern(span_of(names[0], len[0]), stems[0], &parts[0], &pattern);
        normalize(span_of(names[1], len[1]), stems[1], &parts[1]);
        if (!name_pattern_fits(&pattern, names[0], names[0] + len[0] - pattern.back,
                               span_of(names[1], len[1]), &fitted))
            continue;
        fits++;
        assert_string_equal(stems[0], stems[1]);
        assert_int_equal(fitted.folded, parts[1].folded);
        assert_int_equal(fitted.hidden, parts[1].hidden);
        assert_int_equal(fitted.anonymous, parts[1].anonymous);
        assert_int_equal(fitted.counted, parts[1].counted);
        assert_true(fitted.first_number == parts[1].first_number);
        assert_true(fitted.last_number == parts[1].last_number);
        assert_int_equal(fitted.random_bytes, parts[1].random_bytes);
        assert_int_equal(fitted.tail_at, parts[1].tail_at);
        assert_int_equal(fitted.tail_bytes, parts[1].tail_bytes);
    }
    assert_true(fits > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_stems),
        cmocka_unit_test(parts_tell_what_was_folded),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(a_pattern_knows_what_normalize_does),
    };
    return cmocka_run_group_tests_name("floor_base/normalize", tests, NULL, NULL);
}
