/*
 * registers: the registers of a thread that was interrupted, as the handler of the signal sees them.
 *
 * One registers.c for each architecture: agent/hotspot/x86_64, aarch64.
 *
 * Signal context.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* 0: not known. */
struct registers {
    uintptr_t pc, sp, fp;
    uintptr_t link;      /* where the innermost call returns to; 0: that is on the stack */
    uintptr_t entered;   /* the Method * while a method is being entered */
    uintptr_t sender_sp; /* the caller's sp then */
    uintptr_t
        entered_from; /* and the return address, which has been taken off the stack for a while; 0: link has it */
    uintptr_t thrown_at; /* where, while an exception is being thrown */
    uintptr_t result;    /* of a system call */
    uintptr_t number;    /* of the system call, if it begins again */
    uintptr_t fourth;    /* its fourth argument */
};
void registers_read(const void *ucontext, struct registers *out);
/* Its pc, sp and fp: where the thread goes on. */
void registers_write(void *ucontext, const struct registers *registers);
/* One, as DWARF counts them. False: there is no such general register. */
bool register_read(const void *ucontext, int dwarf_number, uintptr_t *value);
