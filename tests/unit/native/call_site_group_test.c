#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzers/native/call_site_group.h"

/* As printed by JDK 17 (type=) and 25 (tag=, no space behind the address, libraries named). */
static const char DETAIL[] =
    "Details:\n"
    "\n"
    "[0x00007f1cf2150001] Method::ensure_jmethod_ids(ClassLoaderData*, int)+0x4a\n"
    "[0x00007f1cf2150002] JvmtiEnv::GetClassMethods(oop*, int*, _jmethodID***)+0x1f2\n"
    "[0x00007f1cf2150003] jvmti_GetClassMethods+0xd0\n"
    "                             (malloc=2400KB type=Internal #20000)\n"
    "\n"
    "[0x00007f1cf2150004]JvmtiEnv::GetClassMethods(oop*, int*, _jmethodID***)+0x82\n"
    "[0x00007f1cf2150003]jvmti_GetClassMethods+0xd0\n"
    "[0x00007f1ce0001234]on_class_prepare+0x34 in libhog.so\n"
    "                             ((malloc=100KB tag=Internal #7) (at peak))\n"
    "\n"
    "[0x00007f1cf2150005] JvmtiEnv::GetLineNumberTable(Method*, int*, jvmtiLineNumberEntry**)+0x8\n"
    "                             (malloc=480KB type=Internal +80KB #30 +5)\n"
    "\n"
    "[0x00007f1cf2150006] ElfSection::ElfSection(_IO_FILE*, Elf64_Shdr const&)+0xa\n"
    "                             (malloc=4MB type=Internal #1)\n"
    "\n"
    "[0x00007f6c2fbe29e3]\n"
    "                             (malloc=8KB type=Internal #2)\n"
    "\n"
    "[0x00007f1cf2150007] G1CollectedHeap::initialize()+0x67b\n"
    "                             (mmap: reserved=64KB, committed=32KB Type=GC)\n"
    "\n"
    "(1437 call sites weighting less than 1KB each omitted.)\n";

static void read_detail(struct call_site_totals *totals, const char *text)
{
    struct nmt_detail detail;
    memset(totals, 0, sizeof *totals);
    nmt_detail_begin(&detail, span_from_cstr(text));
    while (nmt_detail_next(&detail)) {
        if (detail.item == NMT_DETAIL_SITE)
            call_sites_add(totals, &detail.site);
    }
    assert_int_equal(detail.lines.result, PARSE_OK);
    assert_int_equal(detail.lines.unknown_lines, 0);
}

static void each_site_has_its_owner(void **state)
{
    (void)state;
    struct call_site_totals totals;
    read_detail(&totals, DETAIL);
    assert_int_equal(totals.all.sites, 6);
    assert_int_equal(totals.group[CALL_SITES_JMETHODIDS_AGENT].bytes, 2400 << 10);
    assert_int_equal(totals.group[CALL_SITES_JMETHODIDS_AGENT].count, 20000);
    assert_int_equal(totals.group[CALL_SITES_METHOD_ARRAYS].bytes, 100 << 10);
    assert_int_equal(totals.group[CALL_SITES_LINE_TABLES].bytes, 480 << 10);
    assert_int_equal(totals.group[CALL_SITES_LINE_TABLES].bytes_delta, 80 << 10);
    assert_int_equal(totals.group[CALL_SITES_SYMBOL_FILES].bytes, 4 << 20);
    assert_int_equal(totals.group[CALL_SITES_NO_SYMBOLS].bytes, 8 << 10);
    assert_int_equal(totals.group[CALL_SITES_GC].bytes, 32 << 10);
}

static void a_library_in_the_stack_is_named(void **state)
{
    (void)state;
    struct call_site_totals totals;
    read_detail(&totals, DETAIL);
    assert_int_equal(totals.library_count, 1);
    assert_string_equal(totals.library[0].name, "libhog.so");
    assert_int_equal(totals.library[0].sum.bytes, 100 << 10);
}

static void the_documented_breakdown(void **state)
{
    (void)state;
    struct call_site_totals totals;
    read_detail(&totals, DETAIL);
    struct call_site_breakdown breakdown = call_site_breakdown(&totals);
    assert_int_equal(breakdown.get_class_methods.bytes, 2500 << 10);
    assert_int_equal(breakdown.get_line_number_table.bytes, 480 << 10);
    assert_int_equal(breakdown.get_class_methods.bytes + breakdown.get_line_number_table.bytes +
                         breakdown.other_malloc.bytes,
                     totals.all.bytes);
}

/* JDK 26: what was mapped before stacks were taken. It says nothing about missing symbols. */
static void a_site_without_any_frame(void **state)
{
    (void)state;
    struct call_site_totals totals;
    read_detail(&totals, "Details:\n"
                         "\n"
                         "    (reserved=1064960KB, committed=14684KB Tag=Shared class space)\n"
                         "\n"
                         "[0x00007fb46a70ea43]PerfMemory::create_memory_region(unsigned long)+0xc\n"
                         "    (reserved=32KB, committed=32KB Tag=Internal)\n");
    assert_int_equal(totals.all.sites, 2);
    assert_int_equal(totals.all.bytes, (14684 + 32) << 10);
    assert_int_equal(totals.group[CALL_SITES_NO_SYMBOLS].bytes, 0);
}

static void a_difference_of_two_details(void **state)
{
    (void)state;
    struct call_site_totals before, now;
    read_detail(&before, "Details:\n\n[0x01] JvmtiEnv::GetClassMethods(x)+0x1 in libhog.so\n"
                         "   (malloc=40KB type=Internal #3)\n");
    read_detail(&now, DETAIL);
    call_site_totals_since(&now, &before);
    assert_int_equal(now.group[CALL_SITES_METHOD_ARRAYS].bytes_delta, 60 << 10);
    assert_int_equal(now.group[CALL_SITES_METHOD_ARRAYS].count_delta, 4);
    assert_int_equal(now.library[0].sum.bytes_delta, 60 << 10);
    assert_int_equal(now.group[CALL_SITES_SYMBOL_FILES].bytes_delta, 4 << 20);
}

/* A cut text: the site whose figures are missing is not counted, and the reader says so. */
static void a_cut_text_is_incomplete(void **state)
{
    (void)state;
    struct nmt_detail detail;
    nmt_detail_begin(&detail, span_of(DETAIL, 90));
    while (nmt_detail_next(&detail))
        fail_msg("no site is complete");
    assert_int_equal(detail.lines.result, PARSE_INCOMPLETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_site_has_its_owner),
        cmocka_unit_test(a_library_in_the_stack_is_named),
        cmocka_unit_test(the_documented_breakdown),
        cmocka_unit_test(a_site_without_any_frame),
        cmocka_unit_test(a_difference_of_two_details),
        cmocka_unit_test(a_cut_text_is_incomplete),
    };
    return cmocka_run_group_tests_name("call_site_group", tests, NULL, NULL);
}
