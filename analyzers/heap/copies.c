/* copies: loaders of one application are found by what they are: the names of all their classes.
 *
 * Jars have another path, a temporary folder or a UUID with each deployment. Copies load the same
 * classes, as many of them as were used; plug-ins that share a library have classes of their own each. */
#include "analyzers/heap/holders_internal.h"

#include "floor/base/normalize.h"

#include <stdlib.h>
#include <string.h>

/* Sorted hashes of the names of a loader's classes; of generated ones those of their stems. */
struct names {
    uint64_t *hash;
    uint32_t count;
};

struct cluster {
    uint32_t rank;  /* the loader with most classes */
    uint32_t first; /* the first loader */
    uint32_t size;
    bool by_name; /* several loaders of one name, or of one container's: nothing else joins */
};

struct work {
    struct holders *holders;
    struct names *names; /* by number of holders.loaders */
    uint32_t *cluster_of;
    struct cluster *clusters;
    uint32_t cluster_count;
    struct id_table of_name, of_place; /* of a class; of a folded name of loaders */
};

static int by_hash(const void *a, const void *b)
{
    return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

static uint32_t unique(uint64_t *hashes, uint32_t count)
{
    uint32_t kept = 0;
    if (count > 0)
        qsort(hashes, count, sizeof *hashes, by_hash);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || hashes[i] != hashes[i - 1])
            hashes[kept++] = hashes[i];
    }
    return kept;
}

static bool is_generated(const char *name, const struct name_parts *parts)
{
    return parts->hidden || parts->random_bytes > 0 || strstr(name, "$Proxy") != NULL ||
           strstr(name, "$$") != NULL;
}

static bool take_names(struct work *work, uint32_t i)
{
    const struct heap *heap = work->holders->heap;
    const struct held_loader *own = &work->holders->loaders[i];
    struct names *names = &work->names[i];
    names->hash = malloc(((size_t)own->classes + 1) * sizeof *names->hash);
    if (names->hash == NULL)
        return false;
    for (uint32_t k = 0; k < own->classes; k++) {
        const char *name =
            heap->classes[heap->loader_class[heap->loader_class_first[own->loader] + k]].name;
        struct name_parts parts;
        char stem[STEM_MAX];
        normalize(span_of(name, strlen(name)), stem, &parts);
        names->hash[k] = holders_hash(is_generated(name, &parts) ? stem : name);
    }
    names->count = unique(names->hash, own->classes);
    return true;
}

/* "/tmp/deploy2272/shop-1.0.2.jar" -> "/tmp/deploy#/shop-#.#.#.jar", "shop@7" -> "shop@#", a UUID -> "*". */
static uint64_t place_of(const char *name)
{
    char folded[512];
    size_t length = 0;
    for (const char *from = name; *from != '\0' && length < sizeof folded - 1;) {
        size_t hex = strspn(from, "0123456789abcdefABCDEF-"), digits = strspn(from, "0123456789");
        bool random = hex >= 8 && strcspn(from, "0123456789") < hex;
        folded[length++] = random ? '*' : digits > 0 ? '#' : *from;
        from += random ? hex : digits > 0 ? digits : 1;
    }
    folded[length] = '\0';
    return holders_hash(folded);
}

static uint32_t in_common(const struct names *a, const struct names *b)
{
    uint32_t common = 0;
    for (uint32_t i = 0, k = 0; i < a->count && k < b->count;) {
        common += a->hash[i] == b->hash[k];
        bool further = a->hash[i] <= b->hash[k];
        k += b->hash[k] <= a->hash[i];
        i += further;
    }
    return common;
}

/* alike: their names differ in numbers only, or they have none. Two that each have classes of their
 * own are two versions then; else two plug-ins with a common library. */
static bool are_copies(const struct names *a, const struct names *b, bool alike)
{
    uint32_t common = in_common(a, b), most = MAX(a->count, b->count),
             least = MIN(a->count, b->count);
    if (common == 0)
        return false;
    if (common == least)
        return alike || common * 2 >= most;
    return alike && common * 2 >= most;
}

#define TRIED_MAX 8 /* clusters that a loader is compared with */

/* The cluster of loaders that this one is a copy of; NO_OBJECT. */
static uint32_t find_cluster(const struct work *work, uint32_t i, bool several)
{
    const struct held_loader *own = &work->holders->loaders[i];
    const struct names *names = &work->names[i];
    uint32_t tried[TRIED_MAX], count = 0,
                               at = id_table_get(&work->of_place, place_of(holders_name(own)));
    if (at != ID_TABLE_NONE)
        tried[count++] = at;
    for (uint32_t k = 0; k < names->count && count < TRIED_MAX; k++) {
        uint32_t cluster = id_table_get(&work->of_name, names->hash[k]);
        bool known = cluster == ID_TABLE_NONE;
        for (uint32_t t = 0; t < count && !known; t++)
            known = tried[t] == cluster;
        if (!known)
            tried[count++] = cluster;
    }
    for (uint32_t t = 0; t < count; t++) {
        const struct cluster *cluster = &work->clusters[tried[t]];
        const struct held_loader *first = &work->holders->loaders[cluster->first];
        const char *name = holders_name(own), *other = holders_name(first);
        if (first->class != own->class ||
            (own->by_container && first->by_container && strcmp(name, other) != 0))
            continue;
        bool alike = place_of(name) == place_of(other);
        if (!alike && (several || cluster->by_name))
            continue;
        if (are_copies(names, &work->names[cluster->rank], alike))
            return tried[t];
    }
    return NO_OBJECT;
}

static bool join(struct work *work, uint32_t cluster, uint32_t i)
{
    const struct names *names = &work->names[i];
    struct cluster *own = &work->clusters[cluster];
    work->cluster_of[i] = cluster;
    own->size++;
    if (names->count > work->names[own->rank].count)
        own->rank = i;
    for (uint32_t k = 0; k < names->count; k++) {
        if (id_table_get(&work->of_name, names->hash[k]) == ID_TABLE_NONE &&
            !id_table_put(&work->of_name, names->hash[k], cluster))
            return false;
    }
    return true;
}

static bool begin_cluster(struct work *work, uint32_t i, bool several)
{
    const char *name = holders_name(&work->holders->loaders[i]);
    uint32_t number = work->cluster_count++;
    work->clusters[number] = (struct cluster){.rank = i, .first = i, .by_name = several};
    return (name[0] == '\0' || id_table_put(&work->of_place, place_of(name), number)) &&
           join(work, number, i);
}

/* Loaders of one type are together, those of one name in it. */
static int by_name(const void *a, const void *b, void *context)
{
    const struct held_loader *x = a, *y = b;
    const struct heap *heap = context;
    return strcmp(heap->classes[x->class].name, heap->classes[y->class].name)
               ?: strcmp(holders_name(x), holders_name(y)) ?: compare_numbers(x->loader, y->loader);
}

static bool find_clusters(struct work *work)
{
    struct holders *holders = work->holders;
    uint32_t count = (uint32_t)holders->loader_count;
    for (uint32_t i = 0, end; i < count; i = end) {
        const struct held_loader *own = &holders->loaders[i];
        bool named = holders_name(own)[0] != '\0';
        for (end = i + 1; named && end < count && holders->loaders[end].class == own->class &&
                          strcmp(holders_name(own), holders_name(&holders->loaders[end])) == 0;)
            end++;
        if (i > 0 && own->class != holders->loaders[i - 1].class) {
            id_table_free(&work->of_name);
            id_table_free(&work->of_place);
        }
        uint32_t cluster = find_cluster(work, i, end - i > 1);
        if (cluster == NO_OBJECT && !begin_cluster(work, i, end - i > 1))
            return false;
        if (cluster != NO_OBJECT && !join(work, cluster, i))
            return false;
        for (uint32_t k = i + 1; k < end; k++) {
            if (!join(work, work->cluster_of[i], k))
                return false;
        }
    }
    return true;
}

/* --- groups --------------------------------------------------------------------------------------- */

/* Reflection makes one for each method that is called often: never a leak of its own. */
static bool of_reflection(const char *type)
{
    return strcmp(type, "jdk.internal.reflect.DelegatingClassLoader") == 0 ||
           strcmp(type, "sun.reflect.DelegatingClassLoader") == 0;
}

#define SAME_STEMS_MIN 10 /* loaders with a generated class each */

/* Loaders that have a class which no other of the group has. */
static uint32_t with_own_classes(const struct names *names, uint32_t count, const uint64_t *all,
                                 int64_t all_count)
{
    uint32_t own = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < names[i].count; k++) {
            const uint64_t *at =
                bsearch(&names[i].hash[k], all, (size_t)all_count, sizeof *all, by_hash);
            if ((at == all || at[-1] != *at) && (at == all + all_count - 1 || at[1] != *at)) {
                own++;
                break;
            }
        }
    }
    return own;
}

/* Are these one application loaded several times? names: of its loaders. rest: loaders without a name that
 * are copies of no other. */
static bool weigh(struct holders *holders, struct holder_group *group, const struct names *names,
                  bool rest)
{
    const struct heap *heap = holders->heap;
    const struct held_loader *first = &holders->loaders[group->first];
    int64_t most = 0, at = 0;
    for (uint32_t i = 0; i < group->loaders; i++) {
        group->classes += first[i].classes;
        group->held[first[i].held]++;
        most = first[i].classes > most ? first[i].classes : most;
    }
    uint64_t *all = malloc(((size_t)group->classes + 1) * 2 * sizeof *all);
    if (all == NULL)
        return false;
    uint64_t *stems = all + group->classes;
    for (uint32_t i = 0; i < group->loaders; i++) {
        for (uint32_t k = 0; k < first[i].classes; k++) {
            const char *name =
                heap->classes[heap->loader_class[heap->loader_class_first[first[i].loader] + k]]
                    .name;
            struct name_parts parts;
            char stem[STEM_MAX];
            normalize(span_of(name, strlen(name)), stem, &parts);
            all[at] = holders_hash(name);
            stems[at++] = holders_hash(stem);
        }
    }
    group->names = unique(all, (uint32_t)group->classes);
    group->duplicates = group->classes - group->names;
    int64_t same_stem = group->classes - unique(stems, (uint32_t)group->classes), listed = 0;
    for (uint32_t i = 0; i < group->loaders; i++) {
        memcpy(all + listed, names[i].hash, names[i].count * sizeof *all);
        listed += names[i].count;
    }
    if (listed > 0)
        qsort(all, (size_t)listed, sizeof *all, by_hash);
    bool one_name = strcmp(holders_name(first), holders_name(first + group->loaders - 1)) == 0 &&
                    group->name[0] != '\0';
    bool plug_ins = !one_name && group->loaders > 2 &&
                    with_own_classes(names, group->loaders, all, listed) * 2 > group->loaders;
    free(all);
    group->scripts = group->duplicates == 0 && group->loaders >= SAME_STEMS_MIN && same_stem > 0 &&
                     same_stem * 2 >= group->classes - most && !of_reflection(group->type);
    group->copies = group->duplicates > 0 && group->duplicates * 2 >= group->classes - most &&
                    !plug_ins && !rest && !of_reflection(group->type);
    uint32_t alive = group->loaders - group->held[HELD_BY_NOTHING];
    group->suspect = group->copies && alive - group->held[HELD_SOFTLY] > 1;
    group->softly = group->copies && alive > 1 && !group->suspect;
    return true;
}

struct order {
    uint32_t cluster, number;
};

/* Those alone that have no name are one group of their type. */
static int by_cluster(const void *a, const void *b, void *context)
{
    const struct order *x = a, *y = b;
    const struct work *work = context;
    const struct held_loader *of_x = &work->holders->loaders[x->number],
                             *of_y = &work->holders->loaders[y->number];
    const char *type_x = work->holders->heap->classes[of_x->class].name,
               *type_y = work->holders->heap->classes[of_y->class].name;
    return strcmp(type_x, type_y) ?: compare_numbers(x->cluster, y->cluster)
               ?: compare_numbers(x->number, y->number);
}

static bool make_groups(struct work *work)
{
    struct holders *holders = work->holders;
    uint32_t count = (uint32_t)holders->loader_count;
    struct order *order = malloc(((size_t)count + 1) * sizeof *order);
    struct held_loader *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    struct names *names = malloc(((size_t)count + 1) * sizeof *names);
    bool ok = order != NULL && sorted != NULL && names != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        const struct cluster *cluster = &work->clusters[work->cluster_of[i]];
        bool alone = cluster->size == 1 && holders_name(&holders->loaders[i])[0] == '\0';
        order[i] = (struct order){alone ? NO_OBJECT : work->cluster_of[i], i};
    }
    if (ok && count > 0)
        qsort_r(order, count, sizeof *order, by_cluster, work);
    for (uint32_t i = 0; ok && i < count; i++) {
        sorted[i] = holders->loaders[order[i].number];
        names[i] = work->names[order[i].number];
    }
    if (ok) {
        memcpy(holders->loaders, sorted, count * sizeof *sorted);
        memcpy(work->names, names, count * sizeof *names);
    }
    for (uint32_t i = 0, end; ok && i < count; i = end) {
        const struct held_loader *own = &holders->loaders[i];
        struct holder_group *group = &holders->groups[holders->group_count];
        for (end = i + 1; end < count && holders->loaders[end].class == own->class &&
                          order[end].cluster == order[i].cluster;)
            end++;
        group->type = holders->heap->classes[own->class].name;
        group->name = holders_name(own);
        group->first = i;
        group->loaders = end - i;
        group->in_use = -1;
        group->metaspace_bytes = group->type_metaspace_bytes = -1;
        for (uint32_t k = i; k < end; k++) {
            holders->loaders[k].group = (uint32_t)holders->group_count;
            holders->group_of[holders->loaders[k].loader] = (uint32_t)holders->group_count;
        }
        ok = weigh(holders, group, work->names + i, order[i].cluster == NO_OBJECT);
        holders->group_count++;
    }
    free(order);
    free(sorted);
    free(names);
    return ok;
}

bool copies_group(struct holders *holders)
{
    size_t room = (size_t)holders->loader_count + 1;
    struct work work = {.holders = holders};
    work.names = calloc(room, sizeof *work.names);
    work.cluster_of = calloc(room, sizeof *work.cluster_of);
    work.clusters = calloc(room, sizeof *work.clusters);
    holders->groups = calloc(room, sizeof *holders->groups);
    bool ok = work.names != NULL && work.cluster_of != NULL && work.clusters != NULL &&
              holders->groups != NULL;
    if (ok && holders->loader_count > 0)
        qsort_r(holders->loaders, (size_t)holders->loader_count, sizeof *holders->loaders, by_name,
                (void *)(uintptr_t)holders->heap);
    for (int i = 0; ok && i < holders->loader_count; i++)
        ok = take_names(&work, (uint32_t)i);
    ok = ok && find_clusters(&work) && make_groups(&work);
    for (int i = 0; work.names != NULL && i < holders->loader_count; i++)
        free(work.names[i].hash);
    id_table_free(&work.of_name);
    id_table_free(&work.of_place);
    free(work.names);
    free(work.cluster_of);
    free(work.clusters);
    return ok;
}
