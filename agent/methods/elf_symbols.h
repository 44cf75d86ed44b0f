/*
 * elf_symbols: the functions at some addresses, from the .symtab of a library's file.
 *
 * Most of libjvm's functions are only there, not among the symbols the dynamic linker knows. The
 * table is megabytes, so it is never kept: it is read through a buffer of 64 KB, once for any
 * number of addresses. It is read, not mapped: a file that is cut short under a mapping would kill
 * the host.
 *
 * The file may have been replaced since it was loaded (an upgrade): it is believed only when its
 * first page is what lies in memory, and as long as its path leads to that same file.
 *
 * Blocking, drain thread. Component NATIVE_SYMBOLS, for the time of a question.
 */
#pragma once

#include "floor/hotspot/symbol_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SYMBOL_MAX 512

struct elf_table { /* where the table is, in which file; count 0: it has none */
    uint64_t offset, count;
    uint64_t text_offset, text_bytes;
    uint64_t device, inode;
    uint64_t end; /* of what is loaded, as the file counts addresses; 0: it is not that file */
};

struct elf_function {
    uint64_t address;     /* asked for, as the file counts them */
    uint64_t start, size; /* of the function that holds it; size 0: none does */
    uint64_t name_offset; /* in the file */
};

/* base: where the file's first byte lies in memory. No table of what is not a 64-bit ELF file, or
 * not the file that was loaded. */
void elf_symbols_open(const char *path, const void *base, struct elf_table *table);
/* A descriptor of that file, for the two below; the caller closes it. -1: there is another one. */
int elf_symbols_file(const char *path, const struct elf_table *table);
/* Fills in the functions of many addresses, which ascend, in one pass over the table. */
void elf_symbols_find(int fd, const struct elf_table *table, struct elf_function *functions,
                      size_t count);
/* Cut at ELF_SYMBOL_MAX - 1. False: empty, or not to be read. */
bool elf_symbols_name(int fd, uint64_t name_offset, char name[ELF_SYMBOL_MAX]);
