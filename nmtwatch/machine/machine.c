#include "nmtwatch/machine/machine.h"

#include <elf.h>
#include <stdio.h>
#include <unistd.h>

const char *machine_name(uint16_t elf, char room[24])
{
    switch (elf) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "aarch64";
    case EM_386:
        return "x86 (32 bits)";
    case EM_ARM:
        return "arm (32 bits)";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390x";
    case EM_RISCV:
        return "riscv64";
    default:
        snprintf(room, 24, "machine %u", elf);
        return room;
    }
}

size_t machine_page_bytes(void)
{
    static size_t bytes;
    if (bytes == 0)
        bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}
