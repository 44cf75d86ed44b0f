#include "nmtwatch/observe/rss.h"

#include "floor/hotspot/load.h"
#include "nmtwatch/machine/machine.h"
#include "nmtwatch/process/clock.h"

#include <stdlib.h>

#define ARENAS_MAX  65536
#define CHUNKS_MAX  1000000 /* of a list: it may be a circle */
#define DATA_MAX    (1u << 20)
#define TIME_MAX_MS 1000
#define LISTS       127
#define EMPTY_MIN   64 /* lists of an arena that are empty: most are for sizes that are never freed */
#define PIECE_PAGES 512
#define CHUNK_HEAD  16 /* sizes of the chunk before and of this one, which has three flags */
#define CHUNK_FLAGS ((uint64_t)7)
#define CHUNK_MAX   (UINT64_C(1) << 40)

/* struct malloc_state, in words: mutex and flags, until 2.42 ten fast bins, from 2.27 on have_fastchunks before them,
 * then: */
enum {
    TOP,
    REMAINDER,
    BINS,
    MAP = BINS + 2 * LISTS,
    NEXT = MAP + 2,
    NEXT_FREE,
    THREADS,
    SYSTEM,
    SYSTEM_PEAK,
    ARENA_WORDS
};
static const int TOP_AT[] = {12, 11, 1};

struct reading {
    struct malloc_arenas *out;
    int64_t end_ms;
    int top_at; /* words before the top */
};

/* A list's head stands two words before its two pointers, as if it were a chunk. */
static uintptr_t head_of(uintptr_t arena, int top_at, int list)
{
    return arena + (uintptr_t)(top_at + BINS + 2 * list - 2) * WORD_BYTES;
}

static bool is_arena(uintptr_t arena, int top_at, const uint64_t *words)
{
    int empty = 0;
    for (int list = 0; list < LISTS; list++) {
        uintptr_t head = head_of(arena, top_at, list);
        uint64_t first = words[BINS + 2 * list], last = words[BINS + 2 * list + 1];
        if ((first == head) != (last == head) || first == 0 || last == 0 ||
            (first != head && (first % CHUNK_HEAD != 0 || last % CHUNK_HEAD != 0)))
            return false;
        empty += first == head;
    }
    return empty >= EMPTY_MIN && words[TOP] % CHUNK_HEAD == 0 && words[NEXT] != 0 &&
           words[SYSTEM] <= words[SYSTEM_PEAK] && words[SYSTEM] < CHUNK_MAX;
}

static bool read_arena(const struct reading *reading, uintptr_t arena, uint64_t words[ARENA_WORDS])
{
    uintptr_t from = arena + (uintptr_t)reading->top_at * WORD_BYTES;
    return load_bytes(from, words, ARENA_WORDS * sizeof *words) &&
           is_arena(arena, reading->top_at, words);
}

/* In the data that libc was started with. 0: there is none. */
static uintptr_t find_main(struct reading *reading)
{
    const struct remote_library *libc = remote_library_named("libc.so");
    if (libc == NULL)
        libc = remote_library_named("libc-2");
    reading->out->why =
        libc == NULL ? "glibc is not among its libraries"
                     : "this version of the C library keeps them in a form that is not known";
    for (int i = 0; libc != NULL && i < libc->programs; i++) {
        const Elf64_Phdr *program = &libc->program[i];
        if (program->p_type != PT_LOAD || (program->p_flags & PF_W) == 0 ||
            program->p_filesz > DATA_MAX)
            continue;
        uintptr_t low = libc->bias + program->p_vaddr, found = 0;
        size_t words = program->p_filesz / sizeof(uint64_t);
        uint64_t *data = malloc((words + 1) * sizeof *data);
        bool good = data != NULL && load_bytes(low, data, words * sizeof *data);
        for (size_t at = 0; good && found == 0 && at < words; at++) {
            for (size_t form = 0; form < sizeof TOP_AT / sizeof *TOP_AT && found == 0; form++) {
                uintptr_t arena = low + at * sizeof *data;
                if (at + (size_t)TOP_AT[form] + ARENA_WORDS > words ||
                    !is_arena(arena, TOP_AT[form], data + at + TOP_AT[form]))
                    continue;
                /* Moved by a list it looks nearly the same, but for what follows. */
                const uint64_t *words_at = data + at + TOP_AT[form];
                uint64_t second[ARENA_WORDS];
                reading->top_at = TOP_AT[form];
                if (words_at[NEXT] == arena || read_arena(reading, words_at[NEXT], second))
                    found = arena;
            }
        }
        free(data);
        if (found != 0)
            return found;
    }
    return 0;
}

static bool is_late(struct reading *reading)
{
    bool late = clock_ms(CLOCK_MONOTONIC) > reading->end_ms;
    reading->out->partial |= late;
    return late;
}

/* Resident pages that lie wholly within. The process may say that it is all of its address space. */
static int64_t resident(struct reading *reading, uintptr_t low, uintptr_t high)
{
    const size_t page_bytes = machine_page_bytes();
    bool present[PIECE_PAGES];
    int64_t bytes = 0;
    low = machine_page_of(low + page_bytes - 1);
    high = machine_page_of(high);
    while (low < high) {
        size_t pages = (high - low) / page_bytes;
        pages = pages < PIECE_PAGES ? pages : PIECE_PAGES;
        if (is_late(reading) || !remote_present(low, pages, present))
            break;
        for (size_t i = 0; i < pages; i++)
            bytes += present[i] ? (int64_t)page_bytes : 0;
        low += pages * page_bytes;
    }
    return bytes;
}

/* 0: that is no chunk. */
static uint64_t chunk_bytes(uintptr_t chunk)
{
    uint64_t bytes = load_u64(chunk + WORD_BYTES, 0) & ~CHUNK_FLAGS;
    return chunk % CHUNK_HEAD == 0 && bytes % CHUNK_HEAD == 0 && bytes >= 2 * CHUNK_HEAD &&
                   bytes < CHUNK_MAX
               ? bytes
               : 0;
}

static void read_lists(struct reading *reading, uintptr_t arena, const uint64_t *words)
{
    struct malloc_arenas *out = reading->out;
    for (int list = 0; list < LISTS; list++) {
        uintptr_t head = head_of(arena, reading->top_at, list);
        uintptr_t chunk = words[BINS + 2 * list];
        for (int i = 0; chunk != head; i++) {
            uint64_t bytes = chunk_bytes(chunk);
            if (bytes == 0 || i == CHUNKS_MAX || (i % 256 == 255 && is_late(reading))) {
                out->partial = true;
                break;
            }
            out->free_bytes += (int64_t)bytes;
            /* malloc_trim leaves its own six words at the chunk's begin. */
            out->trim_bytes += resident(reading, chunk + 3 * CHUNK_HEAD, chunk + bytes);
            chunk = load_pointer(chunk + CHUNK_HEAD);
        }
    }
}

void malloc_arenas_read(struct malloc_arenas *out)
{
    uint64_t words[ARENA_WORDS];
    struct reading reading = {.out = out, .end_ms = clock_ms(CLOCK_MONOTONIC) + TIME_MAX_MS};
    *out = (struct malloc_arenas){0};
    remote_forget();
    uintptr_t first = find_main(&reading), arena = first;
    if (first != 0)
        out->why = NULL;
    while (arena != 0 && out->count < ARENAS_MAX && read_arena(&reading, arena, words)) {
        uint64_t top = words[TOP], bytes = top != 0 ? chunk_bytes(top) : 0;
        out->count++;
        out->system_bytes += (int64_t)words[SYSTEM];
        if (bytes > 0 && bytes <= words[SYSTEM]) {
            out->free_bytes += (int64_t)bytes;
            *(arena == first ? &out->trim_bytes : &out->top_bytes) +=
                resident(&reading, top + CHUNK_HEAD, top + bytes);
        }
        read_lists(&reading, arena, words);
        if (is_late(&reading))
            return;
        arena = words[NEXT] != first ? words[NEXT] : 0;
    }
    out->partial |= arena != 0;
}
