/* The drain thread's part of the thread-id tables. */
#include "agent/buffer/thread_id_tables.h"

#include "agent/mem/mem.h"

#include <stdlib.h>

#define IDS_MAX   (THREAD_ID_HALVES * RECORDING_BUFFERS * THREAD_ID_SLOTS)
#define IDS_BYTES (IDS_MAX * sizeof(int))

struct thread_id_tables *thread_id_tables_create(void)
{
    struct thread_id_tables *tables = mem_alloc(COMPONENT_CONTROL, sizeof *tables);
    if (tables == NULL)
        return NULL;
    tables->half = mem_map(COMPONENT_THREAD_ID_TABLES, THREAD_ID_HALVES * sizeof *tables->half);
    tables->found = mem_map(COMPONENT_CONTROL, IDS_BYTES);
    if (tables->half == NULL || tables->found == NULL) {
        thread_id_tables_destroy(tables);
        return NULL;
    }
    return tables;
}

static int by_number(const void *a, const void *b)
{
    int first = *(const int *)a, second = *(const int *)b;
    return (first > second) - (first < second);
}

size_t thread_ids_sort(int *ids, size_t count)
{
    size_t kept = 0;
    qsort(ids, count, sizeof *ids, by_number);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || ids[i] != ids[i - 1])
            ids[kept++] = ids[i];
    }
    return kept;
}

void thread_id_tables_destroy(struct thread_id_tables *tables)
{
    if (tables == NULL)
        return;
    mem_unmap(COMPONENT_THREAD_ID_TABLES, tables->half, THREAD_ID_HALVES * sizeof *tables->half);
    mem_unmap(COMPONENT_CONTROL, tables->found, IDS_BYTES);
    mem_free(tables);
}

/* Appends the half's ids to ids, which has room; empties it when that is wanted. */
static size_t read_half(struct thread_id_half *half, bool empty, int *ids)
{
    size_t count = 0;
    for (int i = 0; i < RECORDING_BUFFERS; i++) {
        for (int j = 0; j < THREAD_ID_SLOTS; j++) {
            _Atomic int32_t *slot = &half->tid[i][j];
            int tid = atomic_load_explicit(slot, memory_order_relaxed);
            /* Reading and emptying are one step. Forbidden: an id that comes between them goes
             * unread. */
            if (tid != 0 && empty)
                tid = atomic_exchange_explicit(slot, 0, memory_order_relaxed);
            if (tid != 0)
                ids[count++] = tid;
        }
    }
    return count;
}

size_t thread_id_tables_collect(struct thread_id_tables *tables, const int **found, int64_t *missed)
{
    int active = atomic_load_explicit(&tables->active, memory_order_relaxed);
    int resting = 1 - active;
    *missed = atomic_exchange_explicit(&tables->missed, 0, memory_order_relaxed);
    int *ids = tables->found;
    size_t count = read_half(&tables->half[resting], true, ids);
    /* Release; partner: the acquire in thread_id_tables_add. */
    atomic_store_explicit(&tables->active, resting, memory_order_release);
    count += read_half(&tables->half[active], false, ids + count);
    *found = ids;
    return thread_ids_sort(ids, count);
}
