/*
 * native_symbols: pc -> function and library, for native frames.
 *
 * From the .symtab of the library's file where it has one, else from the symbols of the dynamic
 * linker (dladdr). Reading a table takes milliseconds, so addresses are looked up together:
 *
 *   native_symbols_look_up(pcs) -> native_symbols_place(pc), native_symbols_name ...
 *                               -> native_symbols_rest
 *
 * Kept are the libraries and the extents of the functions found, both bounded; no names, no symbol
 * tables. Component NATIVE_SYMBOLS.
 *
 * Drain thread; blocking (the linker's lock, files).
 */
#pragma once

#include "agent/methods/elf_symbols.h"

#define NATIVE_SYMBOLS_TOGETHER 4096

struct native_symbols;

/* Where an address lies; good until rest. */
struct native_place {
    uintptr_t start;         /* of the function; of the library when that is not known */
    bool is_function;        /* known */
    const char *library;     /* its path */
    const char *linker_name; /* NULL: the name is in the file ... */
    uint64_t name_offset;    /* ... here ... */
    uint32_t library_number; /* ... of this library */
};

struct native_symbol {
    char library[64];              /* "libjvm": without folder and ".so..." */
    char function[ELF_SYMBOL_MAX]; /* "JavaThread::run"; "" not known */
};

struct native_symbols *native_symbols_create(void);
/* Places of at most NATIVE_SYMBOLS_TOGETHER addresses in one pass over each library's table. */
void native_symbols_look_up(struct native_symbols *symbols, const uintptr_t *pcs, size_t count);
/* Also of an address that was not looked up before, then in a pass of its own. False: it is in no
 * library. */
bool native_symbols_place(struct native_symbols *symbols, uintptr_t pc, struct native_place *place);
void native_symbols_name(struct native_symbols *symbols, const struct native_place *place,
                         struct native_symbol *symbol);
/* No questions for a while: closes the file, and believes no longer that libraries stay where they
 * were. */
void native_symbols_rest(struct native_symbols *symbols);
void native_symbols_destroy(struct native_symbols *symbols);
