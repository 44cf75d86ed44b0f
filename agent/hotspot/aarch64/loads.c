/* aarch64. Signal context. Reaches nothing. */
#include "agent/hotspot/faults.h"
#include "agent/hotspot/load.h"

#define LOAD(name, instruction)                                                                    \
    ".globl " name "\n"                                                                            \
    ".hidden " name "\n"                                                                           \
    ".type " name ", %function\n" name ":\n"                                                       \
    "    " instruction "\n"                                                                        \
    "    ret\n"                                                                                    \
    ".size " name ", . - " name "\n"

/* No frame, no prologue: the address of a function is that of its load. */
__asm__(".text\n"
        ".p2align 4\n" LOAD("load_u64", "ldr x0, [x0]") LOAD("load_u32", "ldr w0, [x0]")
            LOAD("load_u16", "ldrh w0, [x0]") LOAD("load_u8", "ldrb w0, [x0]")
                LOAD("load_failed", "mov x0, x1"));

extern char load_failed[];

uintptr_t guarded_load_resume(uintptr_t pc)
{
    bool ours = pc == (uintptr_t)load_u64 || pc == (uintptr_t)load_u32 ||
                pc == (uintptr_t)load_u16 || pc == (uintptr_t)load_u8;
    return ours ? (uintptr_t)load_failed : 0;
}
