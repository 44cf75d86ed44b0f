#include "analyzers/parse/nmt_detail.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct nmt_detail detail;

static void begin(const char *text)
{
    nmt_detail_begin(&detail, span_from_cstr(text));
}

static const struct nmt_site *site(void)
{
    assert_true(nmt_detail_next(&detail));
    assert_int_equal(detail.item, NMT_DETAIL_SITE);
    return &detail.site;
}

static void assert_text(struct span text, const char *wanted)
{
    assert_true(span_equals(text, span_from_cstr(wanted)));
}

static void assert_end(void)
{
    assert_false(nmt_detail_next(&detail));
    assert_int_equal(detail.lines.result, PARSE_OK);
    assert_int_equal(detail.lines.unknown_lines, 0);
}

static void the_malloc_of_each_jdk(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes, bytes_delta, count, count_delta;
        enum nmt_category category;
    } rows[] = {
        {"[0x00007f6c2fbd44a7] f()+0x65\n                             (malloc=3KB type=Class "
         "#3)\n\n",
         3072, 0, 3, 0, NMT_CLASS}, /* 8, 11 */
        {"[0x00007f6c2fbd44a7] f()+0x65\n      (malloc=2048KB type=GC #2) (at peak)\n\n", 2097152,
         0, 2, 0, NMT_GC}, /* 17, 21 */
        {"[0x00007f6c2fbd44a7] f()+0x65\n      (malloc=5KB type=GC #7) (peak=9KB #8)\n\n", 5120, 0,
         7, 0, NMT_GC},
        {"[0x00007f6c2fbd44a7]f()+0x65\n      ((malloc=197KB tag=Class #20) (at peak))\n\n", 201728,
         0, 20, 0, NMT_CLASS}, /* 25 and later */
        {"[0x00007f6c2fbd44a7] f()+0x65\n      (malloc=15KB type=Class +13KB #233 +200)\n\n", 15360,
         13312, 233, 200, NMT_CLASS}, /* differences */
        {"[0x00007f6c2fbd44a7] f()+0x65\n      (malloc=0KB type=Class -13KB #0 -200)\n\n", 0,
         -13312, 0, -200, NMT_CLASS},
        {"[0x00007f6c2fbd44a7] f()+0x65\n      (malloc=1024 type=Class #1)\n\n", 1024, 0, 1, 0,
         NMT_CLASS}, /* scale=B */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].text);
        const struct nmt_site *found = site();
        assert_int_equal(found->kind, NMT_SITE_MALLOC);
        assert_int_equal(found->bytes, rows[i].bytes);
        assert_int_equal(found->bytes_delta, rows[i].bytes_delta);
        assert_true(found->has_count);
        assert_int_equal(found->count, rows[i].count);
        assert_int_equal(found->count_delta, rows[i].count_delta);
        assert_int_equal(found->category, rows[i].category);
        assert_int_equal(found->frame_count, 1);
        assert_int_equal(found->frames[0].offset, 0x65);
        assert_text(found->frames[0].symbol, "f()");
        assert_end();
    }
}

static void mappings(void **state)
{
    (void)state;
    begin("[0x1]\n                  (reserved=20KB, committed=8KB Type=GC)\n\n"
          "[0x1] a\n                  (mmap: reserved=20KB +4KB, committed=8KB +4KB Type=GC)\n\n"
          "[0x1]b\n                  (reserved=20KB, committed=8KB Tag=GC), at peak)\n\n");
    for (int i = 0; i < 3; i++) {
        const struct nmt_site *found = site();
        assert_int_equal(found->kind, NMT_SITE_MMAP);
        assert_int_equal(found->reserved_bytes, 20480);
        assert_int_equal(found->bytes, 8192);
        assert_int_equal(found->bytes_delta, i == 1 ? 4096 : 0);
        assert_int_equal(found->category, NMT_GC);
        assert_false(found->has_count);
    }
    assert_end();
}

static void a_thread_site_that_lost_its_prefix(void **state)
{
    (void)state;
    begin("[0x1] a+0x1\n                  (12KB +3KB #9 +2)\n\n");
    const struct nmt_site *found = site();
    assert_int_equal(found->kind, NMT_SITE_UNTYPED);
    assert_int_equal(found->bytes, 12288);
    assert_int_equal(found->bytes_delta, 3072);
    assert_int_equal(found->count, 9);
    assert_int_equal(found->category, NMT_NOT_IN_TABLE);
    assert_end();
}

static void frames_with_and_without_symbol_and_library(void **state)
{
    (void)state;
    begin("[0x00007f0000000001] operator+(A const&, B)+0x1f in libfoo.so\n"
          "[0x00007f0000000002]\n"
          "[0x00007f0000000003]in libjli.so\n"
          "[0x00007f0000000004]JNI_CreateJavaVM+0x65\n"
          "                             (malloc=3KB type=Other #3)\n\n");
    const struct nmt_site *found = site();
    assert_int_equal(found->frame_count, 4);
    assert_text(found->frames[0].symbol, "operator+(A const&, B)");
    assert_text(found->frames[0].library, "libfoo.so");
    assert_int_equal(found->frames[1].address, 0x7f0000000002);
    assert_int_equal(found->frames[1].symbol.len, 0);
    assert_text(found->frames[2].library, "libjli.so");
    assert_int_equal(found->frames[2].symbol.len, 0);
    assert_text(found->frames[3].symbol, "JNI_CreateJavaVM");
    assert_end();
}

static const char MAP[] =
    "Native Memory Tracking:\n\nTotal: reserved=1KB, committed=1KB\n"
    "Virtual memory map:\n \n"
    "[0x00000000f0000000 - 0x0000000100000000] reserved 262144KB for Java Heap from\n"
    "    [0x00007f6c2fbd44a7] ReservedHeapSpace::reserve()+0x65\n\n"
    "\t[0x00000000f0000000 - 0x00000000f0a00000] committed 10240KB from\n"
    "            [0x00007f6c2fbd44a7] G1::commit()+0x65\n\n"
    "[0x00007f6c00000000 - 0x00007f6c00100000] reserved and committed 1024KB for Thread Stack "
    "from\n"
    "    [0x00007f6c2fbd44a7] thread_native_entry(Thread*)+0x65\n\n"
    "Details:\n\n"
    "[0x00007f6c2fbd44a7] f()+0x65\n                             (malloc=3KB type=Class #3)\n\n"
    "(1633 call sites weighting less than 1KB each omitted.)\n";

static void the_memory_map(void **state)
{
    (void)state;
    begin(MAP);
    assert_true(nmt_detail_next(&detail));
    assert_int_equal(detail.item, NMT_DETAIL_REGION);
    assert_int_equal(detail.region.low, 0xf0000000);
    assert_int_equal(detail.region.high, 0x100000000);
    assert_int_equal(detail.region.category, NMT_JAVA_HEAP);
    assert_false(detail.region.committed);
    assert_true(nmt_detail_next(&detail));
    assert_true(detail.region.part);
    assert_true(detail.region.committed);
    assert_true(nmt_detail_next(&detail));
    assert_int_equal(detail.region.category, NMT_THREAD_STACK);
    assert_true(detail.region.committed);
    assert_int_equal(site()->bytes, 3072);
    assert_end();
    assert_int_equal(detail.omitted_sites, 1633);
}

static void no_detail_at_all(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "Detail tracking is not enabled\n",
                                        "Native Memory Tracking:\n\nTotal: reserved=1KB\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        begin(texts[i]);
        assert_false(nmt_detail_next(&detail));
        assert_int_equal(detail.lines.result, PARSE_MALFORMED);
    }
}

static void numbers_that_cannot_be_are_counted(void **state)
{
    (void)state;
    begin("[0x1] a+0x1\n     (malloc=99999999999999999999KB type=GC #1)\n\n"
          "[0x1] a+0x1\n     (malloc=9223372036854775807KB type=GC #1)\n\n"
          "[0x1] a+0x1\n     (malloc=1KB type=GC #2)\n\n");
    assert_int_equal(site()->count, 2);
    assert_false(nmt_detail_next(&detail));
    assert_true(detail.lines.unknown_lines > 0);
}

/* Every front of the text, and the text with each byte damaged, ends and reads nothing beyond. */
static void every_cut_and_every_damage(void **state)
{
    (void)state;
    size_t length = sizeof MAP - 1;
    for (size_t cut = 0; cut <= length; cut++) {
        char *copy = malloc(cut + 1); /* exact but for the NUL that is not part of the text */
        assert_non_null(copy);
        char *exact = realloc(copy, cut > 0 ? cut : 1);
        assert_non_null(exact);
        memcpy(exact, MAP, cut);
        nmt_detail_begin(&detail, span_of(exact, cut));
        int items = 0;
        while (nmt_detail_next(&detail))
            items++;
        assert_true(items <= 4 && detail.lines.at <= cut);
        free(exact);
    }
    static const char damages[] = {'\0', '[', '(', '9', '-', '\n', (char)0xff};
    char *copy = malloc(length);
    assert_non_null(copy);
    for (size_t at = 0; at < length; at++) {
        for (size_t k = 0; k < sizeof damages; k++) {
            memcpy(copy, MAP, length);
            copy[at] = damages[k];
            nmt_detail_begin(&detail, span_of(copy, length));
            int items = 0;
            while (nmt_detail_next(&detail))
                items++;
            assert_true(items <= 8 && detail.lines.at <= length);
        }
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_malloc_of_each_jdk),
        cmocka_unit_test(mappings),
        cmocka_unit_test(a_thread_site_that_lost_its_prefix),
        cmocka_unit_test(frames_with_and_without_symbol_and_library),
        cmocka_unit_test(the_memory_map),
        cmocka_unit_test(no_detail_at_all),
        cmocka_unit_test(numbers_that_cannot_be_are_counted),
        cmocka_unit_test(every_cut_and_every_damage),
    };
    return cmocka_run_group_tests_name("nmt_detail", tests, NULL, NULL);
}
