/* Signal context. */
#include "floor/hotspot/walk_state.h"

#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/scopes.h"

#define STUB_WORDS 48   /* below the return address, of a stub or an adapter */
#define FRAME_MAX  8192 /* bytes from sp to fp, of a stub that uses fp */

static enum walk_step move_up(struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct code_blob blob;
    walk->pc = pc;
    walk->sp = sp;
    walk->fp = fp;
    walk->link = 0;
    walk->topmost = walk->called_native = false;
    if (return_address_known(pc, &blob) ||
        (code_cache_find(pc, &blob) && blob.kind == CODE_METHOD)) {
        int words = return_address_pushed_words(walk, &blob, sp);
        walk->sp += (uintptr_t)(words > 0 ? words * WORD_BYTES : 0);
    }
    return WALK_ON;
}

/* The return address is where the call has left it. */
static bool leave_by_link(struct walk_state *walk)
{
    return walk->link != 0 && return_address_is(walk, walk->link, walk->sp, walk->fp) &&
           move_up(walk, walk->link, walk->sp, walk->fp) == WALK_ON;
}

enum walk_step topmost_find_caller(struct walk_state *walk, int words)
{
    if (leave_by_link(walk))
        return WALK_ON;
    for (int i = 0; i < words; i++) {
        uintptr_t at = walk->sp + (uintptr_t)i * WORD_BYTES, sp = at + WORD_BYTES;
        uintptr_t pc = return_address_at(at);
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
    uintptr_t sp = walk->sp + (uintptr_t)machine.call_pushed_bytes, fp = walk->fp;
    uintptr_t pc = walk->link != 0 ? walk->link : return_address_at(walk->sp);
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
        return move_up(walk, return_address_at(sp + WORD_BYTES), sp + 2 * WORD_BYTES,
                       load_pointer(sp));
    case FRAME_MOVED:
        return move_up(walk, walk->link, sp + (uintptr_t)blob->frame_bytes, fp);
    case FRAME_WHOLE:
        break;
    }
    if (blob->frame_bytes < 2 * WORD_BYTES)
        return topmost_find_caller(walk, STUB_WORDS);
    int words = return_address_pushed_words(walk, blob, sp);
    if (words < 0)
        return WALK_BROKEN;
    sp += (uintptr_t)(words * WORD_BYTES + blob->frame_bytes);
    return move_up(walk, return_address_at(sp - WORD_BYTES), sp,
                   frame_part_holds_fp(blob, walk->pc) ? load_pointer(sp - 2 * WORD_BYTES) : fp);
}

/* The frame of a known size. */
static bool leave_whole_stub(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp + (uintptr_t)blob->frame_bytes;
    if (blob->frame_bytes < 2 * WORD_BYTES || !walk_on_stack(walk, sp) ||
        (walk->pc - blob->code <= (uintptr_t)machine.entry_bytes &&
         !frame_part_made(blob, walk->pc)))
        return false;
    uintptr_t pc = return_address_at(sp - WORD_BYTES), fp = load_pointer(sp - 2 * WORD_BYTES);
    return return_address_is(walk, pc, sp, fp) && move_up(walk, pc, sp, fp) == WALK_ON;
}

/* A method that has its frame, and has called the stub before its first instruction: below is the
 * stub's frame, [ fp | cookie | return address ], and in it words of calls that are over. */
static bool leave_entry_barrier(struct walk_state *walk)
{
    struct code_blob method;
    uintptr_t fp = walk->fp, sp = fp + 3 * WORD_BYTES, pc = load_pointer(sp - WORD_BYTES);
    return machine.entry_cookie != 0 && fp >= walk->sp && fp - walk->sp < FRAME_MAX &&
           walk_on_stack(walk, fp) && walk_on_stack(walk, sp) &&
           load_u64(fp + WORD_BYTES, 0) == machine.entry_cookie && code_cache_find(pc, &method) &&
           method.kind == CODE_METHOD && move_up(walk, pc, sp, load_pointer(fp)) == WALK_ON;
}

bool topmost_leave_record(struct walk_state *walk)
{
    uintptr_t record = walk->fp, sp = record + 2 * WORD_BYTES;
    if (record < walk->sp || record - walk->sp >= FRAME_MAX || !walk_on_stack(walk, record))
        return false;
    uintptr_t pc = return_address_at(sp - WORD_BYTES), fp = load_pointer(record);
    return return_address_is(walk, pc, sp, fp) && move_up(walk, pc, sp, fp) == WALK_ON;
}

/* The call before pc leads into the stub that was interrupted, at or before the place where that is: what a word
 * that was left over by another call does not. */
static bool has_called(const struct walk_state *walk, const struct code_blob *stub, uintptr_t pc)
{
    uintptr_t target = code_call_target(pc);
    return target >= stub->code && target <= walk->pc && target - stub->address < stub->bytes;
}

static bool leave_to_caller_of(struct walk_state *walk, const struct code_blob *stub, uintptr_t at,
                               uintptr_t fp)
{
    struct code_blob caller;
    uintptr_t pc = return_address_at(at), sp = at + WORD_BYTES;
    return walk_on_stack(walk, at) && code_cache_contains(pc) && has_called(walk, stub, pc) &&
           code_cache_find(pc, &caller) && return_address_is(walk, pc, sp, fp) &&
           (caller.kind != CODE_METHOD || return_address_pushed_words(walk, &caller, sp) == 0) &&
           move_up(walk, pc, sp, fp) == WALK_ON;
}

/*
 * A stub of which its caller's call is known, in one of the blobs that hold many: by fp where the stub has made it
 * lead to its frame, for that frame has words that it never wrote; at the entry, before and after a push, and
 * at the end by the word at sp.
 */
static bool leave_called_stub(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t record = walk->fp;
    if (record >= walk->sp && record - walk->sp < FRAME_MAX && walk_on_stack(walk, record) &&
        leave_to_caller_of(walk, blob, record + WORD_BYTES, load_pointer(record)))
        return true;
    for (int i = 0; i < STUB_WORDS; i++) {
        uintptr_t at = walk->sp + (uintptr_t)i * WORD_BYTES;
        if ((i > 0 && leave_to_caller_of(walk, blob, at, load_pointer(at - WORD_BYTES))) ||
            leave_to_caller_of(walk, blob, at, walk->fp))
            return true;
    }
    return false;
}

/* A method has jumped here to throw; where it was comes in a register, and is pushed first. */
static bool leave_thrower(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t sp = walk->sp, fp = walk->fp;
    if (!walk->topmost || walk->pc != blob->code ||
        (load_u32(walk->pc, 0) & machine.throw_mask) != machine.throw_code)
        return false;
    uintptr_t pc = walk->start->thrown_at;
    return return_address_is(walk, pc, sp, fp) && move_up(walk, pc, sp, fp) == WALK_ON;
}

enum walk_step topmost_stub(struct walk_state *walk, const struct code_blob *blob)
{
    bool left = leave_thrower(walk, blob) || leave_by_link(walk) || leave_entry_barrier(walk) ||
                leave_whole_stub(walk, blob);
    if (!left) /* nothing was written there: what it holds is left over */
        walk->sp += code_call_padding(walk->pc);
    left = left || leave_called_stub(walk, blob) ||
           (machine.stubs_have_records && topmost_leave_record(walk)) ||
           topmost_find_caller(walk, STUB_WORDS) == WALK_ON || topmost_leave_record(walk);
    return left ? WALK_ON : WALK_BROKEN;
}

/* The caller's return address is in a register until the frame begins with it. Its sp is known: only the method
 * whose frame begins there can be the caller. */
static bool leave_entered(struct walk_state *walk)
{
    struct code_blob caller;
    uintptr_t pc = walk->start->entered_from, sp = walk->start->sender_sp;
    return sp >= walk->sp && walk_on_stack(walk, sp) && code_cache_contains(pc) &&
           return_address_is(walk, pc, sp, walk->fp) && code_cache_find(pc, &caller) &&
           caller.kind == CODE_METHOD && return_address_pushed_words(walk, &caller, sp) == 0 &&
           move_up(walk, pc, sp, walk->fp) == WALK_ON;
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
    if (leave_entered(walk))
        return WALK_ON;
    if (topmost_find_caller(walk, STUB_WORDS) != WALK_ON)
        return WALK_BROKEN;
    if (sp >= walk->sp && sp - walk->sp < STUB_WORDS * WORD_BYTES && walk_on_stack(walk, sp))
        walk->sp = sp;
    return WALK_ON;
}
