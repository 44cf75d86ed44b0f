/*
 * elf_symbols: the function at an address, from the .symtab of a library's file.
 *
 * Most of libjvm's functions are only there, not among the symbols the dynamic linker knows. The
 * table is megabytes, so it is never kept: a question reads it through a buffer of 64 KB. It is
 * read, not mapped: a file that is cut short under a mapping would kill the host.
 *
 * The file may have been replaced since it was loaded (an upgrade): it is believed only when its
 * first page is what lies in memory.
 *
 * Blocking, drain thread. Component NATIVE_SYMBOLS, for the time of a question.
 */
#ifndef AGENT_METHODS_ELF_SYMBOLS_H
#define AGENT_METHODS_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SYMBOL_MAX 512

struct elf_symbol {
    uint64_t start, size; /* addresses of the file */
    uint64_t name_offset; /* of the file, for elf_symbols_name */
    char name[ELF_SYMBOL_MAX];
};

struct elf_table { /* where the table is in the file; count 0: it has none */
    uint64_t offset, count;
    uint64_t text_offset, text_bytes;
};

/* base: where the file's first byte lies in memory. False: no 64-bit ELF file, no table, or not the
 * file that was loaded. */
bool elf_symbols_open(const char *path, const void *base, struct elf_table *table);
/* The function that holds the address. */
bool elf_symbols_find(const char *path, const struct elf_table *table, uint64_t address,
                      struct elf_symbol *symbol);
/* symbol->name, from name_offset. */
bool elf_symbols_name(const char *path, struct elf_symbol *symbol);

#endif
