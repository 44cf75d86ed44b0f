/* Signal context. Reaches nothing. */
#include "agent/hotspot/faults.h"

#include "agent/hotspot/load.h"

#ifdef __x86_64__

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

extern char load_failed[];

uintptr_t guarded_load_resume(uintptr_t pc)
{
    bool ours = pc == (uintptr_t)load_u64 || pc == (uintptr_t)load_u32 ||
                pc == (uintptr_t)load_u16 || pc == (uintptr_t)load_u8;
    return ours ? (uintptr_t)load_failed : 0;
}

#else /* layout_read says so; nobody comes here */

uint64_t load_u64(uintptr_t address, uint64_t instead)
{
    (void)address;
    return instead;
}

uint32_t load_u32(uintptr_t address, uint32_t instead)
{
    (void)address;
    return instead;
}

uint16_t load_u16(uintptr_t address, uint16_t instead)
{
    (void)address;
    return instead;
}

uint8_t load_u8(uintptr_t address, uint8_t instead)
{
    (void)address;
    return instead;
}

uintptr_t guarded_load_resume(uintptr_t pc)
{
    (void)pc;
    return 0;
}

#endif

/* Two different answers for "cannot be read": what is there cannot be both. */
static bool load_word(uintptr_t address, uint64_t *word)
{
    *word = load_u64(address, 0);
    return *word != 0 || load_u64(address, 1) == 0;
}

bool load_bytes(uintptr_t address, void *out, size_t size)
{
    uint8_t *to = out;
    bool whole = true;
    size_t at = 0;
    for (uint64_t word; size - at >= sizeof word && whole;) {
        whole = load_word(address + at, &word);
        if (whole) {
            __builtin_memcpy(to + at, &word, sizeof word);
            at += sizeof word;
        }
    }
    /* The end, or the last bytes before what cannot be read. */
    for (whole = true; at < size && whole; at += whole) {
        to[at] = load_u8(address + at, 0);
        whole = to[at] != 0 || load_u8(address + at, 1) == 0;
    }
    for (size_t rest = at; rest < size; rest++)
        to[rest] = 0;
    return at == size;
}
