/* Signal context. Reaches call_frame.c. */
#include "floor/hotspot/frame_rule.h"

#include "floor/hotspot/machine.h"
#include "floor/base/fold_hash.h"
#include "floor/hotspot/call_frame.h"

#ifdef NATIVE_UNWIND

#define CACHE_BITS 10

/* A pair is good when the two belong together: check = pc ^ rule. So a reader that meets a writer
 * half-way finds nothing, and nobody waits. */
static struct {
    _Atomic uint64_t check, rule;
} cache[1u << CACHE_BITS];

/* Whole words, in so many bits with a sign. */
static bool fits(int64_t offset, int bits)
{
    int64_t words = offset / FRAME_RULE_WORD, limit = INT64_C(1) << (bits - 1);
    return offset % FRAME_RULE_WORD == 0 && words >= -limit && words < limit;
}

static bool place_fits(struct call_frame_place place)
{
    return place.where == CALL_FRAME_SAME ||
           (place.where == CALL_FRAME_SAVED && fits(place.offset, 18));
}

static struct frame_rule make_rule(uintptr_t pc)
{
    struct frame_rule rule = {.kind = FRAME_RULE_OTHER};
    struct call_frame frame;
    if (!call_frame_describe(pc, &frame))
        return rule;
    if (frame.return_address.where == CALL_FRAME_UNDEFINED) {
        rule.kind = FRAME_RULE_END;
        return rule;
    }
    bool in_link = frame.return_address.where == CALL_FRAME_SAME;
    if ((frame.base != machine.dwarf_sp && frame.base != machine.dwarf_fp) ||
        !fits(frame.offset, 23) || !place_fits(frame.return_address) || !place_fits(frame.bp) ||
        (in_link && machine.call_pushed_bytes != 0))
        return rule;
    rule.kind = FRAME_RULE_CALLER;
    rule.base_is_bp = frame.base == machine.dwarf_fp;
    rule.bp_is_saved = frame.bp.where == CALL_FRAME_SAVED;
    rule.return_in_link = in_link;
    rule.cfa_words = frame.offset / FRAME_RULE_WORD;
    rule.bp_words = rule.bp_is_saved ? frame.bp.offset / FRAME_RULE_WORD : 0;
    rule.return_words = in_link ? 0 : frame.return_address.offset / FRAME_RULE_WORD;
    return rule;
}

struct frame_rule frame_rule_of(uintptr_t pc)
{
    struct frame_rule rule;
    uint64_t at = fold_word(pc) >> (64 - CACHE_BITS), bits;
    /* Relaxed: the two words need no order, they are checked against each other. */
    bits = atomic_load_explicit(&cache[at].rule, memory_order_relaxed);
    if ((atomic_load_explicit(&cache[at].check, memory_order_relaxed) ^ bits) == pc) {
        __builtin_memcpy(&rule, &bits, sizeof rule);
        return rule;
    }
    rule = make_rule(pc);
    __builtin_memcpy(&bits, &rule, sizeof bits);
    atomic_store_explicit(&cache[at].rule, bits, memory_order_relaxed);
    atomic_store_explicit(&cache[at].check, pc ^ bits, memory_order_relaxed);
    return rule;
}

void frame_rules_forget(void)
{
    for (unsigned i = 0; i < 1u << CACHE_BITS; i++)
        atomic_store_explicit(&cache[i].check, 0, memory_order_relaxed);
}

#endif
