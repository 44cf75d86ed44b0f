#include "analyzers/native/loader_leak.h"

#include "analyzers/parse/span.h"

static bool alike(const struct loader_copies *group, int64_t classes)
{
    int64_t mean = group->classes / group->copies;
    int64_t gap = mean > classes ? mean - classes : classes - mean;
    return gap <= mean / 10;
}

/* The JDK's own loaders exist once each and never leak. */
static bool is_own(struct span type)
{
    return span_starts_with(type, SPAN_LITERAL("<")) ||
           span_starts_with(type, SPAN_LITERAL("jdk.internal.loader.ClassLoaders$")) ||
           span_starts_with(type, SPAN_LITERAL("sun.misc.Launcher$"));
}

void loader_leak_add(struct loader_leak *leak, const struct loader_stats_row *row)
{
    if (row->kind != LOADER_OWN || row->classes < LOADER_LEAK_CLASSES_MIN || is_own(row->type))
        return;
    char type[EVENT_NAME_MAX];
    span_copy(row->type, type, sizeof type);
    struct loader_copies *into = NULL;
    for (int i = 0; i < leak->group_count && into == NULL; i++) {
        struct loader_copies *group = &leak->group[i];
        if (strcmp(group->type, type) == 0 && alike(group, row->classes))
            into = group;
    }
    if (into == NULL) {
        if (leak->group_count == LOADER_LEAK_GROUPS_MAX) {
            leak->dropped++;
            return;
        }
        into = &leak->group[leak->group_count++];
        memset(into, 0, sizeof *into);
        memcpy(into->type, type, sizeof type);
    }
    into->copies++;
    into->classes = saturated_add(into->classes, row->classes);
    into->chunk_bytes = saturated_add(into->chunk_bytes, row->chunk_bytes);
}

static int64_t extra_bytes(const struct loader_copies *group)
{
    return group->chunk_bytes / group->copies * (group->copies - 1);
}

const struct loader_copies *loader_leak_worst(const struct loader_leak *leak)
{
    const struct loader_copies *worst = NULL;
    for (int i = 0; i < leak->group_count; i++) {
        const struct loader_copies *group = &leak->group[i];
        if (group->copies >= LOADER_LEAK_COPIES_MIN &&
            (worst == NULL || extra_bytes(group) > extra_bytes(worst)))
            worst = group;
    }
    return worst;
}
