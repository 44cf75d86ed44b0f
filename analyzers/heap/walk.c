#include "analyzers/heap/walk.h"

#include <stdlib.h>
#include <string.h>

#define LINE         32  /* references between being read and being followed */
#define NODES_A_LIST 512 /* inner nodes for each place of a frontier's list */

/* --- frontier --------------------------------------------------------------------------------- */

bool frontier_create(struct frontier *frontier, const struct heap *heap)
{
    memset(frontier, 0, sizeof *frontier);
    frontier->limit = heap->inner_count / NODES_A_LIST + 4;
    frontier->list = malloc(frontier->limit * sizeof *frontier->list);
    return frontier->list != NULL;
}

void frontier_destroy(struct frontier *frontier)
{
    free(frontier->list);
    free(frontier->wide);
    memset(frontier, 0, sizeof *frontier);
}

static void set_wide(struct frontier *frontier, const struct heap *heap, uint32_t node)
{
    uint32_t slot = heap_inner_slot(heap, node);
    frontier->wide[slot / 64] |= UINT64_C(1) << (slot % 64);
}

void frontier_add(struct frontier *frontier, const struct heap *heap, uint32_t node)
{
    if (frontier->is_wide) {
        set_wide(frontier, heap, node);
        return;
    }
    if (frontier->count < frontier->limit) {
        frontier->list[frontier->count++] = node;
        return;
    }
    if (frontier->wide == NULL)
        frontier->wide = calloc(heap->inner_count / 64 + 2, sizeof *frontier->wide);
    if (frontier->wide == NULL) {
        frontier->failed = true;
        return;
    }
    for (uint32_t i = 0; i < frontier->count; i++)
        set_wide(frontier, heap, frontier->list[i]);
    set_wide(frontier, heap, node);
    frontier->count = 0;
    frontier->is_wide = true;
}

uint32_t frontier_next(struct frontier *frontier, const struct heap *heap,
                       struct frontier_reader *reader, uint32_t *nodes)
{
    uint32_t given = 0;
    if (!frontier->is_wide) {
        while (given < FRONTIER_BATCH && reader->at < frontier->count)
            nodes[given++] = frontier->list[reader->at++];
        if (given == 0)
            frontier->count = 0;
        return given;
    }
    uint32_t words = heap_nodes(heap) / 64 + 1;
    for (;;) {
        for (; reader->chosen != 0; reader->chosen >>= 1, reader->inner &= reader->inner - 1) {
            if (!(reader->chosen & 1))
                continue;
            if (given == FRONTIER_BATCH)
                return given;
            nodes[given++] = (reader->at - 1) * 64 + (uint32_t)__builtin_ctzll(reader->inner);
        }
        if (reader->at == words)
            break;
        reader->inner = heap_bits(heap->inner, reader->at++);
        uint32_t count = bit_count(reader->inner);
        if (count == 0)
            continue;
        reader->chosen =
            heap_bits_window((const _Atomic uint64_t *)frontier->wide, reader->slot, count);
        reader->slot += count;
    }
    if (given == 0) {
        memset(frontier->wide, 0, (heap->inner_count / 64 + 2) * sizeof *frontier->wide);
        frontier->is_wide = false;
    }
    return given;
}

/* --- walk ------------------------------------------------------------------------------------- */

bool walk_create(struct walk *walk, const struct heap *heap, bool parents)
{
    memset(walk, 0, sizeof *walk);
    walk->heap = heap;
    walk->marked =
        calloc((parents ? heap->inner_count : heap_nodes(heap)) / 64 + 2, sizeof *walk->marked);
    if (parents)
        walk->parent = malloc(((size_t)heap->inner_count + 1) * sizeof *walk->parent);
    return frontier_create(&walk->now, heap) && frontier_create(&walk->next, heap) &&
           walk->marked != NULL && (walk->parent != NULL || !parents);
}

void walk_destroy(struct walk *walk)
{
    frontier_destroy(&walk->now);
    frontier_destroy(&walk->next);
    free(walk->soft);
    free(walk->marked);
    free(walk->parent);
    memset(walk, 0, sizeof *walk);
}

#define REFERENCE(from, to) ((uint64_t)(from) << 32 | (to))

bool cut_put(struct cut *cut, uint32_t from, uint32_t to)
{
    cut->filter[to % 65536 / 64] |= UINT64_C(1) << (to % 64);
    return id_table_put(&cut->references, REFERENCE(from, to), 0);
}

static bool is_cut(const struct cut *cut, uint32_t from, uint32_t to)
{
    return cut->filter[to % 65536 / 64] >> (to % 64) & 1 &&
           (id_table_get(&cut->references, REFERENCE(from, to)) != ID_TABLE_NONE ||
            id_table_get(&cut->references, REFERENCE(CUT_FROM_ALL, to)) != ID_TABLE_NONE);
}

/* from: a node or ROOT_OF. */
static void walk_visit(struct walk *walk, uint32_t node, uint32_t from)
{
    if (walk->cut != NULL && is_cut(walk->cut, from, node))
        return;
    bool inner = heap_is_inner(walk->heap, node);
    uint32_t place = node;
    if (walk->parent != NULL) {
        if (!inner)
            return;
        place = heap_inner_slot(walk->heap, node);
    }
    uint64_t bit = UINT64_C(1) << (place % 64), *marked = &walk->marked[place / 64];
    if (*marked & bit)
        return;
    *marked |= bit;
    if (walk->parent != NULL)
        walk->parent[place] = from;
    if (inner)
        frontier_add(&walk->next, walk->heap, node);
}

void walk_roots(struct walk *walk, bool hidden)
{
    for (uint32_t i = 0; i < walk->heap->root_count; i++) {
        const struct heap_root *root = &walk->heap->roots[i];
        if (root->node != NO_OBJECT && (root->kind == ROOT_CLASS_FIELD) == hidden)
            walk_visit(walk, root->node, ROOT_OF(walk->heap, i));
    }
}

/* A reference that stands in line. */
struct waiting {
    const struct id_word *word; /* NULL: node is known */
    uint64_t unit;
    uint32_t node;
    uint32_t from;
};

struct line {
    struct waiting waiting[LINE];
    uint32_t first, count;
};

static void follow(struct walk *walk, const struct waiting *waiting)
{
    uint32_t node = waiting->node;
    if (waiting->word != NULL) {
        node = id_word_number(waiting->word, waiting->unit);
        if (node == NO_OBJECT) {
            node = id_table_get(&walk->heap->class_of, waiting->unit << walk->heap->ids.shift);
            if (node == ID_TABLE_NONE) {
                walk->dangling++;
                return;
            }
        }
    }
    walk_visit(walk, node, waiting->from);
}

static void settle(struct walk *walk, struct line *line)
{
    follow(walk, &line->waiting[line->first]);
    line->first = (line->first + 1) % LINE;
    line->count--;
}

static inline struct waiting *stand(struct walk *walk, struct line *line)
{
    if (line->count == LINE)
        settle(walk, line);
    return &line->waiting[(line->first + line->count++) % LINE];
}

static void stand_node(struct walk *walk, struct line *line, uint32_t node, uint32_t from)
{
    if (!walk_marked(walk, node))
        *stand(walk, line) = (struct waiting){.node = node, .from = from};
}

static void stand_unit(struct walk *walk, struct line *line, uint64_t unit, uint32_t from)
{
    const struct id_word *word = object_ids_word(&walk->heap->ids, unit);
    if (word == NULL) {
        uint32_t class = id_table_get(&walk->heap->class_of, unit << walk->heap->ids.shift);
        if (class != ID_TABLE_NONE)
            stand_node(walk, line, class, from);
        else
            walk->dangling++;
        return;
    }
    __builtin_prefetch(word);
    *stand(walk, line) = (struct waiting){.word = word, .unit = unit, .from = from};
}

static void expand_class(struct walk *walk, struct line *line, uint32_t class)
{
    const struct heap *heap = walk->heap;
    for (uint32_t i = heap->class_edge_first[class]; i < heap->class_edge_first[class + 1]; i++)
        stand_node(walk, line, heap->class_edge_to[i], class);
}

static void expand_object(struct walk *walk, struct line *line, uint32_t node,
                          const struct id_place *place, bool soft)
{
    const struct heap *heap = walk->heap;
    struct heap_row row;
    bool met_soft = false;
    heap_row_begin(heap, place->word, place->unit, &row);
    if (row.class != NO_CLASS && !soft) {
        uint32_t loader = NO_OBJECT;
        if (!row.is_array && heap->classes[row.class].traits & CLASS_LOADER)
            loader = heap_loader_of_node(heap, node);
        stand_node(walk, line, row.class, node);
        for (uint32_t i = loader == NO_OBJECT ? 0 : heap->loader_class_first[loader];
             loader != NO_OBJECT && i < heap->loader_class_first[loader + 1]; i++)
            stand_node(walk, line, heap->loader_class[i], node);
    }
    while (heap_row_next(&row)) {
        met_soft = met_soft || row.soft;
        if (row.soft == soft)
            stand_unit(walk, line, row.to, node);
    }
    if (met_soft && !soft && !HEAP_ADD(walk, soft, soft, &node))
        walk->failed = true;
}

static void expand_all(struct walk *walk, struct line *line, const uint32_t *nodes, uint32_t count)
{
    const struct heap *heap = walk->heap;
    struct id_place places[FRONTIER_BATCH];
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i] >= heap->class_count)
            __builtin_prefetch(&heap->ids.word_of[nodes[i] / 64]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i] < heap->class_count)
            continue;
        places[i] = object_ids_place(&heap->ids, nodes[i]);
        __builtin_prefetch(heap->rows + places[i].region->row_base + places[i].word->row);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (walk->opaque != NULL && walk->opaque[nodes[i] / 64] >> (nodes[i] % 64) & 1)
            continue;
        if (nodes[i] < heap->class_count)
            expand_class(walk, line, nodes[i]);
        else
            expand_object(walk, line, nodes[i], &places[i], false);
    }
}

static bool walk_ok(const struct walk *walk)
{
    return !walk->failed && !walk->now.failed && !walk->next.failed;
}

static bool mark_text(void *context, uint32_t node, struct heap_row *row)
{
    struct walk *walk = context;
    (void)node;
    if (heap_row_next(row)) {
        uint32_t text = object_ids_find(&walk->heap->ids, row->to);
        if (text != NO_OBJECT)
            walk->marked[text / 64] |= UINT64_C(1) << (text % 64);
    }
    return true;
}

bool walk_run(struct walk *walk)
{
    struct line line = {.count = 0};
    uint32_t nodes[FRONTIER_BATCH], count;
    while (!frontier_is_empty(&walk->next) && walk_ok(walk)) {
        struct frontier swap = walk->now;
        struct frontier_reader reader = {0};
        walk->now = walk->next;
        walk->next = swap;
        while ((count = frontier_next(&walk->now, walk->heap, &reader, nodes)) > 0) {
            expand_all(walk, &line, nodes, count);
            if (!walk_ok(walk) || (walk->give_up != NULL && *walk->give_up))
                return walk_ok(walk);
        }
        while (line.count > 0)
            settle(walk, &line);
    }
    /* Texts hold nothing, so that they can be last and in the order of memory. */
    if (walk->parent == NULL)
        heap_each_row(walk->heap, true, walk->marked, mark_text, walk);
    return walk_ok(walk);
}

bool walk_run_soft(struct walk *walk)
{
    const struct heap *heap = walk->heap;
    struct line line = {.count = 0};
    while (walk->soft_done < walk->soft_count) {
        uint32_t node = walk->soft[walk->soft_done++];
        struct id_place place = object_ids_place(&heap->ids, node);
        expand_object(walk, &line, node, &place, true);
        while (line.count > 0)
            settle(walk, &line);
        if (!walk_run(walk))
            return false;
    }
    return walk_ok(walk);
}
