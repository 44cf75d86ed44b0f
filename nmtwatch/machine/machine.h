/* machine: what the rest of nmtwatch has to know of the architecture that it is built for. A file for each:
 * x86_64.c, aarch64.c; the Makefile picks one. Nothing else in nmtwatch/ names an architecture or counts
 * with its page size (scripts/test/lint.sh).
 *
 * Registers are numbered as perf_event_open(2) puts them into a sample: 0 is the first one of the request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_REGISTERS_MAX 33
#define MACHINE_KERNEL_WORDS  34 /* the longest user part of a struct pt_regs */
#define MACHINE_ARGUMENTS     6

struct machine_facts {
    const char *name;   /* as people write it */
    const char *loader; /* how the name of the dynamic linker begins */
    uint32_t audit;     /* AUDIT_ARCH_..., of seccomp(2) */
    uint16_t elf;       /* EM_..., of ELF files */
    uint8_t registers;
    uint8_t kernel_words;                  /* of struct pt_regs, as a BPF program may read them */
    uint8_t perf[MACHINE_REGISTERS_MAX];   /* bit in sample_regs_user, ascending */
    uint8_t kernel[MACHINE_REGISTERS_MAX]; /* word of struct pt_regs */
    uint8_t pc, sp, fp;
    int8_t link; /* where the innermost call returns to; -1: that is on the stack */
    uint8_t argument[MACHINE_ARGUMENTS]; /* of a C function that has just been entered */
    /* Of HotSpot's own code: the method that is being entered, the caller's sp and the return address then, and
     * where an exception is being thrown. */
    uint8_t entered, sender_sp, entered_from, thrown_at;
};
extern const struct machine_facts this_machine;

#define MACHINE_OPERAND_MAX 8

/* An operand of a USDT probe: a constant, a register, or memory at a register's address. */
struct machine_operand {
    int bytes; /* at most MACHINE_OPERAND_MAX; below 0: signed */
    enum { OPERAND_CONSTANT, OPERAND_REGISTER, OPERAND_MEMORY } kind;
    int at;         /* register */
    int64_t number; /* constant, or offset */
};
/* The operand that begins at *text, which moves behind it. False: this machine does not have it. */
bool machine_operand(const char **text, struct machine_operand *operand);
/* "x86-64" for EM_X86_64; for one that is not known "machine 243". */
const char *machine_name(uint16_t elf, char room[24]);
/* -Xss of HotSpot there, where the command line has none. */
uint32_t machine_thread_stack_bytes(uint16_t elf);
/* EM_... of a program or a library, of 32 bits or of 64 and of either byte order; 0: the file is none. */
uint16_t machine_of_file(int fd);

/* Of this system: a power of two, 4 KB to 64 KB. */
size_t machine_page_bytes(void);
/* Rounded down to a page's begin. */
static inline uint64_t machine_page_of(uint64_t address)
{
    return address & ~(uint64_t)(machine_page_bytes() - 1);
}
