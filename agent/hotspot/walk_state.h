/*
 * walk_state: a walk under way, as its parts share it. Internal to agent/hotspot; signal context.
 */
#ifndef AGENT_HOTSPOT_WALK_STATE_H
#define AGENT_HOTSPOT_WALK_STATE_H

#include "agent/hotspot/layout.h"
#include "agent/hotspot/walk.h"

#include <stdbool.h>

enum walk_step { WALK_ON, WALK_ENDED, WALK_BROKEN };

struct walk_state {
    uintptr_t thread, stack_low, stack_high;
    const struct walk_start *start; /* NULL: from an anchor */
    struct walked_frame *out;
    int max, depth;
    uintptr_t pc, sp, fp; /* of the frame that comes next */
    bool topmost;         /* it was interrupted, and is not waiting for a call to return */
    bool called_native;   /* it waits for native code that it called as if that were Java */
    bool called_java;     /* it waits for the Java method that was met last */
#ifdef NMTAGENT_COMPARE
    bool places_as_agct;
#endif
};

/*
 * The interpreter's frame on x86-64, in words from fp. HotSpot's tables name the two where the
 * caller's sp and its own are kept; the others follow in the order they are pushed:
 *
 *   +1 return address | 0 caller's fp | -1 caller's sp | -2 own sp | -3 method | -4 mirror
 *   -5 profile | -6 constant pool cache | -7 locals | -8 bytecode
 */
static inline int64_t interpreted_method_slot(void)
{
    return layout.last_sp_slot - 1;
}

static inline int64_t interpreted_bcp_slot(void)
{
    return layout.last_sp_slot - 6;
}

bool walk_on_stack(const struct walk_state *walk, uintptr_t address);
/* Whether there may be an interpreted frame with this fp, its sp below. */
bool walk_interpreted_at(const struct walk_state *walk, uintptr_t fp, uintptr_t sp);
/* Of such a frame. */
uintptr_t walk_interpreted_method(uintptr_t fp);
uintptr_t walk_interpreted_sender_sp(uintptr_t fp);

#endif
