/* x86-64. Signal context. Reaches nothing. */
#define LOAD(name, instruction)                                                                    \
    ".globl " name "\n"                                                                            \
    ".hidden " name "\n"                                                                           \
    ".type " name ", @function\n" name ":\n"                                                       \
    "    " instruction "\n"                                                                        \
    "    ret\n"                                                                                    \
    ".size " name ", . - " name "\n"

/* No frame, no prologue: the address of a function is that of its load. */
__asm__(".text\n"
        ".p2align 4\n" LOAD("load_u64", "movq (%rdi), %rax") LOAD("load_u32", "movl (%rdi), %eax")
            LOAD("load_u16", "movzwl (%rdi), %eax") LOAD("load_u8", "movzbl (%rdi), %eax")
                LOAD("load_failed", "movq %rsi, %rax"));
