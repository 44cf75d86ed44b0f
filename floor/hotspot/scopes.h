/*
 * scopes: which methods a place in compiled code belongs to: the method and what is inlined there.
 *
 * Compiled code has a PcDesc for each place the JVM may have to understand (calls, safepoints),
 * sorted by pc; each leads to a scope: method, bytecode index and the scope it is inlined into, as
 * compressed numbers (UNSIGNED5).
 *
 * Signal context; every load is guarded.
 */
#pragma once

#include "floor/hotspot/frame.h"
#include "floor/hotspot/code_cache.h"

#include <stdbool.h>
#include <stdint.h>

struct walked_frame {
    uintptr_t method; /* Method * */
    int32_t bci;      /* FRAME_BCI_NATIVE_METHOD: implemented natively */
    uint16_t type;    /* frame_type */
    int16_t level;    /* of compilation; 0: interpreted; -1: not known */
};

/* The frames at pc, innermost first; at least one where max allows. pc: a return address; of an
 * instruction under way, one more. Between two descriptions it is taken for the next one; described tells
 * whether there is one of just that pc. blob->kind is CODE_METHOD. */
int scopes_at(const struct code_blob *blob, uintptr_t pc, struct walked_frame *out, int max,
              bool *described);
/* The latter alone. Each call of Java and each poll has a description of its own, a call of a leaf
 * function of the runtime has none. blob->kind is CODE_METHOD. */
bool scopes_describe(const struct code_blob *blob, uintptr_t pc);
/* Whether a return address into such a frame has been made to lead to the deoptimiser. */
bool scopes_is_deoptimiser(const struct code_blob *blob, uintptr_t pc);
/* Where the pc of such a frame is kept when it does; pc itself when it does not. sp: of the
 * frame. */
uintptr_t scopes_original_pc(const struct code_blob *blob, uintptr_t pc, uintptr_t sp);

/*
 * method: what the walker asks of a Method *.
 *
 * Signal context; every load is guarded.
 */
/* Whether the address may be that of a Method: it leads to a constant pool that holds its name. */
bool method_is_plausible(uintptr_t method);
bool method_is_native(uintptr_t method);
/* The index of a bytecode by its address; 0 where that is not in the method's code. */
int32_t method_bci(uintptr_t method, uintptr_t bcp);
