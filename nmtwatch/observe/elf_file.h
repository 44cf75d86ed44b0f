/* elf_file: symbols and probes of a library's file: what lies at an address, and where a name is.
 *
 * All functions and variables of .symtab (of .dynsym where there is none) are read at once, sorted by address:
 * 16 bytes each and their names, 6 MB for libjvm. Addresses are those of the file's program headers
 * (remote_library.bias). Nothing in the file is trusted: sizes are bounded, and what points outside is
 * left out. Setup context; blocking. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* fd stays the caller's, and is not needed any more. NULL with a sentence; errno is EFBIG where more than `most` bytes
 * would be kept, or the file is a hole for the most part. */
struct elf_file *elf_file_read(int fd, uint64_t most, char *error, size_t error_size);
/* What is kept of it. */
uint64_t elf_file_bytes(const struct elf_file *file);
/* The linker's name of the function that holds an address; NULL: none does. start may be NULL. */
const char *elf_file_function(const struct elf_file *file, uint64_t address, uint64_t *start);
/* The first function whose linker's name begins so and has no dot: what has one is a piece that the compiler
 * made of a function. False: there is none. */
bool elf_file_symbol(const struct elf_file *file, const char *begin, uint64_t *address);
/* The variable of that linker's name. False: there is none. */
bool elf_file_variable(const struct elf_file *file, const char *name, uint64_t *address);
/* The same, of that size, in a segment that is written to and not run. */
bool elf_file_data(const struct elf_file *file, const char *name, size_t size, uint64_t *address);
/* Where in the file the first value of a variable is; false: it begins as zeros (.bss), or is none. */
bool elf_file_value_offset(const struct elf_file *file, uint64_t address, size_t size,
                           uint64_t *offset);
/* Where an address of the program headers' lies in the file; false: in no segment with code. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset);
/* Places of a USDT probe (.note.stapsdt) that has no semaphore; at most max, their number. */
struct elf_probe {
    uint64_t address;
    char arguments[128]; /* "8@%rdi -4@%esi ..." */
};
int elf_file_probes(const struct elf_file *file, const char *provider, const char *name,
                    struct elf_probe *out, int max);
void elf_file_free(struct elf_file *file);

/* How many entries of a table begin at or below the address. An entry begins with its first address
 * (8 bytes); the table is sorted by it. */
static inline size_t entries_up_to(const void *table, size_t count, size_t entry_bytes,
                                   uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const uint64_t *begins = (const void *)((const char *)table + middle * entry_bytes);
        if (*begins <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
