#include "analyzers/heap/holders_internal.h"

#include "analyzers/model/texts.h"
#include "analyzers/parse/class_tables.h"

#include <stdlib.h>
#include <string.h>

static const char *const HELD_NAMES[HELD_COUNT] = {"strong", "soft", "hidden", "none"};

const char *held_name(enum held held)
{
    return HELD_NAMES[held];
}

bool *holders_asked(const struct heap *heap)
{
    static const char *const once[] = {
        "jdk.internal.loader.ClassLoaders$AppClassLoader",
        "jdk.internal.loader.ClassLoaders$PlatformClassLoader",
        "jdk.internal.loader.ClassLoaders$BootClassLoader",
        "sun.misc.Launcher$AppClassLoader",
        "sun.misc.Launcher$ExtClassLoader",
    };
    bool *asked = calloc((size_t)heap->loader_count + 1, sizeof *asked);
    for (uint32_t i = 0; asked != NULL && i < heap->loader_count; i++) {
        const char *name = heap->classes[heap_class_of_node(heap, heap->loader_node[i])].name;
        asked[i] = true;
        for (size_t k = 0; k < sizeof once / sizeof once[0]; k++)
            asked[i] = asked[i] && strcmp(name, once[k]) != 0;
    }
    return asked;
}

/* --- following fields -------------------------------------------------------------------------- */

const struct heap_ref_field *holders_field_at(const struct heap *heap, const struct heap_row *row)
{
    if (row->class == NO_CLASS || row->is_array)
        return NULL;
    const struct dumped_class *class = &heap->classes[row->class];
    return row->position - 1 < class->ref_count ? &heap->refs[class->first_ref + row->position - 1]
                                                : NULL;
}

/* What the field of this name refers to; "[0]": the first element that is not null. */
static uint32_t field_of(const struct heap *heap, uint32_t node, const char *name, size_t length)
{
    struct heap_row row;
    if (!heap_row_of(heap, node, &row))
        return NO_OBJECT;
    while (heap_row_next(&row)) {
        const struct heap_ref_field *field = holders_field_at(heap, &row);
        if (field == NULL) {
            if (row.is_array && length == 3 && memcmp(name, "[0]", 3) == 0)
                return heap_node_at(heap, row.to);
            continue;
        }
        const char *own = heap_name(heap, heap->fields[field->field].name_id);
        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return heap_node_at(heap, row.to);
    }
    return NO_OBJECT;
}

uint32_t holders_follow(const struct heap *heap, uint32_t node, const char *path)
{
    while (node != NO_OBJECT && *path != '\0') {
        size_t length = strcspn(path, ">");
        node = field_of(heap, node, path, length);
        path += length + (path[length] == '>');
    }
    return node;
}

static bool is_of(const struct heap *heap, uint32_t node, const char *class_name)
{
    uint32_t class = node == NO_OBJECT ? NO_CLASS : heap_class_of_node(heap, node);
    return class != NO_CLASS && strcmp(heap->classes[class].name, class_name) == 0;
}

/* --- texts of strings -------------------------------------------------------------------------- */

/* A string whose text is needed; any other node is none. */
static void want_text(struct holders *holders, uint32_t node)
{
    const struct heap *heap = holders->heap;
    if (!is_of(heap, node, "java.lang.String"))
        return;
    uint64_t id = heap_id_of(heap, node);
    if (id_table_get(&holders->text_of, id) != ID_TABLE_NONE)
        return;
    uint32_t array = holders_follow(heap, node, "value");
    if (array == NO_OBJECT)
        return;
    if (!array_room(&holders->texts, &holders->text_capacity, (size_t)holders->text_count + 1,
                    sizeof *holders->texts)) {
        holders->failed = true;
        return;
    }
    uint64_t array_id = heap_id_of(heap, array);
    /* Several strings may share an array: they have its text. */
    uint32_t known = id_table_get(&holders->text_of_array, array_id);
    uint32_t number = known != ID_TABLE_NONE ? known : (uint32_t)holders->text_count;
    holders->failed = !id_table_put(&holders->text_of, id, number) || holders->failed;
    if (known != ID_TABLE_NONE)
        return;
    holders->texts[holders->text_count++].text = NULL;
    holders->failed = !id_table_put(&holders->text_of_array, array_id, number) || holders->failed;
    holders->least_wanted = MIN(holders->least_wanted, array_id);
    holders->most_wanted = MAX(holders->most_wanted, array_id);
}

const char *holders_text_of(const struct holders *holders, uint32_t node)
{
    if (node == NO_OBJECT || node < holders->heap->class_count)
        return NULL;
    uint32_t number = id_table_get(&holders->text_of, heap_id_of(holders->heap, node));
    return number == ID_TABLE_NONE ? NULL : holders->texts[number].text;
}

#define TEXT_UNITS_MAX 300

/* width 1: Latin-1; 2: UTF-16, big_endian as HPROF writes a char[]. */
static char *decode(const uint8_t *bytes, size_t length, int width, bool big_endian)
{
    size_t units = length / (size_t)width;
    units = MIN(units, TEXT_UNITS_MAX);
    char *text = malloc(units * 3 + 1), *at = text;
    for (size_t i = 0; text != NULL && i < units; i++) {
        uint32_t c = bytes[i * (size_t)width];
        if (width == 2)
            c = big_endian ? c << 8 | bytes[i * 2 + 1] : c | (uint32_t)bytes[i * 2 + 1] << 8;
        at += utf8_put(at, c == 0 || (c >= 0xd800 && c < 0xe000) ? '?' : c);
    }
    if (text != NULL)
        *at = '\0';
    return text;
}

bool holders_among(const struct holders *holders, uint64_t least_id, uint64_t most_id)
{
    if (most_id < holders->least_wanted || least_id > holders->most_wanted)
        return false;
    for (size_t i = 0; i < (size_t)1 << holders->text_of_array.log2; i++) {
        const struct id_table_slot *slot = &holders->text_of_array.slots[i];
        if (slot->number != 0 && slot->id >= least_id && slot->id <= most_id)
            return true;
    }
    return false;
}

void holders_text(struct holders *holders, const struct heap_object *object)
{
    enum heap_type type = object->type;
    if (object->id < holders->least_wanted || object->id > holders->most_wanted ||
        (type != TYPE_BYTE && type != TYPE_CHAR))
        return;
    uint32_t number = id_table_get(&holders->text_of_array, object->id);
    if (number == ID_TABLE_NONE || holders->texts[number].text != NULL)
        return;
    /* A compact string of UTF-16 has zeros in it, or the other half of each pair. */
    const uint8_t *bytes = object->bytes;
    size_t length = object->there;
    bool wide = false;
    for (size_t i = 1; type == TYPE_BYTE && length % 2 == 0 && i < length; i += 2)
        wide = wide || bytes[i] == 0;
    holders->texts[number].text = type == TYPE_CHAR ? decode(bytes, length, 2, true)
                                                    : decode(bytes, length, wide ? 2 : 1, false);
}

/* --- loaders ----------------------------------------------------------------------------------- */

enum loader_field_kind { NAME, PLACE, STOPPED };
static const struct loader_field {
    const char *path;
    enum loader_field_kind kind;
} LOADER_FIELDS[] = {
#define LOADER(path, kind, source) {path, kind},
#include "analyzers/heap/loaders.def"
};
#define LOADER_FIELD_COUNT (sizeof LOADER_FIELDS / sizeof LOADER_FIELDS[0])

bool *holders_reached(const struct walk *walk)
{
    const struct heap *heap = walk->heap;
    bool *reached = calloc((size_t)heap->loader_count + 1, sizeof *reached);
    for (uint32_t i = 0; reached != NULL && i < heap->loader_count; i++)
        reached[i] = walk_marked(walk, heap->loader_node[i]);
    return reached;
}

/* How a loader was reached, node by node; one that was. */
static bool find_chain(const struct walk *walk, uint32_t target, struct holder_chain *chain)
{
    uint32_t nodes = heap_nodes(walk->heap), count = 1, at = target;
    for (uint32_t up; (up = walk_parent(walk, at)) < nodes; at = up)
        count++;
    chain->root = walk_parent(walk, at) - nodes;
    chain->length = count;
    chain->count = count < HOLDERS_STEPS_MAX ? count : HOLDERS_STEPS_MAX;
    chain->nodes = malloc(chain->count * sizeof *chain->nodes);
    if (chain->nodes == NULL)
        return false;
    uint32_t half = chain->count / 2;
    at = target;
    for (uint32_t i = count; i-- > 0; at = walk_parent(walk, at)) {
        if (i < half)
            chain->nodes[i] = at;
        else if (count - i <= chain->count - half)
            chain->nodes[chain->count - (count - i)] = at;
        if (i == 0)
            break;
    }
    return true;
}

static void want_root_threads(struct holders *holders)
{
    const struct heap *heap = holders->heap;
    for (uint32_t i = 0; i < heap->root_count; i++) {
        if (heap->roots[i].kind == ROOT_THREAD && heap->roots[i].node != NO_OBJECT)
            want_text(holders, holders_follow(heap, heap->roots[i].node, "name"));
    }
}

/* Is there such a field at the end of the path? It may be null. */
static bool has_field(const struct heap *heap, uint32_t node, const char *path)
{
    const char *name = path;
    for (const char *to; node != NO_OBJECT && (to = strchr(name, '>')) != NULL; name = to + 1)
        node = field_of(heap, node, name, (size_t)(to - name));
    uint32_t class = node == NO_OBJECT ? NO_CLASS : heap_class_of_node(heap, node);
    if (class == NO_CLASS)
        return false;
    const struct dumped_class *of = &heap->classes[class];
    for (uint32_t i = 0; i < of->ref_count; i++) {
        const struct heap_ref_field *ref = &heap->refs[of->first_ref + i];
        if (strcmp(heap_name(heap, heap->fields[ref->field].name_id), name) == 0)
            return true;
    }
    return false;
}

/* The class whose record HotSpot wrote first: loaders that were made last come first. */
static uint32_t age_of(const struct heap *heap, uint32_t loader)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = heap->loader_class_first[loader]; i < heap->loader_class_first[loader + 1];
         i++)
        least = MIN(least, heap->classes[heap->loader_class[i]].serial);
    return least;
}

static void want_loader(struct holders *holders, struct held_loader *own)
{
    const struct heap *heap = holders->heap;
    uint32_t node = heap->loader_node[own->loader];
    for (size_t k = 0; k < LOADER_FIELD_COUNT; k++) {
        const struct loader_field *field = &LOADER_FIELDS[k];
        uint32_t to = holders_follow(heap, node, field->path);
        if (field->kind != STOPPED)
            want_text(holders, to);
        else if (to == NO_OBJECT && has_field(heap, node, field->path))
            own->stopped = true;
    }
    own->age = age_of(heap, own->loader);
}

static void name_loader(struct holders *holders, struct held_loader *own)
{
    uint32_t node = holders->heap->loader_node[own->loader];
    for (size_t k = 0; k < LOADER_FIELD_COUNT && own->name == NULL; k++) {
        const struct loader_field *field = &LOADER_FIELDS[k];
        const char *text =
            field->kind == STOPPED
                ? NULL
                : holders_text_of(holders, holders_follow(holders->heap, node, field->path));
        if (text == NULL || text[0] == '\0')
            continue;
        own->name = strdup(text);
        own->by_container = field->kind == NAME && strcmp(field->path, "name") != 0;
        holders->failed = holders->failed || own->name == NULL;
    }
}

bool holders_create(struct holders *holders, const struct heap *heap, const bool *asked,
                    const struct walk *walk, const bool *strong)
{
    memset(holders, 0, sizeof *holders);
    holders->heap = heap;
    holders->asked = asked;
    holders->least_wanted = UINT64_MAX;
    holders->loaders = calloc((size_t)heap->loader_count + 1, sizeof *holders->loaders);
    holders->group_of = malloc(((size_t)heap->loader_count + 1) * sizeof *holders->group_of);
    holders->parent = malloc(((size_t)heap->loader_count + 1) * sizeof *holders->parent);
    if (holders->loaders == NULL || holders->group_of == NULL || holders->parent == NULL)
        return false;
    for (uint32_t i = 0; i < heap->loader_count; i++) {
        uint32_t node = heap->loader_node[i], above = holders_follow(heap, node, "parent");
        holders->group_of[i] = NO_OBJECT;
        holders->parent[i] = above == NO_OBJECT ? NO_OBJECT : heap_loader_of_node(heap, above);
        if (!asked[i])
            continue;
        struct held_loader *own = &holders->loaders[holders->loader_count++];
        own->loader = i;
        own->class = heap_class_of_node(heap, node);
        own->id = heap_id_of(heap, node);
        own->held = HELD_BY_NOTHING;
        own->classes = heap->loader_class_first[i + 1] - heap->loader_class_first[i];
        own->path = own->path_now = -1;
        want_loader(holders, own);
        if (!walk_marked(walk, node))
            continue;
        if (!find_chain(walk, node, &own->chain))
            return false;
        own->held = strong[i]                                               ? HELD_STRONGLY
                    : heap->roots[own->chain.root].kind == ROOT_CLASS_FIELD ? HELD_BY_HIDDEN
                                                                            : HELD_SOFTLY;
    }
    want_root_threads(holders);
    return !holders->failed;
}

/* --- judging ----------------------------------------------------------------------------------- */

/* The copy that is in use: the one that its container has not stopped; else the most recent one, when a
 * path of its own holds it: what holds the others as well does not tell them apart. */
static void find_in_use(struct holders *holders, struct holder_group *group)
{
    uint32_t running = 0, stopped = 0, newest = group->first, as_new = 0;
    for (uint32_t i = group->first; i < group->first + group->loaders; i++) {
        const struct held_loader *own = &holders->loaders[i];
        if (own->held == HELD_BY_NOTHING || own->held == HELD_SOFTLY)
            continue;
        stopped += own->stopped;
        running += !own->stopped;
        if (!own->stopped && stopped + running > 0 && running == 1)
            group->in_use = (int)i;
        if (own->age < holders->loaders[newest].age || holders->loaders[newest].path < 0)
            newest = i;
    }
    if (stopped > 0 && running == 1) {
        group->why_in_use = IN_USE_NOT_STOPPED;
    } else {
        group->in_use = -1;
        for (uint32_t i = group->first; i < group->first + group->loaders; i++)
            as_new += holders->loaders[i].age == holders->loaders[newest].age;
        const struct held_loader *own = &holders->loaders[newest];
        if (stopped == 0 && as_new == 1 && own->path >= 0 && own->held == HELD_STRONGLY &&
            holders->paths[own->path].loaders == 1 && holders->paths[own->path].cause < 0) {
            group->in_use = (int)newest;
            group->why_in_use = IN_USE_NEWEST;
        }
    }
    if (group->in_use >= 0) {
        int path = holders->loaders[group->in_use].path;
        holders->paths[path].in_use = holders->paths[path].loaders == 1;
    }
}

/* What else holds suspect copies: their paths in a walk without the references that were cut. */
static bool take_turn(struct holders *holders, const struct walk *walk, uint32_t turn)
{
    for (int i = 0; i < holders->loader_count; i++) {
        struct held_loader *own = &holders->loaders[i];
        const struct holder_group *group = &holders->groups[own->group];
        uint32_t node = holders->heap->loader_node[own->loader];
        free(own->chain.nodes);
        memset(&own->chain, 0, sizeof own->chain);
        own->path_now = -1;
        if (!group->suspect || group->in_use == i || own->held != HELD_STRONGLY ||
            !walk_marked(walk, node))
            continue;
        if (!find_chain(walk, node, &own->chain))
            return false;
    }
    for (int i = 0; i < holders->group_count; i++) {
        if (holders->groups[i].suspect && !holder_paths_find(holders, (uint32_t)i, turn))
            return false;
    }
    return true;
}

#define TURNS_MAX 4

static bool find_further(struct holders *holders, const volatile int *give_up)
{
    for (uint32_t turn = 1; turn <= TURNS_MAX && holder_paths_cut(holders); turn++) {
        struct walk walk;
        if (turn == TURNS_MAX)
            break; /* the last path is cut as well: what that frees has to be computed */
        bool ok = walk_create(&walk, holders->heap, true);
        walk.cut = &holders->cut;
        walk.give_up = give_up;
        if (ok) {
            walk_roots(&walk, false);
            ok = walk_run(&walk) &&
                 (give_up != NULL && *give_up ? true : take_turn(holders, &walk, turn));
        }
        walk_destroy(&walk);
        if (!ok)
            return false;
        if (give_up != NULL && *give_up)
            break;
    }
    return !holders->failed;
}

/* Scripts in a cache of the application's own may be as many as it should have; what a registry keeps is a leak. */
static void judge_scripts(const struct holders *holders, struct holder_group *group)
{
    uint32_t kept = 0, alive = group->held[HELD_STRONGLY];
    for (uint32_t i = group->first; i < group->first + group->loaders; i++) {
        const struct held_loader *own = &holders->loaders[i];
        kept += own->held == HELD_STRONGLY && own->path >= 0 && holders->paths[own->path].told;
    }
    group->suspect = group->suspect || (group->scripts && alive > 1 && kept * 2 > alive);
}

bool holders_judge(struct holders *holders, const volatile int *give_up)
{
    for (int i = 0; i < holders->loader_count; i++)
        name_loader(holders, &holders->loaders[i]);
    if (holders->failed || !copies_group(holders))
        return false;
    for (int i = 0; i < holders->group_count; i++) {
        if (!holder_paths_find(holders, (uint32_t)i, 0))
            return false;
        judge_scripts(holders, &holders->groups[i]);
        if (holders->groups[i].suspect)
            find_in_use(holders, &holders->groups[i]);
    }
    return find_further(holders, give_up) && holder_paths_keep(holders);
}

/* --- sizes ------------------------------------------------------------------------------------- */

uint32_t *holders_keepers(const struct holders *holders, uint32_t *count)
{
    uint32_t *nodes =
        malloc((holders->keeper_count + (size_t)holders->loader_count + 1) * sizeof *nodes);
    *count = 0;
    for (size_t i = 0; nodes != NULL && i < holders->keeper_count; i++)
        nodes[(*count)++] = holders->keepers[i].node;
    for (int i = 0; nodes != NULL && i < holders->loader_count; i++)
        nodes[(*count)++] = holders->heap->loader_node[holders->loaders[i].loader];
    return nodes;
}

struct sum {
    const struct retained *retained;
    uint32_t *of; /* by keeper: which sum it is part of, +1 */
};

/* What the keepers of one sum retain together: those below another are in its size already. */
static int64_t sum_of(const struct sum *sum, uint32_t keeper, uint32_t part)
{
    uint32_t above = sum->retained->above[keeper];
    for (uint32_t i = 0; above < sum->retained->keeper_count && i < 1000;
         above = sum->retained->above[above], i++) {
        if (sum->of[above] == part)
            return 0;
    }
    return sum->retained->bytes[keeper];
}

static void sum_path(struct holders *holders, struct sum *sum, const struct holder_keeper *first,
                     size_t count)
{
    uint32_t part = (uint32_t)first->path + 1;
    for (size_t i = 0; i < count; i++)
        sum->of[retained_keeper(sum->retained, first[i].node)] = part;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || first[i].node != first[i - 1].node)
            holders->paths[first->path].retained_bytes +=
                sum_of(sum, retained_keeper(sum->retained, first[i].node), part);
    }
}

static int by_path(const void *a, const void *b)
{
    const struct holder_keeper *x = a, *y = b;
    return compare_numbers(x->path, y->path) ?: compare_numbers(x->node, y->node);
}

static int by_loaders(const void *a, const void *b, void *context)
{
    const struct holder_path *paths = context;
    const struct holder_path *x = &paths[*(const int *)a], *y = &paths[*(const int *)b];
    return compare_numbers(x->held == HELD_SOFTLY, y->held == HELD_SOFTLY)
               ?: compare_numbers(x->in_use, y->in_use) ?: compare_numbers(y->loaders, x->loaders)
               ?: compare_numbers(y->retained_bytes, x->retained_bytes)
               ?: compare_numbers(x->turn, y->turn) ?: strcmp(x->signature, y->signature);
}

static bool list_paths(struct holders *holders)
{
    int *next = malloc(((size_t)holders->path_count + 1) * sizeof *next);
    for (int i = 0; next != NULL && i < holders->path_count; i++)
        holders->groups[holders->paths[i].group].path_count += holders->paths[i].loaders > 0;
    for (int i = 0; next != NULL && i < holders->group_count; i++) {
        struct holder_group *group = &holders->groups[i];
        group->paths = malloc(((size_t)group->path_count + 1) * sizeof *group->paths);
        group->path_count = 0;
        holders->failed = holders->failed || group->paths == NULL;
    }
    for (int i = 0; next != NULL && !holders->failed && i < holders->path_count; i++) {
        struct holder_group *group = &holders->groups[holders->paths[i].group];
        if (holders->paths[i].loaders > 0)
            group->paths[group->path_count++] = i;
    }
    for (int i = 0; next != NULL && !holders->failed && i < holders->group_count; i++) {
        struct holder_group *group = &holders->groups[i];
        if (group->path_count > 1)
            qsort_r(group->paths, (size_t)group->path_count, sizeof *group->paths, by_loaders,
                    holders->paths);
    }
    free(next);
    return next != NULL && !holders->failed;
}

static int by_weight(const void *a, const void *b)
{
    const struct holder_group *x = a, *y = b;
    return compare_numbers(y->suspect, x->suspect) ?: compare_numbers(y->softly, x->softly)
               ?: compare_numbers(y->retained_bytes, x->retained_bytes)
               ?: compare_numbers(y->loaders, x->loaders)
               ?: strcmp(x->type, y->type) ?: strcmp(x->name, y->name);
}

bool holders_weigh(struct holders *holders, const struct retained *retained)
{
    struct sum sum = {retained, calloc((size_t)retained->keeper_count + 1, sizeof *sum.of)};
    if (sum.of == NULL)
        return false;
    /* Of a group: its loaders, and what is behind the cuts of its paths. */
    for (size_t i = 0; i < holders->keeper_count; i++)
        sum.of[retained_keeper(retained, holders->keepers[i].node)] =
            holders->paths[holders->keepers[i].path].group + 1;
    for (int i = 0; i < holders->loader_count; i++) {
        struct held_loader *own = &holders->loaders[i];
        uint32_t keeper = retained_keeper(retained, holders->heap->loader_node[own->loader]);
        own->retained_bytes = retained->bytes[keeper];
        own->retained_objects = retained->objects[keeper];
        sum.of[keeper] = own->group + 1;
    }
    for (uint32_t i = 0; i < retained->keeper_count; i++) {
        if (sum.of[i] != 0)
            holders->groups[sum.of[i] - 1].retained_bytes += sum_of(&sum, i, sum.of[i]);
    }
    memset(sum.of, 0, retained->keeper_count * sizeof *sum.of);
    if (holders->keeper_count > 0)
        qsort(holders->keepers, holders->keeper_count, sizeof *holders->keepers, by_path);
    for (size_t i = 0, end; i < holders->keeper_count; i = end) {
        for (end = i + 1;
             end < holders->keeper_count && holders->keepers[end].path == holders->keepers[i].path;)
            end++;
        sum_path(holders, &sum, &holders->keepers[i], end - i);
    }
    free(sum.of);
    if (!list_paths(holders))
        return false;
    if (holders->group_count > 1)
        qsort(holders->groups, (size_t)holders->group_count, sizeof *holders->groups, by_weight);
    return true;
}

/* --- Metaspace --------------------------------------------------------------------------------- */

/* The first group of a type. */
static struct holder_group *group_of_type(struct holders *holders, const struct id_table *by_type,
                                          const char *type)
{
    uint32_t number = id_table_get(by_type, holders_hash(type));
    struct holder_group *group = number != ID_TABLE_NONE ? &holders->groups[number] : NULL;
    return group != NULL && strcmp(group->type, type) == 0 ? group : NULL;
}

static bool list_types(const struct holders *holders, struct id_table *by_type)
{
    for (int i = holders->group_count; i-- > 0;) {
        if (!id_table_put(by_type, holders_hash(holders->groups[i].type), (uint32_t)i))
            return false;
    }
    return true;
}

/* False: the table is cut. */
static bool sum_types(struct holders *holders, const struct id_table *by_type, struct span text)
{
    struct classloader_stats stats;
    struct loader_stats_row row;
    char type[512];
    classloader_stats_begin(&stats, text);
    while (classloader_stats_next(&stats, &row)) {
        span_copy(row.type, type, sizeof type);
        struct holder_group *first = group_of_type(holders, by_type, type);
        if (first != NULL)
            first->type_metaspace_bytes =
                (first->type_metaspace_bytes > 0 ? first->type_metaspace_bytes : 0) +
                row.chunk_bytes;
    }
    return stats.total.present;
}

bool holders_metaspace(struct holders *holders, struct span loader_stats)
{
    struct id_table by_type = {0};
    bool known = list_types(holders, &by_type) && sum_types(holders, &by_type, loader_stats);
    for (int i = 0; i < holders->group_count; i++) {
        struct holder_group *group = &holders->groups[i];
        struct holder_group *first = group_of_type(holders, &by_type, group->type);
        group->type_metaspace_bytes = known && first != NULL ? first->type_metaspace_bytes : -1;
        group->metaspace_bytes = group->type_metaspace_bytes;
        if (first != NULL && first != group)
            first->metaspace_bytes = group->metaspace_bytes = -1;
    }
    id_table_free(&by_type);
    return known;
}

void holders_destroy(struct holders *holders)
{
    for (int i = 0; i < holders->loader_count; i++) {
        free(holders->loaders[i].name);
        free(holders->loaders[i].chain.nodes);
    }
    for (int i = 0; i < holders->group_count; i++)
        free(holders->groups[i].paths);
    holder_paths_free(holders);
    for (int i = 0; i < holders->text_count; i++)
        free(holders->texts[i].text);
    id_table_free(&holders->text_of);
    id_table_free(&holders->text_of_array);
    id_table_free(&holders->path_of);
    id_table_free(&holders->counted);
    id_table_free(&holders->cut.references);
    free(holders->keepers);
    free(holders->group_of);
    free(holders->parent);
    free(holders->loaders);
    free(holders->groups);
    free(holders->texts);
    memset(holders, 0, sizeof *holders);
}
