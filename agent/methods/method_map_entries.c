/* Entries of a method_map by value and kind, in chains. Drain thread. */
#include "agent/methods/line_tables.h"
#include "agent/methods/method_map_layout.h"

#define BUCKETS_MAX (1u << 24)

static uint32_t bucket_of(uintptr_t value, enum method_kind kind, uint32_t bucket_count)
{
    uint64_t hash = (value ^ (uint64_t)kind << 60) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) & (bucket_count - 1);
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
