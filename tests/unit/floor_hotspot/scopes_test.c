#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "floor/hotspot/scopes.h"
#include "tests/unit/floor_hotspot/fake_memory.h"

/* --- a method with descriptions --------------------------------------------------------------- */

#define PCS      FAKE_TABLES
#define SCOPES   (FAKE_TABLES + 0x1000)
#define METADATA (FAKE_TABLES + 0x2000)

static struct code_blob blob;
static uintptr_t methods[300];
static int scope_end, desc_count;

static bool described;

static int frames_at(const struct code_blob *code, uintptr_t pc, struct walked_frame *out, int max)
{
    return scopes_at(code, pc, out, max, &described);
}

static void describe(int32_t pc, int32_t scope)
{
    uintptr_t at = PCS + (uintptr_t)desc_count++ * 16;
    put_int(at, (uint32_t)pc);
    put_int(at + 4, (uint32_t)scope);
    if (layout.nmethod_immutable < 0)
        put_int(blob.address + 44, (uint32_t)(at + 16 - blob.address)); /* the end of them */
}

/* UNSIGNED5, as HotSpot writes it. */
static void put_number(uint32_t value)
{
    const uint32_t least = layout.jdk_major >= 20 ? 1 : 0, high = 64, low = 256 - high - least;
    uint32_t rest = value;
    for (int digit = 0; digit < 4 && rest >= low; digit++) {
        rest -= low;
        put(SCOPES + (uintptr_t)scope_end++, low + least + rest % high, 1);
        rest /= high;
    }
    put(SCOPES + (uintptr_t)scope_end++, rest + least, 1);
}

static int put_scope(int outer, uint32_t method_index, int bci)
{
    int at = scope_end;
    put_number((uint32_t)outer);
    put_number(method_index);
    put_number((uint32_t)(bci + 1));
    return at;
}

static void start(int jdk)
{
    fake_layout(jdk);
    scope_end = 1, desc_count = 0;
    methods[0] = 0;
    for (int i = 1; i <= 250; i++) {
        methods[i] = fake_method(i, false);
        put_word(METADATA + (uintptr_t)(i - 1) * 8, methods[i]);
    }
    uintptr_t at = fake_code(0, 0x1000, methods[1], 6, "nmethod");
    if (jdk >= 25) {
        put_word(at + 48, FAKE_TABLES); /* immutable data */
        put_int(at + 32, PCS - FAKE_TABLES);
        put_int(at + 44, SCOPES - FAKE_TABLES);
        put_word(at + 72, METADATA - 8);
        put_int(at + 40, 5); /* of relocations, made whole words */
    } else {
        put_int(at + 32, (uint32_t)(PCS - at));
        put_word(at + 48, SCOPES);
        put_int(at + 40, (uint32_t)(METADATA - at));
    }
    assert_true(code_cache_find(at + 200, &blob));
    describe(-1, 0);
}

/* On 25 the end of the descriptions is where the scopes begin. */
static void finish(void)
{
    describe(INT32_MAX, 0);
    if (layout.nmethod_immutable >= 0) {
        uintptr_t end = PCS + (uintptr_t)desc_count * 16;
        for (int i = scope_end; i >= 0; i--)
            put(end + (uintptr_t)i, load_u8(SCOPES + (uintptr_t)i, 0), 1);
        put_int(blob.address + 44, (uint32_t)(end - FAKE_TABLES));
    }
}

static void frame_is(struct walked_frame frame, int method, int bci, enum frame_type type)
{
    assert_int_equal(frame.method, methods[method]);
    assert_int_equal(frame.bci, bci);
    assert_int_equal(frame.type, type);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void decodes_what_is_inlined(void **state)
{
    struct walked_frame frames[8];
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        start(jdk);
        int outer = put_scope(0, 1, 17);
        int middle = put_scope(outer, 250, 191);
        int inner = put_scope(middle, 3, 65000);
        describe(100, outer);
        describe(200, inner);
        finish();
        assert_int_equal(frames_at(&blob, blob.code + 200, frames, 8), 3);
        frame_is(frames[0], 3, 65000, FRAME_TYPE_INLINED);
        frame_is(frames[1], 250, 191, FRAME_TYPE_INLINED);
        frame_is(frames[2], 1, 17, FRAME_TYPE_COMPILED);
        assert_int_equal(frames_at(&blob, blob.code + 200, frames, 2), 2);
        frame_is(frames[1], 250, 191, FRAME_TYPE_INLINED);
        assert_int_equal(frames_at(&blob, blob.code + 200, frames, 0), 0);
    }
}

static void decodes_every_number(void **state)
{
    struct walked_frame frame;
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        for (int bci = -1; bci < 70000; bci += bci < 20000 ? 1 : 997) {
            if (bci == -1 || bci % 100 == 0)
                start(jdk);
            scope_end = 1, desc_count = 1;
            describe(10, put_scope(0, 1, bci));
            finish();
            assert_int_equal(frames_at(&blob, blob.code + 10, &frame, 1), 1);
            frame_is(frame, 1, bci < 0 ? 0 : bci, FRAME_TYPE_COMPILED);
        }
    }
}

static void takes_the_next_description(void **state)
{
    struct walked_frame frame;
    (void)state;
    for (int count = 1; count < 40; count++) {
        start(25);
        for (int i = 1; i <= count; i++)
            describe(i * 10, put_scope(0, 1, i));
        finish();
        for (int pc = 1; pc <= count * 10; pc++) {
            assert_int_equal(frames_at(&blob, blob.code + (uintptr_t)pc, &frame, 1), 1);
            assert_int_equal(described, pc % 10 == 0);
            assert_int_equal(scopes_describe(&blob, blob.code + (uintptr_t)pc), described);
            frame_is(frame, 1, (pc + 9) / 10, FRAME_TYPE_COMPILED);
        }
        /* One byte after the last: its own instruction; later: nobody knows. */
        frames_at(&blob, blob.code + (uintptr_t)count * 10 + 1, &frame, 1);
        frame_is(frame, 1, count, FRAME_TYPE_COMPILED);
        frames_at(&blob, blob.code + (uintptr_t)count * 10 + 2, &frame, 1);
        frame_is(frame, 1, 0, FRAME_TYPE_COMPILED);
    }
}

static void damage_gives_the_method_itself(void **state)
{
    struct walked_frame frames[300];
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        start(jdk);
        int self = scope_end;
        describe(10, put_scope(self, 1, 5)); /* its own outer scope */
        describe(20, put_scope(0, 2, 5));    /* ends in another method */
        describe(30, put_scope(0, 0, 5));    /* no method */
        describe(40, 0x7000);                /* nothing is there */
        describe(50, -3);
        finish();
        assert_int_equal(frames_at(&blob, blob.code + 10, frames, 300), 1);
        frame_is(frames[0], 1, 5, FRAME_TYPE_COMPILED);
        for (uintptr_t pc = 20; pc <= 50; pc += 10) {
            assert_int_equal(frames_at(&blob, blob.code + pc, frames, 300), 1);
            frame_is(frames[0], 1, 0, FRAME_TYPE_COMPILED);
        }
        layout.pc_desc_size = 0x40000; /* the table has no end */
        assert_int_equal(frames_at(&blob, blob.code + 10, frames, 300), 1);
    }
}

static void a_native_wrapper_is_one_frame(void **state)
{
    struct walked_frame frame;
    (void)state;
    start(17);
    blob.method = fake_method(7, true);
    assert_int_equal(frames_at(&blob, blob.code + 10, &frame, 1), 1);
    frame_is(frame, 7, FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_NATIVE);
}

static void finds_the_pc_of_a_frame_to_be_deoptimised(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        start(jdk);
        uintptr_t handler = blob.code + 500, sp = FAKE_STACK + 64;
        if (jdk >= 25)
            put_int(blob.address + 56, (uint32_t)(handler - blob.address));
        else
            put_word(blob.address + 80, handler);
        put_int(blob.address + 60, 16);
        put_word(sp + 16, blob.code + 33);
        assert_int_equal(scopes_original_pc(&blob, handler, sp), blob.code + 33);
        assert_int_equal(scopes_original_pc(&blob, handler + 1, sp), handler + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_what_is_inlined),
        cmocka_unit_test(decodes_every_number),
        cmocka_unit_test(takes_the_next_description),
        cmocka_unit_test(damage_gives_the_method_itself),
        cmocka_unit_test(a_native_wrapper_is_one_frame),
        cmocka_unit_test(finds_the_pc_of_a_frame_to_be_deoptimised),
    };
    return cmocka_run_group_tests_name("floor/hotspot/scopes", tests, NULL, NULL);
}
