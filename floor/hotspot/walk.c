/* Signal context. */
#include "floor/hotspot/walk.h"

#include "floor/hotspot/code_cache.h"
#include "floor/hotspot/frame_cache.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/scopes.h"
#include "floor/hotspot/walk_state.h"

#include <stdatomic.h>

/* Frames, those without a Java method included. The sp only grows, so a damaged stack ends anyhow;
 * this bounds how long it takes. */
#define STEPS_MAX   16384
/* A ContinuationEntry and what lies around it. */
#define ENTRY_WORDS 24
/* Of a virtual thread's frames that are fetched at a time, in bytes. */
#define FETCHED_MAX 32768

static void put(struct walk_state *walk, struct walked_frame frame)
{
    walk->out[walk->depth++] = frame;
}

/* The caller's frame lies above: what does not is damage, and would never end. */
static bool move(struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    bool good = sp > walk->sp && (walk_on_stack(walk, sp) || sp == walk->stack_high);
    walk->pc = pc;
    walk->sp = sp;
    walk->fp = fp;
    walk->link = 0;
    walk->topmost = walk->called_native = walk->called_java = false;
    return good;
}

/* False: there is none, or it lies below where we are. */
static bool move_to_anchor(struct walk_state *walk, uintptr_t anchor)
{
    uintptr_t sp = load_pointer(anchor + (uintptr_t)layout.anchor_sp);
    uintptr_t pc = load_pointer(anchor + (uintptr_t)layout.anchor_pc);
    uintptr_t fp = load_pointer(anchor + (uintptr_t)layout.anchor_fp);
    if (pc == 0) /* the call that led out of Java has left it below sp */
        pc = return_address_at(sp - sizeof(void *));
    return sp != 0 && move(walk, pc, sp, fp);
}

/* Java was called from the VM: the anchor of the Java frame before that lies in the call's
 * wrapper. */
static enum walk_step step_call_stub(struct walk_state *walk)
{
    uintptr_t wrapper = walk_slot(walk->fp, layout.call_wrapper_slot);
    if (!walk_on_stack(walk, walk->fp) || !walk_on_stack(walk, wrapper))
        return WALK_BROKEN;
    uintptr_t anchor = wrapper + (uintptr_t)layout.wrapper_anchor;
    if (load_u64(anchor + (uintptr_t)layout.anchor_sp, 0) == 0)
        return WALK_ENDED;
    return move_to_anchor(walk, anchor) ? WALK_ON : WALK_BROKEN;
}

static enum walk_step step_interpreted(struct walk_state *walk)
{
    uintptr_t fp = walk->fp;
    if (!walk_interpreted_at(walk, fp, walk->sp)) {
        walk->called_java = true;
        return walk->topmost ? topmost_interpreted(walk) : WALK_BROKEN;
    }
    uintptr_t method = walk_interpreted_method(fp);
    bool native = method_is_native(method);
    put(walk, (struct walked_frame){
                  .method = method,
                  .bci = native ? FRAME_BCI_NATIVE_METHOD
                                : method_bci(method, walk_slot(fp, layout.last_sp_slot +
                                                                       machine.interpreted_bcp)),
                  .type = FRAME_TYPE_INTERPRETED,
              });
    bool good = move(walk, return_address_at(fp + WORD_BYTES), walk_interpreted_sender_sp(fp),
                     walk_slot(fp, 0));
    walk->called_java = true;
    return good ? WALK_ON : WALK_BROKEN;
}

/* What called a frame of a known size: return address and the caller's fp lie at its end. */
static enum walk_step move_to_caller(struct walk_state *walk, int32_t frame_bytes, bool called_java)
{
    uintptr_t sp = walk->sp + (uintptr_t)frame_bytes;
    bool good =
        frame_bytes >= (int32_t)sizeof(void *) &&
        move(walk, return_address_at(sp - WORD_BYTES), sp, load_pointer(sp - 2 * WORD_BYTES));
    walk->called_java = called_java;
    return good ? WALK_ON : WALK_BROKEN;
}

static uintptr_t place_of(const struct walk_state *walk, const struct code_blob *blob)
{
    if (walk->topmost)
        return walk->pc + 1;
    return scopes_original_pc(blob, walk->pc, walk->sp);
}

static int16_t level_of(const struct code_blob *blob)
{
    uint8_t known = UINT8_MAX;
    if (layout.nmethod_comp_level >= 0)
        known = load_u8(blob->address + (uintptr_t)layout.nmethod_comp_level, UINT8_MAX);
    return known <= INT8_MAX ? (int16_t)known : (int16_t)-1;
}

/* What is inlined was compiled with what it is inlined into. */
static void put_level(struct walk_state *walk, int16_t level, int frames)
{
    for (int i = 0; i < frames; i++)
        walk->out[walk->depth + i].level = level;
}

/* Continuation.enterSpecial, met in a whole stack: the one native method that Java code returns to. */
static _Atomic uintptr_t entry_method;

static bool entry_is_named(void)
{
    return layout.thread_cont_entry >= 0 && layout.cont_return_pc != 0;
}

static void learn_entry_method(const struct code_blob *blob)
{
    if (!entry_is_named() && method_is_native(blob->method))
        atomic_store_explicit(&entry_method, blob->method, memory_order_relaxed);
}

static enum walk_step step_method(struct walk_state *walk, const struct code_blob *blob)
{
    uintptr_t pc = place_of(walk, blob);
    struct walked_frame *out = walk->out + walk->depth;
    bool described, waits = !walk->topmost && !walk->called_native;
    int room = walk->max - walk->depth, frames = scopes_at(blob, pc, out, room, &described);
    bool called_java = return_address_called_java(blob, pc, described);
    int16_t level = level_of(blob);
    /* A word left over from a call that ended. */
    if (walk->called_java && !called_java)
        return WALK_BROKEN;
    if (walk->called_java)
        learn_entry_method(blob);
    put_level(walk, level, frames);
    if (waits && pc == walk->pc && described && called_java && frames < room)
        frame_cache_keep(pc, blob, out, frames, level);
    walk->depth += frames;
    if (waits)
        return move_to_caller(walk, blob->frame_bytes, true);
    walk->called_java = true;
    return topmost_method(walk, blob);
}

/* The same where it is known what is there. */
static enum walk_step step_known_call(struct walk_state *walk, const struct cached_call *call)
{
    for (int i = 0; i < call->frames; i++)
        put(walk, (struct walked_frame){
                      .method = (uintptr_t)(call->frame[i] >> 16),
                      .bci = (int32_t)(call->frame[i] & 0xffff),
                      .type = i < call->frames - 1 ? FRAME_TYPE_INLINED : FRAME_TYPE_COMPILED,
                      .level = call->level,
                  });
    return move_to_caller(walk, call->frame_bytes, true);
}

static bool is_known_call(const struct walk_state *walk, struct cached_call *call)
{
    return !walk->topmost && !walk->called_native && frame_cache_find(walk->pc, call) &&
           call->frames <= walk->max - walk->depth;
}

/* While frames are fetched they are being written below the word that returns into such a stub.
 * Words of earlier fetches lie below it; above are frames of the carrier, which has no such word.
 */
static bool move_above_fetched(struct walk_state *walk)
{
    uintptr_t found = 0, end = walk->stack_high;
    if (end - walk->sp > FETCHED_MAX)
        end = walk->sp + FETCHED_MAX;
    for (uintptr_t at = walk->sp; at < end; at += WORD_BYTES) {
        struct code_blob blob;
        uintptr_t pc = return_address_at(at);
        if (code_cache_contains(pc) && code_cache_find(pc, &blob) && blob.kind == CODE_CONTINUATION)
            found = at;
    }
    walk->sp = found + WORD_BYTES;
    return found != 0;
}

static void put_entry_method(struct walk_state *walk)
{
    uintptr_t method = atomic_load_explicit(&entry_method, memory_order_relaxed);
    if (method_is_plausible(method) && method_is_native(method))
        put(walk, (struct walked_frame){
                      .method = method, .bci = FRAME_BCI_NATIVE_METHOD, .type = FRAME_TYPE_NATIVE});
}

/* The entry itself is known by its method only, which is never unloaded. While frames are fetched fp is that of
 * its frame. */
static enum walk_step step_unnamed_entry(struct walk_state *walk)
{
    bool fetches = walk->topmost || walk->called_native;
    walk->called_java = true;
    if (fetches && topmost_leave_record(walk)) {
        put_entry_method(walk);
        return WALK_ON;
    }
    if (fetches && (!walk_on_stack(walk, walk->sp) || !move_above_fetched(walk)))
        return WALK_BROKEN;
    put_entry_method(walk);
    return topmost_find_caller(walk, ENTRY_WORDS);
}

/* A virtual thread that was unmounted deep in its stack comes back with its innermost frames only;
 * the last of them returns into a stub that fetches more. The rest is not on this stack; what goes
 * on is the carrier, from the entry of the continuation. Where this JVM's tables do not name
 * that (JDK 21), from the frame after it. */
static enum walk_step step_continuation(struct walk_state *walk)
{
    if (!entry_is_named())
        return step_unnamed_entry(walk);
    /* The entry lies where its frame begins. */
    uintptr_t entry = load_pointer(walk->thread + (uintptr_t)layout.thread_cont_entry);
    if (entry < walk->sp || !walk_on_stack(walk, entry))
        return WALK_BROKEN;
    walk->sp = entry - sizeof(void *); /* where we are may be its beginning already */
    return move(walk, load_pointer(layout.cont_return_pc), entry, 0) ? WALK_ON : WALK_BROKEN;
}

/* The same for Java that native code has called by java.lang.foreign: the anchor lies in the frame
 * as long as the thread is in Java. */
static enum walk_step step_upcall(struct walk_state *walk, const struct code_blob *blob)
{
    int32_t data = (int32_t)load_u32(blob->address + (uintptr_t)layout.upcall_frame_data, 0);
    uintptr_t anchor = walk->sp + (uintptr_t)(intptr_t)data + (uintptr_t)layout.upcall_anchor;
    if (layout.upcall_anchor < 0 || !walk_on_stack(walk, anchor))
        return WALK_BROKEN;
    if (load_u64(anchor + (uintptr_t)layout.anchor_sp, 0) == 0)
        return WALK_ENDED;
    return move_to_anchor(walk, anchor) ? WALK_ON : WALK_BROKEN;
}

/* Interrupted in the call stub, before the call or after it: what lies on the stack then is what
 * C++ has left there. */
static bool is_in_call_stub(uintptr_t pc)
{
    uintptr_t begin = load_pointer(layout.call_stub_return);
    if (pc >= begin)
        return pc - begin < (uintptr_t)machine.call_stub_rest;
    for (uintptr_t end = begin - (uintptr_t)machine.call_stub_begin; begin > end;
         begin -= (uintptr_t)machine.instruction_bytes) {
        if ((load_u64(begin, 0) & machine.call_stub_mask) == machine.call_stub_code)
            return pc > begin;
    }
    return false;
}

static enum walk_step step_stub(struct walk_state *walk, const struct code_blob *blob)
{
    if (walk->topmost && is_in_call_stub(walk->pc))
        return step_call_stub(walk);
    if (walk->topmost || walk->called_native)
        return topmost_stub(walk, blob);
    return move_to_caller(walk, blob->frame_bytes, false);
}

static enum walk_step step(struct walk_state *walk)
{
    struct code_blob blob;
    struct cached_call call;
    if (!walk->topmost && walk->pc == load_pointer(layout.call_stub_return))
        return step_call_stub(walk);
    if (is_known_call(walk, &call))
        return step_known_call(walk, &call);
    if (!code_cache_find(walk->pc, &blob))
        return WALK_BROKEN;
    switch (blob.kind) {
    case CODE_INTERPRETER:
        return step_interpreted(walk);
    case CODE_METHOD:
        return step_method(walk, &blob);
    case CODE_CONTINUATION:
        return step_continuation(walk);
    case CODE_UPCALL:
        return step_upcall(walk, &blob);
    case CODE_OTHER:
        return step_stub(walk, &blob);
    }
    return WALK_BROKEN;
}

static int run(struct walk_state *walk, enum walk_code *code)
{
    enum walk_step last = WALK_ON;
    for (int i = 0; last == WALK_ON && walk->depth < walk->max && i < STEPS_MAX; i++)
        last = step(walk);
    *code = last != WALK_BROKEN ? WALK_OK
            : walk->depth == 0  ? WALK_UNKNOWN_JAVA
                                : WALK_NOT_WALKABLE_JAVA;
    return walk->depth;
}

static struct walk_state open_walk(uintptr_t thread, struct walked_frame *out, int max)
{
    uintptr_t high = load_pointer(thread + (uintptr_t)layout.thread_stack_base);
    uintptr_t size = load_pointer(thread + (uintptr_t)layout.thread_stack_size);
    return (struct walk_state){
        .thread = thread,
        .stack_low = size < high ? high - size : high,
        .stack_high = high,
        .out = out,
        .max = max,
    };
}

static struct walk_state open_walk_from(const struct walk_start *start, struct walked_frame *out,
                                        int max)
{
    struct walk_state walk = open_walk(start->thread, out, max);
    if (start->stack_high != 0) {
        walk.stack_low = start->sp;
        walk.stack_high = start->stack_high;
    }
    return walk;
}

int walk_java_from_anchor(uintptr_t thread, struct walked_frame *out, int max, enum walk_code *code)
{
    struct walk_state walk = open_walk(thread, out, max);
    if (!move_to_anchor(&walk, thread + (uintptr_t)layout.thread_anchor)) {
        *code = WALK_NO_JAVA_FRAME;
        return 0;
    }
    return run(&walk, code);
}

int walk_java_from_call(const struct walk_start *start, struct walked_frame *out, int max,
                        enum walk_code *code)
{
    struct walk_state walk = open_walk_from(start, out, max);
    if (!move(&walk, start->pc, start->sp, start->fp)) {
        *code = WALK_NOT_WALKABLE_JAVA;
        return 0;
    }
    walk.called_native = true;
    return run(&walk, code);
}

/* Whether the thread runs Java code, and not, say, a stub on behalf of the VM. */
static bool runs_java(const struct walk_start *start)
{
    struct code_blob blob;
    uint32_t state = load_u32(start->thread + (uintptr_t)layout.thread_state, 0);
    return code_cache_find(start->pc, &blob) &&
           (start->in_java || blob.kind == CODE_INTERPRETER || blob.kind == CODE_METHOD ||
            state == layout.thread_in_java);
}

int walk_java(const struct walk_start *start, struct walked_frame *out, int max,
              enum walk_code *code)
{
    struct walk_state walk = open_walk_from(start, out, max);
    if (!runs_java(start)) {
        if (move_to_anchor(&walk, start->thread + (uintptr_t)layout.thread_anchor))
            return run(&walk, code);
        uint32_t state = load_u32(start->thread + (uintptr_t)layout.thread_state, 0);
        *code = state == layout.thread_in_java ? WALK_UNKNOWN_NOT_JAVA : WALK_NO_JAVA_FRAME;
        return 0;
    }
    walk.start = start;
    walk.pc = start->pc;
    walk.sp = start->sp;
    walk.fp = start->fp;
    walk.link = start->link;
    walk.topmost = true;
    if (!walk_on_stack(&walk, walk.sp)) {
        *code = WALK_NOT_WALKABLE_JAVA;
        return 0;
    }
    return run(&walk, code);
}
