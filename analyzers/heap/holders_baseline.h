/*
 * holders_baseline: what an earlier dump said about what holds class loaders, small enough to keep
 * while the later one is read.
 *
 *   holders_baseline_take (judged holders) -> the questions, of groups of the later dump
 *   -> holders_baseline_free
 *
 * Objects move between two dumps, so that loaders are not matched one by one: groups by type and
 * name, paths by what they have in common (holder_path.signature).
 *
 * Pure; one thread. The texts belong to the struct.
 */
#pragma once

#include "analyzers/heap/holders.h"

struct baseline_path {
    char *signature;
    int group;
    enum held held;
    uint32_t loaders;
};

struct baseline_group {
    char *type, *name;
    uint32_t loaders, alive;
    int64_t classes, retained_bytes;
};

struct holders_baseline {
    int64_t dumped_ms;
    int group_count, path_count;
    struct baseline_group *groups;
    struct baseline_path *paths;
};

/* False: out of memory. To be freed in any case. */
bool holders_baseline_take(struct holders_baseline *baseline, const struct holders *holders);
/* The same type and name; NULL: it was not there. */
const struct baseline_group *holders_baseline_group(const struct holders_baseline *baseline,
                                                    const struct holder_group *group);
/* How many loaders of this group the same path held. */
uint32_t holders_baseline_path(const struct holders_baseline *baseline,
                               const struct holder_group *group, const struct holder_path *path);
void holders_baseline_free(struct holders_baseline *baseline);

/* The cause of a path, or the step to cut at, or its root: its name in tables. */
const char *holder_path_words(const struct holder_path *path);
