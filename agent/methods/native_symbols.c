#include "agent/methods/native_symbols.h"

#include "agent/mem/mem.h"
#include "agent/methods/elf_symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARIES_MAX 64 /* whose files are read; the others are asked of the linker */
#define NO_LIBRARY    LIBRARIES_MAX
#define EXTENTS_FIRST 128  /* 3 KB */
#define EXTENTS_MAX   8192 /* 192 KB; then all of them are forgotten: a pass finds them again */
_Static_assert(NATIVE_SYMBOLS_TOGETHER <= EXTENTS_MAX, "what is looked up together is remembered");

struct library {
    uintptr_t base;
    uintptr_t bias; /* address in memory - address of the file */
    char *path;     /* of the file */
    char *called;   /* by the linker: for the program itself not its path */
    struct elf_table table;
};

/* A function found in a .symtab; without a name: one address that no function there holds. */
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
    uint32_t extent_count;
    size_t extent_capacity;
    /* Until rest: */
    uint32_t near;    /* the library of the last address; NO_LIBRARY: none */
    uint32_t file_of; /* whose file is open */
    int file;         /* -1: none */
};

struct native_symbols *native_symbols_create(void)
{
    struct native_symbols *symbols = mem_alloc(COMPONENT_NATIVE_SYMBOLS, sizeof *symbols);
    if (symbols != NULL) {
        symbols->near = NO_LIBRARY;
        symbols->file = -1;
    }
    return symbols;
}

void native_symbols_rest(struct native_symbols *symbols)
{
    symbols->near = NO_LIBRARY;
    if (symbols->file >= 0)
        close(symbols->file);
    symbols->file = -1;
}

static void forget_library(struct library *library)
{
    mem_free(library->path);
    mem_free(library->called);
    library->path = library->called = NULL;
}

void native_symbols_destroy(struct native_symbols *symbols)
{
    native_symbols_rest(symbols);
    for (uint32_t i = 0; i < symbols->libraries; i++)
        forget_library(&symbols->library[i]);
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

/* The library loaded there, known or new; NO_LIBRARY: no more room, or no memory. */
static uint32_t find_library(struct native_symbols *symbols, const Dl_info *info,
                             const struct link_map *map)
{
    /* The linker calls the program what it was called, which need not be a path. */
    const char *path = map->l_name[0] == '\0' ? "/proc/self/exe" : info->dli_fname;
    uintptr_t base = (uintptr_t)info->dli_fbase;
    uint32_t at = 0;
    while (at < symbols->libraries && symbols->library[at].base != base)
        at++;
    if (at == LIBRARIES_MAX)
        return NO_LIBRARY;
    struct library *library = &symbols->library[at];
    bool known = at < symbols->libraries;
    if (known && library->path != NULL && strcmp(library->path, path) == 0)
        return at;
    if (known) { /* another one was unloaded from there */
        native_symbols_rest(symbols);
        forget_extents(symbols, at);
        forget_library(library);
    } else {
        symbols->libraries++;
    }
    *library = (struct library){
        .base = base,
        .bias = map->l_addr,
        .path = mem_copy_text(COMPONENT_NATIVE_SYMBOLS, path, strlen(path)),
        .called = mem_copy_text(COMPONENT_NATIVE_SYMBOLS, info->dli_fname, strlen(info->dli_fname)),
    };
    if (library->path == NULL || library->called == NULL) {
        forget_library(library); /* it will be another one's, or tried again */
        return NO_LIBRARY;
    }
    elf_symbols_open(path, info->dli_fbase, &library->table);
    return at;
}

/* *map is NULL when no library is there. */
static bool ask_linker(uintptr_t pc, Dl_info *info, struct link_map **map)
{
    *map = NULL;
    return dladdr1((void *)pc, info, (void **)map, RTLD_DL_LINKMAP) != 0 && *map != NULL &&
           info->dli_fname != NULL;
}

static bool is_in(const struct native_symbols *symbols, uint32_t at, uintptr_t pc)
{
    if (at == NO_LIBRARY)
        return false;
    const struct library *library = &symbols->library[at];
    return pc >= library->base && pc - library->bias < library->table.end;
}

/* The library whose file can be read. Asking the linker takes microseconds (it looks for a symbol,
 * too), and addresses that follow each other are mostly of the same library. */
static uint32_t library_of(struct native_symbols *symbols, uintptr_t pc)
{
    Dl_info info;
    struct link_map *map;
    if (!is_in(symbols, symbols->near, pc))
        symbols->near =
            ask_linker(pc, &info, &map) ? find_library(symbols, &info, map) : NO_LIBRARY;
    return is_in(symbols, symbols->near, pc) ? symbols->near : NO_LIBRARY;
}

static int file_of(struct native_symbols *symbols, uint32_t at)
{
    if (symbols->file >= 0 && symbols->file_of == at)
        return symbols->file;
    if (symbols->file >= 0)
        close(symbols->file);
    symbols->file_of = at;
    symbols->file = elf_symbols_file(symbols->library[at].path, &symbols->library[at].table);
    return symbols->file;
}

/* --- extents ---------------------------------------------------------------------------------- */

static const struct extent *find_extent(const struct native_symbols *symbols, uintptr_t pc)
{
    uint32_t low = 0, high = symbols->extent_count; /* the first that begins beyond pc */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (symbols->extents[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct extent *extent = &symbols->extents[low - 1];
    return pc - extent->start < extent->size ? extent : NULL;
}

static bool make_room(struct native_symbols *symbols, size_t more)
{
    static const struct mem_array EXTENTS = {COMPONENT_NATIVE_SYMBOLS, sizeof(struct extent),
                                             EXTENTS_FIRST, 0};
    return mem_grow(&EXTENTS, &symbols->extents, &symbols->extent_capacity,
                    symbols->extent_count + more);
}

/* Both are in order and are merged from their ends. A function inside of another one is left out:
 * the linker is asked then. */
static void remember(struct native_symbols *symbols, uint32_t library,
                     struct elf_function *functions, size_t count)
{
    size_t fresh = 0;
    for (size_t i = 0; i < count; i++) {
        struct elf_function function = functions[i];
        if (function.size == 0)
            function = (struct elf_function){.start = function.address, .size = 1};
        if (function.size <= UINT32_MAX &&
            (fresh == 0 || function.start > functions[fresh - 1].start))
            functions[fresh++] = function;
    }
    if (!make_room(symbols, fresh))
        return;
    size_t old = symbols->extent_count, to = old + fresh;
    symbols->extent_count = (uint32_t)to;
    while (fresh > 0) {
        const struct elf_function *function = &functions[fresh - 1];
        uintptr_t start = function->start + symbols->library[library].bias;
        if (old > 0 && symbols->extents[old - 1].start > start) {
            symbols->extents[--to] = symbols->extents[--old];
        } else {
            symbols->extents[--to] =
                (struct extent){start, (uint32_t)function->size, library, function->name_offset};
            fresh--;
        }
    }
}

/* --- questions -------------------------------------------------------------------------------- */

/* Shell's sort with Ciura's gaps: the C library's allocates. */
static void sort(struct elf_function *functions, size_t count)
{
    static const size_t GAPS[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof GAPS / sizeof *GAPS; g++) {
        size_t gap = GAPS[g];
        for (size_t i = gap; i < count; i++) {
            struct elf_function moving = functions[i];
            size_t at = i;
            for (; at >= gap && functions[at - gap].address > moving.address; at -= gap)
                functions[at] = functions[at - gap];
            functions[at] = moving;
        }
    }
}

/* Those at the front that are of one library: how many they are. */
static size_t look_up_front(struct native_symbols *symbols, struct elf_function *functions,
                            size_t count)
{
    uint32_t at = library_of(symbols, functions[0].address);
    size_t front = 0, unknown = 0;
    if (at == NO_LIBRARY)
        return 1;
    const struct library *library = &symbols->library[at];
    for (; front < count && is_in(symbols, at, functions[front].address); front++) {
        uintptr_t pc = functions[front].address;
        bool twice = unknown > 0 && functions[unknown - 1].address == pc - library->bias;
        if (!twice && find_extent(symbols, pc) == NULL)
            functions[unknown++].address = pc - library->bias;
    }
    int file = library->table.count == 0 || unknown == 0 ? -1 : file_of(symbols, at);
    if (file >= 0) {
        elf_symbols_find(file, &library->table, functions, unknown);
        remember(symbols, at, functions, unknown);
    }
    return front;
}

void native_symbols_look_up(struct native_symbols *symbols, const uintptr_t *pcs, size_t count)
{
    struct elf_function *functions = mem_alloc(COMPONENT_NATIVE_SYMBOLS, count * sizeof *functions);
    if (functions == NULL)
        return;
    if (symbols->extent_count + count > EXTENTS_MAX)
        symbols->extent_count = 0; /* before any of these is found among them */
    for (size_t i = 0; i < count; i++)
        functions[i].address = pcs[i];
    sort(functions, count);
    for (size_t at = 0; at < count;)
        at += look_up_front(symbols, functions + at, count - at);
    mem_free(functions);
}

static const struct extent *find_function(struct native_symbols *symbols, uintptr_t pc)
{
    uint32_t at = library_of(symbols, pc);
    if (at == NO_LIBRARY || symbols->library[at].table.count == 0)
        return NULL;
    const struct extent *extent = find_extent(symbols, pc);
    if (extent == NULL) {
        native_symbols_look_up(symbols, &pc, 1);
        extent = find_extent(symbols, pc);
    }
    return extent != NULL && extent->library == at && extent->name_offset != 0 ? extent : NULL;
}

bool native_symbols_place(struct native_symbols *symbols, uintptr_t pc, struct native_place *place)
{
    Dl_info info;
    struct link_map *map;
    const struct extent *extent = find_function(symbols, pc);
    if (extent != NULL) {
        *place = (struct native_place){
            .start = extent->start,
            .is_function = true,
            .library = symbols->library[extent->library].called,
            .name_offset = extent->name_offset,
            .library_number = extent->library,
        };
        return true;
    }
    if (!ask_linker(pc, &info, &map))
        return false;
    bool named = info.dli_sname != NULL;
    *place = (struct native_place){
        .start = (uintptr_t)(named ? info.dli_saddr : info.dli_fbase),
        .is_function = named,
        .library = info.dli_fname,
        .linker_name = info.dli_sname,
    };
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

void native_symbols_name(struct native_symbols *symbols, const struct native_place *place,
                         struct native_symbol *symbol)
{
    char name[ELF_SYMBOL_MAX] = "";
    *symbol = (struct native_symbol){.function = ""};
    name_library(place->library, symbol);
    if (place->linker_name != NULL) {
        symbol_name(place->linker_name, symbol->function, sizeof symbol->function);
    } else if (place->is_function) {
        int file = file_of(symbols, place->library_number);
        if (file >= 0 && elf_symbols_name(file, place->name_offset, name))
            symbol_name(name, symbol->function, sizeof symbol->function);
    }
}
