#include "nmtwatch/machine/machine.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* x0 to x30, sp, pc: perf's numbers are the places in struct user_pt_regs. */
enum { FP = 29, LINK = 30, SP = 31, PC = 32, COUNT };
_Static_assert(COUNT == MACHINE_REGISTERS_MAX, "room");
_Static_assert((int)PERF_REG_ARM64_SP == SP && (int)PERF_REG_ARM64_PC == PC, "as the kernel does");

#define EACH                                                                                       \
    {                                                                                              \
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,  \
            25, 26, 27, 28, 29, 30, 31, 32                                                         \
    }

const struct machine_facts this_machine = {
    .name = "aarch64",
    .loader = "ld-linux-aarch64",
    .audit = AUDIT_ARCH_AARCH64,
    .elf = EM_AARCH64,
    .registers = COUNT,
    .kernel_words = 34,
    .perf = EACH,
    .kernel = EACH,
    .pc = PC,
    .sp = SP,
    .fp = FP,
    .link = LINK,
    .argument = {0, 1, 2, 3, 4, 5},
    .entered = 12,
    .sender_sp = 19,
    .entered_from = LINK,
    .thrown_at = 3,
};

/* "x5", "w5" or "sp"; -1: none. */
static int take_register(const char **at)
{
    int number = 0, used = 0;
    if (strncmp(*at, "sp", 2) == 0) {
        *at += 2;
        return SP;
    }
    if ((**at != 'x' && **at != 'w') || sscanf(*at + 1, "%2d%n", &number, &used) != 1 ||
        number < 0 || number >= SP)
        return -1;
    *at += 1 + used;
    return number;
}

/* "8@x3", "-4@w2", "8@[x0, 152]", "8@[sp]", "1@0" */
bool machine_operand(const char **text, struct machine_operand *operand)
{
    const char *at = *text;
    int used = 0;
    *operand = (struct machine_operand){.kind = OPERAND_REGISTER};
    if (sscanf(at, "%d@%n", &operand->bytes, &used) != 1 || used == 0 ||
        operand->bytes < -MACHINE_OPERAND_MAX || operand->bytes > MACHINE_OPERAND_MAX)
        return false;
    at += used;
    char *end;
    bool memory = *at == '[', whole = true;
    if (memory) {
        at++;
        operand->kind = OPERAND_MEMORY;
        operand->at = take_register(&at);
        whole = operand->at >= 0;
        if (whole && *at == ',') {
            operand->number = strtoll(at + 1, &end, 0);
            at = end;
        }
        whole = whole && *at++ == ']';
    } else if ((*at >= '0' && *at <= '9') || *at == '-') {
        operand->kind = OPERAND_CONSTANT;
        operand->number = strtoll(at, &end, 0);
        at = end;
    } else {
        operand->at = take_register(&at);
        whole = operand->at >= 0;
    }
    if (!whole || (*at != ' ' && *at != '\0'))
        return false; /* "[x0, x1]" */
    *text = at;
    return true;
}
