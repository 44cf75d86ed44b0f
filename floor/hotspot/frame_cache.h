/*
 * frame_cache: what the walk has read before of a call in compiled code: how large the frame is, and which
 * methods it stands for.
 *
 * Reading that takes some twenty loads a frame, in a dozen cache lines that the application has pushed
 * out since the last sample; here it is two lines, and three loads that show that the code is still the
 * same: its compile id, its method, and that its block of the code cache is in use. An nmethod on the
 * stack of the thread that walks does not change otherwise.
 *
 *     pc --hash--> [ version, compile id | pc | nmethod | method | sizes | method << 16 | bci ... ] 128 bytes
 *
 * A call site has one place; another one that needs it takes it. Lock-free: a writer makes the version odd,
 * and who finds it odd, or changed after reading, has found nothing. Kept: calls of Java in methods
 * that are not native, with at most ten methods inlined into each other, of an nmethod that has a compile id.
 *
 * frame_cache_use: setup context, while no thread walks. The others: signal context; every load is guarded.
 */
#pragma once

#include "floor/hotspot/scopes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_CACHE_METHODS 10
#define FRAME_CACHE_BYTES   ((size_t)2048 * 128)

struct cached_call {
    uintptr_t pc;           /* where the call returns to */
    uintptr_t nmethod;      /* CodeBlob * */
    uint32_t nmethod_bytes; /* as code_blob has them */
    uintptr_t method;       /* that was compiled */
    int32_t frame_bytes;
    int16_t level;                       /* of compilation; -1: not known */
    int frames;                          /* innermost first; the last one is method */
    uint64_t frame[FRAME_CACHE_METHODS]; /* Method * << 16 | bci */
};

/* FRAME_CACHE_BYTES of zeros, which the caller keeps; NULL: nothing is kept from now on. */
void frame_cache_use(void *memory);
/* False: it is not known (any more). pc: a return address, not that of the deoptimiser. */
bool frame_cache_find(uintptr_t pc, struct cached_call *out);
/* frames[]: as scopes_at has found them for a call that pc returns to, in blob. */
void frame_cache_keep(uintptr_t pc, const struct code_blob *blob, const struct walked_frame *frames,
                      int count, int16_t level);
