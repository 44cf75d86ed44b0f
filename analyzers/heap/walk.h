/*
 * walk: breadth first through the graph of a heap, every reference that holds taken once.
 *
 * A reference leads anywhere in memory, so what it leads to is fetched ahead: references stand in
 * a short line between being read and being followed.
 *
 *   walk_create -> walk_visit (the roots) -> walk_run -> walk_destroy
 *
 * Level by level. The nodes of a level are a list, or when they are many a bitmap of inner nodes:
 * then their rows are read in the order of memory, and a wide level costs no more than a bit a node.
 *
 * parents: from where each inner node was first reached: a node, or ROOT_OF(heap, root). Such a walk
 * asks for paths and marks inner nodes only. One thread a walk; several walks of one heap may run.
 */
#pragma once

#include "analyzers/heap/heap_internal.h"

/* Inner nodes, each once a level or more often. */
struct frontier {
    uint32_t *list, count, limit;
    uint64_t *wide; /* a bit an inner node, when the list was too short; NULL until then */
    bool is_wide;
    bool failed; /* out of memory */
};

bool frontier_create(struct frontier *frontier, const struct heap *heap);
void frontier_destroy(struct frontier *frontier);
void frontier_add(struct frontier *frontier, const struct heap *heap, uint32_t node);
static inline bool frontier_is_empty(const struct frontier *frontier)
{
    return frontier->count == 0 && !frontier->is_wide;
}
/* Gives nodes in batches and forgets them. */
#define FRONTIER_BATCH 64
struct frontier_reader {
    uint32_t at;            /* of list, or word of inner */
    uint32_t slot;          /* of the word's first inner node */
    uint64_t inner, chosen; /* left of the word */
};
uint32_t frontier_next(struct frontier *frontier, const struct heap *heap,
                       struct frontier_reader *reader, uint32_t *nodes);

/* References that a walk leaves out. from: a node or ROOT_OF; CUT_FROM_ALL: nothing leads there. */
struct cut {
    struct id_table references;
    uint64_t filter[1024]; /* a bit for each 65536th node: few references have to be looked up */
};
#define CUT_FROM_ALL UINT32_MAX
bool cut_put(struct cut *cut, uint32_t from, uint32_t to); /* false: no memory */

struct walk {
    const struct heap *heap;
    uint64_t *marked;       /* a bit a node; with parents a bit an inner node */
    uint32_t *parent;       /* by inner slot; NULL: not asked for */
    const uint64_t *opaque; /* a bit a node: reached but not passed; NULL: none */
    const struct cut *cut;  /* references that are not followed; NULL: all are */
    struct frontier now, next;
    uint32_t *soft; /* holders of soft references that were met */
    uint32_t soft_count, soft_capacity, soft_done;
    bool failed; /* out of memory */
    uint64_t dangling;
    const volatile int *give_up; /* NULL, or looked at now and then: not 0 ends it */
};

#define ROOT_OF(heap, root) (heap_nodes(heap) + (root))

bool walk_create(struct walk *walk, const struct heap *heap, bool parents);
void walk_destroy(struct walk *walk);
static inline bool walk_marked(const struct walk *walk, uint32_t node)
{
    if (walk->parent != NULL) {
        if (!heap_is_inner(walk->heap, node))
            return false;
        node = heap_inner_slot(walk->heap, node);
    }
    return walk->marked[node / 64] >> (node % 64) & 1;
}
static inline uint32_t walk_parent(const struct walk *walk, uint32_t node)
{
    return walk->parent[heap_inner_slot(walk->heap, node)];
}
/* hidden: maps of java.lang.Class.classValueMap that nothing else reached: no dump shows who has them. */
void walk_roots(struct walk *walk, bool hidden);
/* False: out of memory. */
bool walk_run(struct walk *walk);
/* Continues through soft references. */
bool walk_run_soft(struct walk *walk);
