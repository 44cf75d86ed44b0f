/*
 * walk_state: a walk under way, as its parts share it. Internal to agent/hotspot; signal context,
 * every load guarded. Who calls whom: walk.c -> topmost.c -> return_address.c.
 */
#pragma once

#include "floor/hotspot/code_cache.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/hotspot/machine.h"
#include "floor/hotspot/scopes.h"
#include "floor/hotspot/walk.h"

#include <stdbool.h>

enum walk_step { WALK_ON, WALK_ENDED, WALK_BROKEN };

struct walk_state {
    uintptr_t thread, stack_low, stack_high;
    const struct walk_start *start; /* NULL: from an anchor */
    struct walked_frame *out;
    int max, depth;
    uintptr_t pc, sp, fp; /* of the frame that comes next */
    uintptr_t link;       /* of the interrupted one; 0: its return address is on the stack */
    bool topmost;         /* it was interrupted, and is not waiting for a call to return */
    bool called_native;   /* it waits for native code that it called as if that were Java */
    bool called_java;     /* it waits for the Java method that was found last */
    /* What return_address_pushed_words has found last, and for what. */
    uintptr_t seen_at, seen_blob;
    int seen_words;
};

/* What class files allow for an expression stack, and locks. */
#define INTERPRETED_WORDS_MAX 0x20000

static inline uintptr_t walk_slot(uintptr_t fp, int64_t index)
{
    return load_pointer(fp + (uintptr_t)(index * (int64_t)sizeof(void *)));
}

static inline bool walk_on_stack(const struct walk_state *walk, uintptr_t address)
{
    return address >= walk->stack_low && address < walk->stack_high &&
           address % sizeof(void *) == 0;
}

/* Of an interpreted frame. */
static inline uintptr_t walk_interpreted_method(uintptr_t fp)
{
    return walk_slot(fp, layout.last_sp_slot - 1);
}

/* The caller's sp. That of an interpreted caller may lie below this frame (aarch64): it leaves room for
 * its deepest expression stack, and what it calls begins above that. */
static inline uintptr_t walk_interpreted_sender_sp(uintptr_t fp)
{
    uintptr_t sp = walk_slot(fp, layout.sender_sp_slot), least = fp + 2 * WORD_BYTES;
    return machine.call_pushed_bytes == 0 && sp < least ? least : sp;
}

/* A frame's own sp: 0 while it is not needed, an address below fp, or (JDK 21) how far below. The
 * frame of the call stub, which has a method where this one has it, keeps an address of code there.
 */
static inline bool walk_is_own_sp(const struct walk_state *walk, uintptr_t fp, uintptr_t sp)
{
    return (walk_on_stack(walk, sp) && sp < fp) ||
           ((intptr_t)sp <= 0 && (intptr_t)sp > -INTERPRETED_WORDS_MAX);
}

/* Whether there may be an interpreted frame with this fp, its sp below. */
static inline bool walk_interpreted_at(const struct walk_state *walk, uintptr_t fp, uintptr_t sp)
{
    return fp > sp && walk_on_stack(walk, fp) &&
           walk_is_own_sp(walk, fp, walk_slot(fp, layout.last_sp_slot)) &&
           method_is_plausible(walk_interpreted_method(fp));
}

/*
 * return_address.c: whether a word on the stack is the return address that it looks like.
 *
 * A stack is full of return addresses of calls that are over. What a word must have to be one of a
 * call under way:
 *
 * - it leads behind a call instruction of a compiled method (or to its deoptimiser), into the
 *   interpreter, into the call stub, ...
 * - where the call is a direct one, it calls the method whose frame lies below, and no other;
 * - the caller's frame ends in a return address as well: a compiled one where its size says, an
 *   interpreted one where its fp says.
 */

/* Whether pc may be the return address of a Java caller with these sp and fp. It called Java where
 * walk->called_java says so; otherwise nothing is known of what it called. */
bool return_address_is(struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp);
/* Whether a compiled method may have called Java there: it stands behind a call that is described
 * (scopes_at). A poll has a description as well; a call of a leaf function or of the method's entry barrier has
 * none. Continuation.enterSpecial, which is native, calls Java without a description. pc: scopes_original_pc. */
bool return_address_called_java(const struct code_blob *caller, uintptr_t pc, bool described);
/* What frame_cache has stored about the caller: a compiled method that is not native, behind a call of Java.
 * code and frame_complete are not set. */
bool return_address_known(uintptr_t pc, struct code_blob *caller);
/* How far above sp the frame of a method begins, in words: it may have pushed arguments for a stub,
 * or have saved registers before a barrier of the collector. -1: there is no such frame. */
int return_address_pushed_words(struct walk_state *walk, const struct code_blob *blob,
                                uintptr_t sp);

/*
 * topmost.c: the frame that was interrupted, and how its caller is found.
 *
 * A frame below another one waits at a call, and all its parts are in place. The topmost one may
 * be anywhere: how much of its frame there is depends on where (frame_part). In a stub, or an
 * adapter between interpreted and compiled code, the caller is found by looking for a return
 * address near sp (return_address.c).
 */

/* walk->pc is the interrupted one (walk->topmost), or that of a call of native code that left no
 * anchor. Each moves the walk to the caller. In a compiled method, whose frames have been put: */
enum walk_step topmost_method(struct walk_state *walk, const struct code_blob *blob);
enum walk_step topmost_stub(struct walk_state *walk, const struct code_blob *blob);
/* By the return address that comes first in so many words from sp. */
enum walk_step topmost_find_caller(struct walk_state *walk, int words);
/* By the return address above what fp leads to, in a stub that uses fp; false: there is none. */
bool topmost_leave_record(struct walk_state *walk);
/* In the interpreter, without a frame of it: a method is being entered, and is put here. */
enum walk_step topmost_interpreted(struct walk_state *walk);
