/*
 * calltrace: the stacks of a chunk, each stored once.
 *
 * The problem: thousands of samples a second in signal handlers, most of them of a few hundred
 * stacks. Three tables of 65 536 entries (8 bytes: tag, trace) rotate without locks:
 *
 *     active   handlers put here                    --rotate-->  standby
 *     standby  the drain thread reads and writes it out  ------> scratch (cleared)
 *     scratch  clean, is the next active
 *
 * A handler is inside a table between calltrace_enter and calltrace_leave: its RefCountSlot (one
 * cache line of 8192) names the table, and the drain waits for the slots before it reads standby.
 * A handler must write everything that belongs to an id before it leaves: then, when rotate returns,
 * every id of the old table is where the drain looks for it.
 *
 * Stacks are a prefix tree (calltrace_layout.h): one takes 16 bytes, an entry, and 4 for each frame
 * in which it differs from those before it. A table doubles at a load of 75 %: the drain thread maps
 * the next level ahead, from half full on, and nothing is moved. Entries, stacks and frames of all
 * three tables share one budget; a table at rest needs next to nothing of it. Beyond it puts are
 * dropped and counted.
 *
 * calltrace_enter, _put, _leave: signal context (the file calltrace_put.c reaches no other symbols
 * than those tests/agent/signal_symbols lists); a handler may interrupt another one of the same
 * thread at any instruction of them. The others: drain thread.
 */
#pragma once

#include "floor/hotspot/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLTRACE_CAPACITY_FIRST 65536
#define REFCOUNT_SLOTS           8192
#define CALLTRACE_DEPTH_MAX      4096 /* outer frames beyond it are cut off */
/* An id that no stack has: of a sample whose stack found no room. */
#define CALLTRACE_OVER_BUDGET    UINT32_MAX

struct calltrace_storage;

struct calltrace {
    uint32_t id; /* > 0, unique in this chunk and the next: the constant-pool id */
    int32_t depth;
    bool truncated;
    const struct frame *frames;
};

/* bound_bytes: of all three tables and their arenas; the smallest is some 2.5 MB, less is taken for
 * that. NULL when out of memory. */
struct calltrace_storage *calltrace_create(size_t bound_bytes);

/* Returns a slot >= 0, or -1 when all slots near the thread's hash are taken (count a drop). */
int calltrace_enter(struct calltrace_storage *storage, int tid);
/* The id of the stack, 0 when it found no room. */
uint32_t calltrace_put(struct calltrace_storage *storage, int slot, const struct frame *frames,
                       int depth, bool truncated);
void calltrace_leave(struct calltrace_storage *storage, int slot);

/* Swaps the tables and waits (microseconds) until no handler is inside the old one. Does nothing while
 * standby is not collected. */
void calltrace_rotate(struct calltrace_storage *storage);
/* Walks standby after a rotation and leaves it there. Frames are valid during the visit. Returns
 * how many stacks. */
typedef void calltrace_visit_fn(void *context, const struct calltrace *trace);
int64_t calltrace_look(struct calltrace_storage *storage, calltrace_visit_fn *visit, void *context);
/* The same, then clears it into scratch. */
int64_t calltrace_collect(struct calltrace_storage *storage, calltrace_visit_fn *visit,
                          void *context);
/* Walks what is in the active table by now, and leaves it there. For events that were flushed after
 * the rotation and are from after it: with these stacks too, the chunk they are in is complete. */
int64_t calltrace_peek(struct calltrace_storage *storage, calltrace_visit_fn *visit, void *context);
/* Maps what the active table will need next. Call it each second, and after some puts (agent/buffer/wakeup.h). */
void calltrace_refill(struct calltrace_storage *storage);

/* No table grows any more, and half of the budget. Mapped memory stays until its table is cleared. */
void calltrace_shrink(struct calltrace_storage *storage);

const char *walk_code_name(enum walk_code code);

struct calltrace_counts {
    int64_t offered; /* = the next five, added up */
    int64_t stored_new, stored_seen;
    int64_t dropped_slots;  /* too many threads at once */
    int64_t dropped_budget; /* the bound is reached */
    int64_t dropped_late;   /* within the bound, but the drain thread had not mapped it yet */
    int64_t capacity, used; /* entries of the active table */
    int64_t bound_bytes;
};
void calltrace_counts(const struct calltrace_storage *storage, struct calltrace_counts *counts);
void calltrace_destroy(struct calltrace_storage *storage);
