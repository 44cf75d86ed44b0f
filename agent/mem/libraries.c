#include "agent/mem/libraries.h"

#include "agent/mem/mem.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* A segment lies in memory in whole pages; the last one may hold zeroed data without a file. */
static void count_segments(const struct dl_phdr_info *library)
{
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD)
            mem_file_add(COMPONENT_AGENT_CODE,
                         (const void *)(library->dlpi_addr + segment->p_vaddr), segment->p_memsz);
    }
}

static bool holds(const struct dl_phdr_info *library, uintptr_t address)
{
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            address - (library->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static int count_own(struct dl_phdr_info *library, size_t size, void *context)
{
    (void)size, (void)context;
    if (!holds(library, (uintptr_t)&libraries_count_own))
        return 0;
    count_segments(library);
    return 1;
}

void libraries_count_own(void)
{
    dl_iterate_phdr(count_own, NULL);
}

static int note(struct dl_phdr_info *library, size_t size, void *context)
{
    struct libraries *seen = context;
    (void)size;
    if (seen->count < LIBRARIES_SEEN_MAX)
        seen->base[seen->count] = library->dlpi_addr;
    seen->count++;
    return 0;
}

void libraries_look(struct libraries *before)
{
    before->count = 0;
    dl_iterate_phdr(note, before);
}

static int count_unless_seen(struct dl_phdr_info *library, size_t size, void *context)
{
    const struct libraries *before = context;
    (void)size;
    for (int i = 0; i < before->count; i++) {
        if (before->base[i] == library->dlpi_addr)
            return 0;
    }
    count_segments(library);
    return 0;
}

void libraries_count_new(const struct libraries *before)
{
    if (before->count <= LIBRARIES_SEEN_MAX)
        dl_iterate_phdr(count_unless_seen, (void *)before);
}
