/* holder_paths: what the paths of a group are, where to cut them, and why they are there. */
#include "analyzers/heap/holders_internal.h"

#include "analyzers/classes/family.h"
#include "analyzers/model/texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct holder_cause holder_causes[] = {
#define HOLDER(id, pattern, title, cause, fix, example) {id, pattern, title, cause, fix, example},
#include "analyzers/heap/holders.def"
};
const int holder_cause_count = sizeof holder_causes / sizeof *holder_causes;

/* --- causes ------------------------------------------------------------------------------------ */

#define OF_A_STEP  1000 /* more than a pattern's characters */
#define OF_A_FIELD 2000
#define ROOT_MOST  200 /* characters of a root that count */

/* How specific the pattern ("ROOT >", "ROOT > STEP" or "STEP") is when it fits; 0: it does not.
 * root: NULL when the step is not the first; at_step: its number. */
static int fit_of(struct span pattern, const char *root, const char *step, int at_step)
{
    static const char arrow[] = " >";
    const char *at = memmem(pattern.ptr, pattern.len, arrow, sizeof arrow - 1);
    struct span of_root = {0}, of_step = pattern;
    if (at != NULL) {
        of_root = span_of(pattern.ptr, (size_t)(at - pattern.ptr));
        size_t begin = of_root.len + sizeof arrow - 1;
        begin += begin < pattern.len; /* a space */
        of_step = span_of(pattern.ptr + begin, pattern.len - begin);
        if (root == NULL || !span_is_like(span_from_cstr(root), of_root))
            return 0;
    }
    if (of_step.len > 0 && (step == NULL || !span_is_like(span_from_cstr(step), of_step)))
        return 0;
    int characters = 0, of_root_characters = 0;
    for (size_t i = 0; i < pattern.len; i++)
        characters += pattern.ptr[i] != '*';
    for (size_t i = 0; i < of_root.len; i++)
        of_root_characters += of_root.ptr[i] != '*';
    if (of_step.len > 0 && memchr(of_step.ptr, '*', of_step.len) == NULL)
        return OF_A_FIELD + at_step * ROOT_MOST + MIN(of_root_characters, ROOT_MOST - 1);
    return characters + (of_step.len > 0 ? OF_A_STEP : 0);
}

struct holder_fit holder_cause_of(const char *root, const char *const *steps, int count, int shared)
{
    struct holder_fit best = {.row = -1, .step = -1};
    int most = 0;
    for (int row = 0; row < holder_cause_count; row++) {
        const char *marks = holder_causes[row].pattern;
        for (size_t length; *marks != '\0'; marks += length + (marks[length] == '|')) {
            length = strcspn(marks, "|");
            struct span pattern = span_of(marks, length);
            for (int i = 0; i < MAX(count, 1); i++) {
                int specific =
                    fit_of(pattern, i == 0 ? root : NULL, i < count ? steps[i] : NULL, i);
                if (specific < most || specific == 0 || (specific == most && i >= shared))
                    continue;
                most = specific;
                best.row = row;
                best.step = specific > OF_A_STEP ? i : -1;
                best.of_root = memmem(marks, length, " >", 2) != NULL;
            }
        }
    }
    return best;
}

/* --- roots and steps ---------------------------------------------------------------------------- */

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

/* Numbers become N: "pool-3-thread-12" -> "pool-N-thread-N". generated: only those of generated
 * classes, "App$$Lambda$142+0x00007fef", "App$$Lambda/0x00007fef", "$Proxy12". */
static char *fold_numbers(const char *text, bool generated)
{
    char *out = strdup(text), *to = out;
    for (const char *from = text; out != NULL && *from != '\0';) {
        size_t hex = (from[0] == '+' || from[0] == '/') && from[1] == '0' && from[2] == 'x'
                         ? 3 + strspn(from + 3, "0123456789abcdef")
                         : 0;
        size_t digits = strspn(from, "0123456789");
        if (generated && !((from - text >= 9 && memcmp(from - 9, "$$Lambda$", 9) == 0) ||
                           (from - text >= 6 && memcmp(from - 6, "$Proxy", 6) == 0)))
            digits = 0;
        *to++ = digits > 0 ? 'N' : *from;
        if (hex > 0)
            *to++ = 'N';
        from += hex > 0 ? hex : digits > 0 ? digits : 1;
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

#define FORK_JOIN_WORKER "java.util.concurrent.ForkJoinWorkerThread"

/* What a thread was made to run, where it is not its own class: the workers of executors. */
static const char *task_of(const struct heap *heap, uint32_t thread)
{
    uint32_t task = thread == NO_OBJECT ? NO_OBJECT : holders_follow(heap, thread, "holder>task");
    if (task == NO_OBJECT && thread != NO_OBJECT)
        task = holders_follow(heap, thread, "target");
    uint32_t class = task == NO_OBJECT ? NO_CLASS : heap_class_of_node(heap, task);
    if (class == NO_CLASS && thread != NO_OBJECT)
        class = heap_class_of_node(heap, thread);
    const char *name = class == NO_CLASS ? NULL : heap->classes[class].name;
    return name == NULL || strcmp(name, "java.lang.Thread") == 0 ? NULL : name;
}

/* Behind a root whose thread has a class that is derived from the one of ForkJoinPool's threads. */
static const char *worker_words(const struct heap *heap, uint32_t thread)
{
    uint32_t class = heap_class_of_node(heap, thread);
    while (class != NO_CLASS && strcmp(heap->classes[class].name, FORK_JOIN_WORKER) != 0)
        class = heap->classes[class].super;
    return class != NO_CLASS ? ", a " FORK_JOIN_WORKER : "";
}

/* The loader that a node is, or that defined its class; NO_OBJECT. */
static uint32_t loader_of(const struct heap *heap, uint32_t node)
{
    if (node >= heap->class_count) {
        uint32_t own = heap_loader_of_node(heap, node);
        if (own != NO_OBJECT)
            return own;
        node = heap_class_of_node(heap, node);
    }
    uint32_t loader =
        node == NO_CLASS ? NO_OBJECT : heap_node_of(heap, heap->classes[node].loader_id);
    return loader == NO_OBJECT ? NO_OBJECT : heap_loader_of_node(heap, loader);
}

#define FAMILY_MAX 8 /* parents of a loader that are looked at */

/* The copies that a path leads into: those of a group, and of the groups of its loaders' parents. */
struct abandoned {
    uint32_t groups[FAMILY_MAX];
    int count;
};

/* Part of what is left behind: a loader of the groups or a child of one, its classes, their instances. */
static bool is_abandoned(const struct holders *holders, const struct abandoned *abandoned,
                         uint32_t node)
{
    uint32_t loader = loader_of(holders->heap, node);
    for (int i = 0; i < FAMILY_MAX && loader != NO_OBJECT; i++) {
        for (int k = 0; k < abandoned->count; k++) {
            if (holders->group_of[loader] == abandoned->groups[k])
                return true;
        }
        loader = holders->parent[loader];
    }
    return false;
}

static struct abandoned abandoned_by(const struct holders *holders, uint32_t loader)
{
    struct abandoned abandoned = {.groups = {holders->group_of[loader]}, .count = 1};
    for (int i = 0; i + 1 < FAMILY_MAX; i++) {
        loader = holders->parent[loader];
        if (loader == NO_OBJECT)
            break;
        uint32_t group = holders->group_of[loader];
        if (group != NO_OBJECT && holders->groups[group].suspect)
            abandoned.groups[abandoned.count++] = group;
    }
    return abandoned;
}

/* Behind a root: the application made the thread itself. */
#define OF_THE_APPLICATION ", of the application"

/* Its class, what it runs, or the factory of its pool is the application's. */
static bool owned_by(const struct holders *holders, const struct abandoned *abandoned,
                     uint32_t thread)
{
    static const char *const fields[] = {"",
                                         "holder>task",
                                         "target",
                                         "holder>task>this$0>threadFactory",
                                         "target>this$0>threadFactory",
                                         "pool>factory"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        uint32_t node = holders_follow(holders->heap, thread, fields[i]);
        if (node != NO_OBJECT && is_abandoned(holders, abandoned, node))
            return true;
    }
    return false;
}

/* Made in the application: its context class loader is there. It may be of a pool that others own. */
static bool made_by(const struct holders *holders, const struct abandoned *abandoned,
                    uint32_t thread)
{
    uint32_t loader = holders_follow(holders->heap, thread, "contextClassLoader");
    return loader != NO_OBJECT && is_abandoned(holders, abandoned, loader);
}

static const struct heap_root *thread_of_root(const struct heap *heap, uint32_t number)
{
    const struct heap_root *root = &heap->roots[number];
    return root->kind == ROOT_THREAD ? root
           : root->thread != 0       ? thread_of(heap, root->thread)
                                     : NULL;
}

static void describe_root(struct holders *holders, struct holder_path *path, uint32_t number)
{
    const struct heap *heap = holders->heap;
    const struct heap_root *root = &heap->roots[number], *thread = thread_of_root(heap, number);
    path->root_kind = root->kind;
    const char *name = thread == NULL || thread->node == NO_OBJECT
                           ? NULL
                           : holders_text_of(holders, holders_follow(heap, thread->node, "name"));
    const char *kind = root_kinds[path->root_kind].words,
               *runs = thread == NULL ? NULL : task_of(heap, thread->node);
    bool named = name != NULL && name[0] != '\0';
    path->root =
        formatted("%s%s%s%s%s%s", kind, named ? " \"" : "", named ? name : "", named ? "\"" : "",
                  runs != NULL ? " that runs " : "", runs != NULL ? runs : "");
    path->root_folded = path->root != NULL ? fold_numbers(path->root, false) : NULL;
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

static void name_class_reference(const struct heap *heap, struct holder_step *step, uint32_t from,
                                 uint32_t to)
{
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
}

/* How `from` refers to `to`. Of an element of an array the index is not looked for: index_step. */
static void describe_step(struct holders *holders, struct holder_step *step, uint32_t from,
                          uint32_t to)
{
    const struct heap *heap = holders->heap;
    struct heap_row row;
    step->times = 1;
    step->id = heap_id_of(heap, from);
    if (from < heap->class_count) {
        name_class_reference(heap, step, from, to);
    } else {
        heap_row_of(heap, from, &row);
        step->type = strdup(row.class != NO_CLASS ? heap->classes[row.class].name : "?");
        if (row.is_array && row.class != to) {
            step->text = element_text(step->type != NULL ? step->type : "", "*");
        } else {
            while (step->text == NULL && heap_row_next(&row)) {
                const struct heap_ref_field *field = holders_field_at(heap, &row);
                if (field != NULL && heap_node_at(heap, row.to) == to)
                    step->text = formatted("%s.%s", heap->classes[field->declared_by].name,
                                           heap_name(heap, heap->fields[field->field].name_id));
            }
            if (step->text == NULL)
                step->text = strdup(row.class == to ? "<class>" : "<defined class>");
        }
    }
    if (step->text == NULL)
        step->text = strdup("?");
    step->folded = step->text;
    holders->failed = holders->failed || step->text == NULL || step->type == NULL;
}

/* Of the paths that are kept: which element it is. */
static void index_step(struct holders *holders, struct holder_step *step, uint32_t from,
                       uint32_t to)
{
    struct heap_row row;
    if (!heap_row_of(holders->heap, from, &row) || !row.is_array)
        return;
    while (heap_row_next(&row)) {
        if (heap_node_at(holders->heap, row.to) != to)
            continue;
        char index[24];
        snprintf(index, sizeof index, "%u", row.position - 1);
        char *text = element_text(step->type, index);
        if (text == NULL)
            holders->failed = true;
        else
            step->text = text;
        return;
    }
}

static void free_step(struct holder_step *step)
{
    if (step->folded != step->text)
        free((void *)(uintptr_t)step->folded);
    free(step->text);
    free(step->type);
}

static bool of_jdk(const char *type)
{
    return class_name_is_of_jdk(span_from_cstr(type)) ||
           (strchr(type, '.') == NULL && strchr(type, '[') != NULL); /* int[] */
}

/* --- paths --------------------------------------------------------------------------------------- */

static bool add_step(struct holder_path *path, struct holder_step *step)
{
    struct holder_step *last = path->step_count > 0 ? &path->steps[path->step_count - 1] : NULL;
    if (last != NULL && step->times > 0 && last->times > 0 &&
        strcmp(last->folded, step->folded) == 0) {
        last->times += step->times;
        free_step(step);
        return false;
    }
    path->steps[path->step_count++] = *step;
    return true;
}

/* Whoever holds a class that lives on does not matter: the path begins at its static field. */
#define ROOT_OF_STATIC "static field"

/* A link of a collection: "HashMap$Node.next". How long the chain is makes no other path. */
static bool is_link(const struct holder_path *path, int i)
{
    return i + 1 < path->step_count && !path->steps[i].of_class && of_jdk(path->steps[i].type) &&
           strcmp(path->steps[i].type, path->steps[i + 1].type) == 0;
}

/* Live code from a step on: one path for all that agree in it. */
static void sign(struct holders *holders, struct holder_path *path, int from)
{
    const char *root = from > 0 ? ROOT_OF_STATIC : path->root_folded;
    size_t length = strlen(root) + 1;
    for (int i = from; i <= path->live; i++)
        length += strlen(path->steps[i].folded) + 3;
    path->signature = malloc(length);
    if (path->signature == NULL) {
        holders->failed = true;
        return;
    }
    char *at = stpcpy(path->signature, root);
    for (int i = from; i <= path->live; i++) {
        if (!is_link(path, i))
            at = stpcpy(stpcpy(at, " > "), path->steps[i].folded);
    }
    char *folded = fold_numbers(path->signature + strlen(root), true);
    if (folded != NULL)
        strcpy(path->signature + strlen(root), folded);
    free(folded);
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

/* The path to a loader, named. */
static bool find_path(struct holders *holders, const struct held_loader *own, uint32_t turn,
                      struct holder_path *path)
{
    const struct heap *heap = holders->heap;
    const struct holder_chain *chain = &own->chain;
    struct abandoned abandoned = abandoned_by(holders, own->loader);
    memset(path, 0, sizeof *path);
    path->cause = path->cut = -1;
    path->turn = turn;
    path->group = own->group;
    path->example = own->loader;
    path->held = own->held;
    path->length = chain->length;
    path->steps = calloc((size_t)chain->count + 1, sizeof *path->steps);
    if (path->steps == NULL) {
        holders->failed = true;
        return false;
    }
    describe_root(holders, path, chain->root);
    path->live = -1;
    bool inside = is_abandoned(holders, &abandoned, chain->nodes[0]);
    int from_static = 0;
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        uint32_t from = chain->nodes[i], to = chain->nodes[i + 1];
        struct holder_step step = {.at = i};
        if (chain->count < chain->length && i + 1 == chain->count / 2) {
            step.text = strdup("...");
            step.type = strdup("?");
            step.folded = step.text;
        } else {
            describe_step(holders, &step, from, to);
        }
        if (holders->failed)
            return false;
        bool of_own_class = step.is_static && heap->classes[from].loader_id != 0;
        add_step(path, &step);
        if (inside)
            continue;
        path->live = path->step_count - 1;
        if (of_own_class)
            from_static = path->live;
        inside = is_abandoned(holders, &abandoned, to);
    }
    if (path->root_folded == NULL)
        return false;
    path->from = from_static;
    sign(holders, path, from_static);
    return !holders->failed;
}

/* How many nodes two chains begin with. */
static uint32_t common_of(const struct holder_chain *a, const struct holder_chain *b, uint32_t most)
{
    uint32_t i = 0;
    most = MIN(most, MIN(a->count, b->count));
    while (i < most && a->nodes[i] == b->nodes[i])
        i++;
    return i;
}

/* A loader may meet a path in several turns: it is one of its loaders once. */
static bool count_loader(struct holders *holders, const struct held_loader *own, uint32_t path)
{
    uint64_t both = (uint64_t)path << 32 | own->loader;
    if (id_table_get(&holders->counted, both) != ID_TABLE_NONE)
        return true;
    holders->paths[path].loaders++;
    return id_table_put(&holders->counted, both, 0);
}

static bool keep_path(struct holders *holders, struct held_loader *own, uint32_t turn)
{
    struct holder_path path;
    if (!find_path(holders, own, turn, &path)) {
        free_path(&path);
        return false;
    }
    uint64_t hash = holders_hash(path.signature) ^ ((uint64_t)own->group << 8 | path.held);
    uint32_t number = id_table_get(&holders->path_of, hash);
    if (number != ID_TABLE_NONE) {
        number = (uint32_t)holders->paths[number].same_as;
        struct holder_path *known = &holders->paths[number];
        if (known->turn == turn)
            known->common =
                common_of(&holders->loaders[known->first].chain, &own->chain, known->common);
        if (!count_loader(holders, own, number))
            holders->failed = true;
        own->path_now = (int)number;
        free_path(&path);
        return true;
    }
    if (!array_room(&holders->paths, &holders->path_capacity, (size_t)holders->path_count + 1,
                    sizeof *holders->paths) ||
        !id_table_put(&holders->path_of, hash, (uint32_t)holders->path_count)) {
        free_path(&path);
        return false;
    }
    path.common = own->chain.count;
    path.first = (uint32_t)(own - holders->loaders);
    path.same_as = holders->path_count;
    own->path_now = holders->path_count;
    holders->paths[holders->path_count++] = path;
    return count_loader(holders, own, (uint32_t)own->path_now);
}

/* --- cuts ------------------------------------------------------------------------------------------ */

static bool is_element(const struct holder_step *step)
{
    size_t length = strlen(step->folded);
    return length > 0 && step->folded[length - 1] == ']';
}

/* A field of code that is neither the JDK's nor a library's that the rows know. */
static bool is_own(const struct holder_step *step)
{
    return !of_jdk(step->folded) && step->folded[0] != '<' && step->folded[0] != '.' &&
           !is_element(step) &&
           holder_cause_of(NULL, (const char *const[]){step->folded}, 1, 0).row < 0;
}

static bool is_field(const struct holder_step *step)
{
    return step->folded[0] != '<' && !is_element(step);
}

/* A field of the JDK that is more than a part of a collection. */
static bool is_place(const struct holder_step *step)
{
    return is_field(step) &&
           !span_starts_with(span_from_cstr(step->folded), SPAN_LITERAL("java.util."));
}

/* The last such step of live code, of those that all copies have in common if there is one; -1. */
static int last_step(const struct holder_path *path, bool (*fits)(const struct holder_step *step))
{
    int last = -1, shared = -1;
    for (int i = path->from; i <= path->live; i++) {
        if (!fits(&path->steps[i]))
            continue;
        last = i;
        if (path->loaders == 1 || path->steps[i].at < path->common)
            shared = i;
    }
    return shared >= 0 ? shared : last;
}

static void find_cut(struct holders *holders, struct holder_path *path)
{
    const char *steps[HOLDERS_STEPS_MAX];
    char root[700];
    struct held_loader *own = &holders->loaders[path->first];
    const struct heap_root *thread = thread_of_root(holders->heap, own->chain.root);
    struct abandoned abandoned = abandoned_by(holders, own->loader);
    int count = 0, shared = 0, owned = last_step(path, is_own);
    for (int i = MAX(owned, path->from); i <= path->live; i++) {
        shared += path->loaders == 1 || path->steps[i].at < path->common;
        steps[count++] = is_element(&path->steps[i]) ? "" : path->steps[i].folded;
    }
    bool known = thread != NULL && thread->node != NO_OBJECT;
    bool owns = owned < 0 && known && owned_by(holders, &abandoned, thread->node);
    bool made = owns || (known && made_by(holders, &abandoned, thread->node));
    snprintf(root, sizeof root, "%.500s%s%s", path->from > 0 ? ROOT_OF_STATIC : path->root_folded,
             owns ? worker_words(holders->heap, thread->node) : "", made ? OF_THE_APPLICATION : "");
    /* Of a thread of its own it does not matter what it holds: it has to end. */
    struct holder_fit fit =
        holder_cause_of(owned < 0 ? root : NULL, steps, owns ? 0 : count, shared);
    path->cause = fit.row;
    bool of_root = owned < 0 && (fit.of_root || path->live < 0);
    path->root_ends = of_root && (made || fit.step >= 0 || path->root_kind != ROOT_JAVA_FRAME);
    path->cut = owned;
    path->told = owned < 0 && fit.step >= 0;
    if (path->told)
        path->cut = path->from + fit.step;
    bool unknown = path->cut < 0 && path->live >= 0 && !of_root;
    if (unknown)
        path->cut = last_step(path, is_place);
    if (unknown && path->cut < 0)
        path->cut = last_step(path, is_field);
    for (int i = 0; i < path->step_count && !holders->failed; i++)
        index_step(holders, &path->steps[i], own->chain.nodes[path->steps[i].at],
                   own->chain.nodes[path->steps[i].at + 1]);
}

/* The smaller path passes the field that the other is cut at: it is the same. */
static bool passes_cut(const struct holder_path *path, const struct holder_path *other)
{
    const struct holder_step *cut = other->cut >= 0 ? &other->steps[other->cut] : NULL;
    for (int i = 0; cut != NULL && i <= path->live; i++) {
        if (path->steps[i].id == cut->id && strcmp(path->steps[i].folded, cut->folded) == 0)
            return true;
    }
    return false;
}

#define MERGED_MAX 200 /* paths of a group that are compared with each other */

static void merge_paths(struct holders *holders, const struct holder_group *group, int from)
{
    int count = holders->path_count - from;
    for (int i = from; count <= MERGED_MAX && i < holders->path_count; i++) {
        struct holder_path *path = &holders->paths[i];
        for (int k = from; k < holders->path_count && path->loaders > 0; k++) {
            struct holder_path *other = &holders->paths[k];
            if (k == i || other->loaders < path->loaders || other->held != path->held ||
                (other->loaders == path->loaders && k > i) || !passes_cut(path, other))
                continue;
            for (uint32_t l = group->first; l < group->first + group->loaders; l++) {
                struct held_loader *own = &holders->loaders[l];
                if (own->path_now != i)
                    continue;
                own->path_now = k;
                holders->failed = !count_loader(holders, own, (uint32_t)k) || holders->failed;
            }
            path->loaders = 0;
            path->same_as = k;
        }
    }
}

bool holder_paths_find(struct holders *holders, uint32_t number, uint32_t turn)
{
    const struct holder_group *group = &holders->groups[number];
    int from = holders->path_count;
    for (uint32_t i = group->first; i < group->first + group->loaders; i++) {
        struct held_loader *own = &holders->loaders[i];
        own->path_now = -1;
        own->turns += own->chain.count > 0;
        if (own->chain.count > 0 && !keep_path(holders, own, turn))
            holders->failed = true;
    }
    for (int i = from; i < holders->path_count && !holders->failed; i++)
        find_cut(holders, &holders->paths[i]);
    merge_paths(holders, group, from);
    for (uint32_t i = group->first; turn == 0 && i < group->first + group->loaders; i++)
        holders->loaders[i].path = holders->loaders[i].path_now;
    return !holders->failed;
}

/* --- cutting ---------------------------------------------------------------------------------------- */

static bool keep(struct holders *holders, uint32_t node, int path)
{
    const struct holder_keeper keeper = {node, path};
    if (!array_room(&holders->keepers, &holders->keeper_capacity, holders->keeper_count + 1,
                    sizeof keeper))
        return false;
    holders->keepers[holders->keeper_count++] = keeper;
    return true;
}

static bool cut_reference(struct holders *holders, uint32_t from, uint32_t to, int path)
{
    return keep(holders, to, path) && cut_put(&holders->cut, from, to);
}

/* The reference by which only this copy is held: the first behind what all have in common, from the
 * cut on, in live code. */
static bool cut_loader(struct holders *holders, const struct held_loader *own)
{
    const struct heap *heap = holders->heap;
    const struct holder_path *path = &holders->paths[own->path_now];
    const struct holder_chain *chain = &own->chain;
    const struct heap_root *root = &heap->roots[chain->root];
    if (path->cut < 0 || path->root_ends) {
        const struct heap_root *thread = thread_of_root(heap, chain->root);
        uint32_t serial = path->root_ends ? root->thread : 0;
        /* Its group knows a thread until it has ended. */
        if (path->root_ends && thread != NULL && thread->node != NO_OBJECT &&
            !cut_put(&holders->cut, CUT_FROM_ALL, thread->node))
            return false;
        for (uint32_t i = 0; i < heap->root_count; i++) {
            bool same = i == chain->root || (serial != 0 && heap->roots[i].thread == serial);
            if (same && heap->roots[i].node != NO_OBJECT &&
                !cut_reference(holders, ROOT_OF(heap, i), heap->roots[i].node, own->path_now))
                return false;
        }
        return true;
    }
    uint32_t at = path->steps[path->cut].at, live = path->steps[path->live].at;
    uint32_t shared =
        common_of(&holders->loaders[path->first].chain, chain, MIN(path->common, live + 1));
    if (path->loaders > 1 && shared > at + 1)
        at = shared - 1;
    at = MIN(at, chain->count - 2);
    return cut_reference(holders, chain->nodes[at], chain->nodes[at + 1], own->path_now);
}

bool holder_paths_cut(struct holders *holders)
{
    bool any = false;
    for (int i = 0; i < holders->loader_count && !holders->failed; i++) {
        const struct held_loader *own = &holders->loaders[i];
        const struct holder_group *group = &holders->groups[own->group];
        if (!group->suspect || group->in_use == i || own->path_now < 0)
            continue;
        any = true;
        holders->failed = !cut_loader(holders, own);
    }
    return any && !holders->failed;
}

bool holder_paths_keep(struct holders *holders)
{
    for (int i = 0; i < holders->loader_count && !holders->failed; i++) {
        const struct held_loader *own = &holders->loaders[i];
        if (own->path >= 0 && own->turns < 2)
            holders->failed = !keep(holders, holders->heap->loader_node[own->loader], own->path);
    }
    return !holders->failed;
}

void holder_paths_free(struct holders *holders)
{
    for (int i = 0; i < holders->path_count; i++)
        free_path(&holders->paths[i]);
    free(holders->paths);
}
