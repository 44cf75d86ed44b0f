#include "nmtwatch/observe/allocations.h"

#include "floor/hotspot/class_graph.h"
#include "floor/base/weights.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "analyzers/classes/stem_table.h"
#include "nmtwatch/observe/elf_file.h"
#include "nmtwatch/observe/heap_object.h"
#include "nmtwatch/observe/remote.h"
#include "nmtwatch/observe/stacks.h"

#include <math.h>
#include <stdlib.h>

#define CLASSES_MAX 4096
#define PLACES      (CLASSES_MAX * 2)
#define THREADS_MAX 65536
#define TRIES       100 /* threads end meanwhile */
#define UNREAD      "[class not read]"
#define OTHER       "[other classes]"

struct class_row {
    char *name;
    struct weight_sums sums;
};

struct allocations {
    int64_t every_bytes, first_bytes; /* first: until begin; -1: not known */
    int64_t first_interval;           /* of those in thread */
    uintptr_t *thread; /* without a sample yet, ascending; 1 is added when it has one */
    size_t threads;
    uintptr_t ended_bytes; /* ThreadService::_exited_allocated_bytes; 0: there is none */
    struct class_row row[CLASSES_MAX];
    size_t rows;
    uint16_t place[PLACES]; /* row + 1; 0: free */
};

/* --- totals ----------------------------------------------------------------------------------- */

static int64_t bytes_of_thread(uintptr_t thread)
{
    uintptr_t tlab = thread + (uintptr_t)layout.thread_tlab;
    uint64_t before = load_u64(thread + (uintptr_t)layout.thread_allocated, 0);
    uintptr_t start = load_pointer(tlab + (uintptr_t)layout.tlab_start);
    uintptr_t top = load_pointer(tlab + (uintptr_t)layout.tlab_top);
    return (int64_t)(before + (start != 0 && top > start ? top - start : 0));
}

struct thread_list {
    uintptr_t list, array;
    uint32_t count;
};

static struct thread_list list_now(void)
{
    uintptr_t list = load_pointer(layout.threads_list);
    uint32_t count = load_u32(list + (uintptr_t)layout.threads_length, 0);
    return (struct thread_list){
        .list = list,
        .array = load_pointer(list + (uintptr_t)layout.threads_array),
        .count = count < THREADS_MAX ? count : 0,
    };
}

static uintptr_t thread_in(const struct thread_list *list, uint32_t index)
{
    return load_pointer(list->array + index * (uintptr_t)WORD_BYTES);
}

/* -1: not known. */
static int64_t bytes_now(const struct allocations *allocations)
{
    for (int i = 0; allocations->ended_bytes != 0 && i < TRIES; i++) {
        remote_forget();
        uint64_t ended = load_u64(allocations->ended_bytes, 0);
        struct thread_list list = list_now();
        int64_t sum = (int64_t)ended;
        for (uint32_t j = 0; j < list.count; j++)
            sum += bytes_of_thread(thread_in(&list, j));
        remote_forget();
        if (list.count > 0 && load_pointer(layout.threads_list) == list.list &&
            load_u64(allocations->ended_bytes, ended + 1) == ended)
            return sum;
    }
    return -1;
}

/* --- classes ---------------------------------------------------------------------------------- */

/* "byte[]" of "[B", "java.lang.String[]" of "[Ljava.lang.String;". */
static void source_name(char *name, size_t size)
{
    static const char *const PRIMITIVE[] = {"Bbyte", "Cchar", "Ddouble", "Ffloat",
                                            "Iint",  "Jlong", "Sshort",  "Zboolean"};
    char element[CLASS_NAME_MAX];
    size_t dimensions = strspn(name, "[");
    if (dimensions == 0)
        return;
    snprintf(element, sizeof element, "%s", name + dimensions);
    if (element[0] == 'L') {
        memmove(element, element + 1, strlen(element));
        element[strcspn(element, ";")] = '\0';
    } else {
        for (size_t i = 0; i < sizeof PRIMITIVE / sizeof *PRIMITIVE; i++) {
            if (element[0] == PRIMITIVE[i][0]) {
                snprintf(element, sizeof element, "%s", PRIMITIVE[i] + 1);
                break;
            }
        }
    }
    size_t used = (size_t)snprintf(name, size, "%s", element);
    while (dimensions-- > 0 && used + 3 <= size)
        used += (size_t)snprintf(name + used, size - used, "[]");
}

static void name_class(uintptr_t klass, char out[CLASS_NAME_MAX])
{
    if (klass != 0 && class_graph_name(klass, out))
        source_name(out, CLASS_NAME_MAX);
    else
        snprintf(out, CLASS_NAME_MAX, UNREAD);
}

/* The last row takes what finds no room. */
static struct weight_sums *sums_of(struct allocations *allocations, const char *name)
{
    size_t place = stem_hash(span_from_cstr(name)) % PLACES;
    for (; allocations->place[place] != 0; place = (place + 1) % PLACES) {
        struct class_row *row = &allocations->row[allocations->place[place] - 1];
        if (row->name != NULL && strcmp(row->name, name) == 0)
            return &row->sums;
    }
    bool last = allocations->rows >= CLASSES_MAX - 1;
    if (allocations->rows == CLASSES_MAX)
        return &allocations->row[CLASSES_MAX - 1].sums;
    struct class_row *row = &allocations->row[allocations->rows++];
    row->name = strdup(last ? OTHER : name);
    if (!last)
        allocations->place[place] = (uint16_t)allocations->rows;
    return &row->sums;
}

/* By HotSpot's layout helper: of an instance its size; of an array (below 0) the header's and log2 of the
 * element's. 0: not known. */
static int64_t size_of(uintptr_t klass, uint32_t length)
{
    uint32_t helper = load_u32(klass + (uintptr_t)layout.klass_layout_helper, 0);
    if (helper <= INT32_MAX)
        return helper & ~UINT32_C(7);
    int64_t bytes = (helper >> 16 & 0xff) + ((int64_t)length << (helper & 15));
    return (bytes + 7) & ~INT64_C(7);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a & ~(uintptr_t)1, right = *(const uintptr_t *)b;
    right &= ~(uintptr_t)1;
    return (left > right) - (left < right);
}

/* By which the gap that ends with this sample was drawn. */
static int64_t interval_of(struct allocations *allocations, uintptr_t thread)
{
    uintptr_t *found =
        thread != 0 && allocations->threads > 0
            ? bsearch(&thread, allocations->thread, allocations->threads, sizeof thread, by_address)
            : NULL;
    if (found == NULL || (*found & 1) != 0)
        return allocations->every_bytes;
    *found |= 1;
    return allocations->first_interval;
}

void allocations_object(struct allocations *allocations, const struct perf_sample *sample,
                        struct allocation *out)
{
    uint32_t length = 0;
    uintptr_t klass = sample->object != NULL ? heap_object_class(sample->object, &length) : 0;
    int64_t size = 0;
    name_class(klass, out->name);
    if (strcmp(out->name, UNREAD) != 0)
        size = size_of(klass, length);
    int64_t interval = interval_of(allocations, stacks_thread(sample));
    weight_sums_add(sums_of(allocations, out->name), size, interval);
    out->bytes = (int64_t)(weight_unscaled(size, interval) + 0.5);
    out->fixed = size;
}

void allocations_tlab(struct allocations *allocations, uintptr_t klass, uint64_t bytes,
                      struct allocation *out)
{
    name_class(klass, out->name);
    struct weight_sums *sums = sums_of(allocations, out->name);
    sums->samples++;
    sums->unscaled += (double)bytes;
    out->bytes = (int64_t)bytes;
    out->fixed = 0;
}

/* --- from the beginning to the end -------------------------------------------------------------- */

struct allocations *allocations_open(int64_t every_bytes, char *error, size_t error_size)
{
    uint64_t address;
    const struct elf_file *file = stacks_jvm_file(error, error_size);
    struct allocations *allocations = file != NULL ? calloc(1, sizeof *allocations) : NULL;
    if (allocations == NULL)
        return NULL;
    allocations->every_bytes = every_bytes;
    allocations->first_bytes = -1;
    if (elf_file_data(file, "_ZN13ThreadService23_exited_allocated_bytesE", 8, &address) &&
        layout.threads_list != 0 && layout.threads_length >= 0 && layout.threads_array >= 0 &&
        layout.thread_allocated >= 0 && layout.thread_tlab >= 0 && layout.tlab_start >= 0 &&
        layout.tlab_top >= 0)
        allocations->ended_bytes = remote_jvm()->bias + address;
    if (every_bytes == 0 || heap_object_known())
        return allocations;
    snprintf(error, error_size, "the tables of JDK %d do not say where an object's class is",
             layout.jdk_major);
    free(allocations);
    return NULL;
}

void allocations_begin(struct allocations *allocations, int64_t first_interval)
{
    allocations->first_bytes = bytes_now(allocations);
    allocations->first_interval = first_interval;
    if (first_interval == 0 || allocations->first_bytes < 0)
        return;
    struct thread_list list = list_now();
    allocations->thread = calloc(list.count + 1, sizeof *allocations->thread);
    for (uint32_t i = 0; allocations->thread != NULL && i < list.count; i++)
        allocations->thread[allocations->threads++] = thread_in(&list, i) & ~(uintptr_t)1;
    if (allocations->thread != NULL)
        qsort(allocations->thread, allocations->threads, sizeof *allocations->thread, by_address);
}

static int by_bytes(const void *a, const void *b)
{
    const struct observe_class *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    return strcmp(left->name, right->name);
}

void allocations_end(struct allocations *allocations, struct observe_report *report)
{
    struct weight_sums all = {0};
    int64_t last = bytes_now(allocations);
    double factor = 1;
    for (size_t i = 0; i < allocations->rows; i++)
        weight_sums_merge(&all, &allocations->row[i].sums);
    if (allocations->first_bytes >= 0 && last >= allocations->first_bytes) {
        report->total_bytes = last - allocations->first_bytes;
        factor = weight_calibration((double)report->total_bytes, all.sizes, all.unscaled);
    }
    call_tree_calibrate(report->tree, factor);
    report->classes = calloc(allocations->rows + 1, sizeof *report->classes);
    for (size_t i = 0; report->classes != NULL && i < allocations->rows; i++) {
        struct class_row *row = &allocations->row[i];
        if (row->name == NULL)
            continue;
        bool by_chance = allocations->every_bytes > 0;
        report->classes[report->class_count++] = (struct observe_class){
            .name = row->name,
            .bytes = (int64_t)(weight_sums_bytes(&row->sums, factor) + 0.5),
            .se_bytes =
                by_chance ? (int64_t)(sqrt(weight_sums_variance(&row->sums, factor)) + 0.5) : -1,
            .samples = row->sums.samples,
        };
        row->name = NULL; /* the report's now */
    }
    if (report->classes != NULL)
        qsort(report->classes, report->class_count, sizeof *report->classes, by_bytes);
}

void allocations_close(struct allocations *allocations)
{
    if (allocations == NULL)
        return;
    for (size_t i = 0; i < allocations->rows; i++)
        free(allocations->row[i].name);
    free(allocations->thread);
    free(allocations);
}
