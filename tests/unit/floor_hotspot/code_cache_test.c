#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "floor/hotspot/code_cache.h"
#include "tests/unit/floor_hotspot/fake_memory.h"

static void finds_code_by_its_segments(void **state)
{
    struct code_blob blob;
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        fake_layout(jdk);
        uintptr_t method = fake_method(1, false);
        /* Long enough for several hops. */
        uintptr_t at = fake_code(0x400, 0x6000, method, 6, "nmethod");
        for (uintptr_t pc = at + 128; pc < FAKE_CODE + 0x6400; pc += 977) {
            assert_true(code_cache_find(pc, &blob));
            assert_int_equal(blob.kind, CODE_METHOD);
            assert_int_equal(blob.address, at);
            assert_int_equal(blob.code, at + 128);
            assert_int_equal(blob.frame_bytes, 48);
            assert_int_equal(blob.frame_complete, 8);
            assert_int_equal(blob.method, method);
        }
        assert_false(code_cache_find(FAKE_CODE + 0x3ff, &blob));
        assert_false(code_cache_find(FAKE_CODE + 0x6400, &blob));
        assert_false(code_cache_find(FAKE_CODE - 1, &blob));
        assert_false(code_cache_find(FAKE_CODE_END, &blob));
    }
}

static void knows_what_code_it_is(void **state)
{
    struct code_blob blob;
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        fake_layout(jdk);
        fake_code(0, 0x400, fake_method(1, true), 6, "native nmethod");
        fake_code(0x400, 0x400, 0, 0, "StubRoutines (1)");
        fake_code(0x800, 0x400, 0, 0, "StubRoutines (continuation stubs)");
        assert_true(code_cache_find(FAKE_CODE + 0x200, &blob));
        assert_int_equal(blob.kind, CODE_METHOD);
        assert_true(code_cache_find(FAKE_CODE + 0x600, &blob));
        assert_int_equal(blob.kind, CODE_OTHER);
        assert_int_equal(blob.frame_bytes, 0);
        assert_true(code_cache_find(FAKE_CODE + 0xa00, &blob));
        assert_int_equal(blob.kind, CODE_CONTINUATION);
        assert_true(code_cache_find(FAKE_INTERPRETER, &blob));
        assert_int_equal(blob.kind, CODE_INTERPRETER);
    }
}

static void frame_complete_may_be_short(void **state)
{
    struct code_blob blob;
    (void)state;
    fake_layout(25);
    layout.blob_frame_complete_bytes = 2;
    uintptr_t at = fake_code(0, 0x400, fake_method(1, false), 6, "nmethod");
    put_int(at + 16, 0x7777ffff);
    assert_true(code_cache_find(at + 140, &blob));
    assert_int_equal(blob.frame_complete, -1);
}

static void damage_is_no_code(void **state)
{
    struct code_blob blob;
    (void)state;
    fake_layout(17);
    fake_code(0x400, 0x400, fake_method(1, false), 6, "nmethod");
    assert_true(code_cache_find(FAKE_CODE + 0x500, &blob));
    put(FAKE_CODE + 0x404, 0, 1); /* the block is free */
    assert_false(code_cache_find(FAKE_CODE + 0x500, &blob));
    put(FAKE_CODE + 0x404, 1, 1);
    put(FAKE_SEGMENTS + 0x14, 0xfe, 1); /* leads before the heap */
    assert_false(code_cache_find(FAKE_CODE + 0x500, &blob));
    for (uintptr_t i = 0; i < 0x20; i++) /* never comes to a beginning */
        put(FAKE_SEGMENTS + i, 1, 1);
    assert_false(code_cache_find(FAKE_CODE + 0x500, &blob));
    put_int(FAKE_HEAP + 64, 99);
    assert_false(code_cache_find(FAKE_CODE + 0x500, &blob));
    put_word(FAKE_HEAP_LIST, 8); /* not to be read */
    assert_false(code_cache_find(FAKE_CODE + 0x500, &blob));
    put_int(FAKE_HEAPS, 0xffffffff);
    put_word(FAKE_HEAPS + 8, 0);
    assert_false(code_cache_find(FAKE_CODE + 0x500, &blob));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_code_by_its_segments),
        cmocka_unit_test(knows_what_code_it_is),
        cmocka_unit_test(frame_complete_may_be_short),
        cmocka_unit_test(damage_is_no_code),
    };
    return cmocka_run_group_tests_name("floor/hotspot/code_cache", tests, NULL, NULL);
}
