#include "analyzers/heap/retained.h"

#include <stdlib.h>
#include <string.h>

/* Labels: 0 none yet, 1 no loader alone, l + 2 the loader l. */
#define LABEL_ROOT 1

bool retained_create(struct retained *retained, const struct heap *heap, const bool *asked)
{
    memset(retained, 0, sizeof *retained);
    retained->heap = heap;
    retained->asked = asked;
    size_t loaders = (size_t)heap->loader_count + 1;
    retained->above = malloc(loaders * sizeof *retained->above);
    retained->bytes = calloc(loaders, sizeof *retained->bytes);
    retained->objects = calloc(loaders, sizeof *retained->objects);
    if (!walk_create(&retained->walk, heap, false) || retained->above == NULL ||
        retained->bytes == NULL || retained->objects == NULL)
        return false;
    for (uint32_t i = 0; i < heap->loader_count; i++)
        retained->above[i] = RETAINED_UNREACHED;
    retained->walk.opaque = asked;
    return true;
}

void retained_destroy(struct retained *retained)
{
    walk_destroy(&retained->walk);
    free(retained->label);
    free(retained->above);
    free(retained->bytes);
    free(retained->objects);
    memset(retained, 0, sizeof *retained);
}

bool retained_first(struct retained *retained)
{
    walk_roots(&retained->walk);
    return walk_run(&retained->walk);
}

static uint32_t asked_loader(const struct retained *retained, uint32_t node)
{
    uint32_t loader = heap_loader_of_node(retained->heap, node);
    return loader != NO_OBJECT && retained->asked[loader] ? loader : NO_OBJECT;
}

static uint32_t label_above(const struct retained *retained, uint32_t label)
{
    uint32_t above = retained->above[label - 2];
    return above == RETAINED_ROOT || above == RETAINED_UNREACHED ? LABEL_ROOT : above + 2;
}

static uint32_t depth(const struct retained *retained, uint32_t label)
{
    uint32_t steps = 0;
    for (; label != LABEL_ROOT && steps <= retained->heap->loader_count;
         label = label_above(retained, label))
        steps++;
    return steps;
}

/* The nearest loader that is above both, or one of them. */
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

struct labelling {
    struct retained *retained;
    struct walk_queue queue;
    uint64_t *queued; /* a bit a node */
    bool moved;       /* a loader that others may stand below */
    bool changed;
};

static void enqueue(struct labelling *work, uint32_t node)
{
    uint64_t bit = UINT64_C(1) << (node % 64);
    if (work->queued[node / 64] & bit)
        return;
    work->queued[node / 64] |= bit;
    walk_queue_push(&work->queue, node);
}

/* A node that one of this label refers to. */
static void lower(struct labelling *work, uint32_t node, uint32_t from_label)
{
    struct retained *retained = work->retained;
    if (walk_marked(&retained->walk, node))
        return; /* retained by none; such loaders are below the root */
    uint32_t loader = asked_loader(retained, node);
    uint32_t old = loader != NO_OBJECT ? (retained->above[loader] == RETAINED_UNREACHED
                                              ? 0
                                              : label_above(retained, loader + 2))
                                       : retained->label[node];
    uint32_t label = meet(retained, old, from_label);
    if (label == old)
        return;
    work->changed = true;
    if (loader != NO_OBJECT) {
        work->moved = work->moved || old != 0;
        retained->above[loader] = label == LABEL_ROOT ? RETAINED_ROOT : label - 2;
        if (old == 0)
            enqueue(work, node);
        return;
    }
    retained->label[node] = label;
    if (heap_is_holding(retained->heap, node))
        enqueue(work, node);
}

static void lower_unit(struct labelling *work, uint64_t unit, uint32_t label)
{
    const struct heap *heap = work->retained->heap;
    uint32_t node = object_ids_find(&heap->ids, unit);
    if (node == NO_OBJECT)
        node = id_table_get(&heap->class_of, unit << heap->ids.shift);
    if (node != NO_OBJECT)
        lower(work, node, label);
}

static void lower_all(struct labelling *work, uint32_t node)
{
    struct retained *retained = work->retained;
    const struct heap *heap = retained->heap;
    if (node < heap->class_count) {
        for (uint32_t i = heap->class_edge_first[node]; i < heap->class_edge_first[node + 1]; i++)
            lower(work, heap->class_edge_to[i], retained->label[node]);
        return;
    }
    uint32_t loader = asked_loader(retained, node), any = heap_loader_of_node(heap, node);
    uint32_t label = loader != NO_OBJECT ? loader + 2 : retained->label[node];
    struct heap_row row;
    heap_row_of(heap, node, &row);
    if (row.class != NO_CLASS)
        lower(work, row.class, label);
    for (uint32_t i = any == NO_OBJECT ? 0 : heap->loader_class_first[any];
         any != NO_OBJECT && i < heap->loader_class_first[any + 1]; i++)
        lower(work, heap->loader_class[i], label);
    while (heap_row_next(&row)) {
        if (!row.soft)
            lower_unit(work, row.to, label);
    }
}

static bool settle_all(struct labelling *work)
{
    uint32_t node;
    while (walk_queue_pop(&work->queue, &node)) {
        work->queued[node / 64] &= ~(UINT64_C(1) << (node % 64));
        lower_all(work, node);
        if (work->queue.failed)
            return false;
    }
    return true;
}

static void sum_up(struct retained *retained)
{
    const struct heap *heap = retained->heap;
    uint32_t nodes = heap_nodes(heap);
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t label = retained->label[node];
        if (label == 0)
            continue;
        int64_t bytes = heap_shallow_bytes(heap, node);
        if (label == LABEL_ROOT) {
            retained->shared_bytes += bytes;
            continue;
        }
        retained->bytes[label - 2] += bytes;
        retained->objects[label - 2]++;
    }
    /* What a loader below retains is retained by the one above as well: deepest first. */
    uint32_t count = heap->loader_count, deepest = 0;
    uint32_t *depths = calloc((size_t)count + 1, sizeof *depths);
    for (uint32_t i = 0; depths != NULL && i < count; i++) {
        if (retained->above[i] == RETAINED_UNREACHED)
            continue;
        retained->bytes[i] += heap_shallow_bytes(heap, heap->loader_node[i]);
        retained->objects[i]++;
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
    free(depths);
}

bool retained_rest(struct retained *retained)
{
    const struct heap *heap = retained->heap;
    struct labelling work = {.retained = retained};
    retained->label = calloc((size_t)heap_nodes(heap) + 1, sizeof *retained->label);
    work.queued = calloc(heap_nodes(heap) / 64 + 2, sizeof *work.queued);
    bool ok = retained->label != NULL && work.queued != NULL;
    for (uint32_t i = 0; ok && i < heap->loader_count; i++) {
        if (retained->asked[i] && walk_marked(&retained->walk, heap->loader_node[i])) {
            retained->above[i] = RETAINED_ROOT;
            enqueue(&work, heap->loader_node[i]);
        }
    }
    ok = ok && settle_all(&work);
    /* A loader that moved up was below another while labels met: they meet again. */
    while (ok && work.moved) {
        work.moved = work.changed = false;
        for (uint32_t node = 0; node < heap_nodes(heap); node++) {
            if (retained->label[node] != 0 && heap_is_holding(heap, node))
                enqueue(&work, node);
        }
        for (uint32_t i = 0; i < heap->loader_count; i++) {
            if (retained->asked[i] && retained->above[i] != RETAINED_UNREACHED)
                enqueue(&work, heap->loader_node[i]);
        }
        ok = settle_all(&work);
        work.moved = work.moved || work.changed;
    }
    if (ok)
        sum_up(retained);
    walk_queue_free(&work.queue);
    free(work.queued);
    return ok;
}
