#include "nmtwatch/machine/machine.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

/* Names by which operands call a register; its bit of perf, and its place in struct pt_regs, which begins as
 * struct user_regs_struct does. */
#define REGISTERS(ROW)                                                                             \
    ROW(AX, rax, "rax eax ax al ")                                                                 \
    ROW(BX, rbx, "rbx ebx bx bl ")                                                                 \
    ROW(CX, rcx, "rcx ecx cx cl ")                                                                 \
    ROW(DX, rdx, "rdx edx dx dl ")                                                                 \
    ROW(SI, rsi, "rsi esi si sil ")                                                                \
    ROW(DI, rdi, "rdi edi di dil ")                                                                \
    ROW(BP, rbp, "rbp ebp bp bpl ")                                                                \
    ROW(SP, rsp, "rsp esp sp spl ")                                                                \
    ROW(IP, rip, "rip ")                                                                           \
    ROW(FLAGS, eflags, "")                                                                         \
    ROW(R8, r8, "r8 r8d r8w r8b ")                                                                 \
    ROW(R9, r9, "r9 r9d r9w r9b ")                                                                 \
    ROW(R10, r10, "r10 r10d r10w r10b ")                                                           \
    ROW(R11, r11, "r11 r11d r11w r11b ")                                                           \
    ROW(R12, r12, "r12 r12d r12w r12b ")                                                           \
    ROW(R13, r13, "r13 r13d r13w r13b ")                                                           \
    ROW(R14, r14, "r14 r14d r14w r14b ")                                                           \
    ROW(R15, r15, "r15 r15d r15w r15b ")

enum {
#define ROW(name, member, names) IN_##name,
    REGISTERS(ROW)
#undef ROW
        COUNT
};
_Static_assert(COUNT <= MACHINE_REGISTERS_MAX, "room");

static const char *const NAMES[COUNT] = {
#define ROW(name, member, names) names,
    REGISTERS(ROW)
#undef ROW
};

const struct machine_facts this_machine = {
    .name = "x86-64",
    .loader = "ld-linux-x86-64",
    .audit = AUDIT_ARCH_X86_64,
    .elf = EM_X86_64,
    .registers = COUNT,
    .kernel_words = 21,
    .perf =
        {
#define ROW(name, member, names) PERF_REG_X86_##name,
            REGISTERS(ROW)
#undef ROW
        },
    .kernel =
        {
#define ROW(name, member, names) offsetof(struct user_regs_struct, member) / 8,
            REGISTERS(ROW)
#undef ROW
        },
    .pc = IN_IP,
    .sp = IN_SP,
    .fp = IN_BP,
    .link = -1,
    .argument = {IN_DI, IN_SI, IN_DX, IN_CX, IN_R8, IN_R9},
    .entered = IN_BX,
    .sender_sp = IN_R13,
    .entered_from = IN_AX,
    .thrown_at = IN_DX,
};

/* "8@%rdx", "-4@%eax", "8@152(%rdi)", "1@$0" */
bool machine_operand(const char **text, struct machine_operand *operand)
{
    const char *at = *text;
    char name[8], key[sizeof name + 1], *end;
    int used = 0;
    *operand = (struct machine_operand){.kind = OPERAND_REGISTER};
    if (sscanf(at, "%d@%n", &operand->bytes, &used) != 1 || used == 0 ||
        operand->bytes < -MACHINE_OPERAND_MAX || operand->bytes > MACHINE_OPERAND_MAX)
        return false;
    at += used;
    *text = at + strcspn(at, " ");
    if (*at == '$') {
        operand->kind = OPERAND_CONSTANT;
        operand->number = strtoll(at + 1, NULL, 0);
        return true;
    }
    if (*at != '%') {
        operand->kind = OPERAND_MEMORY;
        operand->number = strtoll(at, &end, 0);
        at = end;
        if (*at++ != '(')
            return false;
    }
    if (sscanf(at, "%%%6[a-z0-9]", name) != 1)
        return false;
    snprintf(key, sizeof key, "%s ", name);
    for (int i = 0; i < COUNT; i++) {
        const char *found = strstr(NAMES[i], key);
        operand->at = i;
        if (found != NULL && (found == NAMES[i] || found[-1] == ' '))
            return true;
    }
    return false;
}
