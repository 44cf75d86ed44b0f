#include "analyzers/classes/heap_census.h"

#include "analyzers/model/texts.h"
#include "analyzers/classes/stem_table.h"
#include "analyzers/parse/class_tables.h"
#include "floor/base/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEMS_MAX         16384
#define NAMED_FILLERS_JDK 19
#define ENTRIES_MAX       65536 /* ordinary classes; what comes later in a histogram is smaller */

/* A row of the first histogram, in the order of keys. */
struct known {
    uint64_t key;
    int64_t instances;
    int64_t bytes;
};

/* A row of this one. */
struct entry {
    uint64_t key;
    const struct stem *stem; /* of generated classes; NULL: an ordinary one */
    struct span name;
    bool ranked;
    bool arrays; /* of stem's classes */
    int64_t classes;
    struct known now;
    struct known growth;
};

struct generated {
    struct stem stem; /* first member */
    int64_t entry[2]; /* the places + 1 of its objects and of arrays of them; 0: none yet */
};

struct entries {
    struct entry *entry;
    size_t count, room;
};

struct heap_census {
    bool have_first;
    int64_t first_ms;
    size_t known_count;
    struct known *known;
    int64_t
        cut_at_bytes; /* of the first: a class that it does not have may have had so many; 0: it is whole */
    struct histogram_class rows[HISTOGRAM_ROWS_MAX];
};

struct heap_census *heap_census_create(void)
{
    return calloc(1, sizeof(struct heap_census));
}

void heap_census_destroy(struct heap_census *census)
{
    if (census == NULL)
        return;
    free(census->known);
    free(census);
}

/* --- one histogram -> entries ----------------------------------------------------------------- */

static bool is_array(struct span name)
{
    return name.len > 0 && name.ptr[0] == '[';
}

/* What an array is of: "com.acme.A" of "[[Lcom.acme.A;"; of primitives nothing. */
static struct span element_of(struct span name)
{
    while (is_array(name))
        name = (struct span){name.ptr + 1, name.len - 1};
    if (name.len < 2 || name.ptr[0] != 'L')
        return (struct span){name.ptr, 0};
    return (struct span){name.ptr + 1, name.len - 2};
}

/* What a GC fills gaps with (JDK 19 and later; before, int[]): objects without an owner. */
static bool is_filler(struct span name)
{
    return span_contains(name, SPAN_LITERAL("jdk.internal.vm.Filler"));
}

bool heap_class_may_be_filler(int jdk_major, const char *name)
{
    return jdk_major < NAMED_FILLERS_JDK && strcmp(name, "[I") == 0;
}

/* First all names, since it takes many to distinguish a generator's from a compiler's. */
static enum parse_result learn_names(struct stem_table *table, struct span text)
{
    static const struct span NO_SOURCE = {"", 0};
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row)) {
        struct arrival arrival;
        if (is_array(row.name))
            continue;
        struct stem *stem = stem_table_find(table, row.name, &arrival);
        if (stem == NULL)
            stem = stem_table_insert(table, &arrival, NO_SOURCE);
        if (stem != NULL)
            stem_add(stem, &arrival, NO_SOURCE);
    }
    return histogram.lines.result;
}

static struct entry *new_entry(struct entries *entries)
{
    if (!array_room(&entries->entry, &entries->room, entries->count + 1, sizeof *entries->entry))
        return NULL;
    struct entry *entry = &entries->entry[entries->count++];
    *entry = (struct entry){0};
    return entry;
}

static struct entry *entry_of(struct entries *entries, struct stem_table *table, struct span name)
{
    struct arrival arrival;
    bool array = is_array(name);
    struct span class = array ? element_of(name) : name;
    struct stem *stem = class.len == 0 ? NULL : stem_table_find(table, class, &arrival);
    struct generated *generated = (struct generated *)stem;
    if (stem != NULL && generated->entry[array] > 0)
        return &entries->entry[generated->entry[array] - 1];
    if (stem != NULL && !stem_is_generated(stem))
        stem = NULL;
    if (stem == NULL && entries->count >= ENTRIES_MAX)
        return NULL;
    struct entry *entry = new_entry(entries);
    if (entry == NULL)
        return NULL;
    entry->stem = stem;
    entry->arrays = array && stem != NULL;
    entry->name = name;
    entry->key = stem != NULL ? ~stem->hash + entry->arrays : stem_hash(name);
    if (stem != NULL)
        generated->entry[array] = (int64_t)entries->count;
    return entry;
}

static void add_to(struct entry *entry, int64_t classes, int64_t instances, int64_t bytes)
{
    entry->classes = saturated_add(entry->classes, classes);
    entry->now.instances = saturated_add(entry->now.instances, instances);
    entry->now.bytes = saturated_add(entry->now.bytes, bytes);
}

static void collect(struct entries *entries, struct stem_table *table, struct span text,
                    struct histogram_event *event)
{
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row)) {
        event->classes++;
        event->instances = saturated_add(event->instances, row.instances);
        event->bytes = saturated_add(event->bytes, row.bytes);
        struct entry *entry = is_filler(row.name) ? NULL : entry_of(entries, table, row.name);
        if (entry != NULL)
            add_to(entry, 1, row.instances, row.bytes);
    }
}

static int by_key(const void *a, const void *b)
{
    uint64_t left = ((const struct entry *)a)->key, right = ((const struct entry *)b)->key;
    return (left > right) - (left < right);
}

/* Classes of one name in several loaders become one entry. */
static void merge(struct entries *entries)
{
    size_t kept = 0;
    if (entries->count > 0)
        qsort(entries->entry, entries->count, sizeof *entries->entry, by_key);
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->entry[i];
        if (kept > 0 && entries->entry[kept - 1].key == entry->key)
            add_to(&entries->entry[kept - 1], entry->classes, entry->now.instances,
                   entry->now.bytes);
        else
            entries->entry[kept++] = *entry;
    }
    entries->count = kept;
}

/* --- entries -> rows -------------------------------------------------------------------------- */

static bool keep_first(struct heap_census *census, const struct entries *entries, int64_t ms)
{
    census->known = calloc(entries->count + 1, sizeof *census->known);
    if (census->known == NULL)
        return false;
    for (size_t i = 0; i < entries->count; i++) {
        census->known[i] = entries->entry[i].now;
        census->known[i].key = entries->entry[i].key;
    }
    census->known_count = entries->count;
    census->first_ms = ms;
    census->have_first = true;
    return true;
}

/* A class that stood below the end of the first: what it has grown at least. */
static void cut_off(struct known *growth, int64_t most_bytes)
{
    int64_t bytes = growth->bytes > most_bytes ? growth->bytes - most_bytes : 0;
    if (most_bytes > 0 && growth->bytes > 0)
        growth->instances =
            (int64_t)((double)growth->instances * (double)bytes / (double)growth->bytes);
    growth->bytes = bytes;
}

/* Both are in the order of keys. */
static void compare(const struct heap_census *census, struct entries *entries)
{
    size_t k = 0;
    for (size_t i = 0; i < entries->count; i++) {
        struct entry *entry = &entries->entry[i];
        entry->growth = entry->now;
        while (k < census->known_count && census->known[k].key < entry->key)
            k++;
        if (k == census->known_count || census->known[k].key != entry->key) {
            cut_off(&entry->growth, census->cut_at_bytes);
            continue;
        }
        entry->growth.instances -= census->known[k].instances;
        entry->growth.bytes -= census->known[k].bytes;
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return compare_numbers(right->now.bytes, left->now.bytes) ?: by_key(a, b);
}

static int by_growth(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return compare_numbers(right->growth.bytes, left->growth.bytes) ?: by_bytes(a, b);
}

static void fill_row(const struct entry *entry, struct histogram_class *row)
{
    *row = (struct histogram_class){.classes = entry->classes,
                                    .instances = entry->now.instances,
                                    .bytes = entry->now.bytes,
                                    .instances_growth = entry->growth.instances,
                                    .bytes_growth = entry->growth.bytes};
    span_copy(entry->name, row->name, sizeof row->name);
    if (entry->stem != NULL)
        stem_family_name(entry->stem, row->family, row->name);
    if (entry->arrays)
        snprintf(row->name + strlen(row->name), sizeof row->name - strlen(row->name), "[]");
}

static void rank(struct heap_census *census, struct entries *entries, struct histogram_event *event)
{
    if (entries->count > 0)
        qsort(entries->entry, entries->count, sizeof *entries->entry, by_growth);
    for (size_t i = 0; i < entries->count && i < HISTOGRAM_TOP; i++)
        entries->entry[i].ranked = entries->entry[i].growth.bytes > 0;
    if (entries->count > 0)
        qsort(entries->entry, entries->count, sizeof *entries->entry, by_bytes);
    for (size_t i = 0; i < entries->count; i++) {
        if (i < HISTOGRAM_TOP || entries->entry[i].ranked)
            fill_row(&entries->entry[i], &census->rows[event->row_count++]);
    }
    event->rows = census->rows;
}

static bool is_cut(struct span text)
{
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row))
        continue;
    return !histogram.total.present;
}

/* A line that ends with the text may itself be cut. */
static struct span without_last_line(struct span text)
{
    while (text.len > 0 && text.ptr[text.len - 1] != '\n')
        text.len--;
    return text;
}

static int64_t least_bytes(const struct entries *entries)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->entry[i].now.bytes < least)
            least = entries->entry[i].now.bytes;
    }
    return least;
}

static bool add(struct heap_census *census, struct span text, int64_t ms, bool may_be_cut,
                struct histogram_event *event)
{
    struct stem_table table;
    struct entries entries = {0};
    *event = (struct histogram_event){0};
    bool cut = may_be_cut && is_cut(text);
    if (cut)
        text = without_last_line(text);
    if (!stem_table_init(&table, STEMS_MAX, sizeof(struct generated)))
        return false;
    bool good = learn_names(&table, text) == (cut ? PARSE_INCOMPLETE : PARSE_OK);
    if (good) {
        collect(&entries, &table, text, event);
        merge(&entries);
        good = entries.count > 0 || !cut;
    }
    if (good && !census->have_first) {
        good = keep_first(census, &entries, ms);
        census->cut_at_bytes = cut ? least_bytes(&entries) : 0;
    }
    if (good) {
        event->first_ms = census->first_ms;
        compare(census, &entries);
        rank(census, &entries, event);
    }
    free(entries.entry);
    stem_table_free(&table);
    return good;
}

bool heap_census_add(struct heap_census *census, struct span text, int64_t ms,
                     struct histogram_event *event)
{
    return add(census, text, ms, false, event);
}

bool heap_census_add_saved(struct heap_census *census, struct span text,
                           struct histogram_event *event)
{
    return add(census, text, 0, true, event);
}

int histogram_growing(const struct histogram_event *event, int *indices, int max)
{
    int count = 0;
    for (int i = 0; i < event->row_count; i++) {
        int64_t growth = event->rows[i].bytes_growth;
        int at = count;
        while (at > 0 && event->rows[indices[at - 1]].bytes_growth < growth)
            at--;
        if (growth <= 0 || at >= max)
            continue;
        int moved = (count < max ? count : max - 1) - at;
        memmove(&indices[at + 1], &indices[at], (size_t)moved * sizeof *indices);
        indices[at] = i;
        count += count < max;
    }
    return count;
}
