/* remote: the memory and the libraries of another process, read only.
 *
 * Implements floor/hotspot/load.h and libjvm_symbol (layout.h) over process_vm_readv, so that the
 * agent's walker walks a JVM from outside. A sample brings a copy of a piece of its thread's stack:
 *
 *   sp                         end of the copy              end of the stack
 *   | bytes as they were then  | not known: loads fail      |
 *
 * Everything else is read as it is now, by pages that are kept until remote_forget: the JVM goes on
 * meanwhile. Nothing is written into the process, and nothing is mapped or opened in it.
 *
 * One process at a time; one thread. */
#pragma once

#include "nmtwatch/jvm/target.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False with one sentence: it is of another architecture or emulated, its memory is not for us, or it maps no
 * libjvm.so. target lives until remote_close. */
bool remote_open(const struct target *target, char *error, size_t error_size);
void remote_close(void);
/* False: it has ended, or runs another program by now (exec). */
bool remote_still_same(void);
/* Pages that have been read are read again. */
void remote_forget(void);

/* A reading of the process's memory ends: tables of a stranger may lead on for ever. remote_open begins one of 10 s of
 * this process's CPU time and 30 s in all; this begins another, with so much more for what is not reading. Later
 * loads fail, and whoever follows a table comes to its end. */
void remote_reading(int64_t more_ms);
/* Whether the reading has ended so; fills error then. What was read is not to be trusted. */
bool remote_spent(char *error, size_t error_size);
/* layout_fill of `layout` (layout.h), by such a reading. */
bool remote_layout(char *error, size_t error_size);

/* Which of `count` pages from `low` on are resident or swapped. False: that cannot be seen. */
bool remote_present(uintptr_t low, size_t count, bool *present);

/* low: the sp of the sample. bytes: the caller's, until the next call. size 0: no copy any more. */
void remote_stack(uintptr_t low, const void *bytes, size_t size);
/* The end of the mapping that the copy is of. */
uintptr_t remote_stack_end(void);
/* Whether a load since remote_stack was of the part that has not been copied. */
bool remote_stack_exceeded(void);

#define REMOTE_PROGRAMS_MAX 64

/* A file that is mapped with code in it. */
struct remote_library {
    uintptr_t low, high; /* of all its mappings */
    uintptr_t bias;      /* address - address in the file's program headers */
    uint64_t inode;
    Elf64_Phdr program[REMOTE_PROGRAMS_MAX]; /* its program headers */
    int programs;
    bool is_jvm;
    char *path;                 /* as the process names it */
    void *use;                  /* memory kept for it by other code ... */
    void (*release)(void *use); /* ... and how remote_close gives that back; NULL: nothing */
};
/* NULL: none. Maps are read again where an address is new, at most once a second. */
struct remote_library *remote_library_of(uintptr_t pc);
struct remote_library *remote_jvm(void);
/* The first whose file's name begins so ("libc."). NULL: none. */
struct remote_library *remote_library_named(const char *begin);
/* A descriptor of the library's file; the caller closes it. -1 with errno: it has been replaced or
 * cannot be opened. */
int remote_library_file(const struct remote_library *library);
