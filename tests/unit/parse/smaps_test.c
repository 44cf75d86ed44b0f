#include "analyzers/parse/proc_text.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] =
    "55ea4b410000-55ea4b412000 r-xp 00000000 fe:00 247498      /usr/lib/jvm/bin/java (deleted)\n"
    "Size:                  8 kB\nRss:                   8 kB\nPss:                   4 kB\n"
    "Private_Clean:         2 kB\nPrivate_Dirty:         1 kB\nVmFlags: rd ex mr mw me\n"
    "7f1cd8000000-7f1cd9000000 rw-p 00000000 00:00 0\n"
    "Rss:               16384 kB\nAnonymous:         16000 kB\nAnonHugePages:      2048 kB\n"
    "Swap:                 12 kB\nFutureField:           1 kB\nProtectionKey:         0\n"
    "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0           [vdso]\n"
    "Rss:                   0 kB\n";

static void each_mapping_has_its_own_figures(void **state)
{
    (void)state;
    struct smaps smaps;
    struct smaps_mapping mapping;
    smaps_begin(&smaps, SPAN_LITERAL("4711:\n"));
    smaps_begin(&smaps, span_from_cstr(TEXT));
    assert_true(smaps_next(&smaps, &mapping));
    assert_int_equal(mapping.rss_bytes, 8192);
    assert_int_equal(mapping.pss_bytes, 4096);
    assert_int_equal(mapping.private_bytes, 3072);
    assert_true(mapping.map.deleted && mapping.map.executable);
    assert_true(smaps_next(&smaps, &mapping));
    assert_int_equal(mapping.rss_bytes, 16384 << 10);
    assert_int_equal(mapping.pss_bytes, 0);
    assert_int_equal(mapping.anonymous_bytes, 16000 << 10);
    assert_int_equal(mapping.huge_bytes, 2048 << 10);
    assert_int_equal(mapping.swap_bytes, 12 << 10);
    assert_true(smaps_next(&smaps, &mapping));
    assert_true(span_equals(mapping.map.path, SPAN_LITERAL("[vdso]")));
    assert_false(smaps_next(&smaps, &mapping));
    assert_int_equal(smaps.lines.result, PARSE_OK);
    assert_int_equal(smaps.lines.unknown_lines, 0);
}

static void what_is_no_smaps(void **state)
{
    (void)state;
    struct smaps smaps;
    struct smaps_mapping mapping;
    smaps_begin(&smaps, SPAN_LITERAL("hello\n"));
    assert_false(smaps_next(&smaps, &mapping));
    assert_int_equal(smaps.lines.result, PARSE_MALFORMED);
    smaps_begin(&smaps, SPAN_LITERAL(""));
    assert_false(smaps_next(&smaps, &mapping));
}

static void amounts_that_cannot_be_are_counted(void **state)
{
    (void)state;
    struct smaps smaps;
    struct smaps_mapping mapping;
    smaps_begin(&smaps, SPAN_LITERAL("1000-2000 rw-p 00000000 00:00 0\nRss: 4 kB\n"
                                     "Pss: 99999999999999999999 kB\nSwap: x kB\n"));
    assert_true(smaps_next(&smaps, &mapping));
    assert_int_equal(mapping.rss_bytes, 4096);
    assert_int_equal(mapping.pss_bytes, 0);
    assert_int_equal(smaps.lines.unknown_lines, 2);
}

static void read_cut(struct span text)
{
    struct smaps smaps;
    struct smaps_mapping mapping;
    int count = 0;
    smaps_begin(&smaps, text);
    while (smaps_next(&smaps, &mapping)) {
        count++;
        assert_true(mapping.rss_bytes >= 0);
    }
    assert_true(count <= 3 && smaps.lines.at <= text.len);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mapping_has_its_own_figures),
        cmocka_unit_test(what_is_no_smaps),
        cmocka_unit_test(amounts_that_cannot_be_are_counted),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("smaps", tests, NULL, NULL);
}
