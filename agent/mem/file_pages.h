/*
 * file_pages: pages of files that are in memory because of the agent.
 *
 * Nobody allocates them, and malloc and mmap never see them; but code and data of libnmtagent.so
 * and of the libraries it brings in are resident memory like any other, and the unwind tables of
 * libjvm that the samples read are more than all else an idle agent takes. So ranges of loaded
 * files are listed with their component, and a snapshot asks the kernel what of them this process
 * has mapped (/proc/self/pagemap; mincore says what is in the page cache). requested and
 * reserved of such a component are its resident bytes: the address space costs nothing.
 *
 * Internal to agent/mem but for file_pages_look. Any thread, never in a signal handler.
 */
#pragma once

#include "agent/mem/mem.h"

#include <stdint.h>

struct file_pages {
    int64_t resident_bytes;
    bool only_file; /* none of them was written to: they can be had from the file again */
};

/* The range is taken in whole pages. False when the kernel does not say. */
bool file_pages_look(const void *address, size_t size, struct file_pages *pages);

/* Adds the listed ranges to the counts of each component. A range that cannot be looked at counts
 * whole. */
void file_pages_count(struct component_usage usage[COMPONENT_COUNT]);

/*
 * libraries: which of the loaded libraries are there because of the agent: itself, and the
 * libraries that it opened first. Their pages are its component `agent_code`.
 *
 * Setup context, one thread at a time.
 */
#define LIBRARIES_SEEN_MAX 500 /* a process with more has none that count as new */

struct libraries {
    uintptr_t base[LIBRARIES_SEEN_MAX];
    int count;
};

/* Counts the library this function is part of. Once. */
void libraries_count_own(void);

/* look: stores which libraries are loaded. count_new, after a dlopen that is never closed: counts
 * those that were not. A library that another thread opens between the two calls counts as the
 * agent's. */
void libraries_look(struct libraries *before);
void libraries_count_new(const struct libraries *before);
