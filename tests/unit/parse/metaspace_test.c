#include "analyzers/parse/metaspace.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define USAGE                                                                                      \
    "\nUsage:\n  Non-class:      1.91 MB used.\n      Class:    306.59 KB used.\n"                 \
    "       Both:      2.21 MB used.\n\n"
#define SPACE                                                                                      \
    "Virtual space:\n"                                                                             \
    "  Non-class space:       64.00 MB reserved,       2.31 MB (  4%) committed,  1 nodes.\n"      \
    "      Class space:        1.00 GB reserved,     768.00 KB ( <1%) committed,  1 nodes.\n"      \
    "             Both:        1.06 GB reserved,       3.06 MB ( <1%) committed. \n\n"
#define SETTINGS                                                                                   \
    "MaxMetaspaceSize: 256.00 MB\nCompressedClassSpaceSize: 1.00 GB\n"                             \
    "Current GC threshold: 21.00 MB\nCDS: on\n\n"

static int64_t value_of(const struct metaspace *metaspace, enum metaspace_field field)
{
    int64_t value = -1;
    assert_true(metaspace_get(metaspace, field, &value));
    return value;
}

static enum parse_result parse(struct metaspace *metaspace, const char *text, size_t *consumed)
{
    return metaspace_parse(metaspace, span_from_cstr(text), consumed);
}

static void human_units_become_bytes(void **state)
{
    (void)state;
    struct metaspace metaspace;
    size_t consumed;
    assert_int_equal(parse(&metaspace, USAGE SPACE SETTINGS, &consumed), PARSE_OK);
    assert_int_equal(value_of(&metaspace, METASPACE_USED_CLASS), 306 * 1024 + 59 * 1024 / 100);
    assert_int_equal(value_of(&metaspace, METASPACE_COMMITTED_CLASS), 768 * 1024);
    assert_int_equal(value_of(&metaspace, METASPACE_RESERVED_CLASS), 1 << 30);
    assert_int_equal(value_of(&metaspace, METASPACE_MAX), 256 << 20);
    assert_int_equal(value_of(&metaspace, METASPACE_GC_THRESHOLD), 21 << 20);
    assert_false(metaspace.max_unlimited);
    assert_false(metaspace.exact);
}

static void a_jvm_without_class_space_has_one_unlabelled_line(void **state)
{
    (void)state;
    struct metaspace metaspace;
    size_t consumed;
    const char *text = "Usage:\n3732616 bytes used.\n\nVirtual space:\n"
                       "67108864 bytes reserved, 3801088 bytes (  6%) committed,  1 nodes.\n\n"
                       "MaxMetaspaceSize: unlimited\nNo class space\n\n";
    assert_int_equal(parse(&metaspace, text, &consumed), PARSE_OK);
    assert_int_equal(value_of(&metaspace, METASPACE_USED_BOTH), 3732616);
    assert_int_equal(value_of(&metaspace, METASPACE_COMMITTED_BOTH), 3801088);
    assert_true(metaspace.exact && metaspace.max_unlimited);
    int64_t ignored;
    assert_false(metaspace_get(&metaspace, METASPACE_MAX, &ignored));
    assert_false(metaspace_get(&metaspace, METASPACE_USED_CLASS, &ignored));
    assert_false(metaspace_get(&metaspace, METASPACE_GC_THRESHOLD, &ignored));
}

static void amounts_of_other_words_are_not_taken(void **state)
{
    (void)state;
    struct metaspace metaspace;
    size_t consumed;
    const char *text =
        "Total Usage - 2 loaders, 486 classes:\n"
        "       Both:  2 chunks,      4.00 MB capacity,    3.57 MB ( 89%) committed,     3.56 MB "
        "( 89%) used,     6.87 KB ( <1%) free,    <0.01 KB ( <1%) waste , deallocated: 0 blocks "
        "with 0 bytes\n\n" SPACE SETTINGS;
    assert_int_equal(parse(&metaspace, text, &consumed), PARSE_OK);
    assert_int_equal(value_of(&metaspace, METASPACE_USED_BOTH), 3732930);      /* 3.56 MB */
    assert_int_equal(value_of(&metaspace, METASPACE_COMMITTED_BOTH), 3208642); /* of the space */
}

static void the_form_of_jdk_11(void **state)
{
    (void)state;
    struct metaspace metaspace;
    size_t consumed;
    const char *text =
        "Usage:\n  Non-class:      4.00 MB capacity,     1.50 MB ( 47%) used,     2.14 MB ( 53%) "
        "free+waste,    64 bytes ( <1%) overhead. \n      Class:    384.00 KB capacity,   168.00 "
        "KB "
        "( 44%) used,   215.80 KB ( 56%) free+waste,    64 bytes ( <1%) overhead. \n       Both:   "
        "  "
        " 4.38 MB capacity,     2.00 MB ( 46%) used,     2.35 MB ( 54%) free+waste,   128 bytes ( "
        "<1%) overhead. \n\nVirtual space:\n  Non-class space:        8.00 MB reserved,       4.00 "
        "MB ( 50%) committed \n             Both:        1.01 GB reserved,       4.50 MB ( <1%) "
        "committed \n\nMaxMetaspaceSize: 17179869184.00 GB\nCompressedClassSpaceSize: 1.00 GB\n";
    assert_int_equal(parse(&metaspace, text, &consumed), PARSE_OK);
    assert_int_equal(value_of(&metaspace, METASPACE_USED_NON_CLASS), 3 << 19);
    assert_int_equal(value_of(&metaspace, METASPACE_USED_BOTH), 2 << 20);
    assert_int_equal(value_of(&metaspace, METASPACE_COMMITTED_BOTH), 9 << 19);
    assert_true(metaspace.max_unlimited);
    assert_int_equal(consumed, strlen(text));
}

static void stops_behind_its_statistics(void **state)
{
    (void)state;
    struct metaspace metaspace;
    size_t consumed;
    const char *text = USAGE SPACE SETTINGS "\nInternal statistics:\n\nnum_chunk_merges: 27.\n\n"
                                            "\nNative Memory Tracking:\n";
    assert_int_equal(parse(&metaspace, text, &consumed), PARSE_OK);
    assert_string_equal(text + consumed, "Native Memory Tracking:\n");
}

static void every_prefix_before_the_settings_is_incomplete(void **state)
{
    (void)state;
    const char text[] = "12:\nMetaspace        used 2457K, committed 3328K\n" USAGE SPACE
                        "MaxMetaspaceSize: 256.00 MB";
    for (size_t len = 0; len < sizeof text; len++) {
        struct metaspace metaspace;
        size_t consumed;
        assert_int_equal(metaspace_parse(&metaspace, span_of(text, len), &consumed),
                         PARSE_INCOMPLETE);
    }
}

static void other_text_is_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Native Memory Tracking:\n\n",
        "Usage:\n  Both: 2.21 XB used.\n\nMaxMetaspaceSize: unlimited\n\n",
        USAGE "MaxMetaspaceSize: unlimited\n\n", /* no virtual space */
        USAGE SPACE "MaxMetaspaceSize: lots\n\n",
        "Usage:\n  9000000000.00 GB used.\n\n" SPACE SETTINGS,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct metaspace metaspace;
        size_t consumed;
        assert_int_equal(parse(&metaspace, texts[i], &consumed), PARSE_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(human_units_become_bytes),
        cmocka_unit_test(a_jvm_without_class_space_has_one_unlabelled_line),
        cmocka_unit_test(amounts_of_other_words_are_not_taken),
        cmocka_unit_test(the_form_of_jdk_11),
        cmocka_unit_test(stops_behind_its_statistics),
        cmocka_unit_test(every_prefix_before_the_settings_is_incomplete),
        cmocka_unit_test(other_text_is_malformed),
    };
    return cmocka_run_group_tests_name("parse/metaspace", tests, NULL, NULL);
}
