/*
 * malloc_arenas: memory that glibc's malloc keeps though it is free, arena by arena, read from outside.
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
 * One process at a time, that of remote_open; one thread; blocking, at most a second.
 */
#ifndef NMTWATCH_OBSERVE_MALLOC_ARENAS_H
#define NMTWATCH_OBSERVE_MALLOC_ARENAS_H

#include <stdbool.h>
#include <stdint.h>

struct malloc_arenas {
    int count; /* 0: not glibc's malloc, or one whose form is not known */
    int64_t
        system_bytes; /* taken from the kernel by arenas; large blocks have mappings of their own */
    int64_t free_bytes; /* of it free */
    int64_t trim_bytes; /* resident, and malloc_trim gives them back */
    int64_t top_bytes;  /* resident, free, and malloc_trim does not give them back */
    bool partial;       /* lists changed, or time was over: it may be more */
};

void malloc_arenas_read(struct malloc_arenas *out);

#endif
