#include "nmtwatch/machine/machine.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* stack_kb: ThreadStackSize of the JDK's globals for Linux; measured on the first two, JDK 17 and 25. */
static const struct known {
    uint16_t elf, stack_kb;
    const char *name;
} known[] = {
    {EM_X86_64, 1024, "x86-64"},    {EM_AARCH64, 2040, "aarch64"}, {EM_386, 320, "x86 (32 bits)"},
    {EM_ARM, 320, "arm (32 bits)"}, {EM_PPC64, 2048, "ppc64"},     {EM_S390, 1024, "s390x"},
    {EM_RISCV, 2048, "riscv64"},
};

static const struct known *find(uint16_t elf)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].elf == elf)
            return &known[i];
    return NULL;
}

const char *machine_name(uint16_t elf, char room[24])
{
    const struct known *row = find(elf);
    if (row != NULL)
        return row->name;
    snprintf(room, 24, "machine %u", elf);
    return room;
}

uint32_t machine_thread_stack_bytes(uint16_t elf)
{
    const struct known *row = find(elf);
    return (row != NULL ? row->stack_kb : UINT32_C(1024)) << 10;
}

uint16_t machine_of_file(int fd)
{
    unsigned char head[20]; /* the same in files of 32 bits */
    if (pread(fd, head, sizeof head, 0) != sizeof head || memcmp(head, ELFMAG, SELFMAG) != 0)
        return 0;
    bool big = head[EI_DATA] == ELFDATA2MSB;
    return (uint16_t)(head[18 + big] | head[19 - big] << 8);
}

size_t machine_page_bytes(void)
{
    static size_t bytes;
    if (bytes == 0)
        bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}
