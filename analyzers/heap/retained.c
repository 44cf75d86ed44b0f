#include "analyzers/heap/retained.h"

#include <stdlib.h>
#include <string.h>

/* Labels: 0 none yet, 1 no keeper alone, k + 2 the keeper k. */
#define LABEL_ROOT 1

static int by_number(const void *a, const void *b)
{
    return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

bool retained_create(struct retained *retained, const struct heap *heap, const uint32_t *nodes,
                     uint32_t count)
{
    memset(retained, 0, sizeof *retained);
    retained->heap = heap;
    size_t room = (size_t)count + 1;
    retained->keeper = malloc(room * sizeof *retained->keeper);
    retained->above = malloc(room * sizeof *retained->above);
    retained->bytes = calloc(room, sizeof *retained->bytes);
    retained->objects = calloc(room, sizeof *retained->objects);
    retained->is_keeper = calloc(heap_nodes(heap) / 64 + 2, sizeof *retained->is_keeper);
    if (!walk_create(&retained->walk, heap, false) || retained->keeper == NULL ||
        retained->above == NULL || retained->bytes == NULL || retained->objects == NULL ||
        retained->is_keeper == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bit = UINT64_C(1) << (nodes[i] % 64);
        if (retained->is_keeper[nodes[i] / 64] & bit)
            continue;
        retained->is_keeper[nodes[i] / 64] |= bit;
        retained->above[retained->keeper_count] = RETAINED_UNREACHED;
        retained->keeper[retained->keeper_count++] = nodes[i];
    }
    if (retained->keeper_count > 0)
        qsort(retained->keeper, retained->keeper_count, sizeof *retained->keeper, by_number);
    retained->walk.opaque = retained->is_keeper;
    return true;
}

void retained_destroy(struct retained *retained)
{
    walk_destroy(&retained->walk);
    free(retained->low);
    free(retained->low_rank);
    free(retained->label);
    free(retained->short_label);
    free(retained->keeper);
    free(retained->is_keeper);
    free(retained->above);
    free((void *)(uintptr_t)retained->bytes);
    free((void *)(uintptr_t)retained->objects);
    memset(retained, 0, sizeof *retained);
}

bool retained_first(struct retained *retained)
{
    walk_roots(&retained->walk, false);
    return walk_run(&retained->walk);
}

uint32_t retained_keeper(const struct retained *retained, uint32_t node)
{
    if (!(retained->is_keeper[node / 64] >> (node % 64) & 1))
        return NO_OBJECT;
    uint32_t low = 0, high = retained->keeper_count;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (retained->keeper[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint32_t label_above(const struct retained *retained, uint32_t label)
{
    uint32_t above = retained->above[label - 2];
    return above == RETAINED_ROOT || above == RETAINED_UNREACHED ? LABEL_ROOT : above + 2;
}

static uint32_t depth(const struct retained *retained, uint32_t label)
{
    uint32_t steps = 0;
    for (; label != LABEL_ROOT && steps <= retained->keeper_count;
         label = label_above(retained, label))
        steps++;
    return steps;
}

/* The nearest keeper that is above both, or one of them. */
static uint32_t meet(const struct retained *retained, uint32_t a, uint32_t b)
{
    if (a == b || b == 0)
        return a;
    if (a == 0)
        return b;
    if (a == LABEL_ROOT || b == LABEL_ROOT)
        return LABEL_ROOT;
    uint32_t depth_a = depth(retained, a), depth_b = depth(retained, b);
    while (a != b && a != LABEL_ROOT && b != LABEL_ROOT) {
        if (depth_a >= depth_b) {
            a = label_above(retained, a);
            depth_a--;
        } else {
            b = label_above(retained, b);
            depth_b--;
        }
    }
    return a == b ? a : LABEL_ROOT;
}

static bool is_low(const struct retained *retained, uint32_t node)
{
    return retained->low[node / 64] >> (node % 64) & 1;
}

static uint32_t rank_of(const struct retained *retained, uint32_t node)
{
    return heap_rank((const _Atomic uint64_t *)retained->low, retained->low_rank, node);
}

/* Of a node that is low. */
static uint32_t label_of(const struct retained *retained, uint32_t node)
{
    uint32_t rank = rank_of(retained, node);
    return retained->label != NULL ? retained->label[rank] : retained->short_label[rank];
}

static void set_label(struct retained *retained, uint32_t node, uint32_t label)
{
    uint32_t rank = rank_of(retained, node);
    if (retained->label != NULL)
        retained->label[rank] = label;
    else
        retained->short_label[rank] = (uint16_t)label;
}

struct labelling {
    struct retained *retained;
    struct frontier now, next;
    uint64_t *queued; /* a bit an inner node */
    bool moved;       /* a keeper that others may stand below */
    bool changed;
};

static void enqueue(struct labelling *work, uint32_t node)
{
    uint32_t slot = heap_inner_slot(work->retained->heap, node);
    uint64_t bit = UINT64_C(1) << (slot % 64);
    if (work->queued[slot / 64] & bit)
        return;
    work->queued[slot / 64] |= bit;
    frontier_add(&work->next, work->retained->heap, node);
}

/* A node that one of this label refers to. */
static void lower(struct labelling *work, uint32_t node, uint32_t from_label)
{
    struct retained *retained = work->retained;
    if (!is_low(retained, node))
        return; /* retained by none; such keepers are below the root */
    uint32_t keeper = retained_keeper(retained, node);
    uint32_t old = keeper != NO_OBJECT ? (retained->above[keeper] == RETAINED_UNREACHED
                                              ? 0
                                              : label_above(retained, keeper + 2))
                                       : label_of(retained, node);
    uint32_t label = meet(retained, old, from_label);
    if (label == old)
        return;
    work->changed = true;
    if (keeper != NO_OBJECT) {
        work->moved = work->moved || old != 0;
        retained->above[keeper] = label == LABEL_ROOT ? RETAINED_ROOT : label - 2;
        if (old == 0)
            enqueue(work, node);
        return;
    }
    set_label(retained, node, label);
    if (heap_is_inner(retained->heap, node))
        enqueue(work, node);
}

static void lower_all(struct labelling *work, uint32_t node)
{
    struct retained *retained = work->retained;
    const struct heap *heap = retained->heap;
    uint32_t keeper = retained_keeper(retained, node);
    uint32_t label = keeper != NO_OBJECT ? keeper + 2 : label_of(retained, node);
    if (node < heap->class_count) {
        for (uint32_t i = heap->class_edge_first[node]; i < heap->class_edge_first[node + 1]; i++)
            lower(work, heap->class_edge_to[i], label);
        return;
    }
    uint32_t any = heap_loader_of_node(heap, node);
    struct heap_row row;
    heap_row_of(heap, node, &row);
    if (row.class != NO_CLASS)
        lower(work, row.class, label);
    for (uint32_t i = any == NO_OBJECT ? 0 : heap->loader_class_first[any];
         any != NO_OBJECT && i < heap->loader_class_first[any + 1]; i++)
        lower(work, heap->loader_class[i], label);
    while (heap_row_next(&row)) {
        uint32_t to = row.soft ? NO_OBJECT : heap_node_at(heap, row.to);
        if (to != NO_OBJECT)
            lower(work, to, label);
    }
}

static bool settle_all(struct labelling *work)
{
    uint32_t nodes[FRONTIER_BATCH], count;
    while (!frontier_is_empty(&work->next)) {
        struct frontier swap = work->now;
        struct frontier_reader reader = {0};
        work->now = work->next;
        work->next = swap;
        while ((count = frontier_next(&work->now, work->retained->heap, &reader, nodes)) > 0) {
            for (uint32_t i = 0; i < count; i++) {
                uint32_t slot = heap_inner_slot(work->retained->heap, nodes[i]);
                work->queued[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
                lower_all(work, nodes[i]);
            }
        }
        if (work->next.failed)
            return false;
    }
    return true;
}

static bool lower_text(void *context, uint32_t node, struct heap_row *row)
{
    struct labelling *work = context;
    uint32_t label = label_of(work->retained, node);
    if (label != 0 && heap_row_next(row)) {
        uint32_t text = object_ids_find(&work->retained->heap->ids, row->to);
        if (text != NO_OBJECT && !heap_is_inner(work->retained->heap, text))
            lower(work, text, label);
    }
    return true;
}

/* Nodes that step 1 did not reach. */
static bool find_low(struct retained *retained)
{
    const struct heap *heap = retained->heap;
    uint32_t nodes = heap_nodes(heap);
    retained->low = retained->walk.marked;
    retained->walk.marked = NULL;
    for (uint32_t i = 0; i <= nodes / 64; i++)
        retained->low[i] = ~retained->low[i];
    retained->low[nodes / 64] &= (UINT64_C(1) << (nodes % 64)) - 1;
    retained->low_rank =
        heap_rank_make((const _Atomic uint64_t *)retained->low, nodes, &retained->low_count);
    size_t room = (size_t)retained->low_count + 1;
    if (retained->keeper_count + 2 > UINT16_MAX)
        retained->label = calloc(room, sizeof *retained->label);
    else
        retained->short_label = calloc(room, sizeof *retained->short_label);
    return retained->low_rank != NULL && (retained->label != NULL || retained->short_label != NULL);
}

static void enqueue_again(struct labelling *work)
{
    struct retained *retained = work->retained;
    const struct heap *heap = retained->heap;
    for (uint32_t i = 0; i <= heap_nodes(heap) / 64; i++) {
        for (uint64_t bits = retained->low[i] & heap_bits(heap->inner, i); bits != 0;
             bits &= bits - 1) {
            uint32_t node = i * 64 + (uint32_t)__builtin_ctzll(bits);
            if (retained_keeper(retained, node) == NO_OBJECT && label_of(retained, node) != 0)
                enqueue(work, node);
        }
    }
    for (uint32_t i = 0; i < retained->keeper_count; i++) {
        if (retained->above[i] != RETAINED_UNREACHED)
            enqueue(work, retained->keeper[i]);
    }
}

bool retained_rest(struct retained *retained)
{
    const struct heap *heap = retained->heap;
    struct labelling work = {.retained = retained};
    bool ok =
        find_low(retained) && frontier_create(&work.now, heap) && frontier_create(&work.next, heap);
    work.queued = calloc(heap->inner_count / 64 + 2, sizeof *work.queued);
    ok = ok && work.queued != NULL;
    for (uint32_t i = 0; ok && i < retained->keeper_count; i++) {
        if (!is_low(retained, retained->keeper[i])) {
            retained->above[i] = RETAINED_ROOT;
            enqueue(&work, retained->keeper[i]);
        }
    }
    ok = ok && settle_all(&work);
    /* A keeper that moved up was below another while labels met: they meet again. */
    while (ok && work.moved) {
        work.moved = work.changed = false;
        enqueue_again(&work);
        ok = settle_all(&work);
        work.moved = work.moved || work.changed;
    }
    if (ok)
        heap_each_row(heap, true, retained->low, lower_text, &work);
    frontier_destroy(&work.now);
    frontier_destroy(&work.next);
    free(work.queued);
    return ok;
}

/* --- what they take --------------------------------------------------------------------------- */

bool retained_among(const struct retained *retained, uint64_t least_id, uint64_t most_id)
{
    if (least_id > most_id)
        return false;
    uint32_t first = heap_node_of(retained->heap, least_id),
             last = heap_node_of(retained->heap, most_id);
    if (first == NO_OBJECT || last == NO_OBJECT)
        return true;
    for (uint32_t i = first / 64; i <= last / 64; i++) {
        uint64_t bits = retained->low[i] | retained->is_keeper[i];
        if (i == first / 64)
            bits &= ~UINT64_C(0) << (first % 64);
        if (i == last / 64)
            bits &= ~UINT64_C(0) >> (63 - last % 64);
        if (bits != 0)
            return true;
    }
    return false;
}

static void weigh(struct retained *retained, uint32_t label, int64_t bytes)
{
    if (label == LABEL_ROOT) {
        atomic_fetch_add_explicit(&retained->shared_bytes, bytes, memory_order_relaxed);
    } else if (label != 0) {
        atomic_fetch_add_explicit(&retained->bytes[label - 2], bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&retained->objects[label - 2], 1, memory_order_relaxed);
    }
}

/* Of a node: the keeper it is, or its label. */
static uint32_t weighed_as(const struct retained *retained, uint32_t node)
{
    uint32_t keeper = retained_keeper(retained, node);
    if (keeper != NO_OBJECT)
        return retained->above[keeper] == RETAINED_UNREACHED ? 0 : keeper + 2;
    return is_low(retained, node) ? label_of(retained, node) : 0;
}

void retained_weigh(struct retained *retained, const struct heap_object *object)
{
    const struct heap *heap = retained->heap;
    uint32_t node = object_ids_find(&heap->ids, object->id >> heap->ids.shift);
    if (node != NO_OBJECT)
        weigh(retained, weighed_as(retained, node), heap_object_bytes(heap, object));
}

bool retained_sum(struct retained *retained)
{
    const struct heap *heap = retained->heap;
    for (uint32_t i = 0; i < heap->class_count; i++)
        weigh(retained, weighed_as(retained, i), heap_class_bytes(heap, i));
    /* The keeper above retains everything that a keeper below retains: deepest first. */
    uint32_t count = retained->keeper_count, deepest = 0;
    uint32_t *depths = calloc((size_t)count + 1, sizeof *depths);
    for (uint32_t i = 0; depths != NULL && i < count; i++) {
        if (retained->above[i] == RETAINED_UNREACHED)
            continue;
        depths[i] = depth(retained, i + 2);
        deepest = depths[i] > deepest ? depths[i] : deepest;
    }
    for (uint32_t d = deepest; depths != NULL && d > 1; d--) {
        for (uint32_t i = 0; i < count; i++) {
            if (depths[i] != d)
                continue;
            uint32_t above = label_above(retained, i + 2);
            if (above != LABEL_ROOT) {
                retained->bytes[above - 2] += retained->bytes[i];
                retained->objects[above - 2] += retained->objects[i];
            }
        }
    }
    bool ok = depths != NULL;
    free(depths);
    return ok;
}
