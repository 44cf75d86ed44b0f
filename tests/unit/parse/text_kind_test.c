#include "analyzers/parse/text_kind.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct text_part parts[16];

static int cut_up(struct span text, int64_t *unclaimed)
{
    struct text_parts walk;
    int count = 0;
    text_parts_begin(&walk, text);
    while (text_parts_next(&walk, &parts[count])) {
        assert_true(parts[count].text.len > 0);
        if (count < 15)
            count++;
    }
    *unclaimed = walk.unclaimed_lines;
    return count;
}

#define NMT                                                                                        \
    "Native Memory Tracking:\n\nTotal: reserved=1723354KB, committed=82346KB\n\n"                  \
    "-                  Internal (reserved=228KB, committed=228KB)\n"                              \
    "                            (malloc=192KB #2059) \n \n"
#define LOADERS                                                                                    \
    "ClassLoader         Parent              CLD*               Classes   ChunkSz   BlockSz  "     \
    "Type\n"

static void one_line_is_enough(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum text_kind kind;
    } rows[] = {
        {NMT, TEXT_NMT_SUMMARY},
        {"Native Memory Tracking:\n\nTotal: reserved=1KB +1KB, committed=1KB +1KB\n",
         TEXT_NMT_SUMMARY_DIFF},
        {"Native Memory Tracking:\n\nDetails:\n\n[0x1] a+0x1\n (malloc=1KB type=GC #1)\n",
         TEXT_NMT_DETAIL},
        {"Native Memory Tracking:\n\n[0x1] a+0x1\n (malloc=1KB type=GC +1KB #1 +1)\n",
         TEXT_NMT_DETAIL_DIFF},
        {LOADERS, TEXT_CLASSLOADER_STATS},
        {"class_loader\tclasses\tbytes\tparent_loader\talive?\ttype\n", TEXT_JMAP_CLSTATS},
        {" num     #instances         #bytes  class name (module)\n", TEXT_CLASS_HISTOGRAM},
        {"java.lang.Object/null\n|--a.B/null\n", TEXT_CLASS_HIERARCHY},
        {"KlassAddr           Size  State\n", TEXT_CLASSES},
        {"[0.108s][info][class,load  ] Script1 source: file:/groovy/script\n", TEXT_CLASS_LOG},
        {"[Loaded Script1 from file:/app.jar]\n", TEXT_CLASS_LOG},
        {"Script1 source: __JVM_DefineClass__\n", TEXT_CLASS_LOG},
        {"[0.077s][info][class,loader,data] Dictionary start size: 1024 (10)\n", TEXT_CLASS_LOG},
        {"java.cls.loadedClasses=604\n", TEXT_PERFCOUNTER},
        {"75.302 s\n", TEXT_UPTIME},
        {"OpenJDK 64-Bit Server VM version 17.0.21+9\nJDK 17.0.21\n", TEXT_VERSION},
        {"7f1cd8000000-7f1cd9000000 rw-p 00000000 00:00 0 \nRss: 4 kB\n", TEXT_SMAPS},
        {"#\n# A fatal error has been detected by the Java Runtime Environment:\n", TEXT_HS_ERR},
        {"VM Arguments:\njvm_args: -Xmx1g\n", TEXT_FLAGS},
        {"-XX:CICompilerCount=2 -XX:+UseG1GC\n", TEXT_FLAGS},
        {"{\"type\":\"header\",\"schema\":1}\n", TEXT_RECORDING},
        {"Native memory tracking is not enabled\n", TEXT_REFUSAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t unclaimed;
        assert_int_equal(cut_up(span_from_cstr(rows[i].text), &unclaimed), 1);
        assert_string_equal(text_kind_key(parts[0].kind), text_kind_key(rows[i].kind));
        assert_int_equal(parts[0].pid, -1);
    }
}

static void nothing_is_claimed_that_is_not_ours(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n\n",
        "hello\nworld\n",
        "total 12\ndrwxr-xr-x 2 root root 4096 Jan 1 00:00 .\n",
        "2026-11-20 INFO com.acme.Main - started in 75.302 s of source: nothing\n",
        "12345:\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t unclaimed;
        assert_int_equal(cut_up(span_from_cstr(texts[i]), &unclaimed), 0);
    }
}

static void several_replies_in_one_file(void **state)
{
    (void)state;
    int64_t unclaimed;
    struct span text = SPAN_LITERAL("$ jcmd 7 VM.uptime\n7:\n75.302 s\n"
                                    "$ jcmd 7 VM.native_memory\n7:\n" NMT "8:\n" LOADERS
                                    "\n9:\nNative memory tracking is not enabled\n");
    assert_int_equal(cut_up(text, &unclaimed), 4);
    assert_int_equal(parts[0].kind, TEXT_UPTIME);
    assert_int_equal(parts[0].pid, 7);
    assert_int_equal(parts[1].kind, TEXT_NMT_SUMMARY);
    assert_int_equal(parts[1].pid, 7);
    assert_int_equal(parts[2].kind, TEXT_CLASSLOADER_STATS);
    assert_int_equal(parts[2].pid, 8);
    assert_int_equal(parts[3].kind, TEXT_REFUSAL);
    assert_int_equal(parts[3].pid, 9);
    assert_true(span_equals(parts[3].reply, SPAN_LITERAL("Native memory tracking is not enabled")));
    assert_int_equal(unclaimed, 1); /* the prompt in front */
}

static void an_error_file_has_its_tracking_inside(void **state)
{
    (void)state;
    int64_t unclaimed;
    struct span text = SPAN_LITERAL(
        "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"
        "#  SIGSEGV (0xb) at pc=0x00007f, pid=17, tid=18\n"
        "# JRE version: OpenJDK Runtime Environment (17.0.21+9) (build 17.0.21+9-Debian-1)\n"
        "---------------  S U M M A R Y ------------\n"
        "Dynamic libraries:\n7f1cd8000000-7f1cd9000000 rw-p 00000000 00:00 0 \n\n" NMT);
    assert_int_equal(cut_up(text, &unclaimed), 2);
    assert_int_equal(parts[0].kind, TEXT_HS_ERR);
    assert_int_equal(text_jdk_major(TEXT_HS_ERR, parts[0].text), 17);
    assert_int_equal(parts[1].kind, TEXT_NMT_SUMMARY);
    text = SPAN_LITERAL("17128:\n#\n# JRE version: OpenJDK (25.0.3+9) (build 25.0.3+9-LTS)\n#\n");
    assert_int_equal(cut_up(text, &unclaimed), 1); /* VM.info */
    assert_int_equal(parts[0].pid, 17128);
    assert_int_equal(unclaimed, 0);
}

static void a_log_keeps_the_noise_between_its_lines(void **state)
{
    (void)state;
    int64_t unclaimed;
    struct span text = SPAN_LITERAL("[0.108s][info][class,load] A source: x\n"
                                    "hello from the program\n12:\n"
                                    "[0.109s][info][class,load] B source: x\n");
    assert_int_equal(cut_up(text, &unclaimed), 1);
    assert_int_equal(parts[0].kind, TEXT_CLASS_LOG);
    assert_int_equal(parts[0].text.len, text.len);
    assert_int_equal(unclaimed, 0);
}

static void windows_line_ends(void **state)
{
    (void)state;
    int64_t unclaimed;
    struct span text = SPAN_LITERAL("7:\r\n75.302 s\r\n7:\r\nNative Memory Tracking:\r\n\r\n"
                                    "Total: reserved=1KB, committed=1KB\r\n");
    assert_int_equal(cut_up(text, &unclaimed), 2);
    assert_int_equal(parts[0].pid, 7);
    assert_int_equal(parts[1].kind, TEXT_NMT_SUMMARY);
}

static void which_jdk_by_words(void **state)
{
    (void)state;
    assert_int_equal(text_jdk_major(TEXT_VERSION, SPAN_LITERAL("OpenJDK VM\nJDK 17.0.21\n")), 17);
    assert_int_equal(text_jdk_major(TEXT_VERSION, SPAN_LITERAL("openjdk version \"1.8.0_504\"\n")),
                     8);
    assert_int_equal(text_jdk_major(TEXT_VERSION, SPAN_LITERAL("\nJDK 8.0_504\n")), 8);
    assert_int_equal(text_jdk_major(TEXT_VERSION, SPAN_LITERAL("JDK\n")), 0);
    assert_int_equal(text_jdk_major(TEXT_HS_ERR, SPAN_LITERAL("# (build 25.0.5+9)\n")), 25);
    assert_int_equal(text_jdk_major(TEXT_CLASS_HISTOGRAM, SPAN_LITERAL("[B (java.base@21.0.13)\n")),
                     21);
}

static void which_jdk_by_form(void **state)
{
    (void)state;
#define TOTAL "Total: reserved=1723354KB, committed=82346KB\n"
    static const struct {
        const char *text;
        int major;
    } rows[] = {
        {TOTAL "(classes #871)\n(thread #17)\n", 8},
        {TOTAL "(classes #871)\n                    (", 0}, /* cut off */
        {TOTAL "(classes #871)\n(  instance classes #1, array classes #2)\n(thread #17)\n", 11},
        {TOTAL "       malloc: 15874KB #14596\n(classes #1)\n(  instance classes #1, array\n", 17},
        {TOTAL "       malloc: 15874KB #14596\n(classes #1)\n(threads #23)\n", 21},
        {TOTAL "(malloc=197KB tag=Class #2950) (peak=232KB #2903)\n(threads #23)\n", 25},
        {TOTAL
         "(malloc=1KB tag=GC #2)\n-                       JNI (reserved=1KB, committed=1KB)\n",
         26},
        {TOTAL, 0},
        {"Total: reserved=2GB, committed=0GB\n       malloc: 0GB\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(text_jdk_form(TEXT_NMT_SUMMARY, span_from_cstr(rows[i].text)),
                         rows[i].major);
    assert_int_equal(text_jdk_form(TEXT_CLASS_LOG, SPAN_LITERAL("[Loaded A from x]\n")), 8);
    assert_int_equal(text_jdk_form(TEXT_CLASS_LOG, SPAN_LITERAL("A source: x\n")), 0);
}

static void every_cut_and_every_damage(void **state)
{
    (void)state;
    static const char text[] =
        "7:\n75.302 s\n7:\n" NMT "8:\n" LOADERS "[0.108s][info][class,load] A source: x\n";
    size_t length = sizeof text - 1;
    int64_t unclaimed;
    for (size_t cut = 0; cut <= length; cut++) {
        char *copy = malloc(cut > 0 ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, text, cut);
        assert_true(cut_up(span_of(copy, cut), &unclaimed) <= 4);
        free(copy);
    }
    char *copy = malloc(length);
    assert_non_null(copy);
    for (size_t at = 0; at < length; at++) {
        memcpy(copy, text, length);
        copy[at] = at % 2 == 0 ? '\0' : '[';
        assert_true(cut_up(span_of(copy, length), &unclaimed) <= 6);
    }
    free(copy);
}

static void each_kind_has_words(void **state)
{
    (void)state;
    for (int i = 0; i < TEXT_KIND_COUNT; i++)
        assert_true(text_kind_key((enum text_kind)i)[0] != '\0');
    assert_string_equal(text_kind_key(TEXT_KIND_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_is_enough),
        cmocka_unit_test(nothing_is_claimed_that_is_not_ours),
        cmocka_unit_test(several_replies_in_one_file),
        cmocka_unit_test(an_error_file_has_its_tracking_inside),
        cmocka_unit_test(a_log_keeps_the_noise_between_its_lines),
        cmocka_unit_test(windows_line_ends),
        cmocka_unit_test(which_jdk_by_words),
        cmocka_unit_test(which_jdk_by_form),
        cmocka_unit_test(every_cut_and_every_damage),
        cmocka_unit_test(each_kind_has_words),
    };
    return cmocka_run_group_tests_name("text_kind", tests, NULL, NULL);
}
