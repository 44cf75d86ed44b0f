#include "reports/profile/call_tree.h"

#include "analyzers/classes/stem_table.h"
#include "analyzers/model/texts.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct name {
    char *text;
    enum call_frame_kind kind;
    uint64_t hash;
};

struct call_tree {
    struct call_node *nodes;
    uint32_t node_count;
    size_t node_capacity;
    uint32_t *node_places; /* hash table of (parent, name) */
    uint32_t node_place_count;
    struct name *names;
    uint32_t name_count;
    size_t name_capacity;
    uint32_t *name_places, name_place_count;
    uint32_t *stack; /* names of the one being added */
    size_t stack_capacity;
    int64_t refused;
    struct call_cell *cells;
    uint32_t cell_count;
    size_t cell_capacity;
    bool timed;               /* what is added has a time: */
    int64_t now_ms, start_ms; /* this; of slot 0. Slots before it are negative */
    int slot_length;          /* in SLOT_MS */
};

const char *call_frame_kind_name(enum call_frame_kind kind)
{
    static const char *const names[CALL_FRAME_KINDS] = {"java", "native", "class", "state",
                                                        "thread"};
    return names[kind];
}

/* --- tables --------------------------------------------------------------------------------- */

/* Whether that is how the frame is shown: "malloc [libc]", "com.acme.Rules.eval". */
static bool is_label_of(const char *label, const struct stack_frame *frame)
{
    size_t length = strlen(frame->name);
    if (strncmp(label, frame->name, length) != 0)
        return false;
    label += length;
    if (frame->library == NULL)
        return *label == '\0';
    length = strlen(frame->library);
    return strncmp(label, " [", 2) == 0 && strncmp(label + 2, frame->library, length) == 0 &&
           strcmp(label + 2 + length, "]") == 0;
}

char *stack_frame_label(const struct stack_frame *frame)
{
    char *label = NULL;
    if (frame->library == NULL)
        return strdup(frame->name);
    return asprintf(&label, "%s [%s]", frame->name, frame->library) >= 0 ? label : NULL;
}

char *stack_frame_text(const struct stack_frame *frame)
{
    char *text = NULL;
    if (frame->line <= 0)
        return stack_frame_label(frame);
    return asprintf(&text, "%s:%d", frame->name, frame->line) >= 0 ? text : NULL;
}

/* Both halves reach every bit of the hash: stacks are long runs of few names. */
static uint64_t hash_of_node(uint32_t parent, uint32_t name)
{
    uint64_t hash = (uint64_t)parent << 32 | name;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

static uint32_t node_place(const struct call_tree *tree, uint32_t parent, uint32_t name)
{
    uint32_t mask = tree->node_place_count - 1, at = (uint32_t)hash_of_node(parent, name) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t node = tree->node_places[at];
        if (node == CALL_TREE_NONE ||
            (tree->nodes[node].parent == parent && tree->nodes[node].name == name))
            return at;
    }
}

static uint32_t name_place(const struct call_tree *tree, const struct stack_frame *frame,
                           uint64_t hash)
{
    uint32_t mask = tree->name_place_count - 1, at = (uint32_t)hash & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t number = tree->name_places[at];
        if (number == CALL_TREE_NONE)
            return at;
        const struct name *name = &tree->names[number];
        if (name->hash == hash && name->kind == frame->kind && is_label_of(name->text, frame))
            return at;
    }
}

/* A table of twice the places; the caller puts the old entries in again. NULL: keep the old one. */
static uint32_t *wider(uint32_t count, uint32_t places, uint32_t *new_places)
{
    if (places != 0 && count < places / 2)
        return NULL;
    *new_places = places ? places * 2 : 1024;
    uint32_t *table = reallocarray(NULL, *new_places, sizeof *table);
    if (table != NULL)
        memset(table, 0xff, *new_places * sizeof *table);
    return table;
}

static bool widen_names(struct call_tree *tree)
{
    uint32_t places, *table = wider(tree->name_count, tree->name_place_count, &places);
    if (table == NULL)
        return tree->name_count + 1 < tree->name_place_count;
    free(tree->name_places);
    tree->name_places = table;
    tree->name_place_count = places;
    for (uint32_t i = 0; i < tree->name_count; i++) {
        struct stack_frame frame = {.name = tree->names[i].text, .kind = tree->names[i].kind};
        table[name_place(tree, &frame, tree->names[i].hash)] = i;
    }
    return true;
}

static bool widen_nodes(struct call_tree *tree)
{
    uint32_t places, *table = wider(tree->node_count, tree->node_place_count, &places);
    if (table == NULL)
        return tree->node_count + 1 < tree->node_place_count;
    free(tree->node_places);
    tree->node_places = table;
    tree->node_place_count = places;
    for (uint32_t i = 1; i < tree->node_count; i++)
        table[node_place(tree, tree->nodes[i].parent, tree->nodes[i].name)] = i;
    return true;
}

/* --- adding --------------------------------------------------------------------------------- */

static uint32_t number_of(struct call_tree *tree, const struct stack_frame *frame)
{
    uint64_t hash = stem_hash(span_from_cstr(frame->name)) + (uint64_t)frame->kind;
    if (!widen_names(tree))
        return CALL_TREE_NONE;
    uint32_t place = name_place(tree, frame, hash);
    if (tree->name_places[place] != CALL_TREE_NONE)
        return tree->name_places[place];
    if (!array_room(&tree->names, &tree->name_capacity, tree->name_count + 1, sizeof *tree->names))
        return CALL_TREE_NONE;
    struct name *name = &tree->names[tree->name_count];
    *name = (struct name){.text = stack_frame_label(frame), .kind = frame->kind, .hash = hash};
    if (name->text == NULL)
        return CALL_TREE_NONE;
    tree->name_places[place] = tree->name_count;
    return tree->name_count++;
}

static uint32_t child_of(struct call_tree *tree, uint32_t parent, uint32_t name)
{
    if (!widen_nodes(tree))
        return CALL_TREE_NONE;
    uint32_t place = node_place(tree, parent, name);
    if (tree->node_places[place] != CALL_TREE_NONE)
        return tree->node_places[place];
    if (!array_room(&tree->nodes, &tree->node_capacity, tree->node_count + 1, sizeof *tree->nodes))
        return CALL_TREE_NONE;
    tree->nodes[tree->node_count] =
        (struct call_node){.name = name,
                           .parent = parent,
                           .first_child = CALL_TREE_NONE,
                           .next_sibling = tree->nodes[parent].first_child};
    tree->nodes[parent].first_child = tree->node_count;
    return tree->node_places[place] = tree->node_count++;
}

struct call_tree *call_tree_create(void)
{
    struct call_tree *tree = calloc(1, sizeof *tree);
    struct stack_frame all = {.name = "all", .kind = CALL_FRAME_JAVA};
    if (tree == NULL)
        return NULL;
    uint32_t name = number_of(tree, &all);
    if (name == CALL_TREE_NONE ||
        !array_room(&tree->nodes, &tree->node_capacity, 1, sizeof *tree->nodes)) {
        call_tree_destroy(tree);
        return NULL;
    }
    tree->nodes[0] = (struct call_node){.name = name,
                                        .parent = CALL_TREE_NONE,
                                        .first_child = CALL_TREE_NONE,
                                        .next_sibling = CALL_TREE_NONE};
    tree->node_count = 1;
    return tree;
}

/* A line with more than half of the votes wins, whatever their order (Boyer and Moore). */
static void vote(struct call_line *line, int candidate, int64_t votes)
{
    if (candidate <= 0)
        return;
    if (line->line == candidate)
        line->votes += votes;
    else if (line->votes >= votes)
        line->votes -= votes;
    else
        *line = (struct call_line){candidate, votes - line->votes};
}

/* All names first, so that a stack for which there is no memory leaves nodes without samples at
 * most: they are not shown. */
static uint32_t leaf_of(struct call_tree *tree, const struct stack_frame *frames, int depth,
                        int64_t samples)
{
    if (!array_room(&tree->stack, &tree->stack_capacity, (size_t)depth, sizeof *tree->stack))
        return CALL_TREE_NONE;
    for (int i = 0; i < depth; i++) {
        tree->stack[i] = number_of(tree, &frames[i]);
        if (tree->stack[i] == CALL_TREE_NONE)
            return CALL_TREE_NONE;
    }
    uint32_t node = 0;
    for (int i = depth - 1; i >= 0 && node != CALL_TREE_NONE; i--) {
        node = child_of(tree, node, tree->stack[i]);
        if (node != CALL_TREE_NONE)
            vote(&tree->nodes[node].line, frames[i].line, samples);
    }
    return node;
}

/* --- times ---------------------------------------------------------------------------------- */

#define SLOT_FAR      (1 << 30) /* no recording is that long: a damaged time */
#define FIRST_SLOT_OF 20 /* slot 0 of what is asked is a multiple of it: a full second, ten */

/* How long slots may be; each is a multiple of the one before. */
static const int64_t SLOT_MS[] = {50,    100,    500,    1000,    5000,     10000,
                                  60000, 300000, 600000, 3600000, 21600000, 86400000};
#define SLOT_LENGTHS (int)(sizeof SLOT_MS / sizeof SLOT_MS[0])

static int by_slot(const void *left, const void *right)
{
    const struct call_cell *a = left, *b = right;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int64_t floor_of(int64_t number, int64_t unit)
{
    return (number - (number < 0 ? unit - 1 : 0)) / unit;
}

/* Slots become so many times as long, and cells of the same slot and node one. How many are left. */
static uint32_t merge_cells(struct call_cell *cells, uint32_t count, int64_t times)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        cells[i].slot = (int32_t)floor_of(cells[i].slot, times);
    qsort(cells, count, sizeof *cells, by_slot);
    for (uint32_t i = 0; i < count; i++)
        if (kept > 0 && by_slot(&cells[kept - 1], &cells[i]) == 0)
            cells[kept - 1].samples += cells[i].samples;
        else
            cells[kept++] = cells[i];
    return kept;
}

void call_tree_at(struct call_tree *tree, int64_t ms)
{
    const int64_t far = INT64_C(1) << 60; /* of damaged recordings: differences must not overflow */
    ms = ms < -far ? -far : ms > far ? far : ms;
    if (!tree->timed)
        tree->start_ms = floor_of(ms, 1000) * 1000;
    tree->timed = true;
    tree->now_ms = ms;
}

/* To half of them: so that this is not done for each sample. */
static void make_cells_fewer(struct call_tree *tree)
{
    tree->cell_count = merge_cells(tree->cells, tree->cell_count, 1);
    while (tree->cell_count > CALL_TREE_CELLS_MAX / 2 && tree->slot_length + 1 < SLOT_LENGTHS) {
        int64_t times = SLOT_MS[tree->slot_length + 1] / SLOT_MS[tree->slot_length];
        tree->cell_count = merge_cells(tree->cells, tree->cell_count, times);
        tree->slot_length++;
    }
}

/* Without room, or with a time that cannot be, the samples have none: the tree counts them all the same. */
static void add_cell(struct call_tree *tree, uint32_t node, int64_t samples)
{
    int64_t slot = floor_of(tree->now_ms - tree->start_ms, SLOT_MS[tree->slot_length]);
    if (slot < -SLOT_FAR || slot > SLOT_FAR)
        return;
    if (tree->cell_count == CALL_TREE_CELLS_MAX) {
        make_cells_fewer(tree);
        slot = floor_of(tree->now_ms - tree->start_ms, SLOT_MS[tree->slot_length]);
    }
    if (tree->cell_count == CALL_TREE_CELLS_MAX ||
        !array_room(&tree->cells, &tree->cell_capacity, tree->cell_count + 1, sizeof *tree->cells))
        return;
    tree->cells[tree->cell_count++] = (struct call_cell){(int32_t)slot, node, samples};
}

bool call_tree_times(const struct call_tree *tree, const uint32_t *node_of, int32_t slots_max,
                     uint32_t cells_max, struct call_times *times)
{
    uint32_t count = tree->cell_count;
    *times = (struct call_times){0};
    if (count == 0)
        return true;
    struct call_cell *cells = reallocarray(NULL, count, sizeof *cells);
    if (cells == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        cells[i] = tree->cells[i];
        if (node_of != NULL)
            cells[i].node = node_of[cells[i].node];
    }
    int length = tree->slot_length;
    int64_t first, slots;
    for (int64_t by = 1;; by = SLOT_MS[length + 1] / SLOT_MS[length], length++) {
        count = merge_cells(cells, count, by);
        first = floor_of(cells[0].slot, FIRST_SLOT_OF) * FIRST_SLOT_OF;
        slots = cells[count - 1].slot - first + 1;
        if ((slots <= slots_max && count <= cells_max) || length + 1 == SLOT_LENGTHS)
            break;
    }
    if (slots > slots_max || count > cells_max) {
        free(cells);
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        cells[i].slot -= (int32_t)first;
    *times = (struct call_times){.start_ms = tree->start_ms + first * SLOT_MS[length],
                                 .slot_ms = SLOT_MS[length],
                                 .slots = (int32_t)slots,
                                 .count = count,
                                 .cells = cells};
    return true;
}

bool call_tree_add(struct call_tree *tree, const struct stack_frame *frames, int depth,
                   int64_t samples)
{
    return call_tree_add_part(tree, frames, depth, samples, 0);
}

/* Until it is summed up, total is the fixed part of self. */
bool call_tree_add_part(struct call_tree *tree, const struct stack_frame *frames, int depth,
                        int64_t samples, int64_t fixed)
{
    uint32_t leaf = CALL_TREE_NONE;
    if (depth >= 0 && (uint32_t)depth <= CALL_TREE_NODES_MAX - tree->node_count)
        leaf = leaf_of(tree, frames, depth, samples);
    if (leaf == CALL_TREE_NONE) {
        tree->refused += samples;
        return false;
    }
    tree->nodes[leaf].self += samples;
    tree->nodes[leaf].total += fixed;
    if (tree->timed)
        add_cell(tree, leaf, samples);
    return true;
}

void call_tree_calibrate(struct call_tree *tree, double factor)
{
    for (uint32_t i = 0; i < tree->node_count; i++) {
        struct call_node *node = &tree->nodes[i];
        node->self = node->total + (int64_t)((double)(node->self - node->total) * factor + 0.5);
    }
}

/* --- threads -------------------------------------------------------------------------------- */

struct thread_name {
    uint32_t name, stem; /* numbers of names */
    int64_t samples;
};

static int by_stem(const void *left, const void *right)
{
    const struct thread_name *a = left, *b = right;
    return (a->stem > b->stem) - (a->stem < b->stem);
}

static int by_samples(const void *left, const void *right)
{
    const struct thread_name *a = left, *b = right;
    return (a->samples < b->samples) - (a->samples > b->samples);
}

/* The name without its numbers; CALL_TREE_NONE: out of memory. */
static uint32_t stem_of(struct call_tree *tree, uint32_t name)
{
    char stem[CALL_THREAD_NAME_MAX];
    size_t length = 0;
    for (const char *at = tree->names[name].text; *at != '\0' && length < sizeof stem - 1; at++) {
        bool digit = *at >= '0' && *at <= '9';
        if (digit && length > 0 && stem[length - 1] == '*')
            continue;
        stem[length++] = digit ? '*' : *at;
    }
    stem[length] = '\0';
    return number_of(tree, &(struct stack_frame){.name = stem, .kind = CALL_FRAME_THREAD});
}

/* What each name becomes, in renamed[]. */
static void fold_names(struct call_tree *tree, struct thread_name *threads, uint32_t count,
                       uint32_t *renamed)
{
    uint32_t kept = 0, run;
    qsort(threads, count, sizeof *threads, by_stem);
    for (uint32_t i = 0; i < count; i += run) {
        for (run = 1; i + run < count && threads[i + run].stem == threads[i].stem; run++)
            ;
        if (run <= CALL_THREADS_OF_A_NAME) {
            memmove(threads + kept, threads + i, run * sizeof *threads);
            kept += run;
            continue;
        }
        struct thread_name folded = {.name = threads[i].stem};
        for (uint32_t k = i; k < i + run; k++) {
            renamed[threads[k].name] = folded.name;
            folded.samples += threads[k].samples;
        }
        threads[kept++] = folded;
    }
    uint32_t others = kept > CALL_THREADS_MAX
                          ? number_of(tree, &(struct stack_frame){.name = "[other threads]",
                                                                  .kind = CALL_FRAME_THREAD})
                          : CALL_TREE_NONE;
    if (others == CALL_TREE_NONE)
        return;
    qsort(threads, kept, sizeof *threads, by_samples);
    for (uint32_t i = CALL_THREADS_MAX - 1; i < kept; i++)
        renamed[threads[i].name] = others;
}

/* Puts the nodes under the names they have now; those that became one are summed up. A node's number gets
 * no larger, and its parent's is smaller, so that they can be moved where they are. */
static void rename_nodes(struct call_tree *tree, const uint32_t *renamed, uint32_t *moved)
{
    uint32_t count = tree->node_count;
    memset(tree->node_places, 0xff, tree->node_place_count * sizeof *tree->node_places);
    tree->nodes[0].first_child = CALL_TREE_NONE;
    tree->node_count = 1;
    moved[0] = 0;
    for (uint32_t i = 1; i < count; i++) {
        struct call_node node = tree->nodes[i];
        /* Twice: a thread with a new name may be one of the others by it. */
        moved[i] = child_of(tree, moved[node.parent], renamed[renamed[node.name]]);
        tree->nodes[moved[i]].self += node.self;
        vote(&tree->nodes[moved[i]].line, node.line.line, node.line.votes);
    }
    for (uint32_t i = 0; i < tree->cell_count; i++)
        tree->cells[i].node = moved[tree->cells[i].node];
}

static void fold_threads(struct call_tree *tree)
{
    uint32_t names = tree->name_count, count = 0;
    int64_t *samples = calloc(names, sizeof *samples);
    struct thread_name *threads = NULL;
    for (uint32_t i = tree->node_count - 1; samples != NULL && i > 0; i--) {
        uint32_t name = tree->nodes[i].name;
        if (tree->names[name].kind == CALL_FRAME_THREAD)
            count += samples[name] == 0;
        if (tree->names[name].kind == CALL_FRAME_THREAD)
            samples[name] += tree->nodes[i].total + 1;
    }
    if (count > CALL_THREADS_OF_A_NAME)
        threads = calloc(count, sizeof *threads);
    bool good = threads != NULL;
    count = 0;
    for (uint32_t i = 0; good && i < names; i++) {
        if (samples[i] == 0)
            continue;
        threads[count] = (struct thread_name){i, stem_of(tree, i), samples[i]};
        good = threads[count++].stem != CALL_TREE_NONE;
    }
    uint32_t *renamed = good ? calloc((size_t)names + count + 1, sizeof *renamed) : NULL;
    uint32_t *moved = good ? calloc(tree->node_count, sizeof *moved) : NULL;
    if (renamed != NULL && moved != NULL) {
        for (uint32_t i = 0; i < names + count + 1; i++)
            renamed[i] = i;
        fold_names(tree, threads, count, renamed);
        rename_nodes(tree, renamed, moved);
    }
    free(moved);
    free(renamed);
    free(threads);
    free(samples);
}

/* --- summing up ----------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right, void *context)
{
    const struct call_tree *tree = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct name *name_a = &tree->names[tree->nodes[a].name];
    const struct name *name_b = &tree->names[tree->nodes[b].name];
    int order = strcmp(name_a->text, name_b->text);
    if (order == 0)
        order = (int)name_a->kind - (int)name_b->kind;
    return order;
}

/* Without memory for sorting the children stay in the order of their coming. */
static void sort_children(struct call_tree *tree, uint32_t parent, uint32_t *room)
{
    uint32_t count = 0;
    for (uint32_t child = tree->nodes[parent].first_child; child != CALL_TREE_NONE;
         child = tree->nodes[child].next_sibling)
        room[count++] = child;
    if (count < 2)
        return;
    qsort_r(room, count, sizeof *room, by_name, tree);
    tree->nodes[parent].first_child = room[0];
    for (uint32_t i = 0; i < count; i++)
        tree->nodes[room[i]].next_sibling = i + 1 < count ? room[i + 1] : CALL_TREE_NONE;
}

static void sum_up_nodes(struct call_tree *tree)
{
    for (uint32_t i = 0; i < tree->node_count; i++)
        tree->nodes[i].total = tree->nodes[i].self;
    for (uint32_t i = tree->node_count - 1; i > 0; i--)
        tree->nodes[tree->nodes[i].parent].total += tree->nodes[i].total;
}

void call_tree_finish(struct call_tree *tree)
{
    sum_up_nodes(tree);
    fold_threads(tree);
    sum_up_nodes(tree);
    uint32_t *room = reallocarray(NULL, tree->node_count, sizeof *room);
    for (uint32_t i = 0; room != NULL && i < tree->node_count; i++)
        sort_children(tree, i, room);
    free(room);
}

/* --- asking --------------------------------------------------------------------------------- */

int64_t call_tree_samples(const struct call_tree *tree)
{
    return tree->nodes[0].total;
}

int64_t call_tree_refused(const struct call_tree *tree)
{
    return tree->refused;
}

uint32_t call_tree_node_count(const struct call_tree *tree)
{
    return tree->node_count;
}

const struct call_node *call_tree_node(const struct call_tree *tree, uint32_t node)
{
    return &tree->nodes[node];
}

uint32_t call_tree_name_count(const struct call_tree *tree)
{
    return tree->name_count;
}

struct stack_frame call_tree_name(const struct call_tree *tree, uint32_t name)
{
    return (struct stack_frame){.name = tree->names[name].text, .kind = tree->names[name].kind};
}

uint32_t call_tree_next(const struct call_tree *tree, uint32_t node, int *depth)
{
    if (tree->nodes[node].first_child != CALL_TREE_NONE) {
        ++*depth;
        return tree->nodes[node].first_child;
    }
    while (node != 0 && tree->nodes[node].next_sibling == CALL_TREE_NONE) {
        node = tree->nodes[node].parent;
        --*depth;
    }
    return node != 0 ? tree->nodes[node].next_sibling : CALL_TREE_NONE;
}

void call_tree_destroy(struct call_tree *tree)
{
    if (tree == NULL)
        return;
    for (uint32_t i = 0; i < tree->name_count; i++)
        free(tree->names[i].text);
    free(tree->names);
    free(tree->name_places);
    free(tree->nodes);
    free(tree->node_places);
    free(tree->stack);
    free(tree->cells);
    free(tree);
}

/* The present stack as text; a node's text ends where it says. */
struct line {
    char *text;
    size_t capacity;
    size_t *ends; /* by depth */
    size_t depths;
};

/* Depths begin at 1 and grow by 1. *length: of the stack up to this frame. */
static bool put_frame(struct line *line, int depth, const char *name, size_t *length)
{
    if (!array_room(&line->ends, &line->depths, (size_t)depth + 1, sizeof *line->ends))
        return false;
    size_t start = depth > 1 ? line->ends[depth - 1] : 0;
    if (!array_room(&line->text, &line->capacity, start + 1 + strlen(name) * ESCAPE_GROWTH + 1, 1))
        return false;
    char *at = line->text + start;
    if (depth > 1)
        *at++ = ';';
    size_t added = escape(ESCAPE_TERMINAL, name, at, line->capacity - (size_t)(at - line->text));
    for (char *separator = at; (separator = strchr(separator, ';')) != NULL;)
        *separator = ':';
    *length = line->ends[depth] = (size_t)(at - line->text) + added;
    return true;
}

bool collapsed_write(const struct call_tree *tree, FILE *out)
{
    struct line line = {0};
    bool good = true;
    int depth = 0;
    if (call_tree_node(tree, 0)->self > 0)
        fprintf(out, "[no stack] %" PRId64 "\n", call_tree_node(tree, 0)->self);
    for (uint32_t i = call_tree_next(tree, 0, &depth); good && i != CALL_TREE_NONE;
         i = call_tree_next(tree, i, &depth)) {
        const struct call_node *node = call_tree_node(tree, i);
        size_t length = 0;
        good = put_frame(&line, depth, call_tree_name(tree, node->name).name, &length);
        if (!good || node->self == 0)
            continue;
        fwrite(line.text, 1, length, out);
        fprintf(out, " %" PRId64 "\n", node->self);
    }
    free(line.text);
    free(line.ends);
    return good && !ferror(out);
}

bool profile_write(const struct profile *profile, enum profile_format format, FILE *out)
{
    if (format == PROFILE_HTML)
        return flamegraph_write(profile->tree, &profile->page, out);
    if (format == PROFILE_COLLAPSED)
        return collapsed_write(profile->tree, out);
    return format == PROFILE_PPROF && pprof_write(profile->tree, &profile->about, out);
}

/* --- top table ------------------------------------------------------------------------------ */

struct toptable {
    const struct call_tree *tree;
    uint32_t node; /* below it */
    struct top_row *rows;
    uint32_t row_count;
};

static int by_weight(const void *left, const void *right, void *context)
{
    const struct call_tree *tree = context;
    const struct top_row *a = left, *b = right;
    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    int order = strcmp(call_tree_name(tree, a->name).name, call_tree_name(tree, b->name).name);
    return order != 0 ? order : (a->name > b->name) - (a->name < b->name);
}

/* open[name]: how often it is on the way from the first node to the present node. Only the outermost of
 * them adds to the total. path: the names of that way. */
static bool sum_up(struct toptable *table, uint32_t *open, uint32_t names)
{
    const struct call_tree *tree = table->tree;
    uint32_t *path = NULL;
    int depth = 0, left = 0;
    size_t capacity = 0;
    for (uint32_t i = 0; i < names; i++)
        table->rows[i] = (struct top_row){.name = i};
    for (uint32_t i = call_tree_next(tree, table->node, &depth); i != CALL_TREE_NONE && depth > 0;
         i = call_tree_next(tree, i, &depth)) {
        const struct call_node *node = call_tree_node(tree, i);
        if (!array_room(&path, &capacity, (size_t)depth + 1, sizeof *path)) {
            free(path);
            return false;
        }
        for (; left >= depth && left > 0; left--) /* the first has no name */
            open[path[left]]--;
        left = depth;
        path[depth] = node->name;
        table->rows[node->name].self += node->self;
        vote(&table->rows[node->name].line, node->line.line, node->line.votes);
        if (open[node->name]++ == 0)
            table->rows[node->name].total += node->total;
    }
    free(path);
    return true;
}

struct toptable *toptable_create(const struct call_tree *tree, uint32_t node)
{
    uint32_t names = call_tree_name_count(tree);
    struct toptable *table = calloc(1, sizeof *table);
    uint32_t *open = calloc(names, sizeof *open);
    if (table != NULL) {
        table->tree = tree;
        table->node = node;
        table->rows = calloc(names, sizeof *table->rows);
    }
    if (table == NULL || open == NULL || table->rows == NULL || !sum_up(table, open, names)) {
        free(open);
        toptable_destroy(table);
        return NULL;
    }
    free(open);
    for (uint32_t i = 0; i < names; i++)
        if (table->rows[i].total > 0 && call_tree_name(tree, i).kind != CALL_FRAME_STATE)
            table->rows[table->row_count++] = table->rows[i];
    qsort_r(table->rows, table->row_count, sizeof *table->rows, by_weight, (void *)tree);
    return table;
}

uint32_t toptable_row_count(const struct toptable *table)
{
    return table->row_count;
}

const struct top_row *toptable_row(const struct toptable *table, uint32_t row)
{
    return &table->rows[row];
}

static double percent(const struct toptable *table, int64_t samples)
{
    int64_t all = call_tree_node(table->tree, table->node)->total;
    return all > 0 ? 100.0 * (double)samples / (double)all : 0;
}

bool toptable_print(const struct toptable *table, uint32_t rows, FILE *out)
{
    struct page page;
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "#SELF", "#", "#TOTAL", "#", "METHOD");
    for (uint32_t i = 0; i < table->row_count && i < rows; i++) {
        const struct top_row *row = &table->rows[i];
        const struct stack_frame frame = {.name = call_tree_name(table->tree, row->name).name,
                                          .line = row->line.line};
        char self[24], total[24], self_share[24], total_share[24], *text = stack_frame_text(&frame);
        snprintf(self, sizeof self, "%" PRId64, row->self);
        snprintf(total, sizeof total, "%" PRId64, row->total);
        snprintf(self_share, sizeof self_share, "%.2f%%", percent(table, row->self));
        snprintf(total_share, sizeof total_share, "%.2f%%", percent(table, row->total));
        page_row(&page, self, self_share, total, total_share, text != NULL ? text : frame.name);
        free(text);
    }
    bool good = page_print(&page, out);
    if (table->row_count > rows)
        fprintf(out, "and %s methods more\n", units_count(table->row_count - rows).text);
    return good && !ferror(out);
}

void toptable_json(const struct toptable *table, struct json_out *out)
{
    json_out_begin(out, "methods", '[');
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct top_row *row = &table->rows[i];
        struct stack_frame name = call_tree_name(table->tree, row->name);
        json_out_begin(out, NULL, '{');
        json_out_text(out, "name", name.name);
        json_out_text(out, "kind", call_frame_kind_name(name.kind));
        json_out_int_if(out, "line", row->line.line > 0, row->line.line);
        json_out_int(out, "self", row->self);
        json_out_int(out, "total", row->total);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void toptable_destroy(struct toptable *table)
{
    if (table == NULL)
        return;
    free(table->rows);
    free(table);
}
