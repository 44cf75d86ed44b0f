#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "floor/hotspot/frame_cache.h"
#include "floor/hotspot/walk.h"
#include "tests/unit/floor_hotspot/fake_memory.h"

#define MAX 64

static struct walked_frame frames[MAX];
static enum walk_code code;

/* An interpreted frame at fp: what it returns to, the caller's sp and fp. */
static void interpreted(uintptr_t fp, uintptr_t method, int bci, uintptr_t pc, uintptr_t sp,
                        uintptr_t caller_fp)
{
    put_word(fp + 8, pc);
    put_word(fp, caller_fp);
    put_word(fp - 8, sp);
    put_word(fp - 24, method);
    put_word(fp - 16 + (uintptr_t)(machine.interpreted_bcp * WORD_BYTES),
             method + 16 + 16 + (uintptr_t)bci);
}

/* The call stub's frame: its wrapper's anchor leads to an earlier Java frame, or nowhere. */
static void call_stub(uintptr_t fp, uintptr_t wrapper, uintptr_t sp, uintptr_t pc,
                      uintptr_t anchor_fp)
{
    put_word(fp - 48, wrapper);
    put_word(wrapper + 32, sp);
    put_word(wrapper + 40, pc);
    put_word(wrapper + 48, anchor_fp);
}

static int walk(uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct walk_start start = {.thread = FAKE_THREAD, .pc = pc, .sp = sp, .fp = fp};
    memset(frames, 0, sizeof frames);
    return walk_java(&start, frames, MAX, &code);
}

/* Called by what it returns to, without a frame yet: sp is the caller's. */
static int walk_called(uintptr_t pc, uintptr_t sp, uintptr_t fp, uintptr_t return_to)
{
    struct walk_start start = {
        .thread = FAKE_THREAD, .pc = pc, .sp = sp - (uintptr_t)machine.call_pushed_bytes, .fp = fp};
    if (machine.call_pushed_bytes == 0)
        start.link = return_to;
    else
        put_word(start.sp, return_to);
    memset(frames, 0, sizeof frames);
    return walk_java(&start, frames, MAX, &code);
}

static void frame_is(int i, uintptr_t method, int bci, enum frame_type type)
{
    assert_int_equal(frames[i].method, method);
    assert_int_equal(frames[i].bci, bci);
    assert_int_equal(frames[i].type, type);
}

enum { S = FAKE_STACK };

/* interpreted <- compiled <- call stub (<- the VM) <- interpreted native <- call stub */
static uintptr_t compiled;

static void build(int jdk)
{
    fake_layout(jdk);
    compiled = fake_code(0, 0x400, fake_method(2, false), 4, "nmethod") + 128;
    fake_code(FAKE_CALL_STUB - FAKE_CODE - 0x100, 0x200, 0, 0, "StubRoutines (1)");
    fake_call_instruction(compiled + 0x40, 0);
    fake_call(compiled - 128, 0x40);
    interpreted(S + 0x200, fake_method(1, false), 42, compiled + 0x40, S + 0x210, S + 0x300);
    put_word(S + 0x210 + 24, FAKE_CALL_STUB); /* of the compiled frame of 32 bytes */
    put_word(S + 0x210 + 16, S + 0x300);
    call_stub(S + 0x300, S + 0x400, S + 0x500, 0, S + 0x600);
    put_word(S + 0x500 - 8, FAKE_INTERPRETER + 64); /* where the anchor has no pc */
    interpreted(S + 0x600, fake_method(3, true), 0, FAKE_CALL_STUB, S + 0x610, S + 0x700);
    call_stub(S + 0x700, S + 0x800, 0, 0, 0);
}

static void walks_from_the_interpreter_to_the_end(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 3);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(1, false), 42, FRAME_TYPE_INTERPRETED);
        frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
        frame_is(2, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
    }
}

/* What was read of a call is not read again, until other code is there. */
static void remembers_the_calls_of_compiled_code(void **state)
{
    (void)state;
    void *memory = aligned_alloc(128, FRAME_CACHE_BYTES);
    assert_non_null(memory);
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        memset(memory, 0, FRAME_CACHE_BYTES);
        frame_cache_use(memory);
        walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200);
        uintptr_t blob = compiled - 128;
        put_int(blob + 12, 5); /* of the frame: read, the walk would miss its caller */
        assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 3);
        assert_int_equal(code, WALK_OK);
        frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
        frame_is(2, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
        put_int(blob + 88, 77); /* compiled anew */
        walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200);
        assert_int_equal(code, WALK_NOT_WALKABLE_JAVA);
        put_int(blob + 12, 4);
        put_int(blob + 88, 78);
        assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 3);
        frame_cache_use(NULL);
    }
    free(memory);
}

static void begins_at_the_anchor_outside_of_java(void **state)
{
    (void)state;
    build(25);
    put_int(FAKE_THREAD + 40, 4); /* in native code */
    assert_int_equal(walk(0x7f0000000000, S + 0x40, 0), 0);
    assert_int_equal(code, WALK_NO_JAVA_FRAME);
    put_word(FAKE_THREAD, S + 0x100);
    put_word(FAKE_THREAD + 8, FAKE_INTERPRETER + 16);
    put_word(FAKE_THREAD + 16, S + 0x200);
    assert_int_equal(walk(0x7f0000000000, S + 0x40, 0), 3);
    assert_int_equal(code, WALK_OK);
    assert_int_equal(walk_java_from_anchor(FAKE_THREAD, frames, 2, &code), 2);
    assert_int_equal(code, WALK_OK);
    frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
    put_word(FAKE_THREAD, 0);
    put_int(FAKE_THREAD + 40, 8); /* in Java, called without a trace */
    assert_int_equal(walk(0x7f0000000000, S + 0x40, 0), 0);
    assert_int_equal(code, WALK_UNKNOWN_NOT_JAVA);
}

/* While that instruction is next. 0x210 is where the frame begins, 0x230 where it ends. */
struct place {
    int offset;
    const char *code;
    uintptr_t sp, fp;
    bool in_link; /* the return address, in place of the stack */
};

/* push %rbp; sub $16, %rsp; ...; add $16, %rsp; pop %rbp; cmp 8(%r15), %rsp; ja; ret, and where ja
 * leads to */
static const struct place X86_64[] = {
    {0, "\x55", 0x228, 0x300, false},
    {1, "\x48\x83\xec\x10", 0x220, 0x300, false},
    {5, "\x41\x81\x7f\x20", 0x210, 0x300, false},
    {0x20, "\x48\x83\xc4\x10", 0x210, 0x999, false},
    {0x24, "\x5d", 0x220, 0x999, false},
    {0x25, "\x49\x3b\x67\x08", 0x228, 0x300, false},
    {0x29, "\x0f\x87\x90\x90", 0x228, 0x300, false},
    {0x2f, "\xc3", 0x228, 0x300, false},
    {0x50, "\x4c\x8d\x15", 0x228, 0x300, false}, /* lea; mov; jmp, with a safepoint ahead */
    {0x57, "\x4d\x89\x57", 0x228, 0x300, false},
    {0x5b, "\xe9", 0x228, 0x300, false},
};

/* sub sp, sp, #32; stp x29, x30, [sp, #16]; ...; ldp x29, x30, [sp, #16]; add sp, sp, #32; ldr x8,
 * [x28, #8]; cmp sp, x8; b.hi; ret; another end with a large frame's instructions; where b.hi leads to */
static const struct place AARCH64[] = {
    {0, "\xff\x83\x00\xd1", 0x230, 0x300, true},
    {4, "\xfd\x7b\x01\xa9", 0x210, 0x300, true},
    {8, "\x1f\x20\x03\xd5", 0x210, 0x300, false},
    {0x20, "\xfd\x7b\x41\xa9", 0x210, 0x999, false},
    {0x24, "\xff\x83\x00\x91", 0x210, 0x300, true},
    {0x28, "\x88\x07\x40\xf9", 0x230, 0x300, true},
    {0x2c, "\xff\x63\x28\xeb", 0x230, 0x300, true},
    {0x30, "\x08\x01\x00\x54", 0x230, 0x300, true},
    {0x34, "\xc0\x03\x5f\xd6", 0x230, 0x300, true},
    {0x44, "\xff\x43\x00\x91", 0x210, 0x999, false},
    {0x48, "\xfd\x7b\xc1\xa8", 0x220, 0x999, false},
    {0x4c, "\xc0\x03\x5f\xd6", 0x230, 0x300, true},
    {0x50, "\x08\xff\xff\x10", 0x230, 0x300, true}, /* adr; str; b */
    {0x54, "\x88\x53\x02\xf9", 0x230, 0x300, true},
    {0x58, "\x00\x00\x00\x14", 0x230, 0x300, true},
};

static void knows_how_much_of_a_frame_there_is(void **state)
{
    bool x86_64 = machine.instruction_bytes == 1;
    const struct place *places = x86_64 ? X86_64 : AARCH64;
    size_t count = x86_64 ? sizeof X86_64 / sizeof *X86_64 : sizeof AARCH64 / sizeof *AARCH64;
    (void)state;
    build(25);
    for (size_t i = 0; i < count; i++)
        memcpy(fake_at(compiled + (uintptr_t)places[i].offset, 4), places[i].code,
               x86_64 ? strlen(places[i].code) : 4);
    if (x86_64)
        put_int(compiled - 128 + 16, 13); /* complete after the barrier */
    for (size_t i = 0; i < count; i++) {
        const struct place *place = &places[i];
        uintptr_t pc = compiled + (uintptr_t)place->offset;
        int depth = place->in_link ? walk_called(pc, S + place->sp, S + place->fp, FAKE_CALL_STUB)
                                   : walk(pc, S + place->sp, S + place->fp);
        assert_int_equal(code, WALK_OK);
        assert_int_equal(depth, 2);
        frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
        frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
    }
}

/* On aarch64 the wrapper of a native method makes a frame within its own where it calls a barrier of a collector; that
 * it leaves it is not its end. */
static void a_frame_within_a_wrapper_is_not_its_own(void **state)
{
    static const uint32_t instructions[] = {
        0x910003bf, /* 20: mov sp, x29 */
        0xa8c17bfd, /* 24: ldp x29, x30, [sp], #16 */
        0xf9428f82, /* 28: ldr x2, [x28, #1304] */
        0xf900805f, /* 2c: str xzr, [x2, #256] */
        0x910003bf, /* 30: mov sp, x29 */
        0xa8c17bfd, /* 34: ldp x29, x30, [sp], #16 */
        0xd503239f, /* 38: autiaz */
        0xf9401788, /* 3c: ldr x8, [x28, #40] */
        0x36000088, /* 40: tbz x8, #0: 0x50 */
        0x10ffffe8, /* 44: adr x8 */
        0xf902a388, /* 48: str x8, [x28, #1344] */
        0x17ea9493, /* 4c: b: to the safepoint */
        0xf9400788, /* 50: ldr x8, [x28, #8] */
        0xb5000048, /* 54: cbnz x8 */
        0xd65f03c0, /* 58: ret */
    };
    static const struct {
        uintptr_t offset, sp;
        bool in_link;
    } places[] = {{0x20, 0x200, false}, {0x24, 0x200, false}, {0x28, 0x210, false},
                  {0x2c, 0x210, false}, {0x34, 0x220, false}, {0x38, 0x230, true},
                  {0x3c, 0x230, true},  {0x4c, 0x230, true},  {0x50, 0x230, true},
                  {0x54, 0x230, true},  {0x58, 0x230, true}};
    (void)state;
    if (machine.instruction_bytes == 1)
        return;
    build(25);
    uintptr_t top = fake_code(0x800, 0x400, fake_method(4, true), 4, "nmethod") + 128;
    memcpy(fake_at(top + 0x20, sizeof instructions), instructions, sizeof instructions);
    put_word(S + 0x200, S + 0x220);
    put_word(S + 0x208, top + 0x18);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uintptr_t link = places[i].in_link ? FAKE_CALL_STUB : top + 0x18;
        assert_int_equal(walk_called(top + places[i].offset, S + places[i].sp, S + 0x300, link), 2);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(4, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_NATIVE);
        frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
    }
}

/* A stub that has pushed three words, on top of the compiled frame. */
static void finds_the_caller_of_a_stub(void **state)
{
    (void)state;
    build(17);
    uintptr_t stub = fake_code(0x800, 0x400, 0, 0, "StubRoutines (2)") + 128;
    put_word(S + 0x1f0, 0x1234);
    put_word(S + 0x1f8, compiled + 0x41); /* not after a call */
    put_word(S + 0x200, 77);
    put_word(S + 0x208, compiled + 0x40);
    assert_int_equal(walk(stub + 9, S + 0x1f0, 0), 2);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
}

/* A stub has words in its frame that earlier calls have left. fp leads to its frame, and the call leads into the stub. */
static void a_stub_is_called_by_what_calls_it(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        uintptr_t stub = fake_code(0x800, 0x400, 0, 0, "StubRoutines (2)") + 128;
        uintptr_t other = fake_code(0xc00, 0x200, fake_method(5, false), 4, "nmethod") + 128;
        fake_call_instruction(compiled + 0x60, stub + 0x10);
        fake_call_instruction(compiled + 0x70, other);
        put_word(S + 0x1e0, compiled + 0x70); /* it has called another one */
        put_word(S + 0x1e8 + 24, FAKE_CALL_STUB);
        put_word(S + 0x1f0, compiled + 0x60); /* the stub, when it was called deeper in the stack */
        put_word(S + 0x200, S + 0x300);
        put_word(S + 0x208, compiled + 0x60);
        assert_int_equal(walk(stub + 0x20, S + 0x1e0, S + 0x200), 2);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
        frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);

        /* One that uses fp for other things. */
        if (machine.instruction_bytes == 1) {
            put_word(S + 0x1f0, 0);
            assert_int_equal(walk(stub + 0x20, S + 0x1e0, 77), 2);
            assert_int_equal(code, WALK_OK);
            frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
            /* mov $stub, %r10; call *%r10 */
            put(compiled + 0x60 - 13, 0xba49, 2);
            put_word(compiled + 0x60 - 11, stub + 0x10);
            put(compiled + 0x60 - 3, 0xd2ff41, 3);
            assert_int_equal(code_call_target(compiled + 0x60), stub + 0x10);
            assert_int_equal(walk(stub + 0x20, S + 0x1e0, S + 0x200), 2);
        }
    }
}

/* The return address is in a register while the locals are pushed; what lies at sp was left by another call. */
static void enters_the_interpreter_with_its_return_address_off_the_stack(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        struct walk_start start = {.thread = FAKE_THREAD,
                                   .pc = FAKE_INTERPRETER + 32,
                                   .sp = S + 0x1f0,
                                   .fp = 77,
                                   .entered = fake_method(4, false),
                                   .sender_sp = S + 0x210,
                                   .entered_from = compiled + 0x40};
        uintptr_t other = fake_code(0xc00, 0x200, fake_method(5, false), 4, "nmethod") + 128;
        fake_call_instruction(other + 0x40, 0);
        fake_call(other - 128, 0x40);
        put_word(S + 0x1f0, other + 0x40);
        put_word(S + 0x1f8 + 24, FAKE_CALL_STUB);
        put_word(S + 0x1f8 + 16, S + 0x300);
        memset(frames, 0, sizeof frames);
        assert_int_equal(walk_java(&start, frames, MAX, &code), 3);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(4, false), 0, FRAME_TYPE_INTERPRETED);
        frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
    }
}

/* A call of that method, or of what comes next in the caller itself; where it returns to. code: of
 * a caller, as fake_code made it. */
static uintptr_t call(uintptr_t code_begin, uint32_t offset, uintptr_t callee)
{
    fake_call_instruction(code_begin + offset + 8, callee);
    fake_call(code_begin - 128, offset + 8);
    return code_begin + offset + 8;
}

/* Where C++ was called with sp aligned for it: nothing has been written where that made room. The wrapper of a native
 * method has called no Java. */
static void what_was_left_over_near_a_stub_is_passed_over(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        uintptr_t stub = fake_code(0x800, 0x400, 0, 0, "unwind_exception Runtime1 stub") + 128;
        uintptr_t other = fake_code(0xc00, 0x200, fake_method(4, false), 6, "nmethod") + 128;
        struct walk_start start = {.thread = FAKE_THREAD, .pc = stub + 16, .sp = S + 0x200};
        if (machine.instruction_bytes == 1)
            put(stub + 16, 0x08c48348, 4); /* add $8, %rsp */
        else
            start.sp += WORD_BYTES;
        put_word(S + 0x200, call(other, 0x40, 0));
        put_word(S + 0x208 + 40, FAKE_CALL_STUB); /* leads to the end */
        put_word(S + 0x208, compiled + 0x40);
        put_word(S + 0x210 + 24, FAKE_CALL_STUB);
        put_word(S + 0x210 + 16, S + 0x300);
        assert_int_equal(walk_java_from_call(&start, frames, MAX, &code), 2);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);

        build(jdk);
        uintptr_t native = fake_code(0xc00, 0x200, fake_method(4, true), 4, "nmethod") + 128;
        uintptr_t top = fake_code(0x800, 0x400, fake_method(5, false), 4, "nmethod") + 128;
        layout.cont_return_pc = jdk < 19 ? 0 : FAKE_STATICS + 40;
        fake_call_instruction(native + 0x40, 0);
        put_word(S + 0x208 + 24, FAKE_CALL_STUB);
        put_word(S + 0x208, 0); /* no other caller */
        assert_int_equal(walk_called(top, S + 0x208, 77, native + 0x40), 1);
        assert_int_equal(code, WALK_NOT_WALKABLE_JAVA);
    }
}

/* A method that has pushed three words, below which an earlier call has left return addresses. */
static void does_not_believe_what_is_left_over(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        uintptr_t top = fake_code(0x800, 0x400, fake_method(4, false), 4, "nmethod") + 128;
        uintptr_t other = fake_code(0xc00, 0x200, fake_method(5, false), 4, "nmethod") + 128;
        uintptr_t calls_other = call(compiled, 0x60, other);
        put_word(S + 0x1e8, FAKE_INTERPRETER + 64); /* without an interpreted frame */
        put_word(S + 0x1f0, calls_other);           /* it has not called the method on top */
        put_word(S + 0x1f8 + 24, FAKE_CALL_STUB);   /* but leads to the end */
        put_word(S + 0x1f8, compiled + 0x41);       /* not after a call */
        put_word(S + 0x200, call(compiled, 0x80, top));
        put_word(S + 0x208 + 24, FAKE_CALL_STUB);
        put_word(S + 0x208 + 16, S + 0x300);
        assert_int_equal(walk(top + 0x20, S + 0x1d0, 0), 3);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(4, false), 0, FRAME_TYPE_COMPILED);
        frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
        frame_is(2, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);

        /* One that leads nowhere two callers further on, and is a return address otherwise. */
        put_word(S + 0x1e8, compiled + 0x40);
        put_word(S + 0x1f0 + 24, compiled + 0x40);
        put_word(S + 0x210 + 24, 0);
        put_word(S + 0x208 + 24, FAKE_CALL_STUB);
        assert_int_equal(walk(top + 0x20, S + 0x1d0, 0), 3);
        assert_int_equal(code, WALK_OK);
    }
}

/* What lies above a method at its entry is left over: a call of the entry barrier, which has no
 * description, or the place of a poll, which has one. The caller is found behind it. */
static void only_a_described_call_called_java(void **state)
{
    (void)state;
    for (int jdk = 17; jdk <= 25; jdk += 8) {
        build(jdk);
        uintptr_t top = fake_code(0x800, 0x400, fake_method(4, false), 4, "nmethod") + 128;
        fake_call_instruction(top + 0x68, 0);
        fake_call(top - 128, 0x80);
        for (uintptr_t place = 0x68; place <= 0x80; place += 0x80 - 0x68) {
            assert_int_equal(walk_called(top, S + 0x210, S + 0x300, top + place), 2);
            assert_int_equal(code, WALK_OK);
            frame_is(0, fake_method(4, false), 0, FRAME_TYPE_COMPILED);
            frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
        }
    }
}

/* The frame that is there is the call stub's, which has the method where an interpreted one has
 * it. */
static void enters_the_interpreter_from_the_call_stub(void **state)
{
    (void)state;
    build(17);
    put_word(S + 0x300 - 24, fake_method(1, false));
    put_word(S + 0x300 - 16, FAKE_INTERPRETER + 32);
    put_word(S + 0x300 - 8, S + 0x380);
    put_word(S + 0x300 + 8, 0x7f0000001234);
    put_word(S + 0x2a0, FAKE_CALL_STUB);
    struct walk_start start = {.thread = FAKE_THREAD,
                               .pc = FAKE_INTERPRETER + 32,
                               .sp = S + 0x2a0,
                               .fp = S + 0x300,
                               .entered = fake_method(1, false)};
    assert_int_equal(walk_java(&start, frames, MAX, &code), 2);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(1, false), 0, FRAME_TYPE_INTERPRETED);
    frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
}

static void passes_over_the_call_stub_before_and_after_its_call(void **state)
{
    static const int PLACES[] = {-0x60, -8, 0, 24};
    (void)state;
    build(17);
    put_word(FAKE_CALL_STUB - 0x70, machine.call_stub_code);
    put_word(S + 0x2a0, compiled + 0x40); /* of an earlier call */
    put_word(S + 0x2a8 + 24, FAKE_CALL_STUB);
    put_word(S + 0x2a8 + 16, S + 0x300);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        assert_int_equal(
            walk(FAKE_CALL_STUB + (uintptr_t)(intptr_t)PLACES[i], S + 0x2a0, S + 0x300), 1);
        assert_int_equal(code, WALK_OK);
        frame_is(0, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);
    }
}

/* A stub that makes a frame of six words, at its first instruction: the return address is the word
 * at sp, or, of one that an exception is looked after in, in a register. */
static void a_stub_has_no_frame_at_its_entry(void **state)
{
    (void)state;
    build(17);
    uintptr_t stub = fake_code(0x800, 0x400, 0, 6, "RuntimeStub") + 128;
    uintptr_t other = fake_code(0xc00, 0x200, fake_method(5, false), 4, "nmethod") + 128;
    uintptr_t left_over = call(other, 0x20, 0);
    for (uintptr_t at = S + 0x230; at < S + 0x290; at += 32)
        put_word(at, left_over);
    put_word(S + 0x290, FAKE_CALL_STUB);
    assert_int_equal(walk_called(stub, S + 0x210, S + 0x300, compiled + 0x40), 2);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);

    put_int(stub, machine.throw_code);
    struct walk_start start = {.thread = FAKE_THREAD,
                               .pc = stub,
                               .sp = S + 0x210,
                               .fp = S + 0x300,
                               .link = machine.call_pushed_bytes == 0 ? left_over : 0,
                               .thrown_at = compiled + 0x40};
    put_word(S + 0x208, 0);
    put_word(S + 0x210, left_over);
    assert_int_equal(walk_java(&start, frames, MAX, &code), 2);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
}

/* Without the place of the entry (JDK 21), while the JVM fetches frames of a virtual thread: what
 * is below the last word that returns into the stub is being written, or is left over. */
static void goes_on_at_the_carrier_while_frames_are_fetched(void **state)
{
    (void)state;
    build(17);
    layout.jdk_major = 21;
    uintptr_t stub = fake_code(0x800, 0x400, 0, 0, "StubRoutines (continuation") + 128;
    put_word(S + 0x120, stub + 16);
    put_word(S + 0x130, compiled + 0x40);
    put_word(S + 0x138 + 24, FAKE_CALL_STUB);
    put_word(S + 0x138 + 16, S + 0x700);
    put_word(S + 0x1e0, stub + 16);
    put_word(S + 0x208, compiled + 0x40);
    struct walk_start start = {.thread = FAKE_THREAD, .pc = stub + 32, .sp = S + 0x100};
    assert_int_equal(walk_java_from_call(&start, frames, MAX, &code), 2);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
    frame_is(1, fake_method(3, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_INTERPRETED);

    put_word(S + 0x120, 0);
    put_word(S + 0x1e0, 0);
    assert_int_equal(walk_java_from_call(&start, frames, MAX, &code), 0);
    assert_int_equal(code, WALK_UNKNOWN_JAVA);

    /* Once a whole stack has shown the method of the entry, that is named. */
    uintptr_t enter = fake_code(0xc00, 0x200, fake_method(6, true), 4, "nmethod") + 128;
    interpreted(S + 0x200, fake_method(1, false), 42, enter + 0x40, S + 0x210, S + 0x300);
    assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 3);
    frame_is(1, fake_method(6, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_NATIVE);
    put_word(S + 0x1e0, stub + 16);
    put_word(S + 0x208, compiled + 0x40);
    assert_int_equal(walk_java_from_call(&start, frames, MAX, &code), 3);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(6, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_NATIVE);
    frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);

    /* And before the first word that returns into the stub is written, by fp. */
    put_word(S + 0x1e0, 0);
    put_word(S + 0x200, S + 0x300);
    start.fp = S + 0x200;
    assert_int_equal(walk_java_from_call(&start, frames, MAX, &code), 3);
    assert_int_equal(code, WALK_OK);
    frame_is(0, fake_method(6, true), FRAME_BCI_NATIVE_METHOD, FRAME_TYPE_NATIVE);
    frame_is(1, fake_method(2, false), 0, FRAME_TYPE_COMPILED);
}

static void damaged_stacks_end(void **state)
{
    (void)state;
    build(17);
    put_word(S + 0x200, S + 0x200); /* its own caller */
    put_word(S + 0x200 + 8, FAKE_INTERPRETER + 8);
    assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 1);
    assert_int_equal(code, WALK_NOT_WALKABLE_JAVA);

    build(17);
    put_word(S + 0x210 + 24, 0x666); /* returns to nowhere */
    assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 2);
    assert_int_equal(code, WALK_NOT_WALKABLE_JAVA);

    build(17);
    put_word(S + 0x400 + 32, S + 0x100); /* an anchor below */
    assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x200), 2);
    assert_int_equal(code, WALK_NOT_WALKABLE_JAVA);

    build(17);
    assert_int_equal(walk(FAKE_INTERPRETER + 16, 0x10, S + 0x200), 0); /* another stack */
    assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, S + 0x204), 0);
    assert_int_equal(walk(FAKE_INTERPRETER + 16, S + 0x100, 0), 0);
    struct walk_start start = {.thread = 8, .pc = FAKE_INTERPRETER, .sp = S + 0x100};
    assert_int_equal(walk_java(&start, frames, MAX, &code), 0); /* no such thread */
    assert_int_equal(code, WALK_NOT_WALKABLE_JAVA);
}

/* Any memory and any registers: it ends, within its bounds. */
static void any_memory_is_survived(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        build(round % 2 == 0 ? 17 : 25);
        fake_damage();
        struct walk_start start = {
            .thread = round % 7 == 0 ? fake_random() : FAKE_THREAD,
            .pc = FAKE_CODE + fake_random() % 0x8000,
            .sp = S + (fake_random() % 0x1000 & ~UINT64_C(7)),
            .fp = S + (fake_random() % 0x1000 & ~UINT64_C(7)),
            .link = round % 3 == 0 ? FAKE_CODE + fake_random() % 0x8000 : 0,
            .entered = fake_method(1, false),
        };
        int max = (int)(fake_random() % MAX);
        frames[max].bci = 12345;
        int depth = walk_java(&start, frames, max, &code);
        assert_in_range(depth, 0, max);
        assert_int_equal(frames[max].bci, 12345);
        assert_in_range(walk_java_from_call(&start, frames, max, &code), 0, max);
        assert_in_range(walk_java_from_anchor(start.thread, frames, max, &code), 0, max);
        assert_int_equal(frames[max].bci, 12345);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_from_the_interpreter_to_the_end),
        cmocka_unit_test(remembers_the_calls_of_compiled_code),
        cmocka_unit_test(begins_at_the_anchor_outside_of_java),
        cmocka_unit_test(knows_how_much_of_a_frame_there_is),
        cmocka_unit_test(a_frame_within_a_wrapper_is_not_its_own),
        cmocka_unit_test(finds_the_caller_of_a_stub),
        cmocka_unit_test(a_stub_is_called_by_what_calls_it),
        cmocka_unit_test(what_was_left_over_near_a_stub_is_passed_over),
        cmocka_unit_test(enters_the_interpreter_with_its_return_address_off_the_stack),
        cmocka_unit_test(does_not_believe_what_is_left_over),
        cmocka_unit_test(only_a_described_call_called_java),
        cmocka_unit_test(enters_the_interpreter_from_the_call_stub),
        cmocka_unit_test(passes_over_the_call_stub_before_and_after_its_call),
        cmocka_unit_test(a_stub_has_no_frame_at_its_entry),
        cmocka_unit_test(goes_on_at_the_carrier_while_frames_are_fetched),
        cmocka_unit_test(damaged_stacks_end),
        cmocka_unit_test(any_memory_is_survived),
    };
    return cmocka_run_group_tests_name("floor/hotspot/walk", tests, NULL, NULL);
}
