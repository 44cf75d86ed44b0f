/*
 * retained: what each of some objects alone keeps alive (class loaders, and the objects behind the
 * references to cut): the objects that every path from a GC root reaches through it, which is what
 * it dominates.
 *
 * A dominator tree of the whole heap would take thirty bytes an object. Only these, the keepers, are
 * of interest, so only they are marked:
 *
 *   1. Objects that can be reached without passing any of the keepers are retained by none of them
 *      (one walk that stops at keepers).
 *   2. Each of the rest gets the nearest keeper that dominates it: that of what refers to it, and
 *      when several refer to it the nearest keeper that dominates them all. That is repeated until
 *      nothing changes; a keeper's own place among the keepers is found the same way.
 *
 *   3. The size of each of those is read in the dump again (HEAP_FETCH).
 *
 * The numbers are the exact ones of a dominator tree (tests/unit/heap compares both). Memory: two
 * bits a node, and two bytes for each node of the second kind (four with 65 534 keepers or more).
 */
#pragma once

#include "analyzers/heap/walk.h"

struct retained {
    const struct heap *heap;
    uint32_t *keeper; /* nodes, ascending */
    uint32_t keeper_count;
    uint64_t *is_keeper; /* a bit a node */
    struct walk walk;    /* step 1 */
    uint64_t *low;       /* a bit a node: one of the second kind, which has a label */
    uint32_t *low_rank, low_count;
    uint16_t *short_label; /* by rank */
    uint32_t *label;       /* the same, of more keepers than that has values */
    /* Of each keeper: */
    uint32_t *above;        /* its nearest dominating keeper; RETAINED_ROOT; RETAINED_UNREACHED */
    _Atomic int64_t *bytes; /* retained, itself included */
    _Atomic int64_t *objects;
    _Atomic int64_t shared_bytes; /* kept by several of them together and by nothing else */
};

#define RETAINED_ROOT      UINT32_MAX
#define RETAINED_UNREACHED (UINT32_MAX - 1)

/* The nodes are copied, in any order; one may be there several times. False: out of memory. */
bool retained_create(struct retained *retained, const struct heap *heap, const uint32_t *nodes,
                     uint32_t count);
/* Number of a keeper; NO_OBJECT: the node is none. */
uint32_t retained_keeper(const struct retained *retained, uint32_t node);
/* Step 1. */
bool retained_first(struct retained *retained);
/* Step 2. */
bool retained_rest(struct retained *retained);
/* Whether the dump has to be looked at again for objects between these two. */
bool retained_among(const struct retained *retained, uint64_t least_id, uint64_t most_id);
/* Step 3: an object of the dump; any thread. */
void retained_weigh(struct retained *retained, const struct heap_object *object);
bool retained_sum(struct retained *retained);
void retained_destroy(struct retained *retained);
