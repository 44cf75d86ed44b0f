/* Random heaps, written as dumps and read back, against a naive implementation: the same strong and
 * soft reach, the same lengths of shortest paths, the same retained sizes. */
#include "analyzers/heap/holders.h"
#include "analyzers/heap/retained.h"
#include "tests/unit/heap/hprof_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define GRAPHS      3000
#define NODES_MAX   160
#define CLASSES_MAX 24
#define ALL_MAX     (CLASSES_MAX + NODES_MAX)
#define EDGES_MAX   8

static uint64_t state;
static uint32_t chance(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 11) % below);
}

enum kind { PLAIN, LOADER, WEAK, SOFT, ARRAY };

/* Nodes: classes first. */
struct naive {
    int classes, objects;
    uint64_t id[ALL_MAX];
    enum kind kind[CLASSES_MAX];
    int super[CLASSES_MAX], loader[CLASSES_MAX], fields[CLASSES_MAX];
    int statics[CLASSES_MAX][EDGES_MAX], static_count[CLASSES_MAX];
    int class_of[NODES_MAX], length[NODES_MAX]; /* class -1: bytes */
    int to[NODES_MAX][EDGES_MAX];               /* node or -1 */
    int roots[NODES_MAX], root_count;
};

enum {
    OBJECT,
    CLASS_LOADER_CLASS,
    REFERENCE,
    SOFT_REFERENCE,
    WEAK_REFERENCE,
    ARRAYS,
    STRING,
    FIRST_OWN
};

static int all_fields(const struct naive *g, int class)
{
    int count = 0;
    for (; class >= 0; class = g->super[class])
        count += g->fields[class];
    return count;
}

static int pick(const struct naive *g)
{
    uint32_t all = (uint32_t)(g->classes + g->objects), n = chance(all * 5 / 4 + 1);
    return n < all ? (int)n : -1;
}

static void make_addresses(struct naive *g)
{
    int nodes = g->classes + g->objects, order[ALL_MAX];
    uint64_t at = 0x10000;
    for (int i = 0; i < nodes; i++)
        order[i] = i;
    for (int i = nodes - 1; i > 0; i--) {
        int k = (int)chance((uint32_t)i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < nodes; i++) {
        at += 8 * (1 + (uint64_t)chance(chance(10) == 0 ? 3000 : 12));
        g->id[order[i]] = at;
    }
}

static void make_own_class(struct naive *g, int c)
{
    g->super[c] = chance(6) == 0   ? CLASS_LOADER_CLASS
                  : chance(8) == 0 ? SOFT_REFERENCE
                  : chance(8) == 0 ? WEAK_REFERENCE
                                   : OBJECT;
    if (c > FIRST_OWN && chance(4) == 0)
        g->super[c] = FIRST_OWN + (int)chance((uint32_t)(c - FIRST_OWN));
    g->fields[c] = (int)chance(4);
    if (all_fields(g, c) > EDGES_MAX)
        g->fields[c] = 0;
    g->kind[c] = g->kind[g->super[c]];
}

/* What a string may refer to: one of the arrays of bytes so far; several may share it. */
static int pick_bytes(const struct naive *g, int so_far)
{
    for (int tries = 0; so_far > 0 && tries < 20; tries++) {
        int i = (int)chance((uint32_t)so_far);
        if (g->class_of[i] < 0)
            return g->classes + i;
    }
    return -1;
}

static void make(struct naive *g)
{
    static const int supers[] = {-1, OBJECT, OBJECT, REFERENCE, REFERENCE, OBJECT, OBJECT};
    static const enum kind kinds[] = {PLAIN, LOADER, WEAK, SOFT, WEAK, ARRAY, PLAIN};
    memset(g, 0, sizeof *g);
    g->classes = FIRST_OWN + 1 + (int)chance(CLASSES_MAX - FIRST_OWN);
    g->objects = 1 + (int)chance(NODES_MAX);
    make_addresses(g);
    for (int c = 0; c < g->classes; c++) {
        g->loader[c] = -1;
        if (c >= FIRST_OWN) {
            make_own_class(g, c);
            continue;
        }
        g->super[c] = supers[c];
        g->kind[c] = kinds[c];
        g->fields[c] = c == REFERENCE || c == STRING;
    }
    for (int i = 0; i < g->objects; i++) {
        int c = FIRST_OWN + (int)chance((uint32_t)(g->classes - FIRST_OWN));
        if (chance(5) == 0)
            c = chance(2) ? ARRAYS : chance(2) ? STRING : CLASS_LOADER_CLASS;
        g->class_of[i] = chance(10) == 0 ? -1 : c;
        g->length[i] = g->class_of[i] < 0 ? (int)chance(40)
                       : c == ARRAYS      ? (int)chance(EDGES_MAX + 1)
                                          : all_fields(g, c);
        for (int k = 0; g->class_of[i] >= 0 && k < g->length[i]; k++)
            g->to[i][k] = c == STRING ? pick_bytes(g, i) : pick(g);
    }
    for (int c = FIRST_OWN; c < g->classes; c++) {
        for (int tries = 0; tries < 12 && g->loader[c] < 0; tries++) {
            int i = (int)chance((uint32_t)g->objects);
            if (g->class_of[i] >= 0 && g->kind[g->class_of[i]] == LOADER)
                g->loader[c] = g->classes + i;
        }
        g->static_count[c] = (int)chance(3);
        for (int s = 0; s < g->static_count[c]; s++)
            g->statics[c][s] = pick(g);
    }
    g->root_count = 1 + (int)chance(4);
    for (int i = 0; i < g->root_count; i++)
        g->roots[i] = (int)chance((uint32_t)(g->classes + g->objects));
}

static uint64_t id_of(const struct naive *g, int node)
{
    return node < 0 ? 0 : g->id[node];
}

static void put_object(struct hprof *out, const struct naive *g, int i)
{
    uint64_t id = g->id[g->classes + i];
    if (g->class_of[i] < 0) {
        hprof_primitive_array(out, id, TYPE_BYTE, (uint32_t)g->length[i]);
        for (int k = 0; k < g->length[i]; k++)
            hprof_number(out, 0x21, 1);
        return;
    }
    if (g->class_of[i] == ARRAYS)
        hprof_object_array(out, id, g->id[ARRAYS], (uint32_t)g->length[i]);
    else
        hprof_instance(out, id, g->id[g->class_of[i]], (uint32_t)(g->length[i] * out->id_size));
    for (int k = 0; k < g->length[i]; k++)
        hprof_id(out, id_of(g, g->to[i][k]));
}

static void put_class(struct hprof *out, const struct naive *g, int c, uint64_t referent,
                      uint64_t field)
{
    struct hprof_field fields[EDGES_MAX], statics[EDGES_MAX];
    for (int k = 0; k < g->fields[c]; k++)
        fields[k] = (struct hprof_field){c == REFERENCE ? referent : field, 0, TYPE_OBJECT};
    for (int s = 0; s < g->static_count[c]; s++)
        statics[s] = (struct hprof_field){field, id_of(g, g->statics[c][s]), TYPE_OBJECT};
    hprof_class(out, g->id[c], id_of(g, g->super[c]), id_of(g, g->loader[c]), statics,
                g->static_count[c], fields, g->fields[c]);
}

static void write_dump(struct hprof *out, const struct naive *g)
{
    static const char *const names[] = {"java/lang/Object",
                                        "java/lang/ClassLoader",
                                        "java/lang/ref/Reference",
                                        "java/lang/ref/SoftReference",
                                        "java/lang/ref/WeakReference",
                                        "[Ljava/lang/Object;",
                                        "java/lang/String"};
    bool late = chance(10) == 0; /* classes behind the objects, as no HotSpot writes them */
    hprof_begin(out, chance(2) ? 2 : 1, chance(2) ? 8 : 4);
    out->one_dump = chance(4) == 0;
    uint64_t referent = hprof_name(out, "referent"), field = hprof_name(out, "field");
    for (int c = 0; c < g->classes; c++) {
        char name[32];
        snprintf(name, sizeof name, "com/acme/C%d", c);
        hprof_load_class(out, g->id[c], c < FIRST_OWN ? names[c] : name);
    }
    for (int c = 0; !late && c < g->classes; c++)
        put_class(out, g, c, referent, field);
    /* By address, as most collectors do, or in any order. */
    int order[NODES_MAX];
    bool by_address = chance(2) == 0;
    for (int i = 0; i < g->objects; i++) {
        order[i] = i;
        for (int k = i;
             by_address && k > 0 && g->id[g->classes + order[k]] < g->id[g->classes + order[k - 1]];
             k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    }
    for (int i = 0; i < g->objects; i++) {
        put_object(out, g, order[i]);
        if (!out->one_dump && chance(6) == 0)
            hprof_close_segment(out);
    }
    for (int c = 0; late && c < g->classes; c++)
        put_class(out, g, c, referent, field);
    for (int i = 0; i < g->root_count; i++)
        hprof_root(out, chance(2) ? 0x05 : 0x01, g->id[g->roots[i]]);
    hprof_end(out);
}

/* --- the naive implementation ------------------------------------------------------------------ */

struct reach {
    int distance[ALL_MAX]; /* 1: a root; 0: not reached */
    int queue[ALL_MAX], tail, without;
};

static void reach(struct reach *r, int node, int from)
{
    if (node < 0 || node == r->without || r->distance[node] != 0)
        return;
    r->distance[node] = from + 1;
    r->queue[r->tail++] = node;
}

/* without: a node that is not there, -1. soft: through soft references as well. */
static void distances(const struct naive *g, int without, bool soft, struct reach *r)
{
    memset(r, 0, sizeof *r);
    r->without = without;
    for (int i = 0; i < g->root_count; i++)
        reach(r, g->roots[i], 0);
    for (int c = 0; c < g->classes; c++) { /* those of the boot loader */
        if (g->loader[c] < 0)
            reach(r, c, 0);
    }
    for (int head = 0; head < r->tail; head++) {
        int node = r->queue[head], d = r->distance[node], i = node - g->classes;
        if (i < 0) {
            reach(r, g->super[node], d);
            reach(r, g->loader[node], d);
            for (int s = 0; s < g->static_count[node]; s++)
                reach(r, g->statics[node][s], d);
            continue;
        }
        int c = g->class_of[i];
        if (c < 0)
            continue;
        reach(r, c, d);
        for (int k = 0; g->kind[c] == LOADER && k < g->classes; k++) {
            if (g->loader[k] == node)
                reach(r, k, d);
        }
        for (int k = 0; k < g->length[i]; k++) {
            /* The referent is the last field: Reference is the topmost class that has one. */
            bool weak = g->kind[c] == WEAK || g->kind[c] == SOFT;
            if (!weak || k != g->length[i] - 1 || (soft && g->kind[c] == SOFT))
                reach(r, g->to[i][k], d);
        }
    }
}

/* --- both -------------------------------------------------------------------------------------- */

static int length_of(const struct heap *heap, const struct walk *walk, uint32_t node)
{
    int length = 1;
    while ((node = walk->parent[heap_inner_slot(heap, node)]) < heap_nodes(heap))
        length++;
    return length;
}

static int64_t bytes_of(const struct naive *g, const struct heap *heap, const uint32_t *node_of,
                        int node)
{
    int i = node - g->classes;
    if (i < 0)
        return heap_class_bytes(heap, node_of[node]);
    int c = g->class_of[i];
    const struct heap_object object = {.class_id = c < 0 ? 0 : g->id[c],
                                       .type = c < 0         ? TYPE_BYTE
                                               : c == ARRAYS ? TYPE_OBJECT
                                                             : 0,
                                       .elements = (uint32_t)g->length[i]};
    return heap_object_bytes(heap, &object);
}

static void weigh(void *context, const struct heap_object *object)
{
    struct retained *retained = context;
    assert_true(object->there > 0 || object->bytes != NULL);
    if (retained_among(retained, object->id, object->id))
        retained_weigh(retained, object);
}

static void compare_retained(const struct naive *g, struct heap *heap, const struct hprof *dump,
                             const uint32_t *node_of, const struct reach *strong, uint64_t seed)
{
    static struct reach gone;
    struct retained retained;
    uint32_t keepers[2 * ALL_MAX], count = 0;
    /* Loaders, and any other node that a path may pass; some twice. */
    for (int i = 0; i < g->classes + g->objects; i++) {
        if (!heap_is_inner(heap, node_of[i]))
            continue;
        bool loader = heap_loader_of_node(heap, node_of[i]) != NO_OBJECT;
        for (uint32_t k = chance(loader ? 3 : 8); k > 0 && k < 3; k--)
            keepers[count++] = node_of[i];
    }
    assert_true(retained_create(&retained, heap, keepers, count));
    assert_true(retained_first(&retained));
    assert_true(retained_rest(&retained));
    hprof_fetch(heap, dump->bytes, dump->length, 16 + chance(4000), weigh, &retained);
    assert_true(retained_sum(&retained));
    for (int i = 0; i < g->classes + g->objects; i++) {
        int c = i < g->classes ? -1 : g->class_of[i - g->classes];
        uint32_t keeper = retained_keeper(&retained, node_of[i]);
        assert_int_equal(heap_loader_of_node(heap, node_of[i]) != NO_OBJECT,
                         c >= 0 && g->kind[c] == LOADER);
        if (keeper == NO_OBJECT || strong->distance[i] == 0)
            continue;
        int64_t bytes = 0, objects = 0;
        distances(g, i, false, &gone);
        for (int k = 0; k < g->classes + g->objects; k++) {
            if (strong->distance[k] > 0 && gone.distance[k] == 0) {
                bytes += bytes_of(g, heap, node_of, k);
                objects++;
            }
        }
        if (retained.objects[keeper] != objects || retained.bytes[keeper] != bytes)
            fail_msg("seed %d: node %d retains %d objects, not %d", (int)seed, i,
                     (int)retained.objects[keeper], (int)objects);
    }
    retained_destroy(&retained);
}

static void compare(const struct naive *g, struct heap *heap, const struct hprof *dump,
                    uint64_t seed)
{
    static struct reach strong, soft;
    int nodes = g->classes + g->objects;
    uint32_t node_of[ALL_MAX];
    struct walk walk, marks;
    distances(g, -1, false, &strong);
    distances(g, -1, true, &soft);
    assert_true(walk_create(&walk, heap, true));
    walk_roots(&walk, false);
    assert_true(walk_run(&walk));
    assert_true(walk_create(&marks, heap, false));
    walk_roots(&marks, false);
    assert_true(walk_run(&marks));
    for (int i = 0; i < nodes; i++) {
        int wanted = strong.distance[i];
        node_of[i] = heap_node_of(heap, g->id[i]);
        assert_int_not_equal(node_of[i], NO_OBJECT);
        assert_true(heap_id_of(heap, node_of[i]) == g->id[i]);
        if (walk_marked(&marks, node_of[i]) != (wanted > 0))
            fail_msg("seed %d: node %d is %sheld", (int)seed, i, wanted > 0 ? "" : "not ");
        bool inner = heap_is_inner(heap, node_of[i]);
        assert_int_equal(walk_marked(&walk, node_of[i]), inner && wanted > 0);
        if (wanted > 0 && inner && length_of(heap, &walk, node_of[i]) != wanted)
            fail_msg("seed %d: node %d is %d steps away, not %d", (int)seed, i,
                     length_of(heap, &walk, node_of[i]), wanted);
    }
    assert_true(walk_run_soft(&walk) && walk_run_soft(&marks));
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(walk_marked(&marks, node_of[i]), soft.distance[i] > 0);
        if (heap_is_inner(heap, node_of[i]))
            assert_int_equal(walk_marked(&walk, node_of[i]), soft.distance[i] > 0);
    }
    walk_destroy(&walk);
    walk_destroy(&marks);
    compare_retained(g, heap, dump, node_of, &strong, seed);
}

static void random_graphs(void **unused)
{
    (void)unused;
    static struct naive g;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct hprof out;
        struct heap heap;
        state = seed * UINT64_C(0x9E3779B97F4A7C15);
        make(&g);
        write_dump(&out, &g);
        if (!hprof_read(&heap, out.bytes, out.length, 16 + chance(4000)))
            fail_msg("seed %d: %s", (int)seed, heap.error);
        assert_int_equal(heap.counts.damaged, 0);
        assert_int_equal(heap.counts.unknown_tags, 0);
        assert_int_equal(heap.counts.classless, 0);
        assert_int_equal(heap.ids.count, g.objects);
        assert_int_equal(heap.counts.classes, g.classes);
        assert_false(heap.truncated);
        compare(&g, &heap, &out, seed);
        heap_destroy(&heap);
        free(out.bytes);
    }
}

/* Any front of a dump is read as far as it goes. */
static void truncated(void **unused)
{
    (void)unused;
    static struct naive g;
    struct hprof out;
    state = 77;
    make(&g);
    write_dump(&out, &g);
    for (size_t length = 0; length < out.length; length++) {
        struct heap heap;
        uint8_t *copy = malloc(length + 1);
        memcpy(copy, out.bytes, length);
        if (hprof_read(&heap, copy, length, 64)) {
            struct walk walk;
            assert_true(walk_create(&walk, &heap, true));
            walk_roots(&walk, false);
            assert_true(walk_run(&walk));
            walk_destroy(&walk);
        } else {
            assert_string_not_equal(heap.error, "");
        }
        heap_destroy(&heap);
        free(copy);
    }
    free(out.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(truncated),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("heap/graph", tests, NULL, NULL);
}
