/*
 * frame_rule: how to come from a place in native code to its caller.
 *
 * What unwind tables say of nearly all compiled code is little: the caller's stack pointer (CFA) is
 * %rsp or %rbp and a number, the return address lies below it, and %rbp is as it was or saved at a
 * fixed place. That is eight bytes, which are remembered for the places that were asked for last
 * (1 024, 16 KB); a walk then touches the stack and those, where libunwind touches its cache, the
 * tables and locks. In 23 000 stacks of JDK 17 and 25 the frames were the same as libunwind's; 1 in
 * 240 had a frame that is described in another way, which is left to libunwind.
 *
 * The rule of a library that is unloaded is remembered until frame_rules_forget.
 *
 * frame_rule_of: signal context. Lock-free.
 */
#ifndef AGENT_STACK_FRAME_RULE_H
#define AGENT_STACK_FRAME_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum frame_rule_kind {
    FRAME_RULE_OTHER,  /* not as above, or no table */
    FRAME_RULE_CALLER, /* as above */
    FRAME_RULE_END,    /* it has no caller */
};

struct frame_rule {
    uint64_t kind : 2;
    uint64_t base_is_bp : 1;  /* else sp */
    uint64_t bp_is_saved : 1; /* else it is the caller's already */
    int64_t cfa_offset : 30;  /* CFA = base + cfa_offset; the return address lies at CFA - 8 */
    int64_t bp_offset : 30;   /* from the CFA */
};
_Static_assert(sizeof(struct frame_rule) == 8, "one load");

/* pc: of the instruction; for a return address the byte before it. */
struct frame_rule frame_rule_of(uintptr_t pc);
/* Any thread. */
void frame_rules_forget(void);

#endif
