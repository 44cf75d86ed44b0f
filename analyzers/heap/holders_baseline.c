#include "analyzers/heap/holders_baseline.h"

#include <stdlib.h>
#include <string.h>

const char *holder_path_words(const struct holder_path *path)
{
    return path->cause >= 0 ? holder_causes[path->cause].title
           : path->cut >= 0 ? path->steps[path->cut].text
                            : path->root;
}

bool holders_baseline_take(struct holders_baseline *baseline, const struct holders *holders)
{
    memset(baseline, 0, sizeof *baseline);
    baseline->dumped_ms = holders->heap->dumped_ms;
    baseline->groups = calloc((size_t)holders->group_count + 1, sizeof *baseline->groups);
    baseline->paths = calloc((size_t)holders->path_count + 1, sizeof *baseline->paths);
    if (baseline->groups == NULL || baseline->paths == NULL)
        return false;
    for (int i = 0; i < holders->group_count; i++) {
        const struct holder_group *from = &holders->groups[i];
        struct baseline_group *group = &baseline->groups[baseline->group_count++];
        *group = (struct baseline_group){.type = strdup(from->type),
                                         .name = strdup(from->name),
                                         .loaders = from->loaders,
                                         .alive = from->loaders - from->held[HELD_BY_NOTHING],
                                         .classes = from->classes,
                                         .retained_bytes = from->retained_bytes};
        if (group->type == NULL || group->name == NULL)
            return false;
        for (int k = 0; k < from->path_count; k++) {
            const struct holder_path *of = &holders->paths[from->paths[k]];
            struct baseline_path *path = &baseline->paths[baseline->path_count++];
            *path = (struct baseline_path){.signature = strdup(of->signature),
                                           .group = i,
                                           .held = of->held,
                                           .loaders = of->loaders};
            if (path->signature == NULL)
                return false;
        }
    }
    return true;
}

const struct baseline_group *holders_baseline_group(const struct holders_baseline *baseline,
                                                    const struct holder_group *group)
{
    for (int i = 0; i < baseline->group_count; i++) {
        const struct baseline_group *own = &baseline->groups[i];
        if (strcmp(own->type, group->type) == 0 && strcmp(own->name, group->name) == 0)
            return own;
    }
    return NULL;
}

uint32_t holders_baseline_path(const struct holders_baseline *baseline,
                               const struct holder_group *group, const struct holder_path *path)
{
    const struct baseline_group *own = holders_baseline_group(baseline, group);
    for (int i = 0; own != NULL && i < baseline->path_count; i++) {
        const struct baseline_path *of = &baseline->paths[i];
        if (&baseline->groups[of->group] == own && of->held == path->held &&
            strcmp(of->signature, path->signature) == 0)
            return of->loaders;
    }
    return 0;
}

void holders_baseline_free(struct holders_baseline *baseline)
{
    for (int i = 0; i < baseline->group_count; i++) {
        free(baseline->groups[i].type);
        free(baseline->groups[i].name);
    }
    for (int i = 0; i < baseline->path_count; i++)
        free(baseline->paths[i].signature);
    free(baseline->groups);
    free(baseline->paths);
    memset(baseline, 0, sizeof *baseline);
}
