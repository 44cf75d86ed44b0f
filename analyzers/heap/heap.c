#include "analyzers/heap/heap_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUPERS_MAX 1024                /* of a class: more are a circle */
#define REFS_MAX   (UINT32_C(1) << 24) /* reference fields of all classes together */
#define ROW_PAD    128                 /* behind the last row: a skip never leaves the rows */

const struct root_kind_row root_kinds[ROOT_KIND_COUNT] = {
#define ROOT(id, tag, name, words) {name, words},
#include "analyzers/heap/roots.def"
};

__attribute__((format(printf, 2, 3))) static bool say(struct heap *heap, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(heap->error, sizeof heap->error, format, values);
    va_end(values);
    heap->failed = true;
    return false;
}

bool heap_room(void *elements, uint32_t *capacity, uint64_t wanted, size_t size)
{
    if (wanted <= *capacity)
        return true;
    uint64_t larger = *capacity < 64 ? 64 : (uint64_t)*capacity + *capacity / 2;
    larger = MAX(larger, wanted);
    if (larger > UINT32_MAX / 2)
        return false;
    void **array = elements, *more = realloc(*array, (size_t)larger * size);
    if (more == NULL)
        return false;
    *array = more;
    *capacity = (uint32_t)larger;
    return true;
}

bool heap_add(void *elements, uint32_t *count, uint32_t *capacity, const void *element, size_t size)
{
    if (!heap_room(elements, capacity, (uint64_t)*count + 1, size))
        return false;
    memcpy(*(char **)elements + (size_t)(*count)++ * size, element, size);
    return true;
}

bool heap_create(struct heap *heap, const uint8_t *bytes, size_t length, uint64_t file_bytes)
{
    static const char magic[] = "JAVA PROFILE 1.0.";
    memset(heap, 0, sizeof *heap);
    atomic_flag_clear(&heap->lock);
    heap->string_class = NO_CLASS;
    for (size_t i = 0; i < 256; i++)
        atomic_flag_clear(&heap->row_locks[i]);
    heap->file_bytes = file_bytes;
    if (length < sizeof magic || memcmp(bytes, magic, sizeof magic - 1) != 0)
        return say(heap, "no heap dump: it does not begin with JAVA PROFILE");
    const uint8_t *end = memchr(bytes, 0, length < 24 ? length : 24);
    if (end == NULL || length < (size_t)(end - bytes) + 13)
        return say(heap, "its header is cut");
    if (end - bytes != sizeof magic || (end[-1] != '1' && end[-1] != '2'))
        return say(heap, "HPROF version %.8s is not known (1.0.1 and 1.0.2 are%s)",
                   (const char *)bytes + 13, end[-1] == '3' ? "; 1.0.3 is Android's" : "");
    heap->version = end[-1] - '0';
    heap->header_bytes = (uint64_t)(end - bytes) + 13;
    uint32_t size =
        (uint32_t)end[1] << 24 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 8 | end[4];
    if (size != 4 && size != 8)
        return say(heap, "identifiers of %u bytes are not known", size);
    heap->id_size = (int)size;
    uint64_t ms = 0;
    for (int i = 0; i < 8; i++)
        ms = ms << 8 | end[5 + i];
    heap->dumped_ms = (int64_t)(ms & INT64_MAX);
    return object_ids_create(&heap->ids, file_bytes) || say(heap, "out of memory");
}

void heap_destroy(struct heap *heap)
{
    object_ids_destroy(&heap->ids);
    for (uint32_t i = 0; i < heap->class_count; i++)
        free(heap->classes[i].name);
    id_table_free(&heap->name_of);
    id_table_free(&heap->class_of);
    id_table_free(&heap->class_of_serial);
    void *const parts[] = {heap->text,
                           heap->name_at,
                           heap->classes,
                           heap->fields,
                           heap->statics,
                           heap->refs,
                           heap->roots,
                           heap->frames,
                           heap->traces,
                           heap->trace_frames,
                           heap->pieces,
                           heap->class_of_code,
                           heap->rows,
                           (void *)(uintptr_t)heap->holding,
                           (void *)(uintptr_t)heap->inner,
                           heap->class_edge_first,
                           heap->class_edge_to,
                           heap->class_edge_name,
                           heap->inner_rank,
                           heap->loader_node,
                           heap->loader_class_first,
                           heap->loader_class};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        free(parts[i]);
    memset(heap, 0, sizeof *heap);
}

/* --- names ------------------------------------------------------------------------------------ */

bool heap_keep_name(struct heap *heap, uint64_t id, const uint8_t *text, size_t length)
{
    if (heap->text_length + length + 1 > heap->text_capacity) {
        size_t capacity =
            heap->text_capacity < 65536 ? 65536 : heap->text_capacity + heap->text_capacity / 2;
        capacity = MAX(capacity, heap->text_length + length + 1);
        char *more = realloc(heap->text, capacity);
        if (more == NULL)
            return false;
        heap->text = more;
        heap->text_capacity = capacity;
    }
    uint64_t at = heap->text_length;
    if (!id_table_put(&heap->name_of, id, heap->name_count) || !HEAP_ADD(heap, name_at, name, &at))
        return false;
    memcpy(heap->text + heap->text_length, text, length);
    heap->text_length += length;
    heap->text[heap->text_length++] = '\0';
    return true;
}

const char *heap_name(const struct heap *heap, uint64_t name_id)
{
    uint32_t number = id_table_get(&heap->name_of, name_id);
    return number == ID_TABLE_NONE || heap->name_at == NULL ? ""
                                                            : heap->text + heap->name_at[number];
}

static bool keep_again(struct heap *heap, const struct heap *from, uint64_t id)
{
    if (id == 0 || id_table_get(&heap->name_of, id) != ID_TABLE_NONE)
        return true;
    const char *text = heap_name(from, id);
    return heap_keep_name(heap, id, (const uint8_t *)text, strlen(text));
}

/* A dump names every symbol of the JVM: those of classes, fields and frames are kept. */
static bool drop_names(struct heap *heap)
{
    struct heap old = *heap;
    bool ok = true;
    heap->text = NULL;
    heap->name_at = NULL;
    heap->text_length = heap->text_capacity = 0;
    heap->name_count = heap->name_capacity = 0;
    memset(&heap->name_of, 0, sizeof heap->name_of);
    for (uint32_t i = 0; ok && i < heap->class_count; i++)
        ok = keep_again(heap, &old, heap->classes[i].name_id);
    for (uint32_t i = 0; ok && i < heap->field_count; i++)
        ok = heap->fields[i].type != TYPE_OBJECT || keep_again(heap, &old, heap->fields[i].name_id);
    for (uint32_t i = 0; ok && i < heap->static_count; i++)
        ok = keep_again(heap, &old, heap->statics[i].name_id);
    for (uint32_t i = 0; ok && i < heap->frame_count; i++)
        ok = keep_again(heap, &old, heap->frames[i].method_id);
    free(old.text);
    free(old.name_at);
    id_table_free(&old.name_of);
    return ok;
}

/* "[[Ljava/lang/String;" -> "java.lang.String[][]" */
static char *pretty(const char *raw)
{
    static const char *const primitives[128] = {
        ['Z'] = "boolean", ['C'] = "char",  ['F'] = "float", ['D'] = "double",
        ['B'] = "byte",    ['S'] = "short", ['I'] = "int",   ['J'] = "long"};
    size_t arrays = 0, length = strlen(raw);
    while (raw[arrays] == '[')
        arrays++;
    const char *from = raw + arrays;
    length -= arrays;
    if (arrays > 0 && length == 1 && (unsigned char)from[0] < 128 &&
        primitives[(unsigned char)from[0]] != NULL) {
        from = primitives[(unsigned char)from[0]];
        length = strlen(from);
    } else if (arrays > 0 && length > 2 && from[0] == 'L' && from[length - 1] == ';') {
        from++;
        length -= 2;
    }
    char *name = malloc(length + 2 * arrays + 1);
    if (name == NULL)
        return NULL;
    for (size_t i = 0; i < length; i++)
        name[i] = from[i];
    /* The part behind a hidden class's slash is its address, no package. */
    bool hidden = false;
    for (size_t i = 0; i < length; i++) {
        hidden = hidden || name[i] == '+' ||
                 (name[i] == '/' && i + 2 < length && name[i + 1] == '0' && name[i + 2] == 'x');
        if (name[i] == '/' && !hidden)
            name[i] = '.';
    }
    for (size_t i = 0; i < arrays; i++)
        memcpy(name + length + 2 * i, "[]", 2);
    name[length + 2 * arrays] = '\0';
    return name;
}

/* --- classes ---------------------------------------------------------------------------------- */

static bool is_named(const struct heap *heap, const struct dumped_class *class, const char *slashed)
{
    const char *name = heap_name(heap, class->name_id);
    for (; *name != '\0' && (*name == *slashed || (*name == '.' && *slashed == '/'));
         name++, slashed++)
        ;
    return *name == '\0' && *slashed == '\0';
}

static void find_traits(struct heap *heap, struct dumped_class *class)
{
    const struct dumped_class *super = class;
    bool reference = false;
    for (int depth = 0; depth < SUPERS_MAX; depth++) {
        if (is_named(heap, super, "java/lang/ClassLoader"))
            class->traits |= CLASS_LOADER;
        else if (is_named(heap, super, "java/lang/Thread"))
            class->traits |= CLASS_THREAD;
        else if (is_named(heap, super, "java/lang/ref/SoftReference"))
            class->traits |= CLASS_SOFT;
        else if (is_named(heap, super, "java/lang/ref/FinalReference"))
            class->traits |= CLASS_FINAL;
        else if (is_named(heap, super, "java/lang/ref/Reference"))
            reference = true;
        if (super->super == NO_CLASS)
            break;
        super = &heap->classes[super->super];
    }
    if (reference && !(class->traits & CLASS_SOFT))
        class->traits |= CLASS_WEAK;
}

static bool lay_out_class(struct heap *heap, struct dumped_class *class)
{
    uint32_t offset = 0;
    int depth = 0;
    class->first_ref = heap->ref_count;
    for (const struct dumped_class *own = class; depth < SUPERS_MAX;
         own = &heap->classes[own->super], depth++) {
        if (!(own->traits & CLASS_DUMPED))
            return true; /* is not known: its instances are classless */
        bool reference = is_named(heap, own, "java/lang/ref/Reference");
        for (uint32_t i = 0; i < own->field_count; i++) {
            const struct heap_field *field = &heap->fields[own->first_field + i];
            if (field->type == TYPE_OBJECT) {
                enum holds holds = HOLDS;
                const char *name = reference ? heap_name(heap, field->name_id) : "";
                if (strcmp(name, "referent") == 0)
                    holds = class->traits & CLASS_SOFT    ? HOLDS_SOFTLY
                            : class->traits & CLASS_FINAL ? HOLDS_QUEUED
                            : class->traits & CLASS_WEAK  ? HOLDS_NOT
                                                          : HOLDS;
                else if (class->traits & CLASS_FINAL && strcmp(name, "queue") == 0)
                    holds = HOLDS_LINK;
                const struct heap_ref_field ref = {offset, (uint32_t)(own - heap->classes),
                                                   own->first_field + i, (uint8_t)holds};
                if (heap->ref_count >= REFS_MAX || !HEAP_ADD(heap, refs, ref, &ref))
                    return say(heap, "out of memory for the fields of its classes");
            }
            offset += (uint32_t)heap_type_bytes(field->type, heap->id_size);
        }
        if (own->super_id == 0) {
            class->instance_bytes = offset;
            class->ref_count = heap->ref_count - class->first_ref;
            class->traits |= CLASS_LAID_OUT;
            return true;
        }
        if (own->super == NO_CLASS)
            return true;
    }
    return true; /* a circle of supers */
}

static uint64_t static_of(const struct heap *heap, const struct dumped_class *class,
                          const char *name)
{
    for (uint32_t i = 0; i < class->static_count; i++) {
        const struct heap_static *own = &heap->statics[class->first_static + i];
        if (strcmp(heap_name(heap, own->name_id), name) == 0)
            return own->value;
    }
    return 0;
}

bool heap_lay_out(struct heap *heap)
{
    heap->ref_count = 0;
    heap->string_class = NO_CLASS;
    for (uint32_t i = 0; i < heap->class_count; i++) {
        struct dumped_class *class = &heap->classes[i];
        class->super =
            class->super_id == 0 ? NO_CLASS : id_table_get(&heap->class_of, class->super_id);
        class->traits &= CLASS_DUMPED;
    }
    for (uint32_t i = 0; i < heap->class_count; i++) {
        struct dumped_class *class = &heap->classes[i];
        find_traits(heap, class);
        if (!lay_out_class(heap, class))
            return false;
        if (class->loader_id == 0 && is_named(heap, class, "java/lang/ref/ReferenceQueue"))
            heap->enqueued_id = static_of(heap, class, "ENQUEUED");
        if (heap->string_class == NO_CLASS && class->loader_id == 0 && class->ref_count == 1 &&
            is_named(heap, class, "java/lang/String"))
            heap->string_class = i;
    }
    if (heap->string_class != NO_CLASS)
        heap->classes[heap->string_class].traits |= CLASS_STRING;
    uint32_t *codes =
        realloc(heap->class_of_code, ((size_t)heap->class_count + 1) * 2 * sizeof *codes);
    if (codes == NULL)
        return say(heap, "out of memory");
    heap->class_of_code = codes;
    return true;
}

bool heap_begin_sizes(struct heap *heap)
{
    object_ids_clear_bytes(&heap->ids);
    return heap_lay_out(heap);
}

/* --- between the passes ----------------------------------------------------------------------- */

/* A class is no object: it has a node of its own, and no dump says otherwise. */
static int by_offset(const void *a, const void *b)
{
    const struct heap_piece *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

bool heap_number(struct heap *heap)
{
    if (heap->class_of_code == NULL && !heap_lay_out(heap))
        return false;
    if (heap->piece_count > 0)
        qsort(heap->pieces, heap->piece_count, sizeof heap->pieces[0], by_offset);
    if (!drop_names(heap))
        return say(heap, "out of memory");
    for (uint32_t i = 0; i < heap->class_count; i++) {
        struct dumped_class *class = &heap->classes[i];
        class->name = pretty(heap_name(heap, class->name_id));
        if (class->name == NULL)
            return say(heap, "out of memory");
    }
    if (!object_ids_number(&heap->ids, heap->class_count))
        return say(heap, "more objects than can be numbered, or out of memory");
    size_t words = heap_nodes(heap) / 64 + 2;
    heap->rows = calloc(heap->ids.row_bytes + ROW_PAD, 1);
    heap->holding = calloc(words, sizeof *heap->holding);
    heap->inner = calloc(words, sizeof *heap->inner);
    if (heap->rows == NULL || heap->holding == NULL || heap->inner == NULL)
        return say(heap, "out of memory");
    return true;
}

uint32_t heap_node_of(const struct heap *heap, uint64_t id)
{
    if (id == 0)
        return NO_OBJECT;
    return id & ((UINT64_C(1) << heap->ids.shift) - 1) ? id_table_get(&heap->class_of, id)
                                                       : heap_node_at(heap, id >> heap->ids.shift);
}

uint32_t heap_node_at(const struct heap *heap, uint64_t unit)
{
    uint32_t node = object_ids_find(&heap->ids, unit);
    return node != NO_OBJECT ? node : id_table_get(&heap->class_of, unit << heap->ids.shift);
}

uint64_t heap_id_of(const struct heap *heap, uint32_t node)
{
    if (node < heap->class_count)
        return heap->classes[node].id;
    return object_ids_place(&heap->ids, node).unit << heap->ids.shift;
}

/* --- edges of classes -------------------------------------------------------------------------- */

static void class_edge(struct heap *heap, uint64_t id, uint32_t name, uint32_t *count)
{
    uint32_t to = heap_node_of(heap, id);
    if (to == NO_OBJECT)
        return;
    heap->class_edge_to[*count] = to;
    heap->class_edge_name[(*count)++] = name;
}

static bool find_class_edges(struct heap *heap)
{
    size_t most = (size_t)heap->class_count * 4 + heap->static_count + 1;
    uint32_t count = 0;
    heap->class_edge_first = calloc((size_t)heap->class_count + 1, sizeof *heap->class_edge_first);
    heap->class_edge_to = calloc(most, sizeof *heap->class_edge_to);
    heap->class_edge_name = calloc(most, sizeof *heap->class_edge_name);
    if (heap->class_edge_first == NULL || heap->class_edge_to == NULL ||
        heap->class_edge_name == NULL || most > UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < heap->class_count; i++) {
        const struct dumped_class *class = &heap->classes[i];
        heap->class_edge_first[i] = count;
        for (uint32_t s = 0; s < class->static_count; s++)
            class_edge(heap, heap->statics[class->first_static + s].value, class->first_static + s,
                       &count);
        class_edge(heap, class->super_id, EDGE_SUPER, &count);
        class_edge(heap, class->loader_id, EDGE_LOADER, &count);
        class_edge(heap, class->signers_id, EDGE_SIGNERS, &count);
        class_edge(heap, class->domain_id, EDGE_DOMAIN, &count);
    }
    heap->class_edge_first[heap->class_count] = count;
    return true;
}

/* --- loaders ----------------------------------------------------------------------------------- */

struct found_loaders {
    struct heap *heap;
    uint32_t capacity, class_value_map;
};

static bool find_loader(void *context, uint32_t node, struct heap_row *row)
{
    struct found_loaders *found = context;
    struct heap *heap = found->heap;
    if (row->class == NO_CLASS || row->is_array)
        return true;
    if (row->class == found->class_value_map) {
        const struct heap_root root = {.node = node, .frame = UINT32_MAX, .kind = ROOT_CLASS_FIELD};
        if (!HEAP_ADD(heap, roots, root, &root))
            return false;
    }
    return !(heap->classes[row->class].traits & CLASS_LOADER) ||
           heap_add(&heap->loader_node, &heap->loader_count, &found->capacity, &node, sizeof node);
}

/* All objects whose class is one of loaders, in the order of their numbers; hidden roots as well */
static bool find_loaders(struct heap *heap)
{
    struct found_loaders found = {.heap = heap, .class_value_map = NO_CLASS};
    for (uint32_t i = 0; i < heap->class_count; i++) {
        if (strcmp(heap->classes[i].name, "java.lang.ClassValue$ClassValueMap") == 0)
            found.class_value_map = i;
    }
    return heap_each_row(heap, false, NULL, find_loader, &found);
}

uint32_t heap_loader_of_node(const struct heap *heap, uint32_t node)
{
    uint32_t low = 0, high = heap->loader_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (heap->loader_node[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < heap->loader_count && heap->loader_node[low] == node ? low : NO_OBJECT;
}

static bool list_classes_of_loaders(struct heap *heap)
{
    uint32_t *of = calloc((size_t)heap->class_count + 1, sizeof *of);
    heap->loader_class_first =
        calloc((size_t)heap->loader_count + 2, sizeof *heap->loader_class_first);
    heap->loader_class = calloc((size_t)heap->class_count + 1, sizeof *heap->loader_class);
    bool ok = of != NULL && heap->loader_class_first != NULL && heap->loader_class != NULL;
    for (uint32_t i = 0; ok && i < heap->class_count; i++) {
        of[i] = heap_loader_of_node(heap, heap_node_of(heap, heap->classes[i].loader_id));
        if (of[i] != NO_OBJECT)
            heap->loader_class_first[of[i] + 2]++;
    }
    for (uint32_t i = 2; ok && i < heap->loader_count + 2; i++)
        heap->loader_class_first[i] += heap->loader_class_first[i - 1];
    for (uint32_t i = 0; ok && i < heap->class_count; i++) {
        if (of[i] != NO_OBJECT)
            heap->loader_class[heap->loader_class_first[of[i] + 1]++] = i;
    }
    free(of);
    return ok;
}

/* --- sizes ------------------------------------------------------------------------------------- */

/* The candidate that no pair of neighbours contradicts and most confirm. */
static uint32_t best(const int64_t *hits, const int64_t *misses, uint32_t count, uint32_t otherwise)
{
    uint32_t best = otherwise;
    int64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (misses[i] * 1000 <= hits[i] && hits[i] > most) {
            most = hits[i];
            best = i;
        }
    }
    return best;
}

#define CONTENDED 256 /* bytes around fields that are @Contended */

static bool is_contended(const struct dumped_class *class)
{
    static const char *const names[] = {"java.util.concurrent.ForkJoinPool",
                                        "java.util.concurrent.ForkJoinPool$WorkQueue",
                                        "java.util.concurrent.atomic.Striped64$Cell",
                                        "java.util.concurrent.ConcurrentHashMap$CounterCell",
                                        "java.util.concurrent.Exchanger$Node"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(class->name, names[i]) == 0)
            return true;
    }
    return (class->traits & CLASS_THREAD) != 0;
}

static void find_sizes(struct heap *heap)
{
    uint32_t base = best(heap->sizes.base_hits, heap->sizes.base_misses, 4, 1);
    uint32_t both = best(heap->sizes.oop_hits, heap->sizes.oop_misses, 8, 2);
    heap->array_base = HEAP_ARRAY_BASES[base];
    heap->oop_bytes = both % 2 ? 8 : 4;
    heap->object_bytes = heap->sizes.primitives[base] + heap->sizes.references[base * 2 + both % 2];
    /* An instance's header is 4 bytes less than an array's: no length. */
    int64_t header = heap->array_base == 24 ? 16 : heap->array_base - 4;
    for (uint32_t i = 0; i < heap->class_count; i++) {
        struct dumped_class *class = &heap->classes[i];
        int64_t fields = (int64_t) class->instance_bytes -
                         (int64_t) class->ref_count * (heap->id_size - (int64_t)heap->oop_bytes);
        /* The JVM adds a field to class loaders: the address of what it knows of them. */
        if (class->traits & CLASS_LOADER)
            fields += 8;
        int64_t packed = (header + fields + 7) & ~INT64_C(7),
                gap = (int64_t) class->gap << heap->ids.shift, more = gap - packed;
        class->shallow = packed;
        /* Less, or a little more: holes between fields, fields of the JVM. */
        bool padded = more >= CONTENDED && more <= CONTENDED + 32 && is_contended(class);
        if (class->gap != UINT32_MAX && (more <= 32 || padded))
            class->shallow = gap;
        if (strcmp(class->name, "java.lang.Class") != 0) /* those of primitive types */
            heap->object_bytes += class->objects * class->shallow;
    }
}

uint32_t *heap_rank_make(const _Atomic uint64_t *bits, uint32_t nodes, uint32_t *count)
{
    uint32_t *rank = calloc((size_t)nodes / 512 + 2, sizeof *rank), sum = 0;
    for (uint32_t i = 0; rank != NULL && i < nodes / 64 + 1; i++) {
        if (i % 8 == 0)
            rank[i / 8] = sum;
        sum += bit_count(heap_bits(bits, i));
    }
    *count = sum;
    return rank;
}

static bool rank_inner(struct heap *heap)
{
    for (uint32_t i = 0; i < heap->class_count; i++)
        heap->inner[i / 64] |= UINT64_C(1) << (i % 64);
    heap->inner_rank = heap_rank_make(heap->inner, heap_nodes(heap), &heap->inner_count);
    return heap->inner_rank != NULL;
}

static int by_node(const void *a, const void *b)
{
    const struct heap_root *x = a, *y = b;
    return compare_numbers(x->kind, y->kind) ?: compare_numbers(x->node, y->node);
}

/* The boot loader's classes are roots: a dump says so behind its objects, where it may be cut. */
static bool root_boot_classes(struct heap *heap)
{
    for (uint32_t i = 0; i < heap->class_count; i++) {
        if (heap->classes[i].loader_id != 0 || !(heap->classes[i].traits & CLASS_DUMPED))
            continue;
        const struct heap_root root = {
            .id = heap->classes[i].id, .node = i, .frame = UINT32_MAX, .kind = ROOT_STICKY_CLASS};
        if (!HEAP_ADD(heap, roots, root, &root))
            return false;
    }
    return true;
}

bool heap_finish(struct heap *heap)
{
    for (uint32_t i = 0; i < heap->root_count; i++)
        heap->roots[i].node = heap_node_of(heap, heap->roots[i].id);
    heap->truncated = heap->truncated || heap->root_count == 0; /* roots are at the end */
    find_sizes(heap);
    if (!root_boot_classes(heap) || !find_class_edges(heap) || !find_loaders(heap) ||
        !list_classes_of_loaders(heap) || !rank_inner(heap))
        return say(heap, "out of memory");
    if (heap->root_count > 0)
        qsort(heap->roots, heap->root_count, sizeof heap->roots[0], by_node);
    return true;
}

/* --- rows -------------------------------------------------------------------------------------- */

/* at: where the row of the object at this unit begins. */
static void row_begin(const struct heap *heap, const uint8_t *at, uint64_t unit, bool string,
                      struct heap_row *row)
{
    *row = (struct heap_row){.at = at, .to = unit, .class = heap->string_class};
    if (string)
        return;
    uint64_t code = heap_number_read(&row->at);
    uint32_t class = heap->class_of_code[code - 1];
    row->is_array = (class & CODE_OF_ARRAYS) != 0;
    row->class = class & ~CODE_OF_ARRAYS;
}

void heap_row_begin(const struct heap *heap, const struct id_word *word, uint64_t unit,
                    struct heap_row *row)
{
    static const uint8_t nothing[1] = {0};
    uint64_t below = word->bits & ((UINT64_C(1) << (unit & 63)) - 1);
    uint32_t number = bit_count(below), node = word->first + number;
    uint64_t have = heap_bits_window(heap->holding, word->first, number + 1);
    *row = (struct heap_row){.at = nothing, .to = unit, .class = NO_CLASS};
    if (!(have >> number & 1))
        return;
    const struct id_region *region = object_ids_region(&heap->ids, unit >> REGION_UNITS_LOG2);
    have &= (UINT64_C(1) << number) - 1;
    row_begin(heap, heap_skip_rows(heap->rows + region->row_base + word->row, bit_count(have)),
              unit, !heap_is_inner(heap, node), row);
}

bool heap_row_of(const struct heap *heap, uint32_t node, struct heap_row *row)
{
    if (node < heap->class_count)
        return false;
    struct id_place place = object_ids_place(&heap->ids, node);
    heap_row_begin(heap, place.word, place.unit, row);
    return true;
}

bool heap_each_row(const struct heap *heap, bool strings, const uint64_t *among,
                   bool (*each)(void *context, uint32_t node, struct heap_row *row), void *context)
{
    for (uint32_t r = 0; r < heap->ids.region_count; r++) {
        const struct id_region *region = heap->ids.regions[r];
        for (uint32_t w = 0; w < REGION_WORDS; w++) {
            const struct id_word *word = &region->words[w];
            uint64_t bits = word->bits;
            if (bits == 0)
                continue;
            uint32_t count = bit_count(bits);
            uint64_t have = heap_bits_window(heap->holding, word->first, count);
            uint64_t inner = heap_bits_window(heap->inner, word->first, count);
            uint64_t wanted = strings ? have & ~inner : have & inner;
            if (among != NULL)
                wanted &= heap_bits_window((const _Atomic uint64_t *)among, word->first, count);
            const uint8_t *at = heap->rows + region->row_base + word->row;
            for (uint32_t node = word->first; wanted != 0;
                 bits &= bits - 1, node++, have >>= 1, wanted >>= 1) {
                struct heap_row row;
                if (wanted & 1) {
                    uint64_t unit = region->key << REGION_UNITS_LOG2 | (uint64_t)w << 6 |
                                    (uint64_t)__builtin_ctzll(bits);
                    row_begin(heap, at, unit, strings, &row);
                    if (!each(context, node, &row))
                        return false;
                }
                if (have & 1)
                    at = heap_skip_rows(at, 1);
            }
        }
    }
    return true;
}

uint32_t heap_class_of_node(const struct heap *heap, uint32_t node)
{
    struct heap_row row;
    return heap_row_of(heap, node, &row) ? row.class : NO_CLASS;
}

int64_t heap_object_bytes(const struct heap *heap, const struct heap_object *object)
{
    if (object->type != 0)
        return heap_array_bytes(heap->array_base,
                                heap_type_bytes(object->type, (int)heap->oop_bytes),
                                object->elements);
    uint32_t class = id_table_get(&heap->class_of, object->class_id);
    return class == ID_TABLE_NONE ? 0 : heap->classes[class].shallow;
}

int64_t heap_class_bytes(const struct heap *heap, uint32_t class)
{
    return heap->class_mirror_bytes + (int64_t)heap->classes[class].static_count * heap->oop_bytes;
}
