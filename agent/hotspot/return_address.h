/*
 * return_address: whether a word on the stack is the return address that it looks like.
 *
 * A stack is full of return addresses of calls that are over. What a word must have to be one of a
 * call under way:
 *
 * - it leads behind a call instruction of a compiled method (or to its deoptimiser), into the
 *   interpreter, into the call stub, ...
 * - where the call is a direct one, it calls the method whose frame lies below, and no other;
 * - the caller's frame ends in a return address as well: a compiled one where its size says, an
 *   interpreted one where its fp says.
 *
 * Internal to agent/hotspot; signal context; every load is guarded.
 */
#ifndef AGENT_HOTSPOT_RETURN_ADDRESS_H
#define AGENT_HOTSPOT_RETURN_ADDRESS_H

#include "agent/hotspot/code_cache.h"
#include "agent/hotspot/walk_state.h"

/* Whether pc may be the return address of a Java caller with these sp and fp; nothing is known of
 * what it called. */
bool return_address_is(const struct walk_state *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp);
/* How far above sp the frame of a method begins, in words: it may have pushed arguments for a stub,
 * or have saved registers before a barrier of the collector. -1: there is no such frame. */
int return_address_pushed_words(const struct walk_state *walk, const struct code_blob *blob,
                                uintptr_t sp);

#endif
