/* What Internal and Class + Metaspace mean, per JDK. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/native/internal.h"

static void test_internal_per_jdk(void **state)
{
    (void)state;
    struct sample sample;
    int64_t bytes = -1;
    sample_clear(&sample);
    assert_false(internal_bytes(&sample, 17, &bytes));
    sample_set_nmt(&sample, NMT_INTERNAL, (struct nmt_amount){100, 10});
    sample_set_nmt(&sample, NMT_JNI, (struct nmt_amount){100, 7});
    static const struct {
        int jdk;
        int64_t bytes;
        const char *meaning;
    } rows[] = {{0, 10, "Internal"},  {8, 10, "Internal"},        {17, 10, "Internal"},
                {25, 10, "Internal"}, {26, 17, "Internal + JNI"}, {27, 17, "Internal + JNI"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(internal_bytes(&sample, rows[i].jdk, &bytes));
        assert_int_equal(bytes, rows[i].bytes);
        assert_string_equal(internal_meaning(rows[i].jdk), rows[i].meaning);
    }
}

static void test_class_and_metaspace(void **state)
{
    (void)state;
    struct sample sample;
    int64_t bytes = -1;
    sample_clear(&sample);
    assert_false(class_metaspace_bytes(&sample, &bytes));
    sample_set_nmt(&sample, NMT_CLASS, (struct nmt_amount){0, 5});
    assert_true(class_metaspace_bytes(&sample, &bytes));
    assert_int_equal(bytes, 5); /* JDK 8, 11: Class holds both */
    sample_set_nmt(&sample, NMT_METASPACE, (struct nmt_amount){0, 6});
    assert_true(class_metaspace_bytes(&sample, &bytes));
    assert_int_equal(bytes, 11);
    sample_set_nmt(&sample, NMT_METASPACE, (struct nmt_amount){0, INT64_MAX});
    assert_true(class_metaspace_bytes(&sample, &bytes));
    assert_true(bytes == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_internal_per_jdk),
        cmocka_unit_test(test_class_and_metaspace),
    };
    return cmocka_run_group_tests_name("internal", tests, NULL, NULL);
}
