#include "agent/mem/account.h"
#include "agent/mem/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#define MAP_BEING_LISTED ((uintptr_t)1)

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static bool list_map(const void *block, size_t size, enum component component, uint32_t site)
{
    for (uint32_t i = 0; i < MAPS_LISTED; i++) {
        struct listed_map *map = &account.map[i];
        uintptr_t nowhere = 0;
        if (atomic_load_explicit(&map->address, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong_explicit(&map->address, &nowhere, MAP_BEING_LISTED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        atomic_store_explicit(&map->size, size, memory_order_relaxed);
        atomic_store_explicit(&map->component, component, memory_order_relaxed);
        atomic_store_explicit(&map->site, site, memory_order_relaxed);
        atomic_store_explicit(&map->address, (uintptr_t)block, memory_order_release);
        uint32_t used = atomic_load_explicit(&account.maps_used, memory_order_relaxed);
        while (used < i + 1 &&
               !atomic_compare_exchange_weak_explicit(&account.maps_used, &used, i + 1,
                                                      memory_order_release, memory_order_relaxed))
            ;
        return true;
    }
    return false;
}

/* SITE_NONE when it was not listed or had no site. */
static bool unlist_map(const void *block, uint32_t *site)
{
    uint32_t used = atomic_load_explicit(&account.maps_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        struct listed_map *map = &account.map[i];
        if (atomic_load_explicit(&map->address, memory_order_acquire) != (uintptr_t)block)
            continue;
        *site = atomic_load_explicit(&map->site, memory_order_relaxed);
        atomic_store_explicit(&map->address, 0, memory_order_release);
        return true;
    }
    *site = SITE_NONE;
    return false;
}

void *maps_new(enum component component, size_t size, uint32_t site)
{
    size_t page = page_bytes();
    if (size == 0 || size > SIZE_MAX - page)
        return NULL;
    size_t whole = (size + page - 1) / page * page;
    void *block = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    /* A huge page would make 2 MB resident at the first touch. */
    madvise(block, whole, MADV_NOHUGEPAGE);
    if (list_map(block, whole, component, site))
        site_count(site, (int64_t)size, 1);
    else /* its site would not be found again */
        atomic_fetch_add_explicit(&account.unlisted_bytes[component], (int64_t)whole,
                                  memory_order_relaxed);
    account_count_more(component, (int64_t)size, (int64_t)whole, (int64_t)whole);
    return block;
}

void *mem_map(enum component component, size_t size)
{
    uint32_t site = mem_get_level() == MEM_DETAIL ? site_of(component, __builtin_return_address(0),
                                                            __builtin_frame_address(0))
                                                  : SITE_NONE;
    return maps_new(component, size, site);
}

void mem_unmap(enum component component, void *block, size_t size)
{
    if (block == NULL)
        return;
    size_t page = page_bytes();
    size_t whole = (size + page - 1) / page * page;
    uint32_t site;
    if (!unlist_map(block, &site))
        atomic_fetch_sub_explicit(&account.unlisted_bytes[component], (int64_t)whole,
                                  memory_order_relaxed);
    site_count(site, -(int64_t)size, -1);
    account_count_less(component, (int64_t)size, (int64_t)whole, (int64_t)whole);
    munmap(block, whole);
}

/* 0 for what was unmapped meanwhile, and where the kernel does not say. Not by mincore: a JVM does not call that by
 * itself, so a system call filter may end the process for it. */
static int64_t resident_of(uintptr_t address, size_t size)
{
    struct file_pages pages;
    return file_pages_look((const void *)address, size, &pages) ? pages.resident_bytes : 0;
}

void mem_maps_each(mem_map_visit_fn *visit, void *context)
{
    uint32_t used = atomic_load_explicit(&account.maps_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        struct listed_map *map = &account.map[i];
        uintptr_t address = atomic_load_explicit(&map->address, memory_order_acquire);
        if (address == 0 || address == MAP_BEING_LISTED)
            continue;
        size_t size = atomic_load_explicit(&map->size, memory_order_relaxed);
        visit(context, (enum component)atomic_load_explicit(&map->component, memory_order_relaxed),
              (const void *)address, size, resident_of(address, size));
    }
}

static void add_resident(void *context, enum component component, const void *address, size_t size,
                         int64_t resident_bytes)
{
    (void)address;
    (void)size;
    ((int64_t *)context)[component] += resident_bytes;
}

void maps_resident(int64_t resident_bytes[COMPONENT_COUNT])
{
    for (int i = 0; i < COMPONENT_COUNT; i++)
        resident_bytes[i] = atomic_load_explicit(&account.unlisted_bytes[i], memory_order_relaxed);
    mem_maps_each(add_resident, resident_bytes);
}
