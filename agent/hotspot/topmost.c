/* Signal context. */
#include "agent/hotspot/walk_state.h"

#include "agent/hotspot/load.h"
#include "agent/hotspot/scopes.h"

#define STUB_WORDS  48   /* below the return address, of a stub or an adapter */
#define FRAME_MAX   8192 /* bytes from sp to fp, of a stub that uses fp */
#define ENTRY_BYTES 4    /* push %rbp; mov %rsp, %rbp: no frame yet */
#define PUSH_RDX    0x52
#define COOKIE      UINT64_MAX /* what the stub of a method's entry barrier pushes before its frame */

static enum walk_step move_up(struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct code_blob blob;
    walk->pc = pc;
    walk->sp = sp;
    walk->fp = fp;
    walk->topmost = walk->called_native = false;
    if (code_cache_find(pc, &blob) && blob.kind == CODE_METHOD) {
        int words = return_address_pushed_words(walk, &blob, sp);
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
        if (i > 0 && return_address_is(walk, pc, sp, pushed))
            return move_up(walk, pc, sp, pushed);
        if (return_address_is(walk, pc, sp, walk->fp))
            return move_up(walk, pc, sp, walk->fp);
    }
    return WALK_BROKEN;
}

/* A frame of which only that much is there. A method handle's intrinsic has none at all, but may
 * have pushed registers for a barrier. */
static enum walk_step leave_bare(struct walk_state *walk)
{
    uintptr_t pc = load_pointer(walk->sp), sp = walk->sp + WORD_BYTES, fp = walk->fp;
    if (return_address_is(walk, pc, sp, fp) || topmost_find_caller(walk, STUB_WORDS) == WALK_BROKEN)
        return move_up(walk, pc, sp, fp);
    return WALK_ON;
}

enum walk_step topmost_method(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp, fp = walk->fp;
    switch (walk->topmost ? frame_part_at(blob, walk->pc) : FRAME_WHOLE) {
    case FRAME_BARE:
        return leave_bare(walk);
    case FRAME_PUSHED:
        return move_up(walk, load_pointer(sp + WORD_BYTES), sp + 2 * WORD_BYTES, load_pointer(sp));
    case FRAME_WHOLE:
        break;
    }
    if (blob->frame_bytes < 2 * WORD_BYTES)
        return topmost_find_caller(walk, STUB_WORDS);
    int words = return_address_pushed_words(walk, blob, sp);
    if (words < 0)
        return WALK_BROKEN;
    sp += (uintptr_t)(words * WORD_BYTES + blob->frame_bytes);
    return move_up(walk, load_pointer(sp - WORD_BYTES), sp,
                   frame_part_holds_fp(blob, walk->pc) ? load_pointer(sp - 2 * WORD_BYTES) : fp);
}

/* The frame of a known size. */
static bool leave_whole_stub(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp + (uintptr_t)blob->frame_bytes;
    if (blob->frame_bytes < 2 * WORD_BYTES || !walk_on_stack(walk, sp) ||
        (walk->pc - blob->code <= ENTRY_BYTES && !frame_part_subtracted(blob, walk->pc)))
        return false;
    uintptr_t pc = load_pointer(sp - WORD_BYTES), fp = load_pointer(sp - 2 * WORD_BYTES);
    return return_address_is(walk, pc, sp, fp) && move_up(walk, pc, sp, fp) == WALK_ON;
}

/* A method that has its frame, and has called the stub before its first instruction: below is the
 * stub's frame, [ %rbp | cookie | return address ], and in it words of calls that are over. */
static bool leave_entry_barrier(struct walk_state *walk)
{
    struct code_blob method;
    uintptr_t fp = walk->fp, sp = fp + 3 * WORD_BYTES, pc = load_pointer(sp - WORD_BYTES);
    return fp >= walk->sp && fp - walk->sp < FRAME_MAX && walk_on_stack(walk, fp) &&
           walk_on_stack(walk, sp) && load_u64(fp + WORD_BYTES, 0) == COOKIE &&
           code_cache_find(pc, &method) && method.kind == CODE_METHOD &&
           move_up(walk, pc, sp, load_pointer(fp)) == WALK_ON;
}

enum walk_step topmost_stub(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp, fp = walk->fp;
    /* A method has jumped here to throw; where it was comes in %rdx, and is pushed first. */
    if (walk->topmost && walk->pc == blob->code && load_u8(walk->pc, 0) == PUSH_RDX &&
        return_address_is(walk, walk->start->thrown_at, sp, fp))
        return move_up(walk, walk->start->thrown_at, sp, fp);
    if (leave_entry_barrier(walk))
        return WALK_ON;
    if (leave_whole_stub(walk, blob) || topmost_find_caller(walk, STUB_WORDS) == WALK_ON)
        return WALK_ON;
    sp = fp + 2 * WORD_BYTES;
    if (fp > walk->sp && fp - walk->sp < FRAME_MAX && walk_on_stack(walk, fp) &&
        return_address_is(walk, load_pointer(sp - WORD_BYTES), sp, load_pointer(fp)))
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
