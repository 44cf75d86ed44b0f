/* Signal context. Reaches call_frame.c. */
#include "agent/stack/frame_rule.h"

#include "agent/mem/fold_hash.h"
#include "agent/stack/call_frame.h"

#ifdef NATIVE_UNWIND

#define CACHE_BITS 10

/* A pair is good when the two belong together: check = pc ^ rule. So a reader that meets a writer
 * half-way finds nothing, and nobody waits. */
static struct {
    _Atomic uint64_t check, rule;
} cache[1u << CACHE_BITS];

static bool fits(int64_t offset)
{
    return offset >= -(INT64_C(1) << 29) && offset < INT64_C(1) << 29;
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
    bool saved = frame.bp.where == CALL_FRAME_SAVED;
    if ((frame.base != CALL_FRAME_SP && frame.base != CALL_FRAME_BP) || !fits(frame.offset) ||
        frame.return_address.where != CALL_FRAME_SAVED || frame.return_address.offset != -8 ||
        (!saved && frame.bp.where != CALL_FRAME_SAME) || (saved && !fits(frame.bp.offset)))
        return rule;
    rule.kind = FRAME_RULE_CALLER;
    rule.base_is_bp = frame.base == CALL_FRAME_BP;
    rule.cfa_offset = frame.offset;
    rule.bp_is_saved = saved;
    rule.bp_offset = saved ? frame.bp.offset : 0;
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
