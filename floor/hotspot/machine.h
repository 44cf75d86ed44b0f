/*
 * machine: what is of the processor in a walk, and in what HotSpot generates for it.
 *
 * One folder for each architecture, of which the Makefile takes one: floor/hotspot/x86_64, aarch64. It holds calls, the
 * beginning and the end of compiled methods, signed return addresses (code.c). The registers of an interrupted thread and
 * the loads that may fail are in agent/hotspot/x86_64, aarch64: only the agent has them.
 *
 * Signal context; every load is guarded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct code_blob;

/* Numbers. */
struct machine {
    const char *name;
    int32_t instruction_bytes; /* the least there is between two */
    /* What a call pushes: the return address, or nothing where it is kept in a register (link). */
    int32_t call_pushed_bytes;
    /* In words from fp, as layout.def has them, where HotSpot's tables do not name them; 0: they do. */
    int32_t call_wrapper_slot, sender_sp_slot, last_sp_slot;
    int32_t interpreted_bcp; /* in an interpreted frame, words from where its own sp is kept */
    int32_t entry_bytes;     /* of the instructions that push fp and make it that of the frame */
    /* Of the call stub, in bytes: where to look for its first instructions, and what follows the call. */
    int32_t call_stub_begin, call_stub_rest;
    int32_t call_stub_frame;                 /* the most there is from sp at its call to its fp */
    uint64_t call_stub_code, call_stub_mask; /* its first instructions */
    /* The first instruction of the stub to which a method jumps to throw; where it was is in thrown_at. */
    uint32_t throw_code, throw_mask;
    uint32_t return_code, return_mask;
    /* What the stub of a method's entry barrier pushes between return address and fp; 0: nothing. */
    uint64_t entry_cookie;
    /* Stubs that have a frame begin it with the caller's fp and the return address, and fp leads there. */
    bool stubs_have_records;
    uint32_t syscall_code;
    int32_t syscall_bytes;
    /* The first eight bytes of what a signal handler returns to, a call of rt_sigreturn, and how far above sp the ucontext
     * of what was interrupted lies then. */
    uint64_t signal_return_code;
    int32_t signal_context_at;
    /* Registers as DWARF counts them. */
    uint8_t dwarf_fp, dwarf_sp, dwarf_return;
};
extern const struct machine machine;

/* Code is at that address without what signs it. */
uintptr_t code_address(uintptr_t value);
/* The return address that lies there. */
uintptr_t return_address_at(uintptr_t at);

/* A call instruction, a direct one included, stands before pc. */
bool code_follows_call(uintptr_t pc);
/* What a call of a leaf function has left below what the stub has pushed, to align sp; pc: where it returns to. */
uintptr_t code_call_padding(uintptr_t pc);
/* Where the call before pc leads, if that stands in the code; 0: it does not. */
uintptr_t code_call_target(uintptr_t pc);

/*
 * frame_part: how much of its frame a compiled method has at a place in its code, found by the
 * instructions around it.
 *
 *   x86-64   [stack bang] push %rbp  sub $n, %rsp  [barrier] ... add $n, %rsp  pop %rbp  [poll] ret
 *            BARE         BARE       PUSHED        WHOLE     WHOLE             PUSHED    BARE   BARE
 *
 *   aarch64  [stack bang] sub sp, #n  stp x29, x30, [sp, #n-16]  ... ldp x29, x30  add sp, #n  [poll] ret
 *            BARE         BARE        MOVED                      WHOLE             MOVED       BARE   BARE
 */
enum frame_part {
    FRAME_BARE,   /* the return address alone */
    FRAME_PUSHED, /* the return address, and the caller's fp below it */
    FRAME_MOVED,  /* sp is where it will be; the return address and fp are in their registers */
    FRAME_WHOLE,
};

/* blob->kind is CODE_METHOD; pc is that of the next instruction. */
enum frame_part frame_part_at(const struct code_blob *blob, uintptr_t pc);
/* Whether what makes the frame lies before pc, in a method or a stub. */
bool frame_part_made(const struct code_blob *blob, uintptr_t pc);
/* Whether the caller's fp has been stored in a frame that is whole. */
bool frame_part_holds_fp(const struct code_blob *blob, uintptr_t pc);
