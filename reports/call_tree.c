#include "reports/call_tree.h"

#include <stdlib.h>
#include <string.h>

struct name {
    char *text;
    enum call_frame_kind kind;
    uint64_t hash;
};

struct call_tree {
    struct call_node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t *node_places; /* hash table of (parent, name) */
    uint32_t node_place_count;
    struct name *names;
    uint32_t name_count, name_capacity;
    uint32_t *name_places;
    uint32_t name_place_count;
    uint32_t *stack; /* names of the one being added */
    int stack_capacity;
    int64_t refused;
};

const char *call_frame_kind_name(enum call_frame_kind kind)
{
    static const char *const names[CALL_FRAME_KINDS] = {"java", "native", "class"};
    return names[kind];
}

/* --- tables -------------------------------------------------------------------------------------
 */

static uint64_t hash_of_text(const char *text, enum call_frame_kind kind)
{
    uint64_t hash = 0xcbf29ce484222325u + (uint64_t)kind;
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

/* Both halves reach every bit of the hash: stacks are long runs of few names. */
static uint64_t hash_of_node(uint32_t parent, uint32_t name)
{
    uint64_t hash = (uint64_t)parent << 32 | name;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

/* Doubles *array when it is full. */
static bool have_room(void **array, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity)
        return true;
    uint32_t more = *capacity ? *capacity * 2 : 256;
    void *bigger = reallocarray(*array, more, size);
    if (bigger == NULL)
        return false;
    *array = bigger;
    *capacity = more;
    return true;
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

static uint32_t name_place(const struct call_tree *tree, const struct call_frame *frame,
                           uint64_t hash)
{
    uint32_t mask = tree->name_place_count - 1, at = (uint32_t)hash & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t number = tree->name_places[at];
        if (number == CALL_TREE_NONE)
            return at;
        const struct name *name = &tree->names[number];
        if (name->hash == hash && name->kind == frame->kind && strcmp(name->text, frame->name) == 0)
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
        struct call_frame frame = {tree->names[i].text, tree->names[i].kind};
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

/* --- adding -------------------------------------------------------------------------------------
 */

static uint32_t number_of(struct call_tree *tree, const struct call_frame *frame)
{
    uint64_t hash = hash_of_text(frame->name, frame->kind);
    if (!widen_names(tree))
        return CALL_TREE_NONE;
    uint32_t place = name_place(tree, frame, hash);
    if (tree->name_places[place] != CALL_TREE_NONE)
        return tree->name_places[place];
    if (!have_room((void **)&tree->names, &tree->name_capacity, tree->name_count,
                   sizeof *tree->names))
        return CALL_TREE_NONE;
    struct name *name = &tree->names[tree->name_count];
    *name = (struct name){.text = strdup(frame->name), .kind = frame->kind, .hash = hash};
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
    if (!have_room((void **)&tree->nodes, &tree->node_capacity, tree->node_count,
                   sizeof *tree->nodes))
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
    struct call_frame all = {"all", CALL_FRAME_JAVA};
    if (tree == NULL)
        return NULL;
    uint32_t name = number_of(tree, &all);
    if (name == CALL_TREE_NONE ||
        !have_room((void **)&tree->nodes, &tree->node_capacity, 0, sizeof *tree->nodes)) {
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

/* All names first, so that a stack for which there is no memory leaves nodes without samples at
 * most: they are not shown. */
static uint32_t leaf_of(struct call_tree *tree, const struct call_frame *frames, int depth)
{
    if (depth > tree->stack_capacity) {
        uint32_t *stack = reallocarray(tree->stack, (size_t)depth, sizeof *stack);
        if (stack == NULL)
            return CALL_TREE_NONE;
        tree->stack = stack;
        tree->stack_capacity = depth;
    }
    for (int i = 0; i < depth; i++) {
        tree->stack[i] = number_of(tree, &frames[i]);
        if (tree->stack[i] == CALL_TREE_NONE)
            return CALL_TREE_NONE;
    }
    uint32_t node = 0;
    for (int i = depth - 1; i >= 0 && node != CALL_TREE_NONE; i--)
        node = child_of(tree, node, tree->stack[i]);
    return node;
}

bool call_tree_add(struct call_tree *tree, const struct call_frame *frames, int depth,
                   int64_t samples)
{
    uint32_t leaf = CALL_TREE_NONE;
    if (depth >= 0 && (uint32_t)depth <= CALL_TREE_NODES_MAX - tree->node_count)
        leaf = leaf_of(tree, frames, depth);
    if (leaf == CALL_TREE_NONE) {
        tree->refused += samples;
        return false;
    }
    tree->nodes[leaf].self += samples;
    return true;
}

/* --- summing up ---------------------------------------------------------------------------------
 */

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

void call_tree_finish(struct call_tree *tree)
{
    for (uint32_t i = 0; i < tree->node_count; i++)
        tree->nodes[i].total = tree->nodes[i].self;
    for (uint32_t i = tree->node_count - 1; i > 0; i--)
        tree->nodes[tree->nodes[i].parent].total += tree->nodes[i].total;
    uint32_t *room = reallocarray(NULL, tree->node_count, sizeof *room);
    for (uint32_t i = 0; room != NULL && i < tree->node_count; i++)
        sort_children(tree, i, room);
    free(room);
}

/* --- asking -------------------------------------------------------------------------------------
 */

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

struct call_frame call_tree_name(const struct call_tree *tree, uint32_t name)
{
    return (struct call_frame){tree->names[name].text, tree->names[name].kind};
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
    free(tree);
}
