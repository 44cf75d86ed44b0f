#include "analyzers/heap/walk.h"

#include <stdlib.h>
#include <string.h>

#define LINE  32 /* references between being read and being followed */
#define AHEAD 8  /* nodes whose rows are fetched ahead */

bool walk_queue_push(struct walk_queue *queue, uint32_t node)
{
    struct walk_chunk *tail = queue->tail;
    if (tail == NULL || tail->count == WALK_CHUNK) {
        struct walk_chunk *chunk = queue->spare != NULL ? queue->spare : malloc(sizeof *chunk);
        if (chunk == NULL) {
            queue->failed = true;
            return false;
        }
        queue->spare = NULL;
        chunk->next = NULL;
        chunk->count = 0;
        if (tail == NULL)
            queue->head = chunk;
        else
            tail->next = chunk;
        queue->tail = tail = chunk;
    }
    tail->node[tail->count++] = node;
    return true;
}

bool walk_queue_pop(struct walk_queue *queue, uint32_t *node)
{
    struct walk_chunk *head = queue->head;
    if (head == NULL || queue->at == head->count)
        return false;
    *node = head->node[queue->at++];
    if (queue->at < head->count)
        return true;
    if (head->next == NULL) {
        head->count = 0;
        queue->at = 0;
        return true;
    }
    queue->head = head->next;
    queue->at = 0;
    free(queue->spare);
    queue->spare = head;
    return true;
}

void walk_queue_free(struct walk_queue *queue)
{
    for (struct walk_chunk *chunk = queue->head, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(queue->spare);
    memset(queue, 0, sizeof *queue);
}

bool walk_create(struct walk *walk, const struct heap *heap, bool parents)
{
    memset(walk, 0, sizeof *walk);
    walk->heap = heap;
    walk->marked = calloc(heap_nodes(heap) / 64 + 2, sizeof *walk->marked);
    if (parents)
        walk->parent = malloc(((size_t)heap->parent_rank[heap_nodes(heap) / 512 + 1] + 1) *
                              sizeof *walk->parent);
    return walk->marked != NULL && (walk->parent != NULL || !parents);
}

void walk_destroy(struct walk *walk)
{
    walk_queue_free(&walk->queue);
    walk_queue_free(&walk->soft);
    free(walk->marked);
    free(walk->parent);
    memset(walk, 0, sizeof *walk);
}

void walk_visit(struct walk *walk, uint32_t node, uint32_t from)
{
    uint64_t bit = UINT64_C(1) << (node % 64), *marked = &walk->marked[node / 64];
    if (*marked & bit)
        return;
    *marked |= bit;
    if (!(walk->heap->holding[node / 64] & bit))
        return;
    if (walk->parent != NULL)
        walk->parent[heap_parent_slot(walk->heap, node)] = from;
    walk_queue_push(&walk->queue, node);
}

void walk_roots(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->heap->root_count; i++) {
        if (walk->heap->roots[i].node != NO_OBJECT && walk->heap->roots[i].kind != ROOT_CLASS_FIELD)
            walk_visit(walk, walk->heap->roots[i].node, ROOT_OF(walk->heap, i));
    }
}

void walk_hidden_roots(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->heap->root_count; i++) {
        if (walk->heap->roots[i].kind == ROOT_CLASS_FIELD)
            walk_visit(walk, walk->heap->roots[i].node, ROOT_OF(walk->heap, i));
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
        if (heap->classes[row.class].traits & CLASS_LOADER)
            loader = heap_loader_of_node(heap, node);
        if (loader != NO_OBJECT && walk->opaque != NULL && walk->opaque[loader])
            return;
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
    if (met_soft && !soft)
        walk_queue_push(&walk->soft, node);
}

/* Nodes of the head's chunk that come soon: where they are. */
static void prepare(const struct walk *walk, uint32_t at, struct id_place *places)
{
    const struct heap *heap = walk->heap;
    const struct walk_chunk *head = walk->queue.head;
    if (at + AHEAD < head->count && head->node[at + AHEAD] >= heap->class_count)
        __builtin_prefetch(&heap->ids.word_of[head->node[at + AHEAD] / 32]);
    if (at >= head->count || head->node[at] < heap->class_count)
        return;
    struct id_place *place = &places[at % AHEAD];
    *place = object_ids_place(&heap->ids, head->node[at]);
    __builtin_prefetch(heap->rows + place->region->row_base + place->word->row);
}

bool walk_run(struct walk *walk)
{
    const struct heap *heap = walk->heap;
    struct walk_queue *queue = &walk->queue;
    struct line line = {.count = 0};
    struct id_place places[AHEAD];
    uint32_t prepared = 0, node;
    const struct walk_chunk *chunk = NULL;
    for (uint32_t steps = 0; !queue->failed && !walk->soft.failed; steps++) {
        if (queue->head == NULL || queue->at == queue->head->count) {
            if (line.count == 0)
                break;
            settle(walk, &line);
            continue;
        }
        if (walk->give_up != NULL && steps % 65536 == 0 && *walk->give_up)
            return true;
        if (chunk != queue->head || prepared < queue->at || queue->at == 0) {
            chunk = queue->head;
            prepared = queue->at;
        }
        for (; prepared < queue->at + AHEAD / 2 && prepared < chunk->count; prepared++)
            prepare(walk, prepared, places);
        struct id_place place = places[queue->at % AHEAD];
        walk_queue_pop(queue, &node);
        if (node < heap->class_count)
            expand_class(walk, &line, node);
        else
            expand_object(walk, &line, node, &place, false);
    }
    return !queue->failed && !walk->soft.failed;
}

bool walk_run_soft(struct walk *walk)
{
    const struct heap *heap = walk->heap;
    struct line line = {.count = 0};
    uint32_t node;
    while (walk_queue_pop(&walk->soft, &node)) {
        if (node >= heap->class_count) {
            struct id_place place = object_ids_place(&heap->ids, node);
            expand_object(walk, &line, node, &place, true);
        }
        while (line.count > 0)
            settle(walk, &line);
        if (!walk_run(walk))
            return false;
    }
    return !walk->queue.failed;
}
