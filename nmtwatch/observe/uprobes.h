/* uprobes: each passing of a place in a library's code in one process, counted exactly, with registers and a
 * copy of the stack.
 *
 * A small BPF program per place (assembled here, so that nothing needs clang, BTF or libbpf) counts the
 * hit, and copies registers and stack into a ring that is mapped here. It sees all threads of that
 * process and no other process. A copy that finds no room is counted as lost; the hit is counted anyhow.
 *
 *   uprobes_open -> uprobes_drain ... -> uprobes_count -> uprobes_close
 *
 * The BPF programs (write_program) may be used under the GPL, version 2, and under the MIT licence as well: the
 * kernel lets no others read the memory of a process.
 *
 * The kernel puts a breakpoint at the place in that process's code; it is taken away with the last
 * descriptor, however this process ends. A hit costs 1 to 2 us on hardware and 10 to 18 us on some
 * virtual machines: nothing hotter than UPROBES_HITS_MAX a second. One thread. */
#pragma once

#include "nmtwatch/observe/perf_events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define UPROBES_MAX      8
#define UPROBES_HITS_MAX 10000 /* a second, of all places */

struct uprobe_place {
    const char *file; /* of the library, as the kernel opens it */
    uint64_t offset;  /* in the file */
    bool stack;       /* copy registers and stack; else hits are counted only */
    bool object;      /* and the first words that the first argument points to */
};

struct uprobes;

/* Whether this process may load such programs at all; false with such a sentence. */
bool uprobes_possible(char *error, size_t error_size);
/* NULL with a sentence that names what is missing and what grants it. */
struct uprobes *uprobes_open(pid_t pid, const struct uprobe_place *places, int count, char *error,
                             size_t error_size);
/* Calls take for each sample that waits; what it points to is valid during the call. The number taken. */
size_t uprobes_drain(struct uprobes *uprobes,
                     void (*take)(void *context, const struct perf_sample *sample), void *context);
/* Hits of a place so far, exact. */
uint64_t uprobes_count(const struct uprobes *uprobes, int place);
/* Copies that found no room. */
uint64_t uprobes_lost(const struct uprobes *uprobes);
void uprobes_close(struct uprobes *uprobes);
