/*
 * call_frame: what a description (DWARF call frame information, .eh_frame) says of a place in code.
 *
 * A description is a program for a small machine; it is run up to the place. Of the registers only
 * those that lead to the caller are followed: the CFA, %rbp and the return address. Everything is
 * checked against the end of its record: damage gives false, not a fault.
 *
 * Signal context.
 */
#ifndef AGENT_STACK_CALL_FRAME_H
#define AGENT_STACK_CALL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum { CALL_FRAME_BP = 6, CALL_FRAME_SP = 7, CALL_FRAME_RETURN = 16 };

enum call_frame_where { CALL_FRAME_SAME, CALL_FRAME_SAVED, CALL_FRAME_UNDEFINED, CALL_FRAME_OTHER };

struct call_frame_place {
    enum call_frame_where where;
    int64_t offset; /* from the CFA */
};

struct call_frame {
    uint64_t base; /* register the CFA is counted from */
    int64_t offset;
    struct call_frame_place bp, return_address;
};
#define CALL_FRAME_BASE_OTHER UINT64_MAX
/* False: there is none, or one we do not understand. A signal's frame is such. */
bool call_frame_describe(uintptr_t pc, struct call_frame *frame);

#endif
