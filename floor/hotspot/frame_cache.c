/* Signal context, but for frame_cache_use. */
#include "floor/hotspot/frame_cache.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/base/fold_hash.h"

#include <stdalign.h>
#include <stdatomic.h>

#define BCI_BITS 16 /* a method has at most 65 535 bytes of bytecode */

enum word { PC, NMETHOD, METHOD, SIZES, COUNTS, FRAMES, WORDS = FRAMES + FRAME_CACHE_METHODS };

struct place {
    alignas(128) _Atomic uint32_t version; /* odd: being written; 0: nothing */
    _Atomic int32_t compile_id;
    _Atomic uint64_t words[WORDS];
};
_Static_assert(sizeof(struct place) == 128, "two cache lines, which are fetched together");

#define PLACES (FRAME_CACHE_BYTES / sizeof(struct place))

static struct place *_Atomic places;

void frame_cache_use(void *memory)
{
    atomic_store_explicit(&places, memory, memory_order_release);
}

static struct place *place_of(uintptr_t pc)
{
    struct place *first = atomic_load_explicit(&places, memory_order_acquire);
    return first != NULL ? &first[fold_word(pc) % PLACES] : NULL;
}

static uint64_t word(const struct place *place, int which)
{
    return atomic_load_explicit(&place->words[which], memory_order_relaxed);
}

static int32_t compile_id_of(uintptr_t nmethod)
{
    return (int32_t)load_u32(nmethod + (uintptr_t)layout.nmethod_compile_id, 0);
}

/* The same nmethod, and not one that was freed or has taken its room. */
static bool is_alive(const struct cached_call *call, int32_t compile_id)
{
    return compile_id_of(call->nmethod) == compile_id &&
           load_pointer(call->nmethod + (uintptr_t)layout.nmethod_method) == call->method &&
           load_u8(call->nmethod - (uintptr_t)layout.block_size + (uintptr_t)layout.block_used,
                   0) != 0;
}

bool frame_cache_find(uintptr_t pc, struct cached_call *out)
{
    const struct place *place = place_of(pc);
    if (place == NULL)
        return false;
    /* Acquire; partner: the release at the end of frame_cache_keep. */
    uint32_t version = atomic_load_explicit(&place->version, memory_order_acquire);
    if (version % 2 != 0 || word(place, PC) != pc)
        return false;
    uint64_t sizes = word(place, SIZES), counts = word(place, COUNTS);
    int32_t compile_id = atomic_load_explicit(&place->compile_id, memory_order_relaxed);
    out->pc = pc;
    out->nmethod = word(place, NMETHOD);
    out->method = word(place, METHOD);
    out->nmethod_bytes = (uint32_t)(sizes >> 32);
    out->frame_bytes = (int32_t)(uint32_t)sizes;
    out->level = (int16_t)(uint16_t)(counts >> 16);
    out->frames = (int)(counts & 0xff) % (FRAME_CACHE_METHODS + 1);
    for (int i = 0; i < out->frames; i++)
        out->frame[i] = word(place, FRAMES + i);
    atomic_thread_fence(memory_order_acquire); /* what was read is of that version */
    return atomic_load_explicit(&place->version, memory_order_relaxed) == version &&
           is_alive(out, compile_id);
}

void frame_cache_keep(uintptr_t pc, const struct code_blob *blob, const struct walked_frame *frames,
                      int count, int16_t level)
{
    struct place *place = place_of(pc);
    if (place == NULL || count < 1 || count > FRAME_CACHE_METHODS || layout.nmethod_compile_id < 0)
        return;
    int32_t compile_id = compile_id_of(blob->address);
    uint32_t version = atomic_load_explicit(&place->version, memory_order_relaxed);
    if (compile_id <= 0 || version % 2 != 0 ||
        !atomic_compare_exchange_strong_explicit(&place->version, &version, version + 1,
                                                 memory_order_acquire, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release); /* odd is seen before what follows */
    const uint64_t words[FRAMES] = {
        [PC] = pc,
        [NMETHOD] = blob->address,
        [METHOD] = blob->method,
        [SIZES] = (uint64_t)blob->bytes << 32 | (uint32_t)blob->frame_bytes,
        [COUNTS] = (uint64_t)(uint16_t)level << 16 | (uint64_t)count,
    };
    atomic_store_explicit(&place->compile_id, compile_id, memory_order_relaxed);
    for (int i = 0; i < FRAMES; i++)
        atomic_store_explicit(&place->words[i], words[i], memory_order_relaxed);
    for (int i = 0; i < count; i++)
        atomic_store_explicit(&place->words[FRAMES + i],
                              (uint64_t)frames[i].method << BCI_BITS | (uint16_t)frames[i].bci,
                              memory_order_relaxed);
    atomic_store_explicit(&place->version, version + 2, memory_order_release);
}
