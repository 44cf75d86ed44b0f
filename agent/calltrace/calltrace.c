/* The drain thread's part of the storage of stacks. */
#include "agent/calltrace/calltrace_layout.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Room for stacks ahead of a fresh table: 100 ms until the next refill, 1 000 samples/s on ten
 * processors, 60 frames. Addresses, until used. */
#define ROOM_FIRST_BYTES  ((size_t)1 << 20)
#define ROOM_MOST_BYTES   (ARENA_CHUNK_MAX_BYTES / 2)
#define FIRST_LEVEL_BYTES (CALLTRACE_CAPACITY_FIRST * sizeof(struct entry))

/* --- tables ----------------------------------------------------------------------------------- */

static size_t level_bytes(const struct level *level)
{
    return (level->mask + 1) * sizeof *level->entries;
}

static int level_count(const struct table *table)
{
    return atomic_load_explicit(&table->level_count, memory_order_relaxed);
}

static size_t capacity(const struct table *table)
{
    size_t entries = 0;
    for (int i = 0; i < level_count(table); i++)
        entries += table->levels[i].mask + 1;
    return entries;
}

static int64_t used(const struct table *table)
{
    return atomic_load_explicit(&table->used, memory_order_relaxed);
}

static bool add_level(struct table *table, size_t entries)
{
    int levels = level_count(table);
    struct level *level = &table->levels[levels];
    level->entries = mem_map(COMPONENT_CALL_TRACE_STORAGE, entries * sizeof *level->entries);
    if (level->entries == NULL)
        return false;
    level->mask = entries - 1;
    /* Release; partner: the acquire in put. */
    atomic_store_explicit(&table->level_count, levels + 1, memory_order_release);
    return true;
}

static void remove_last_level(struct table *table)
{
    int last = level_count(table) - 1;
    struct level *level = &table->levels[last];
    mem_unmap(COMPONENT_CALL_TRACE_STORAGE, level->entries, level_bytes(level));
    atomic_store_explicit(&table->level_count, last, memory_order_relaxed);
}

/* The arena begins with 64 KB, and every stack is new to a fresh table. So it is asked for more
 * than it has: that makes the refill map a chunk as large as the room wanted. */
static void make_room(struct table *table, size_t bytes)
{
    if (bytes < ROOM_FIRST_BYTES)
        bytes = ROOM_FIRST_BYTES;
    if (bytes > ROOM_MOST_BYTES)
        bytes = ROOM_MOST_BYTES;
    if (arena_alloc(table->arena, bytes) == NULL)
        arena_refill(table->arena);
}

/* Nobody is inside. The pages go back to the kernel, which zeroes them: a table at rest
 * costs addresses. Levels of a burst that is over go too. */
static void clear(struct table *table, bool shrunk)
{
    while (level_count(table) > 1 && (shrunk || (size_t)used(table) < capacity(table) / 4))
        remove_last_level(table);
    for (int i = 0; i < level_count(table); i++) {
        struct level *level = &table->levels[i];
        /* Refused for locked memory (mlockall in the host). */
        if (madvise(level->entries, level_bytes(level), MADV_DONTNEED) != 0)
            memset(level->entries, 0, level_bytes(level));
    }
    size_t stacks_bytes = arena_used_bytes(table->arena);
    arena_reset(table->arena);
    make_room(table, stacks_bytes);
    atomic_store_explicit(&table->used, 0, memory_order_relaxed);
    atomic_store_explicit(&table->last_number, 0, memory_order_relaxed);
    atomic_store_explicit(&table->newest, NULL, memory_order_relaxed);
}

/* --- life ------------------------------------------------------------------------------------- */

struct calltrace_storage *calltrace_create(size_t bound_bytes)
{
    struct calltrace_storage *storage = mem_map(COMPONENT_CALL_TRACE_STORAGE, sizeof *storage);
    if (storage == NULL)
        return NULL;
    /* Entries get an eighth: 16 bytes at a load of 75 % beside stacks of some 200 bytes and more.
     * The stacks' room ends first. */
    size_t table_bytes = bound_bytes / CALLTRACE_TABLES;
    size_t entries_bytes = table_bytes / 8;
    storage->entries_bound_bytes =
        entries_bytes > FIRST_LEVEL_BYTES ? entries_bytes : FIRST_LEVEL_BYTES;
    size_t arena_bytes = ARENA_CHUNK_FIRST_BYTES;
    if (table_bytes > storage->entries_bound_bytes + arena_bytes)
        arena_bytes = table_bytes - storage->entries_bound_bytes;
    storage->slots = mem_map(COMPONENT_REFCOUNT_SLOTS, REFCOUNT_SLOTS * sizeof *storage->slots);
    bool good = storage->slots != NULL;
    for (int i = 0; good && i < CALLTRACE_TABLES; i++) {
        struct table *table = &storage->tables[i];
        table->arena = arena_create(COMPONENT_CALL_TRACE_STORAGE, arena_bytes);
        good = table->arena != NULL && add_level(table, CALLTRACE_CAPACITY_FIRST);
        if (good)
            make_room(table, 0);
    }
    if (!good) {
        calltrace_destroy(storage);
        return NULL;
    }
    atomic_init(&storage->active, &storage->tables[0]);
    return storage;
}

void calltrace_destroy(struct calltrace_storage *storage)
{
    if (storage == NULL)
        return;
    for (int i = 0; i < CALLTRACE_TABLES; i++) {
        struct table *table = &storage->tables[i];
        while (level_count(table) > 0)
            remove_last_level(table);
        if (table->arena != NULL)
            arena_destroy(table->arena);
    }
    if (storage->slots != NULL)
        mem_unmap(COMPONENT_REFCOUNT_SLOTS, storage->slots,
                  REFCOUNT_SLOTS * sizeof *storage->slots);
    mem_unmap(COMPONENT_CALL_TRACE_STORAGE, storage, sizeof *storage);
}

/* --- rotation --------------------------------------------------------------------------------- */

static struct table *active_table(const struct calltrace_storage *storage)
{
    /* Relaxed: only this thread stores it. */
    return atomic_load_explicit(&storage->active, memory_order_relaxed);
}

static bool page_is_used(const struct calltrace_storage *storage, int page)
{
    uint64_t word = atomic_load_explicit(&storage->pages_used[page / 64], memory_order_seq_cst);
    return (word >> (page % 64) & 1) != 0;
}

/* A handler stays for microseconds, unless the kernel takes its processor away. */
static void wait_a_little(int turn)
{
    const struct timespec pause = {.tv_nsec = 50000};
    if (turn < 16)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

static void wait_until_nobody_is_inside(const struct calltrace_storage *storage,
                                        const struct table *table)
{
    for (int at = 0; at < REFCOUNT_SLOTS; at++) {
        if (at % REFCOUNT_PAGE_SLOTS == 0 && !page_is_used(storage, at / REFCOUNT_PAGE_SLOTS)) {
            at += REFCOUNT_PAGE_SLOTS - 1;
            continue;
        }
        /* Partner: calltrace_enter's store to the slot before its second look at active, and
         * calltrace_leave's release. */
        for (int turn = 0;
             atomic_load_explicit(&storage->slots[at].inside, memory_order_seq_cst) == table;
             turn++)
            wait_a_little(turn);
    }
}

void calltrace_rotate(struct calltrace_storage *storage)
{
    if (storage->standby != NULL)
        return;
    struct table *old = active_table(storage);
    struct table *next = &storage->tables[(old - storage->tables + 1) % CALLTRACE_TABLES];
    next->parity = old->parity ^ 1;
    /* Partner: calltrace_enter. Release is in it: a handler that sees the table sees it cleared. */
    atomic_store_explicit(&storage->active, next, memory_order_seq_cst);
    wait_until_nobody_is_inside(storage, old);
    storage->standby = old;
}

/* --- what was stored -------------------------------------------------------------------------- */

static int64_t visit_all(const struct table *table, calltrace_visit_fn *visit, void *context)
{
    int64_t visited = 0;
    /* Acquire; partner: the release in copy. */
    const struct trace *trace = atomic_load_explicit(&table->newest, memory_order_acquire);
    for (; trace != NULL; trace = trace->next) {
        if (!atomic_load_explicit(&trace->published, memory_order_acquire))
            continue;
        const struct calltrace seen = {.id = trace->id,
                                       .depth = trace->depth,
                                       .truncated = trace->truncated,
                                       .frames = trace->frames};
        visit(context, &seen);
        visited++;
    }
    return visited;
}

int64_t calltrace_look(const struct calltrace_storage *storage, calltrace_visit_fn *visit,
                       void *context)
{
    return storage->standby == NULL ? 0 : visit_all(storage->standby, visit, context);
}

int64_t calltrace_collect(struct calltrace_storage *storage, calltrace_visit_fn *visit,
                          void *context)
{
    if (storage->standby == NULL)
        return 0;
    int64_t visited = visit_all(storage->standby, visit, context);
    clear(storage->standby, storage->shrunk);
    storage->standby = NULL;
    return visited;
}

int64_t calltrace_peek(const struct calltrace_storage *storage, calltrace_visit_fn *visit,
                       void *context)
{
    return visit_all(active_table(storage), visit, context);
}

void calltrace_refill(struct calltrace_storage *storage)
{
    struct table *table = active_table(storage);
    arena_refill(table->arena);
    /* From half full on, though windows run full only at three quarters: a quarter of the table is
     * the time that handlers have until the next call. Mapping costs nothing before it is used. */
    size_t entries = capacity(table);
    while ((size_t)used(table) > entries / 2 && level_count(table) < CALLTRACE_LEVELS_MAX &&
           2 * entries * sizeof(struct entry) <= storage->entries_bound_bytes &&
           add_level(table, entries))
        entries *= 2;
}

void calltrace_shrink(struct calltrace_storage *storage)
{
    if (storage->shrunk)
        return;
    storage->shrunk = true;
    storage->entries_bound_bytes = FIRST_LEVEL_BYTES;
    for (int i = 0; i < CALLTRACE_TABLES; i++)
        arena_halve(storage->tables[i].arena);
}

void calltrace_counts(const struct calltrace_storage *storage, struct calltrace_counts *counts)
{
    const struct table *active = active_table(storage);
    *counts = (struct calltrace_counts){
        .dropped_slots = atomic_load_explicit(&storage->dropped_slots, memory_order_relaxed),
        .capacity = (int64_t)capacity(active),
        .used = used(active),
    };
    for (int at = 0; at < REFCOUNT_SLOTS; at++) {
        const struct refcount_slot *slot = &storage->slots[at];
        if (!page_is_used(storage, at / REFCOUNT_PAGE_SLOTS))
            continue;
        counts->stored_new += atomic_load_explicit(&slot->stored_new, memory_order_relaxed);
        counts->stored_seen += atomic_load_explicit(&slot->stored_seen, memory_order_relaxed);
        counts->dropped_full += atomic_load_explicit(&slot->dropped_full, memory_order_relaxed);
    }
    counts->offered =
        counts->stored_new + counts->stored_seen + counts->dropped_full + counts->dropped_slots;
}

const char *walk_code_name(enum walk_code code)
{
    static const char *const NAMES[] = {
#define WALK(id, agct_code, name) [WALK_##id] = name,
#include "agent/calltrace/walks.def"
#undef WALK
    };
    return (unsigned)code < WALK_CODE_COUNT ? NAMES[code] : "other";
}
