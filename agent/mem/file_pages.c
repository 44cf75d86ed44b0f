#include "agent/mem/file_pages.h"

#include "agent/mem/account.h"
#include "agent/mem/mem.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#define BEING_LISTED  ((uintptr_t)1)
#define PAGES_AT_ONCE 512 /* 4 KB of stack */

/* A page's word in /proc/self/pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

static int open_pagemap(void)
{
    return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

static bool look(int pagemap, const void *address, size_t size, struct file_pages *pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t word[PAGES_AT_ONCE];
    uintptr_t at = (uintptr_t)address / page, end = ((uintptr_t)address + size + page - 1) / page;
    *pages = (struct file_pages){.only_file = true};
    while (at < end) {
        size_t count = end - at < PAGES_AT_ONCE ? end - at : PAGES_AT_ONCE;
        if (pread(pagemap, word, count * sizeof *word, (off_t)(at * sizeof *word)) !=
            (ssize_t)(count * sizeof *word))
            return false;
        for (size_t i = 0; i < count; i++) {
            if ((word[i] & PAGE_PRESENT) == 0)
                continue;
            pages->resident_bytes += (int64_t)page;
            pages->only_file = pages->only_file && (word[i] & PAGE_OF_FILE) != 0;
        }
        at += count;
    }
    return true;
}

bool file_pages_look(const void *address, size_t size, struct file_pages *pages)
{
    int pagemap = open_pagemap();
    bool known = pagemap >= 0 && look(pagemap, address, size, pages);
    if (pagemap >= 0)
        close(pagemap);
    return known;
}

bool mem_file_add(enum component component, const void *address, size_t size)
{
    for (int i = 0; i < FILES_LISTED; i++) {
        struct listed_file *file = &account.file[i];
        uintptr_t nowhere = 0;
        if (!atomic_compare_exchange_strong_explicit(&file->address, &nowhere, BEING_LISTED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        atomic_store_explicit(&file->size, size, memory_order_relaxed);
        atomic_store_explicit(&file->component, component, memory_order_relaxed);
        atomic_fetch_add_explicit(&account.files_added[component], 1, memory_order_relaxed);
        /* Pairs with the acquire of file_pages_count: size and component are seen filled. */
        atomic_store_explicit(&file->address, (uintptr_t)address, memory_order_release);
        return true;
    }
    return false;
}

void mem_file_forget(const void *address)
{
    for (int i = 0; i < FILES_LISTED; i++) {
        struct listed_file *file = &account.file[i];
        if (atomic_load_explicit(&file->address, memory_order_acquire) != (uintptr_t)address)
            continue;
        uint32_t component = atomic_load_explicit(&file->component, memory_order_relaxed);
        atomic_fetch_add_explicit(&account.files_forgotten[component], 1, memory_order_relaxed);
        atomic_store_explicit(&file->address, 0, memory_order_release);
        return;
    }
}

static void count_resident(int64_t resident_bytes[COMPONENT_COUNT])
{
    int pagemap = open_pagemap();
    for (int i = 0; i < FILES_LISTED; i++) {
        struct listed_file *file = &account.file[i];
        uintptr_t address = atomic_load_explicit(&file->address, memory_order_acquire);
        if (address == 0 || address == BEING_LISTED)
            continue;
        size_t size = atomic_load_explicit(&file->size, memory_order_relaxed);
        struct file_pages pages;
        if (pagemap < 0 || !look(pagemap, (const void *)address, size, &pages))
            pages.resident_bytes = (int64_t)size;
        resident_bytes[atomic_load_explicit(&file->component, memory_order_relaxed)] +=
            pages.resident_bytes;
    }
    if (pagemap >= 0)
        close(pagemap);
}

void file_pages_count(struct component_usage usage[COMPONENT_COUNT])
{
    int64_t resident_bytes[COMPONENT_COUNT] = {0};
    count_resident(resident_bytes);
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        int64_t added = atomic_load_explicit(&account.files_added[i], memory_order_relaxed);
        if (added == 0)
            continue;
        account_raise_peak(&account.file_peak_bytes[i], resident_bytes[i]);
        usage[i].requested_bytes += resident_bytes[i];
        usage[i].reserved_bytes += resident_bytes[i];
        usage[i].resident_bytes += resident_bytes[i];
        usage[i].peak_bytes +=
            atomic_load_explicit(&account.file_peak_bytes[i], memory_order_relaxed);
        usage[i].allocations += added;
        usage[i].frees += atomic_load_explicit(&account.files_forgotten[i], memory_order_relaxed);
    }
}

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
