/* The drain thread's part of the storage of stacks. */
#include "agent/calltrace/calltrace_layout.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define FRAMES_FIRST_BYTES (CALLTRACE_FRAMES_CAPACITY * sizeof(uint64_t))
#define TRACES_FIRST_BYTES (CALLTRACE_CAPACITY_FIRST * sizeof(uint64_t))
#define REFILL_VISITS      2048
/* Of a table at rest. */
#define TABLE_BYTES        (FRAMES_FIRST_BYTES + TRACES_FIRST_BYTES + ARENA_CHUNK_FIRST_BYTES)

/* --- tables ----------------------------------------------------------------------------------- */

static int level_of(const struct trace_index *index)
{
    /* Relaxed: only this thread stores it, and the count. */
    return atomic_load_explicit(&index->level, memory_order_relaxed);
}

static int level_count(const struct trace_index *index)
{
    return atomic_load_explicit(&index->level_count, memory_order_relaxed);
}

static size_t capacity(const struct trace_index *index)
{
    return index->levels[level_of(index)].mask + 1;
}

static int64_t used(const struct trace_index *index)
{
    return atomic_load_explicit(&index->used, memory_order_relaxed);
}

static size_t level_bytes(const struct index_level *level)
{
    return (level->mask + 1) * sizeof *level->entries;
}

static bool add_level(struct mem_budget *budget, struct trace_index *index, size_t entries)
{
    int levels = level_count(index);
    struct index_level *level = &index->levels[levels];
    level->entries =
        mem_budget_map(budget, COMPONENT_CALL_TRACE_STORAGE, entries * sizeof *level->entries);
    if (level->entries == NULL)
        return false;
    level->mask = entries - 1;
    /* Release; partner: the acquire in probe_next. */
    atomic_store_explicit(&index->level_count, levels + 1, memory_order_release);
    return true;
}

static void remove_level(struct mem_budget *budget, struct index_level *level)
{
    if (level->entries == NULL)
        return;
    mem_budget_unmap(budget, COMPONENT_CALL_TRACE_STORAGE, level->entries, level_bytes(level));
    level->entries = NULL;
}

static void forget_entries(const struct index_level *level)
{
    /* Refused for locked memory (mlockall in the host). */
    if (madvise(level->entries, level_bytes(level), MADV_DONTNEED) != 0)
        memset(level->entries, 0, level_bytes(level));
}

/* Keeps level 0. Nobody is inside. */
static void clear_index(struct mem_budget *budget, struct trace_index *index)
{
    for (int i = 1; i < level_count(index); i++)
        remove_level(budget, &index->levels[i]);
    forget_entries(&index->levels[0]);
    atomic_store_explicit(&index->level, 0, memory_order_relaxed);
    atomic_store_explicit(&index->level_count, 1, memory_order_relaxed);
    atomic_store_explicit(&index->used, 0, memory_order_relaxed);
}

/* Nobody is inside. The pages go back to the kernel, which zeroes them: a table at rest costs
 * addresses, and as few of them as can be: the budget is for the one in use. */
static void clear(struct calltrace_storage *storage, struct table *table)
{
    clear_index(&storage->budget, &table->traces);
    clear_index(&storage->budget, &table->frames);
    arena_reset(table->arena);
    atomic_store_explicit(&table->newest, 0, memory_order_relaxed);
    table->life = ++storage->lives;
}

/* --- who is inside --------------------------------------------------------------------------- */

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

/* --- growth ----------------------------------------------------------------------------------- */

/* Of the drain, into a level that handlers use. A window that is full is not met in a level that has
 * just been begun; if it were, the same stack would later be stored a second time. */
static void copy_entry(const struct index_level *to, uint64_t value)
{
    size_t first = (size_t)(value >> 32) * CALLTRACE_LINE;
    for (size_t step = 0; step < CALLTRACE_WINDOW; step++) {
        uint64_t nobody = 0;
        /* Release; partner: the acquire in probe_next. */
        if (atomic_compare_exchange_strong_explicit(&to->entries[(first + step) & to->mask],
                                                    &nobody, value, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
}

/* The next level is mapped. See calltrace_layout.h. */
static void double_index(struct calltrace_storage *storage, struct table *table,
                         struct trace_index *index)
{
    int old = level_of(index);
    struct index_level *from = &index->levels[old];
    const struct index_level *to = &index->levels[old + 1];
    for (size_t at = 0; at <= from->mask; at++) {
        uint64_t found = 0;
        /* Release: who finds it closed sees the next level. Acquire: what is copied was written. */
        if (!atomic_compare_exchange_strong_explicit(&from->entries[at], &found, ENTRY_CLOSED,
                                                     memory_order_acq_rel, memory_order_acquire))
            copy_entry(to, found);
    }
    /* Partner: probe_begin. Release is in it: all that is in the level is seen. */
    atomic_store_explicit(&index->level, old + 1, memory_order_seq_cst);
    wait_until_nobody_is_inside(storage, table);
    if (old == 0)
        forget_entries(from); /* kept for the next chunk */
    else
        remove_level(&storage->budget, from);
}

/* The next level is there from half full on (the second one always), and takes what finds its window
 * full; at five eighths all moves there. So the load stays below three quarters. False: it should
 * grow, and there is no room. */
static bool grow(struct calltrace_storage *storage, struct table *table, struct trace_index *index)
{
    size_t entries = capacity(index), load = (size_t)used(index);
    bool ahead = level_count(index) > level_of(index) + 1;
    if (storage->shrunk)
        return load <= entries / 2;
    if (!ahead && (load > entries / 2 || level_of(index) == 0))
        ahead = level_count(index) < CALLTRACE_LEVELS_MAX &&
                add_level(&storage->budget, index, 2 * entries);
    if (ahead && load > entries / 8 * 5)
        double_index(storage, table, index);
    return ahead || load <= entries / 2;
}

static void refill(struct calltrace_storage *storage, struct table *table)
{
    bool room = grow(storage, table, &table->traces);
    room &= grow(storage, table, &table->frames);
    room &= arena_refill(table->arena);
    atomic_store_explicit(&storage->exhausted, !room, memory_order_relaxed);
}

/* --- life ------------------------------------------------------------------------------------- */

struct calltrace_storage *calltrace_create(size_t bound_bytes)
{
    struct calltrace_storage *storage = mem_map(COMPONENT_CALL_TRACE_STORAGE, sizeof *storage);
    if (storage == NULL)
        return NULL;
    storage->budget.bound_bytes =
        bound_bytes > CALLTRACE_TABLES * TABLE_BYTES ? bound_bytes : CALLTRACE_TABLES * TABLE_BYTES;
    storage->slots = mem_map(COMPONENT_REFCOUNT_SLOTS, REFCOUNT_SLOTS * sizeof *storage->slots);
    storage->recent =
        mem_map(COMPONENT_CALL_TRACE_STORAGE, CALLTRACE_RECENT * sizeof *storage->recent);
    storage->unfolded =
        mem_map(COMPONENT_CALL_TRACE_STORAGE, CALLTRACE_DEPTH_MAX * sizeof *storage->unfolded);
    bool good = storage->slots != NULL && storage->recent != NULL && storage->unfolded != NULL;
    for (int i = 0; good && i < CALLTRACE_TABLES; i++) {
        struct table *table = &storage->tables[i];
        table->life = ++storage->lives;
        table->arena = arena_create(COMPONENT_CALL_TRACE_STORAGE, &storage->budget);
        good = table->arena != NULL &&
               add_level(&storage->budget, &table->traces, CALLTRACE_CAPACITY_FIRST) &&
               add_level(&storage->budget, &table->frames, CALLTRACE_FRAMES_CAPACITY);
    }
    if (!good) {
        calltrace_destroy(storage);
        return NULL;
    }
    refill(storage, &storage->tables[0]);
    atomic_init(&storage->active, &storage->tables[0]);
    return storage;
}

void calltrace_destroy(struct calltrace_storage *storage)
{
    if (storage == NULL)
        return;
    for (int i = 0; i < CALLTRACE_TABLES; i++) {
        struct table *table = &storage->tables[i];
        for (int level = 0; level < CALLTRACE_LEVELS_MAX; level++) {
            remove_level(&storage->budget, &table->traces.levels[level]);
            remove_level(&storage->budget, &table->frames.levels[level]);
        }
        arena_destroy(table->arena);
    }
    if (storage->slots != NULL)
        mem_unmap(COMPONENT_REFCOUNT_SLOTS, storage->slots,
                  REFCOUNT_SLOTS * sizeof *storage->slots);
    if (storage->recent != NULL)
        mem_unmap(COMPONENT_CALL_TRACE_STORAGE, storage->recent,
                  CALLTRACE_RECENT * sizeof *storage->recent);
    if (storage->unfolded != NULL)
        mem_unmap(COMPONENT_CALL_TRACE_STORAGE, storage->unfolded,
                  CALLTRACE_DEPTH_MAX * sizeof *storage->unfolded);
    mem_unmap(COMPONENT_CALL_TRACE_STORAGE, storage, sizeof *storage);
}

/* --- rotation -------------------------------------------------------------------------------- */

void calltrace_rotate(struct calltrace_storage *storage)
{
    if (storage->standby != NULL)
        return;
    struct table *old = active_table(storage);
    struct table *next = &storage->tables[(old - storage->tables + 1) % CALLTRACE_TABLES];
    next->parity = old->parity ^ 1;
    refill(storage, next);
    /* Partner: calltrace_enter. Release is in it: a handler that sees the table sees it cleared. */
    atomic_store_explicit(&storage->active, next, memory_order_seq_cst);
    wait_until_nobody_is_inside(storage, old);
    storage->standby = old;
}

/* --- what was stored -------------------------------------------------------------------------- */

/* Innermost first, as it was put. */
static int32_t unfold(const struct table *table, const struct trace *trace, struct frame *out)
{
    int32_t depth = trace->shared + trace->own;
    /* Of each ancestor what the one below it shares with it. */
    for (uint32_t end = (uint32_t)depth; end > 0;) {
        for (uint32_t at = end; at > trace->shared; at--) {
            uint32_t frame = trace->frames[at - 1 - trace->shared];
            memcpy(&out[(uint32_t)depth - at], arena_at(table->arena, frame), sizeof *out);
        }
        end = end < trace->shared ? end : trace->shared;
        if (end > 0)
            trace = arena_at(table->arena, trace->parent);
    }
    return depth;
}

static int64_t visit_all(struct calltrace_storage *storage, const struct table *table,
                         calltrace_visit_fn *visit, void *context)
{
    int64_t visited = 0;
    /* Acquire; partner: the release in put_on_list. */
    uint32_t at = atomic_load_explicit(&table->newest, memory_order_acquire);
    while (at != 0) {
        const struct trace *trace = arena_at(table->arena, at);
        if (atomic_load_explicit(&trace->published, memory_order_acquire)) {
            const struct calltrace seen = {.id = at << 1 | table->parity,
                                           .depth = unfold(table, trace, storage->unfolded),
                                           .truncated = trace->truncated,
                                           .frames = storage->unfolded};
            visit(context, &seen);
            /* Writing out a large chunk takes longer than handlers have room for. */
            if (++visited % REFILL_VISITS == 0)
                calltrace_refill(storage);
        }
        at = trace->next;
    }
    return visited;
}

int64_t calltrace_look(struct calltrace_storage *storage, calltrace_visit_fn *visit, void *context)
{
    return storage->standby == NULL ? 0 : visit_all(storage, storage->standby, visit, context);
}

int64_t calltrace_collect(struct calltrace_storage *storage, calltrace_visit_fn *visit,
                          void *context)
{
    if (storage->standby == NULL)
        return 0;
    int64_t visited = visit_all(storage, storage->standby, visit, context);
    clear(storage, storage->standby);
    storage->standby = NULL;
    return visited;
}

int64_t calltrace_peek(struct calltrace_storage *storage, calltrace_visit_fn *visit, void *context)
{
    return visit_all(storage, active_table(storage), visit, context);
}

void calltrace_refill(struct calltrace_storage *storage)
{
    refill(storage, active_table(storage));
}

void calltrace_shrink(struct calltrace_storage *storage)
{
    if (storage->shrunk)
        return;
    storage->shrunk = true;
    storage->budget.bound_bytes /= 2;
}

void calltrace_counts(const struct calltrace_storage *storage, struct calltrace_counts *counts)
{
    const struct table *active = active_table(storage);
    *counts = (struct calltrace_counts){
        .dropped_slots = atomic_load_explicit(&storage->dropped_slots, memory_order_relaxed),
        .capacity = (int64_t)capacity(&active->traces),
        .used = used(&active->traces),
        .bound_bytes = (int64_t)storage->budget.bound_bytes,
    };
    for (int at = 0; at < REFCOUNT_SLOTS; at++) {
        const struct refcount_slot *slot = &storage->slots[at];
        if (!page_is_used(storage, at / REFCOUNT_PAGE_SLOTS))
            continue;
        counts->stored_new += atomic_load_explicit(&slot->stored_new, memory_order_relaxed);
        counts->stored_seen += atomic_load_explicit(&slot->stored_seen, memory_order_relaxed);
        counts->dropped_budget += atomic_load_explicit(&slot->dropped_budget, memory_order_relaxed);
        counts->dropped_late += atomic_load_explicit(&slot->dropped_late, memory_order_relaxed);
    }
    counts->offered = counts->stored_new + counts->stored_seen + counts->dropped_budget +
                      counts->dropped_late + counts->dropped_slots;
}

const char *walk_code_name(enum walk_code code)
{
    static const char *const NAMES[] = {
#define WALK(id, agct_code, name) [WALK_##id] = name,
#include "floor/hotspot/walks.def"
    };
    return (unsigned)code < WALK_CODE_COUNT ? NAMES[code] : "other";
}
