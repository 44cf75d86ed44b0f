#include "analyzers/heap/holders.h"

#include "analyzers/classes/family.h"
#include "analyzers/model/texts.h"
#include "analyzers/classes/normalize.h"
#include "analyzers/parse/class_tables.h"

#include <stdarg.h>
#include <stdio.h>
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

const struct holder_cause holder_causes[] = {
#define HOLDER(id, pattern, title, cause, fix, example) {id, pattern, title, cause, fix, example},
#include "analyzers/heap/holders.def"
};
const int holder_cause_count = sizeof holder_causes / sizeof *holder_causes;

int holder_cause_of(const char *path)
{
    for (int i = 0; i < holder_cause_count; i++) {
        if (span_fits_one(span_from_cstr(path), holder_causes[i].pattern, span_is_like))
            return i;
    }
    return -1;
}

/* --- following fields -------------------------------------------------------------------------- */

static const struct heap_ref_field *field_at(const struct heap *heap, const struct heap_row *row)
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
        const struct heap_ref_field *field = field_at(heap, &row);
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

static uint32_t follow(const struct heap *heap, uint32_t node, const char *path)
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
    uint32_t array = field_of(heap, node, "value", 5);
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

static const char *text_of(const struct holders *holders, uint32_t node)
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

/* Fields that name what a loader loads for, the best first. */
static const char *const NAME_FIELDS[] = {
    "resources>context>name", /* Tomcat */
    "contextName",
    "_context>_contextPath", /* older Tomcat, Jetty */
    "_name",
    "module>identifier>name",
    "module>name", /* Jetty, JBoss Modules */
    "bundle>symbolicName",
    "name",                          /* Felix; java.lang.ClassLoader */
    "ucp>path>elementData>[0]>file", /* java.net.URLClassLoader */
    "ucp>path>elementData>[0]>path",
    "ucp>searchPath>elementData>[0]>file", /* JDK 27 */
    "ucp>searchPath>elementData>[0]>path",
};
#define NAME_FIELD_COUNT (sizeof NAME_FIELDS / sizeof NAME_FIELDS[0])

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

/* Threads that a path begins at or passes. */
static void want_threads(struct holders *holders, const struct holder_chain *chain)
{
    const struct heap *heap = holders->heap;
    for (uint32_t i = 0; i < chain->count; i++) {
        uint32_t node = chain->nodes[i];
        uint32_t class = node < heap->class_count ? NO_CLASS : heap_class_of_node(heap, node);
        if (class != NO_CLASS && heap->classes[class].traits & CLASS_THREAD)
            want_text(holders, field_of(heap, node, "name", 4));
    }
}

static void want_root_threads(struct holders *holders)
{
    const struct heap *heap = holders->heap;
    for (uint32_t i = 0; i < heap->root_count; i++) {
        if (heap->roots[i].kind == ROOT_THREAD && heap->roots[i].node != NO_OBJECT)
            want_text(holders, field_of(heap, heap->roots[i].node, "name", 4));
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
    if (holders->loaders == NULL)
        return false;
    for (uint32_t i = 0; i < heap->loader_count; i++) {
        if (!asked[i])
            continue;
        uint32_t node = heap->loader_node[i];
        struct held_loader *own = &holders->loaders[holders->loader_count++];
        own->loader = i;
        own->class = heap_class_of_node(heap, node);
        own->id = heap_id_of(heap, node);
        own->held = HELD_BY_NOTHING;
        own->classes = heap->loader_class_first[i + 1] - heap->loader_class_first[i];
        own->path = -1;
        for (size_t k = 0; k < NAME_FIELD_COUNT; k++)
            want_text(holders, follow(heap, node, NAME_FIELDS[k]));
        if (!walk_marked(walk, node))
            continue;
        if (!find_chain(walk, node, &own->chain))
            return false;
        own->held = strong[i]                                               ? HELD_STRONGLY
                    : heap->roots[own->chain.root].kind == ROOT_CLASS_FIELD ? HELD_BY_HIDDEN
                                                                            : HELD_SOFTLY;
        want_threads(holders, &own->chain);
    }
    want_root_threads(holders);
    return !holders->failed;
}

/* --- paths ------------------------------------------------------------------------------------- */

/* NULL: out of memory. */
__attribute__((format(printf, 1, 2))) static char *formatted(const char *format, ...)
{
    char *text;
    va_list values;
    va_start(values, format);
    int length = vasprintf(&text, format, values);
    va_end(values);
    return length < 0 ? NULL : text;
}

/* Numbers become N: "pool-3-thread-12" -> "pool-N-thread-N". */
static char *fold_numbers(const char *text)
{
    char *out = strdup(text), *to = out;
    for (const char *from = text; out != NULL && *from != '\0';) {
        if (*from >= '0' && *from <= '9') {
            *to++ = 'N';
            while (*from >= '0' && *from <= '9')
                from++;
        } else {
            *to++ = *from++;
        }
    }
    if (out != NULL)
        *to = '\0';
    return out;
}

static const struct heap_root *thread_of(const struct heap *heap, uint32_t serial)
{
    for (uint32_t i = 0; i < heap->root_count; i++) {
        if (heap->roots[i].kind == ROOT_THREAD && heap->roots[i].thread == serial)
            return &heap->roots[i];
    }
    return NULL;
}

static char *place_of(const struct heap *heap, const struct heap_root *thread, uint32_t frame)
{
    for (uint32_t i = 0; i < heap->trace_count; i++) {
        const struct heap_trace *trace = &heap->traces[i];
        if (trace->serial != thread->frame || frame >= trace->count)
            continue;
        for (uint32_t k = 0; k < heap->frame_count; k++) {
            if (heap->frames[k].id != heap->trace_frames[trace->first + frame])
                continue;
            uint32_t class = id_table_get(&heap->class_of_serial, heap->frames[k].class_serial);
            return formatted("%s.%s", class != ID_TABLE_NONE ? heap->classes[class].name : "",
                             heap_name(heap, heap->frames[k].method_id));
        }
    }
    return NULL;
}

/* What a thread was made to run, where it is not its own class: the workers of executors. */
static const char *task_of(const struct heap *heap, uint32_t thread)
{
    uint32_t task = thread == NO_OBJECT ? NO_OBJECT : follow(heap, thread, "holder>task");
    if (task == NO_OBJECT && thread != NO_OBJECT)
        task = follow(heap, thread, "target");
    uint32_t class = task == NO_OBJECT ? NO_CLASS : heap_class_of_node(heap, task);
    if (class == NO_CLASS && thread != NO_OBJECT)
        class = heap_class_of_node(heap, thread);
    const char *name = class == NO_CLASS ? NULL : heap->classes[class].name;
    return name == NULL || strcmp(name, "java.lang.Thread") == 0 ? NULL : name;
}

static void describe_root(struct holders *holders, struct holder_path *path, uint32_t number)
{
    const struct heap *heap = holders->heap;
    const struct heap_root *root = &heap->roots[number], *thread = NULL;
    path->root_kind = root->kind;
    if (root->kind == ROOT_THREAD)
        thread = root;
    else if (root->thread != 0)
        thread = thread_of(heap, root->thread);
    const char *name = thread == NULL || thread->node == NO_OBJECT
                           ? NULL
                           : text_of(holders, field_of(heap, thread->node, "name", 4));
    const char *kind = root_kinds[path->root_kind].words,
               *runs = thread == NULL ? NULL : task_of(heap, thread->node);
    path->root = formatted("%s%s%s%s%s%s", kind, name != NULL ? " \"" : "",
                           name != NULL ? name : "", name != NULL ? "\"" : "",
                           runs != NULL ? " that runs " : "", runs != NULL ? runs : "");
    path->root_folded = path->root != NULL ? fold_numbers(path->root) : NULL;
    if (thread != NULL && root->kind == ROOT_JAVA_FRAME)
        path->root_place = place_of(heap, thread, root->frame);
    holders->failed = holders->failed || path->root == NULL || path->root_folded == NULL;
}

/* "java.lang.Object[]" and 3 -> "java.lang.Object[3]" */
static char *element_text(const char *array, const char *index)
{
    size_t length = strlen(array);
    if (length >= 2 && memcmp(array + length - 2, "[]", 2) == 0)
        length -= 2;
    return formatted("%.*s[%s]", (int)length, array, index);
}

/* How `from` refers to `to`. */
static void describe_step(struct holders *holders, struct holder_step *step, uint32_t from,
                          uint32_t to)
{
    const struct heap *heap = holders->heap;
    memset(step, 0, sizeof *step);
    step->times = 1;
    step->id = heap_id_of(heap, from);
    if (from < heap->class_count) {
        const struct dumped_class *class = &heap->classes[from];
        step->type = strdup(class->name);
        step->is_static = step->of_class = true;
        for (uint32_t i = heap->class_edge_first[from]; i < heap->class_edge_first[from + 1]; i++) {
            if (heap->class_edge_to[i] != to)
                continue;
            uint32_t name = heap->class_edge_name[i];
            const char *words = name == EDGE_SUPER     ? "<superclass>"
                                : name == EDGE_LOADER  ? "<class loader>"
                                : name == EDGE_SIGNERS ? "<signers>"
                                : name == EDGE_DOMAIN  ? "<protection domain>"
                                                       : NULL;
            step->is_static = words == NULL;
            step->text = words != NULL ? strdup(words)
                                       : formatted("%s.%s", class->name,
                                                   heap_name(heap, heap->statics[name].name_id));
            break;
        }
    } else {
        struct heap_row row;
        heap_row_of(heap, from, &row);
        const struct dumped_class *class = row.class != NO_CLASS ? &heap->classes[row.class] : NULL;
        step->type = strdup(class != NULL ? class->name : "?");
        while (step->text == NULL && heap_row_next(&row)) {
            if (heap_node_at(heap, row.to) != to)
                continue;
            const struct heap_ref_field *field = field_at(heap, &row);
            if (field != NULL) {
                step->text = formatted("%s.%s", heap->classes[field->declared_by].name,
                                       heap_name(heap, heap->fields[field->field].name_id));
            } else {
                char index[24];
                snprintf(index, sizeof index, "%u", row.position - 1);
                step->text = element_text(step->type != NULL ? step->type : "", index);
                step->folded = element_text(step->type != NULL ? step->type : "", "*");
            }
        }
        if (step->text == NULL)
            step->text = strdup(row.class == to ? "<class>" : "<defined class>");
    }
    if (step->text == NULL)
        step->text = strdup("?");
    if (step->folded == NULL)
        step->folded = step->text;
    holders->failed = holders->failed || step->text == NULL || step->type == NULL;
}

static void free_step(struct holder_step *step)
{
    if (step->folded != step->text)
        free((void *)(uintptr_t)step->folded);
    free(step->text);
    free(step->type);
}

/* Part of the application that is left behind: the loader, its classes, their instances. */
static bool belongs_to(const struct heap *heap, uint32_t node, uint32_t loader_node)
{
    if (node == loader_node)
        return true;
    uint32_t class = node < heap->class_count ? node : heap_class_of_node(heap, node);
    return class != NO_CLASS && heap->classes[class].loader_id == heap_id_of(heap, loader_node);
}

static bool of_jdk(const char *type)
{
    return class_name_is_of_jdk(span_from_cstr(type)) ||
           (strchr(type, '.') == NULL && strchr(type, '[') != NULL); /* int[] */
}

/* A loader that was not asked about. */
static bool of_jvm(const struct holders *holders, uint32_t node)
{
    uint32_t loader = heap_loader_of_node(holders->heap, node);
    return loader != NO_OBJECT && !holders->asked[loader];
}

static void add_step(struct holder_path *path, struct holder_step *step)
{
    struct holder_step *last = path->step_count > 0 ? &path->steps[path->step_count - 1] : NULL;
    if (last != NULL && step->times > 0 && last->times > 0 &&
        strcmp(last->folded, step->folded) == 0) {
        last->times += step->times;
        free_step(step);
        return;
    }
    path->steps[path->step_count++] = *step;
}

/* Loaders that live as long as the JVM hold their classes: who holds those loaders is no matter. */
#define ROOT_OF_JVM "class of a loader of the JVM"

static void sign(struct holders *holders, struct holder_path *path, int from)
{
    const char *root = from > 0 ? ROOT_OF_JVM : path->root_folded;
    size_t length = strlen(root) + 1;
    for (int i = from; i < path->step_count; i++)
        length += strlen(path->steps[i].folded) + 3;
    path->signature = malloc(length);
    if (path->signature == NULL) {
        holders->failed = true;
        return;
    }
    char *at = stpcpy(path->signature, root);
    for (int i = from; i < path->step_count; i++)
        at = stpcpy(stpcpy(at, " > "), path->steps[i].folded);
}

/* The path to a loader, named. */
static bool find_path(struct holders *holders, const struct held_loader *own,
                      struct holder_path *path)
{
    const struct heap *heap = holders->heap;
    const struct holder_chain *chain = &own->chain;
    uint32_t target = heap->loader_node[own->loader];
    memset(path, 0, sizeof *path);
    path->cause = path->cut = -1;
    path->example = own->loader;
    path->held = own->held;
    path->length = chain->length;
    path->steps = calloc((size_t)chain->count + 1, sizeof *path->steps);
    if (path->steps == NULL) {
        holders->failed = true;
        return false;
    }
    describe_root(holders, path, chain->root);
    int crossing = -1, owned = -1, own_part = 0;
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        uint32_t from = chain->nodes[i], to = chain->nodes[i + 1];
        struct holder_step step;
        if (chain->count < chain->length && i + 1 == chain->count / 2) {
            step = (struct holder_step){.text = strdup("..."), .type = strdup("?"), .times = 0};
            step.folded = step.text;
            add_step(path, &step);
            continue;
        }
        describe_step(holders, &step, from, to);
        bool jdk = step.type != NULL && of_jdk(step.type);
        add_step(path, &step);
        if (to < heap->class_count && of_jvm(holders, from))
            own_part = path->step_count;
        if (crossing < 0) {
            if (!jdk && !belongs_to(heap, from, target))
                owned = path->step_count - 1;
            if (belongs_to(heap, to, target))
                crossing = path->step_count - 1;
        }
    }
    path->cut = owned >= 0 ? owned : crossing;
    if (holders->failed || path->root_folded == NULL)
        return false;
    sign(holders, path, own_part);
    if (path->signature != NULL)
        path->cause = holder_cause_of(path->signature);
    return !holders->failed;
}

static void free_path(struct holder_path *path)
{
    for (int i = 0; i < path->step_count; i++)
        free_step(&path->steps[i]);
    free(path->steps);
    free(path->root);
    free(path->root_folded);
    free(path->root_place);
    free(path->signature);
}

/* --- groups ------------------------------------------------------------------------------------ */

static const char *group_name(const struct held_loader *own)
{
    return own->name != NULL ? own->name : "";
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static int by_group(const void *a, const void *b, void *context)
{
    const struct held_loader *x = a, *y = b;
    const struct heap *heap = context;
    return strcmp(heap->classes[x->class].name, heap->classes[y->class].name)
               ?: strcmp(group_name(x), group_name(y)) ?: compare_numbers(x->loader, y->loader);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t different(uint64_t *hashes, int64_t count)
{
    int64_t names = 0;
    if (count > 0)
        qsort(hashes, (size_t)count, sizeof *hashes, by_number);
    for (int64_t i = 0; i < count; i++)
        names += i == 0 || hashes[i] != hashes[i - 1];
    return names;
}

/* Reflection makes one for each method that is called often: never a leak of its own. */
static bool of_reflection(const char *type)
{
    return strcmp(type, "jdk.internal.reflect.DelegatingClassLoader") == 0 ||
           strcmp(type, "sun.reflect.DelegatingClassLoader") == 0;
}

#define SAME_STEMS_MIN 10 /* loaders with a generated class each */

/* Are these one application loaded several times? */
static void weigh(struct holders *holders, struct holder_group *group,
                  const struct held_loader *first, uint32_t count)
{
    const struct heap *heap = holders->heap;
    int64_t most = 0, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        group->classes += first[i].classes;
        group->held[first[i].held]++;
        group->retained_bytes += first[i].retained_bytes;
        most = first[i].classes > most ? first[i].classes : most;
    }
    uint64_t *names = malloc(((size_t)group->classes + 1) * 2 * sizeof *names);
    if (names == NULL) {
        holders->failed = true;
        return;
    }
    uint64_t *stems = names + group->classes;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = heap->loader_class_first[first[i].loader];
             k < heap->loader_class_first[first[i].loader + 1]; k++) {
            const char *name = heap->classes[heap->loader_class[k]].name;
            struct name_parts parts;
            char stem[STEM_MAX];
            normalize(span_of(name, strlen(name)), stem, &parts);
            names[at] = hash_text(name);
            stems[at++] = hash_text(stem);
        }
    }
    group->names = different(names, group->classes);
    group->duplicates = group->classes - group->names;
    int64_t same_stem = group->classes - different(stems, group->classes);
    free(names);
    uint32_t alive = count - group->held[HELD_BY_NOTHING];
    bool copies = group->duplicates > 0 && group->duplicates * 2 >= group->classes - most;
    bool scripts =
        count >= SAME_STEMS_MIN && same_stem > 0 && same_stem * 2 >= group->classes - most;
    bool several = alive > 1 && (copies || scripts) && !of_reflection(group->type);
    group->suspect = several && alive - group->held[HELD_SOFTLY] > 1;
    group->softly = several && !group->suspect;
}

static bool keep_path(struct holders *holders, struct held_loader *own)
{
    struct holder_path path;
    if (!find_path(holders, own, &path)) {
        free_path(&path);
        return false;
    }
    for (int i = holders->path_count; i-- > 0;) {
        struct holder_path *known = &holders->paths[i];
        if (own->group != known->group)
            break;
        if (known->held != path.held || strcmp(known->signature, path.signature) != 0)
            continue;
        known->loaders++;
        known->retained_bytes += own->retained_bytes;
        own->path = i;
        free_path(&path);
        return true;
    }
    if (!array_room(&holders->paths, &holders->path_capacity, (size_t)holders->path_count + 1,
                    sizeof *holders->paths)) {
        free_path(&path);
        return false;
    }
    path.group = own->group;
    path.loaders = 1;
    path.retained_bytes = own->retained_bytes;
    own->path = holders->path_count;
    holders->paths[holders->path_count++] = path;
    return true;
}

static int by_loaders(const void *a, const void *b, void *context)
{
    const struct holder_path *paths = context;
    const struct holder_path *x = &paths[*(const int *)a], *y = &paths[*(const int *)b];
    return compare_numbers(x->held == HELD_SOFTLY, y->held == HELD_SOFTLY)
               ?: compare_numbers(y->loaders, x->loaders) ?: strcmp(x->signature, y->signature);
}

static bool list_paths(struct holders *holders, struct holder_group *group, int first)
{
    group->path_count = holders->path_count - first;
    group->paths = malloc(((size_t)group->path_count + 1) * sizeof *group->paths);
    if (group->paths == NULL)
        return false;
    for (int i = 0; i < group->path_count; i++)
        group->paths[i] = first + i;
    if (group->path_count > 1)
        qsort_r(group->paths, (size_t)group->path_count, sizeof *group->paths, by_loaders,
                holders->paths);
    return true;
}

static int by_weight(const void *a, const void *b)
{
    const struct holder_group *x = a, *y = b;
    return compare_numbers(y->suspect, x->suspect) ?: compare_numbers(y->softly, x->softly)
               ?: compare_numbers(y->retained_bytes, x->retained_bytes)
               ?: compare_numbers(y->loaders, x->loaders)
               ?: strcmp(x->type, y->type) ?: strcmp(x->name, y->name);
}

bool holders_judge(struct holders *holders, const struct retained *retained)
{
    const struct heap *heap = holders->heap;
    for (int i = 0; i < holders->loader_count; i++) {
        struct held_loader *own = &holders->loaders[i];
        own->retained_bytes = retained->bytes[own->loader];
        own->retained_objects = retained->objects[own->loader];
        for (size_t k = 0; k < NAME_FIELD_COUNT && own->name == NULL; k++) {
            const char *text =
                text_of(holders, follow(heap, heap->loader_node[own->loader], NAME_FIELDS[k]));
            if (text != NULL && text[0] != '\0')
                own->name = strdup(text);
        }
    }
    if (holders->loader_count > 0)
        qsort_r(holders->loaders, (size_t)holders->loader_count, sizeof *holders->loaders, by_group,
                (void *)(uintptr_t)heap);
    holders->groups = calloc((size_t)holders->loader_count + 1, sizeof *holders->groups);
    if (holders->groups == NULL)
        return false;
    for (int i = 0, end; i < holders->loader_count && !holders->failed; i = end) {
        struct held_loader *own = &holders->loaders[i];
        struct holder_group *group = &holders->groups[holders->group_count];
        for (end = i + 1; end < holders->loader_count &&
                          holders->loaders[end].class == own->class &&
                          strcmp(group_name(&holders->loaders[end]), group_name(own)) == 0;)
            end++;
        group->type = heap->classes[own->class].name;
        group->name = group_name(own);
        group->loaders = (uint32_t)(end - i);
        group->metaspace_bytes = group->type_metaspace_bytes = -1;
        weigh(holders, group, own, group->loaders);
        int first_path = holders->path_count;
        for (int k = i; k < end && !holders->failed; k++) {
            holders->loaders[k].group = (uint32_t)holders->group_count;
            if (holders->loaders[k].held != HELD_BY_NOTHING &&
                !keep_path(holders, &holders->loaders[k]))
                holders->failed = true;
        }
        if (!holders->failed && !list_paths(holders, group, first_path))
            holders->failed = true;
        holders->group_count++;
    }
    if (holders->group_count > 1 && !holders->failed)
        qsort(holders->groups, (size_t)holders->group_count, sizeof *holders->groups, by_weight);
    return !holders->failed;
}

/* --- Metaspace --------------------------------------------------------------------------------- */

/* The first group of a type. */
static struct holder_group *group_of_type(struct holders *holders, const struct id_table *by_type,
                                          const char *type)
{
    uint32_t number = id_table_get(by_type, hash_text(type));
    struct holder_group *group = number != ID_TABLE_NONE ? &holders->groups[number] : NULL;
    return group != NULL && strcmp(group->type, type) == 0 ? group : NULL;
}

static bool list_types(const struct holders *holders, struct id_table *by_type)
{
    for (int i = holders->group_count; i-- > 0;) {
        if (!id_table_put(by_type, hash_text(holders->groups[i].type), (uint32_t)i))
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
    for (int i = 0; i < holders->path_count; i++)
        free_path(&holders->paths[i]);
    for (int i = 0; i < holders->text_count; i++)
        free(holders->texts[i].text);
    id_table_free(&holders->text_of);
    id_table_free(&holders->text_of_array);
    free(holders->loaders);
    free(holders->groups);
    free(holders->paths);
    free(holders->texts);
    memset(holders, 0, sizeof *holders);
}
