/* Entries of a method_map by value and kind, in chains; fresh dictionaries for them, without the
 * names of classes that are gone. Drain thread. */
#include "agent/methods/method_facts.h"
#include "agent/methods/method_map_layout.h"
#include "floor/base/fold_hash.h"

#define BUCKETS_MAX (1u << 24)

static uint32_t bucket_of(uintptr_t value, enum method_kind kind, uint32_t bucket_count)
{
    return (uint32_t)fold_word(value ^ (uint64_t)kind << 60) & (bucket_count - 1);
}

struct entry *entry_find(const struct method_map *map, uintptr_t value, enum method_kind kind)
{
    struct entry *entry = map->buckets[bucket_of(value, kind, map->bucket_count)];
    while (entry != NULL && (entry->value != value || entry->kind != kind))
        entry = entry->next;
    return entry;
}

void entries_resize(struct method_map *map, uint32_t bucket_count)
{
    struct entry **buckets = mem_alloc(COMPONENT_METHOD_MAP, bucket_count * sizeof *buckets);
    if (buckets == NULL)
        return;
    for (uint32_t i = 0; i < map->bucket_count; i++) {
        struct entry *next;
        for (struct entry *entry = map->buckets[i]; entry != NULL; entry = next) {
            struct entry **bucket = &buckets[bucket_of(entry->value, entry->kind, bucket_count)];
            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    mem_free(map->buckets);
    map->buckets = buckets;
    map->bucket_count = bucket_count;
}

struct entry *entry_add(struct method_map *map, uintptr_t value, enum method_kind kind)
{
    struct entry *entry = mem_alloc(COMPONENT_METHOD_MAP, sizeof *entry);
    if (entry == NULL)
        return NULL;
    if (map->entry_count >= map->bucket_count && map->bucket_count < BUCKETS_MAX)
        entries_resize(map, map->bucket_count * 2);
    struct entry **bucket = &map->buckets[bucket_of(value, kind, map->bucket_count)];
    entry->value = value;
    entry->kind = kind;
    entry->next = *bucket;
    *bucket = entry;
    map->entry_count++;
    map->bounded_count += kind != METHOD_SEEN;
    return entry;
}

void entry_destroy(struct method_map *map, struct entry *entry)
{
    if (entry->stands_for == NULL)
        map->counts.methods--;
    if (entry->lines != NULL)
        map->counts.line_tables--;
    line_table_destroy(entry->lines);
    map->entry_count--;
    map->bounded_count -= entry->kind != METHOD_SEEN;
    mem_free(entry);
}

/* --- fresh dictionaries ----------------------------------------------------------------------- */

#define NEEDED UINT32_MAX

/* Which texts of a dictionary are still needed, and their numbers in a fresh one. Component
 * METHOD_MAP, for the time of it. */
struct renumbering {
    uint32_t *fresh; /* by old number */
    uint32_t last;   /* the highest old number */
};

static void see_id(void *context, uint32_t id, const char *text, size_t length)
{
    struct renumbering *renumbering = context;
    (void)text, (void)length;
    if (id > renumbering->last)
        renumbering->last = id;
}

/* False: no memory; renumber_end is fine all the same. */
static bool renumber_begin(struct renumbering *renumbering, const struct dictionary *old)
{
    renumbering->last = 0;
    dictionary_each(old, see_id, renumbering);
    renumbering->fresh = mem_alloc(COMPONENT_METHOD_MAP,
                                   ((size_t)renumbering->last + 1) * sizeof *renumbering->fresh);
    return renumbering->fresh != NULL;
}

static void renumber_need(struct renumbering *renumbering, uint32_t id)
{
    if (id != 0 && id <= renumbering->last)
        renumbering->fresh[id] = NEEDED;
}

struct filling {
    struct renumbering *renumbering;
    struct dictionary *fresh;
    bool refused;
};

static void fill_id(void *context, uint32_t id, const char *text, size_t length)
{
    struct filling *filling = context;
    struct renumbering *renumbering = filling->renumbering;
    if (id > renumbering->last || renumbering->fresh[id] != NEEDED)
        return;
    renumbering->fresh[id] = dictionary_put(filling->fresh, text, length);
    filling->refused = filling->refused || renumbering->fresh[id] == 0;
}

/* Puts what is needed. False: one of them was refused. */
static bool renumber_fill(struct renumbering *renumbering, const struct dictionary *old,
                          struct dictionary *fresh)
{
    struct filling filling = {renumbering, fresh, false};
    dictionary_each(old, fill_id, &filling);
    return !filling.refused;
}

static uint32_t renumber_of(const struct renumbering *renumbering, uint32_t id)
{
    return id <= renumbering->last ? renumbering->fresh[id] : 0;
}

static void renumber_end(struct renumbering *renumbering)
{
    mem_free(renumbering->fresh);
    renumbering->fresh = NULL;
}

struct new_numbers {
    struct renumbering classes, labels, packages;
};

typedef void info_fn(struct method_info *info, struct new_numbers *numbers);

static void need(struct method_info *info, struct new_numbers *numbers)
{
    renumber_need(&numbers->classes, info->class_id);
    renumber_need(&numbers->packages, info->package_id);
    renumber_need(&numbers->labels, info->name_id);
    renumber_need(&numbers->labels, info->signature_id);
}

static void renumber(struct method_info *info, struct new_numbers *numbers)
{
    info->class_id = renumber_of(&numbers->classes, info->class_id);
    info->package_id = renumber_of(&numbers->packages, info->package_id);
    info->name_id = renumber_of(&numbers->labels, info->name_id);
    info->signature_id = renumber_of(&numbers->labels, info->signature_id);
}

static void each_info(struct method_map *map, info_fn *visit, struct new_numbers *numbers)
{
    for (uint32_t i = 0; i < map->bucket_count; i++)
        for (struct entry *entry = map->buckets[i]; entry != NULL; entry = entry->next)
            visit(&entry->info, numbers);
    for (int i = 0; i < SHARED_COUNT; i++)
        visit(&map->shared[i].info, numbers);
}

bool method_map_reintern(struct method_map *map, const struct method_names *fresh)
{
    struct new_numbers numbers = {0};
    bool good = renumber_begin(&numbers.classes, map->names.classes) &&
                renumber_begin(&numbers.labels, map->names.labels) &&
                renumber_begin(&numbers.packages, map->names.packages);
    if (good)
        each_info(map, need, &numbers);
    good = good && renumber_fill(&numbers.classes, map->names.classes, fresh->classes) &&
           renumber_fill(&numbers.labels, map->names.labels, fresh->labels) &&
           renumber_fill(&numbers.packages, map->names.packages, fresh->packages);
    if (good) {
        each_info(map, renumber, &numbers);
        map->names = *fresh;
    }
    renumber_end(&numbers.classes);
    renumber_end(&numbers.labels);
    renumber_end(&numbers.packages);
    return good;
}
