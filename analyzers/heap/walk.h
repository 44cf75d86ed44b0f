/*
 * walk: breadth first through the graph of a heap, every reference that holds taken once.
 *
 * A reference leads anywhere in memory, so what it leads to is fetched ahead: references stand in
 * a short line between being read and being followed, which changes nothing about their order.
 *
 *   walk_create -> walk_visit (the roots) -> walk_run -> walk_destroy
 *
 * parents: from where each node was first reached: a node, or ROOT_OF(heap, root). Only nodes that
 * hold something have one (heap_parent_slot). One thread a walk; several walks of one heap may run.
 */
#ifndef ANALYZERS_HEAP_WALK_H
#define ANALYZERS_HEAP_WALK_H

#include "analyzers/heap/heap_internal.h"

#define WALK_CHUNK 16384

struct walk_chunk {
    struct walk_chunk *next;
    uint32_t count;
    uint32_t node[WALK_CHUNK];
};

struct walk_queue {
    struct walk_chunk *head, *tail, *spare;
    uint32_t at; /* next of head */
    bool failed; /* out of memory */
};

bool walk_queue_push(struct walk_queue *queue, uint32_t node);
bool walk_queue_pop(struct walk_queue *queue, uint32_t *node);
void walk_queue_free(struct walk_queue *queue);

struct walk {
    const struct heap *heap;
    uint64_t *marked;              /* a bit a node */
    uint32_t *parent;              /* NULL: not asked for */
    const bool *opaque;            /* loaders that are reached but not passed; NULL: none */
    struct walk_queue queue, soft; /* soft: holders of soft references that were met */
    uint64_t dangling;
    const volatile bool *give_up; /* NULL, or looked at now and then */
};

#define ROOT_OF(heap, root) (heap_nodes(heap) + (root))

bool walk_create(struct walk *walk, const struct heap *heap, bool parents);
void walk_destroy(struct walk *walk);
static inline bool walk_marked(const struct walk *walk, uint32_t node)
{
    return walk->marked[node / 64] >> (node % 64) & 1;
}
/* from: a node or ROOT_OF. */
void walk_visit(struct walk *walk, uint32_t node, uint32_t from);
void walk_roots(struct walk *walk);
/* Maps of java.lang.Class.classValueMap that nothing else reached: no dump shows who has them. */
void walk_hidden_roots(struct walk *walk);
/* False: out of memory. */
bool walk_run(struct walk *walk);
/* Goes on through soft references. */
bool walk_run_soft(struct walk *walk);

#endif
