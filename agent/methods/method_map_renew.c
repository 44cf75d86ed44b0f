/* Fresh dictionaries, without the names of classes that are gone. Drain thread. */
#include "agent/methods/method_map_layout.h"
#include "agent/methods/renumber.h"

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
