/*
 * native_symbols: pc -> function and library, for native frames.
 *
 * Asked once for each pc that is new: the .symtab of the library's file where it has one, else the
 * symbols of the dynamic linker (dladdr). Kept are the libraries and the extents of the functions
 * found, both bounded; no names, no symbol tables. Component NATIVE_SYMBOLS.
 *
 * Drain thread; blocking (the linker's lock, files).
 */
#ifndef AGENT_METHODS_NATIVE_SYMBOLS_H
#define AGENT_METHODS_NATIVE_SYMBOLS_H

#include "agent/methods/elf_symbols.h"

struct native_symbols;

struct native_symbol {
    uintptr_t start;               /* of the function; of the library when it is not known */
    char library[64];              /* "libjvm": without folder and ".so..."; "" no library */
    char function[ELF_SYMBOL_MAX]; /* "JavaThread::run"; "" not known */
};

struct native_symbols *native_symbols_create(void);
void native_symbols_find(struct native_symbols *symbols, uintptr_t pc,
                         struct native_symbol *symbol);
void native_symbols_destroy(struct native_symbols *symbols);

#endif
