#include "agent/methods/native_symbols.h"

#include "agent/mem/mem.h"
#include "agent/methods/symbol_name.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define LIBRARIES_MAX 64   /* with a .symtab of their own; the others are asked of the linker */
#define EXTENTS_FIRST 128  /* 4 KB */
#define EXTENTS_MAX   8192 /* 256 KB; beyond it functions are looked up again */

struct library {
    uintptr_t base;
    char *path;
    struct elf_table table;
};

/* A function found in a .symtab. */
struct extent {
    uintptr_t start;
    uint32_t size;
    uint32_t library;
    uint64_t name_offset;
};

struct native_symbols {
    struct library library[LIBRARIES_MAX];
    uint32_t libraries;
    struct extent *extents; /* by start */
    uint32_t extent_count, extent_capacity;
};

struct native_symbols *native_symbols_create(void)
{
    return mem_alloc(COMPONENT_NATIVE_SYMBOLS, sizeof(struct native_symbols));
}

void native_symbols_destroy(struct native_symbols *symbols)
{
    for (uint32_t i = 0; i < symbols->libraries; i++)
        mem_free(symbols->library[i].path);
    mem_free(symbols->extents);
    mem_free(symbols);
}

/* --- libraries -------------------------------------------------------------------------------- */

static void forget_extents(struct native_symbols *symbols, uint32_t library)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < symbols->extent_count; i++)
        if (symbols->extents[i].library != library)
            symbols->extents[kept++] = symbols->extents[i];
    symbols->extent_count = kept;
}

/* The library loaded there, known or new; LIBRARIES_MAX: no more room, or no memory. */
static uint32_t find_library(struct native_symbols *symbols, uintptr_t base, const char *path)
{
    uint32_t at = 0;
    while (at < symbols->libraries && symbols->library[at].base != base)
        at++;
    if (at == LIBRARIES_MAX)
        return at;
    struct library *library = &symbols->library[at];
    if (at < symbols->libraries && strcmp(library->path, path) == 0)
        return at;
    char *copy = mem_copy_text(COMPONENT_NATIVE_SYMBOLS, path, strlen(path));
    if (copy == NULL)
        return LIBRARIES_MAX;
    if (at < symbols->libraries) { /* another one was unloaded from there */
        forget_extents(symbols, at);
        mem_free(library->path);
    } else {
        symbols->libraries++;
    }
    *library = (struct library){.base = base, .path = copy};
    if (!elf_symbols_open(path, (const void *)base, &library->table))
        library->table.count = 0;
    return at;
}

/* --- extents ---------------------------------------------------------------------------------- */

/* The first one that begins beyond pc. */
static uint32_t beyond(const struct native_symbols *symbols, uintptr_t pc)
{
    uint32_t low = 0, high = symbols->extent_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (symbols->extents[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct extent *find_extent(const struct native_symbols *symbols, uintptr_t pc)
{
    uint32_t at = beyond(symbols, pc);
    if (at == 0)
        return NULL;
    const struct extent *extent = &symbols->extents[at - 1];
    return pc - extent->start < extent->size ? extent : NULL;
}

static void remember(struct native_symbols *symbols, const struct extent *extent)
{
    if (symbols->extent_count == symbols->extent_capacity) {
        uint32_t capacity =
            symbols->extent_capacity == 0 ? EXTENTS_FIRST : symbols->extent_capacity * 2;
        struct extent *more =
            capacity > EXTENTS_MAX
                ? NULL
                : mem_resize(COMPONENT_NATIVE_SYMBOLS, symbols->extents, capacity * sizeof *more);
        if (more == NULL)
            return;
        symbols->extents = more;
        symbols->extent_capacity = capacity;
    }
    uint32_t at = beyond(symbols, extent->start);
    memmove(&symbols->extents[at + 1], &symbols->extents[at],
            (symbols->extent_count - at) * sizeof *extent);
    symbols->extents[at] = *extent;
    symbols->extent_count++;
}

/* --- questions -------------------------------------------------------------------------------- */

static bool ask_file(struct native_symbols *symbols, uint32_t at, uintptr_t pc, uintptr_t bias,
                     struct native_symbol *symbol)
{
    const struct library *library = &symbols->library[at];
    struct elf_symbol found;
    const struct extent *known = find_extent(symbols, pc);
    if (known != NULL && known->library == at) {
        found.name_offset = known->name_offset;
        symbol->start = known->start;
        if (!elf_symbols_name(library->path, &found))
            return false;
    } else {
        if (!elf_symbols_find(library->path, &library->table, pc - bias, &found))
            return false;
        symbol->start = found.start + bias;
        if (found.size <= UINT32_MAX)
            remember(symbols,
                     &(struct extent){symbol->start, (uint32_t)found.size, at, found.name_offset});
    }
    symbol_name(found.name, symbol->function, sizeof symbol->function);
    return true;
}

static void name_library(const char *path, struct native_symbol *symbol)
{
    const char *slash = strrchr(path, '/');
    snprintf(symbol->library, sizeof symbol->library, "%s", slash == NULL ? path : slash + 1);
    char *suffix = strstr(symbol->library, ".so");
    if (suffix != NULL && suffix != symbol->library)
        *suffix = '\0';
}

void native_symbols_find(struct native_symbols *symbols, uintptr_t pc, struct native_symbol *symbol)
{
    Dl_info info;
    struct link_map *map = NULL;
    *symbol = (struct native_symbol){.start = 0};
    if (dladdr1((void *)pc, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        info.dli_fname == NULL)
        return;
    /* The linker calls the program what it was called, which need not be a path. */
    const char *path = map->l_name[0] == '\0' ? "/proc/self/exe" : info.dli_fname;
    symbol->start = (uintptr_t)info.dli_fbase;
    name_library(info.dli_fname, symbol);
    uint32_t at = find_library(symbols, (uintptr_t)info.dli_fbase, path);
    if (at < LIBRARIES_MAX && symbols->library[at].table.count > 0 &&
        ask_file(symbols, at, pc, map->l_addr, symbol))
        return;
    if (info.dli_sname != NULL) {
        symbol->start = (uintptr_t)info.dli_saddr;
        symbol_name(info.dli_sname, symbol->function, sizeof symbol->function);
    }
}
