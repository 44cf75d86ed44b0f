/* Signal context. */
#include "agent/hotspot/topmost.h"

#include "agent/hotspot/load.h"
#include "agent/hotspot/method.h"

#define WORD_BYTES    8
#define PROLOGUE_MAX  64   /* bytes of it */
#define STUB_WORDS    48   /* below the return address, of a stub or an adapter */
#define SAVED_MAX     64   /* words that a method in the midst of its code has pushed for a stub */
#define FRAME_MAX     8192 /* bytes from sp to fp, of a stub that uses fp */
#define WRAPPER_BYTES 256  /* from sp at the call stub's call to its fp; it has about 200 */

/* --- instructions ------------------------------------------------------------------------------
 */

/* Bytes as a load has them, the first lowest. */
static bool is_code(uintptr_t pc, uint64_t bytes, uint64_t mask)
{
    return (load_u64(pc, 0) & mask) == bytes;
}

/* After a method's poll there is ret. cmp n(%r15), %rsp; ja ..., and up to JDK 15 mov n(%r15),
 * %r10; test %eax, (%r10). */
static bool is_poll(uintptr_t pc)
{
    return is_code(pc, 0xa73b49, 0xffffff) || is_code(pc, 0x673b49, 0xffffff) ||
           (is_code(pc, 0x870f, 0xffff) &&
            (is_code(pc - 7, 0xa73b49, 0xffffff) || is_code(pc - 4, 0x673b49, 0xffffff))) ||
           is_code(pc, 0xc3028541, 0xffffffff) ||
           (is_code(pc, 0x978b4d, 0xffffff) && is_code(pc + 7, 0xc3028541, 0xffffffff));
}

/* The wrapper of a native method looks for an exception between leave and ret: cmpq $0, 8(%r15);
 * jne ... */
static bool is_end_of_wrapper(uintptr_t pc)
{
    return is_code(pc - 1, 0xc9, 0xff) ||
           (is_code(pc, 0x850f, 0xffff) && (is_code(pc - 6, 0x00087f8349c9, 0xffffffffffff) ||
                                            is_code(pc - 8, 0x00087f8149, 0xffffffffffffffff)));
}

/* call rel32; call *%reg; call *%r8 to %r15. */
static bool follows_call(uintptr_t pc)
{
    return is_code(pc - 5, 0xe8, 0xff) || is_code(pc - 2, 0xd0ff, 0xf8ff) ||
           is_code(pc - 3, 0xd0ff41, 0xf8ffff);
}

/* Whether the sub that makes the frame lies before pc: it is known by its operand. */
static bool has_subtracted(const struct code_blob *blob, uintptr_t pc)
{
    uintptr_t first = pc - blob->code > PROLOGUE_MAX ? pc - PROLOGUE_MAX : blob->code;
    for (uintptr_t at = first; at + 4 <= pc; at++) {
        uint64_t code = load_u64(at, 0);
        int64_t bytes;
        if ((code & 0xffffff) == 0xec8348)
            bytes = (int8_t)(code >> 24); // NOLINT(bugprone-signed-char-misuse): a number
        else if ((code & 0xffffff) == 0xec8148 && at + 7 <= pc)
            bytes = (int32_t)(code >> 24);
        else
            continue;
        /* Return address, and %rbp if that was pushed. */
        if (bytes + WORD_BYTES == blob->frame_bytes || bytes + 2 * WORD_BYTES == blob->frame_bytes)
            return true;
    }
    return false;
}

enum frame_part { BARE, PUSHED, WHOLE };

static enum frame_part part_of_frame(const struct code_blob *blob, uintptr_t pc)
{
    if ((intptr_t)(pc - blob->code) < blob->frame_complete) {
        if (has_subtracted(blob, pc))
            return WHOLE;
        return pc > blob->code && is_code(pc - 1, 0x55, 0xff) ? PUSHED : BARE;
    }
    if (is_code(pc, 0x5d, 0xff))
        return PUSHED;
    if (is_code(pc, 0xc3, 0xff) || is_poll(pc) ||
        (method_is_native(blob->method) && is_end_of_wrapper(pc)))
        return BARE;
    return is_code(pc - 1, 0xe95d, 0xffff) ? BARE : WHOLE; /* pop %rbp; jmp: to a stub, for good */
}

/* --- callers -----------------------------------------------------------------------------------
 */

static bool leads_behind_call(uintptr_t pc)
{
    struct code_blob blob;
    return code_cache_find(pc, &blob) &&
           (blob.kind == CODE_INTERPRETER || blob.kind == CODE_CONTINUATION ||
            blob.kind == CODE_UPCALL || pc == load_pointer(layout.call_stub_return) ||
            (blob.kind == CODE_METHOD && follows_call(pc)));
}

/* How far above sp the frame of a method begins, in words: it may have pushed arguments for a stub,
 * or have saved registers before a barrier of the collector. -1: there is no such frame. */
static int pushed_words(const struct walk_state *walk, const struct code_blob *blob, uintptr_t sp)
{
    for (int words = 0; words <= SAVED_MAX; words++) {
        uintptr_t at = sp + (uintptr_t)(words * WORD_BYTES + blob->frame_bytes - WORD_BYTES);
        if (walk_on_stack(walk, at) && leads_behind_call(load_pointer(at)))
            return words;
    }
    return -1;
}

/* Whether a word on the stack is the return address of a Java caller with these sp and fp. */
static bool is_return_address(const struct walk_state *walk, uintptr_t pc, uintptr_t sp,
                              uintptr_t fp)
{
    struct code_blob blob;
    if (pc == load_pointer(layout.call_stub_return))
        return fp >= sp && fp - sp <= WRAPPER_BYTES && walk_on_stack(walk, fp);
    if (!code_cache_find(pc, &blob))
        return false;
    if (blob.kind == CODE_INTERPRETER)
        return walk_interpreted_at(walk, fp, sp);
    if (blob.kind == CODE_CONTINUATION || blob.kind == CODE_UPCALL)
        return true;
    return blob.kind == CODE_METHOD && blob.frame_bytes > 0 && pc > blob.code &&
           (intptr_t)(pc - blob.code) > blob.frame_complete && follows_call(pc) &&
           pushed_words(walk, &blob, sp) >= 0;
}

static enum walk_step move_up(struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct code_blob blob;
    walk->pc = pc;
    walk->sp = sp;
    walk->fp = fp;
    walk->topmost = walk->called_native = false;
    if (code_cache_find(pc, &blob) && blob.kind == CODE_METHOD) {
        int words = pushed_words(walk, &blob, sp);
        walk->sp += (uintptr_t)(words > 0 ? words * WORD_BYTES : 0);
    }
    return WALK_ON;
}

enum walk_step topmost_find_caller(struct walk_state *walk, int words)
{
    for (int i = 0; i < words; i++) {
        uintptr_t at = walk->sp + (uintptr_t)i * WORD_BYTES, sp = at + WORD_BYTES;
        uintptr_t pc = load_pointer(at);
        if (!walk_on_stack(walk, at))
            return WALK_BROKEN;
        if (!code_cache_contains(pc))
            continue;
        /* Pushed just before, as the beginning of a frame. */
        uintptr_t pushed = i > 0 ? load_pointer(at - WORD_BYTES) : 0;
        if (i > 0 && is_return_address(walk, pc, sp, pushed))
            return move_up(walk, pc, sp, pushed);
        if (is_return_address(walk, pc, sp, walk->fp))
            return move_up(walk, pc, sp, walk->fp);
    }
    return WALK_BROKEN;
}

enum walk_step topmost_method(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp, fp = walk->fp;
    switch (walk->topmost ? part_of_frame(blob, walk->pc) : WHOLE) {
    case BARE:
        return move_up(walk, load_pointer(sp), sp + WORD_BYTES, fp);
    case PUSHED:
        return move_up(walk, load_pointer(sp + WORD_BYTES), sp + 2 * WORD_BYTES, load_pointer(sp));
    case WHOLE:
        break;
    }
    int words = pushed_words(walk, blob, sp);
    if (blob->frame_bytes < 2 * WORD_BYTES || words < 0)
        return WALK_BROKEN;
    sp += (uintptr_t)(words * WORD_BYTES + blob->frame_bytes);
    /* mov %rbp, n(%rsp): the frame is there, but fp is not in it yet. */
    bool saved =
        !(is_code(walk->pc, 0x246c8948, 0xffffffff) || is_code(walk->pc, 0x24ac8948, 0xffffffff)) ||
        (intptr_t)(walk->pc - blob->code) >= blob->frame_complete;
    return move_up(walk, load_pointer(sp - WORD_BYTES), sp,
                   saved ? load_pointer(sp - 2 * WORD_BYTES) : fp);
}

enum walk_step topmost_stub(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp + (uintptr_t)blob->frame_bytes, fp = walk->fp;
    if (blob->frame_bytes >= 2 * WORD_BYTES && walk_on_stack(walk, sp)) {
        uintptr_t pc = load_pointer(sp - WORD_BYTES);
        if (is_return_address(walk, pc, sp, load_pointer(sp - 2 * WORD_BYTES)))
            return move_up(walk, pc, sp, load_pointer(sp - 2 * WORD_BYTES));
    }
    if (topmost_find_caller(walk, STUB_WORDS) == WALK_ON)
        return WALK_ON;
    sp = fp + 2 * WORD_BYTES;
    if (fp > walk->sp && fp - walk->sp < FRAME_MAX && walk_on_stack(walk, fp) &&
        is_return_address(walk, load_pointer(sp - WORD_BYTES), sp, load_pointer(fp)))
        return move_up(walk, load_pointer(sp - WORD_BYTES), sp, load_pointer(fp));
    return WALK_BROKEN;
}

enum walk_step topmost_interpreted(struct walk_state *walk)
{
    uintptr_t method = walk->start->entered, sp = walk->start->sender_sp;
    if (!method_is_plausible(method))
        return WALK_BROKEN;
    walk->out[walk->depth++] = (struct walked_frame){
        .method = method,
        .bci = method_is_native(method) ? FRAME_BCI_NATIVE_METHOD : 0,
        .type = FRAME_TYPE_INTERPRETED,
    };
    if (topmost_find_caller(walk, STUB_WORDS) != WALK_ON)
        return WALK_BROKEN;
    if (sp >= walk->sp && sp - walk->sp < STUB_WORDS * WORD_BYTES && walk_on_stack(walk, sp))
        walk->sp = sp;
    return WALK_ON;
}
