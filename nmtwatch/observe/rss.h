/* rss: who makes a process grow: its mappings before and after (smaps), and the stacks that touched
 * their pages meanwhile (page faults).
 *
 *   rss_open -> rss_touch for each fault ... -> rss_close
 *
 * Growth is that of smaps' Anonymous, mapping by mapping, so that the rows add up to it. What a mapping grew
 * by is divided among the stacks that touched it, in proportion to their faults. A page counts for whom touched
 * it last, and only if it is still there (pagemap); a huge page counts with all its pages; faults
 * that found no room in the ring are added to the next that did. The remaining error changes shares within one
 * mapping, but no sum. Memory without an observed fault is a row of its own.
 *
 * A row is NMT's category where the JVM's structures name the address (jvm_ranges.c). Else it is what the form of the
 * mapping says (malloc arenas, libraries, files) and who touched it: libjvm, Java code (direct buffers), a
 * thread its own stack, or another library, whose memory is outside of NMT.
 *
 * One process at a time; one thread. */
#pragma once

#include "nmtwatch/observe/stacks.h"
#include "reports/profile/observe_report.h"
#include "analyzers/native/rss_account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rss_watch;

/* Reads the mappings as they are. NULL with a sentence. stacks_open has been called. */
struct rss_watch *rss_open(const struct target *target, char *error, size_t error_size);
/* frames: innermost first; names stay until stacks_close. */
void rss_touch(struct rss_watch *watch, const struct perf_sample *sample,
               const struct stack_frame *frames, int depth);
/* Reads the mappings again (of a process that has ended: growth is that of the pages that were touched): rows of
 * growth, and the tree of it in bytes, outermost the row. Frees the watch. False with a sentence. */
bool rss_close(struct rss_watch *watch, const struct target *target, struct observe_report *report,
               char *error, size_t error_size);

/* jvm_ranges: which addresses a JVM keeps for what, by its own structures, read from outside.
 *
 *   Java Heap   CollectedHeap::_reserved
 *   Code        CodeCache::_low_bound, _high_bound
 *   GC          CardTable::_byte_map
 *   Class, Metaspace
 *               MetaspaceContext -> VirtualSpaceList -> VirtualSpaceNode ... (JDK 16 and later; a libjvm
 *               with a symbol table)
 *   Thread      stacks of Java's threads
 *
 * What a JVM does not export (other tables of collectors, stacks of threads that are not Java's, all of JDK
 * 11's Metaspace) has no range. Ranges are reserved memory: much of it may be untouched.
 *
 * One process at a time, that of stacks_open; one thread; blocking. */
#define JVM_RANGES_MAX 8192

/* Sorted; their number. */
int jvm_ranges_read(struct rss_range out[JVM_RANGES_MAX]);
/* The one that holds an address; NULL: none does. */
const struct rss_range *jvm_range_of(const struct rss_range *ranges, int count, uint64_t address);

/* malloc_arenas: memory that glibc's malloc keeps though it is free, arena by arena, read from outside.
 *
 *   main_arena (in libc's data) -> next -> next ... -> main_arena
 *      top            free memory at the end
 *      bins[1..127]   lists of free chunks
 *
 * glibc exports none of it: main_arena is known by its form, a hundred lists that are empty and so point at
 * themselves. malloc goes on meanwhile: a list that changes under our eyes ends there and is counted. Fast bins and
 * caches of threads are not read (small chunks, few pages).
 *
 * malloc_trim(3) gives back whole pages inside of chunks in bins, and the top of the main arena. It does not
 * give back the tops of the other arenas.
 *
 * One process at a time, that of remote_open; one thread; blocking, at most a second. */
struct malloc_arenas {
    int count;       /* 0: they cannot be read */
    const char *why; /* they cannot; NULL: they can */
    /* taken from the kernel by arenas; large blocks have mappings of their own */
    int64_t system_bytes;
    int64_t free_bytes; /* of it free */
    int64_t trim_bytes; /* resident, and malloc_trim gives them back */
    int64_t top_bytes;  /* resident, free, and malloc_trim does not give them back */
    bool partial;       /* lists changed, or time was over: it may be more */
};

void malloc_arenas_read(struct malloc_arenas *out);
