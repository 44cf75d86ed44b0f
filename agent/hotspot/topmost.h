/*
 * topmost: the frame that was interrupted, and how its caller is found.
 *
 * A frame below another one waits at a call, and all its parts are in place. The topmost one may
 * be anywhere: how much of its frame there is depends on where (frame_part.h). In a stub, or an
 * adapter between interpreted and compiled code, the caller is found by looking for a return
 * address near sp (return_address.h).
 *
 * Internal to agent/hotspot; signal context.
 */
#ifndef AGENT_HOTSPOT_TOPMOST_H
#define AGENT_HOTSPOT_TOPMOST_H

#include "agent/hotspot/code_cache.h"
#include "agent/hotspot/walk_state.h"

/* walk->pc is the interrupted one (walk->topmost), or that of a call of native code that left no
 * anchor. Each moves the walk to the caller. In a compiled method, whose frames have been put: */
enum walk_step topmost_method(struct walk_state *walk, const struct code_blob *blob);
enum walk_step topmost_stub(struct walk_state *walk, const struct code_blob *blob);
/* By the return address that comes first in so many words from sp. */
enum walk_step topmost_find_caller(struct walk_state *walk, int words);
/* In the interpreter, without a frame of it: a method is being entered, and is put here. */
enum walk_step topmost_interpreted(struct walk_state *walk);

#endif
