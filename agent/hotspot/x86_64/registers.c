/* x86-64. Signal context. */
#include "agent/hotspot/registers.h"

#include <stddef.h>
#include <ucontext.h>

void registers_read(const void *ucontext, struct registers *out)
{
    const greg_t *from = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;
    *out = (struct registers){
        .pc = (uintptr_t)from[REG_RIP],
        .sp = (uintptr_t)from[REG_RSP],
        .fp = (uintptr_t)from[REG_RBP],
        .entered = (uintptr_t)from[REG_RBX],
        .sender_sp = (uintptr_t)from[REG_R13],
        .entered_from = (uintptr_t)from[REG_RAX],
        .thrown_at = (uintptr_t)from[REG_RDX],
        .result = (uintptr_t)from[REG_RAX],
        .number = (uintptr_t)from[REG_RAX],
        .fourth = (uintptr_t)from[REG_R10],
    };
}

void registers_write(void *ucontext, const struct registers *registers)
{
    greg_t *to = ((ucontext_t *)ucontext)->uc_mcontext.gregs;
    to[REG_RIP] = (greg_t)registers->pc;
    to[REG_RSP] = (greg_t)registers->sp;
    to[REG_RBP] = (greg_t)registers->fp;
}

bool register_read(const void *ucontext, int dwarf_number, uintptr_t *value)
{
    static const signed char GREG_OF[] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    };
    if (dwarf_number < 0 || (size_t)dwarf_number >= sizeof GREG_OF)
        return false;
    *value = (uintptr_t)((const ucontext_t *)ucontext)->uc_mcontext.gregs[GREG_OF[dwarf_number]];
    return true;
}
