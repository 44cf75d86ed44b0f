/* aarch64. Signal context. */
#include "floor/hotspot/layout.h"
#include "agent/hotspot/registers.h"
#include "floor/hotspot/machine.h"

#include <ucontext.h>

enum { FP = 29, LINK = 30, SP = 31, PC = 32 };

/* Of HotSpot's interpreter. */
enum { METHOD = 12, SENDER_SP = 19, OLDER_SENDER_SP = 13, THROWN_AT = 3 };
#define FIRST_JDK_OF_SENDER_SP 20

void registers_read(const void *ucontext, struct registers *out)
{
    const mcontext_t *from = &((const ucontext_t *)ucontext)->uc_mcontext;
    *out = (struct registers){
        .pc = from->pc,
        .sp = from->sp,
        .fp = from->regs[FP],
        .link = code_address(from->regs[LINK]),
        .entered = from->regs[METHOD],
        .sender_sp =
            from->regs[layout.jdk_major < FIRST_JDK_OF_SENDER_SP ? OLDER_SENDER_SP : SENDER_SP],
        .thrown_at = from->regs[THROWN_AT],
        .result = from->regs[0],
        .number = from->regs[8],
        .fourth = from->regs[3],
    };
}

void registers_write(void *ucontext, const struct registers *registers)
{
    mcontext_t *to = &((ucontext_t *)ucontext)->uc_mcontext;
    to->pc = registers->pc;
    to->sp = registers->sp;
    to->regs[FP] = registers->fp;
}

bool register_read(const void *ucontext, int dwarf_number, uintptr_t *value)
{
    const mcontext_t *from = &((const ucontext_t *)ucontext)->uc_mcontext;
    if (dwarf_number < 0 || dwarf_number > PC)
        return false;
    *value = dwarf_number == SP   ? from->sp
             : dwarf_number == PC ? from->pc
                                  : from->regs[dwarf_number];
    return true;
}
