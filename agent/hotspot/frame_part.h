/*
 * frame_part: how much of its frame a compiled method has at a place in its code, told by the
 * instructions around it (x86-64):
 *
 *   [stack bang] push %rbp  sub $n, %rsp  [barrier] ... add $n, %rsp  pop %rbp  [poll] ret
 *   BARE         BARE       PUSHED        WHOLE     WHOLE             PUSHED    BARE   BARE
 *
 * Signal context; every load is guarded.
 */
#ifndef AGENT_HOTSPOT_FRAME_PART_H
#define AGENT_HOTSPOT_FRAME_PART_H

#include "agent/hotspot/code_cache.h"

enum frame_part {
    FRAME_BARE,   /* the return address alone */
    FRAME_PUSHED, /* and the caller's fp below it */
    FRAME_WHOLE,
};

/* blob->kind is CODE_METHOD; pc is that of the next instruction. */
enum frame_part frame_part_at(const struct code_blob *blob, uintptr_t pc);
/* Whether the sub that makes the frame lies before pc, in a method or a stub. */
bool frame_part_subtracted(const struct code_blob *blob, uintptr_t pc);
/* Whether the caller's fp has been stored in a frame that is whole. */
bool frame_part_holds_fp(const struct code_blob *blob, uintptr_t pc);

#endif
