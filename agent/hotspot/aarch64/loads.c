/* aarch64. Signal context. Reaches nothing. */
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
