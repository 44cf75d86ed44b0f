/*
 * scopes: which methods a place in compiled code belongs to: the method and what is inlined there.
 *
 * Compiled code has a PcDesc for each place the JVM may have to understand (calls, safepoints),
 * sorted by pc; each leads to a scope: method, bytecode index and the scope it is inlined into, as
 * compressed numbers (UNSIGNED5).
 *
 * Signal context; every load is guarded.
 */
#ifndef AGENT_HOTSPOT_SCOPES_H
#define AGENT_HOTSPOT_SCOPES_H

#include "agent/hotspot/code_cache.h"
#include "agent/hotspot/walk.h"

/* The frames at pc, innermost first; at least one where max allows. pc: a return address; of an
 * instruction under way, one more. Between two descriptions it is taken for the next one.
 * blob->kind is CODE_METHOD. */
int scopes_at(const struct code_blob *blob, uintptr_t pc, struct walked_frame *out, int max);
/* Whether pc is described exactly, as each return address of a call of Java is. Calls of leaf
 * functions of the runtime have no description. blob->kind is CODE_METHOD. */
bool scopes_is_call(const struct code_blob *blob, uintptr_t pc);
/* Whether a return address into such a frame has been made to lead to the deoptimiser. */
bool scopes_is_deoptimiser(const struct code_blob *blob, uintptr_t pc);
/* Where the pc of such a frame is kept when it does; pc itself when it does not. sp: of the
 * frame. */
uintptr_t scopes_original_pc(const struct code_blob *blob, uintptr_t pc, uintptr_t sp);

#endif
