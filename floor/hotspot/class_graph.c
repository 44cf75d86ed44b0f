#include "floor/hotspot/class_graph.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "floor/base/fold_hash.h"
#include "floor/hotspot/method_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX     (16 << 20)
#define METHODS_MAX   65535 /* of a class file */
#define PLACES        (2 * LOADED_FAMILIES_MAX)
#define OTHER         "[other families]"
#define IDS_ELSEWHERE 26 /* since this JDK */
#define SLOTS_MIN     8

struct walk {
    struct loaded_methods *out;
    struct loaded_families *families;
    bool ids;
    int64_t steps; /* loaders and classes looked at */
};

static uintptr_t field(uintptr_t structure, int32_t offset)
{
    return load_pointer(structure + (uintptr_t)offset);
}

static bool is_known(void)
{
    return layout.loaders_head != 0 && layout.loader_next >= 0 && layout.loader_classes >= 0 &&
           layout.klass_next >= 0 && layout.klass_loader_data >= 0 &&
           layout.instance_methods >= 0 && layout.any_array_length >= 0 &&
           layout.klass_layout_helper >= 0;
}

bool class_graph_name(uintptr_t klass, char out[CLASS_NAME_MAX])
{
    struct class_reading reading;
    char name[METHOD_TEXT_MAX + 1];
    if (!class_reading_begin(klass, &reading) || !method_reading_text(&reading.name, true, name))
        return false;
    class_name_readable(name, out);
    return true;
}

/* The last row takes what finds no room. */
static struct loaded_family *family_of(struct walk *walk, const char *name, size_t length)
{
    struct loaded_families *families = walk->families;
    size_t place = fold_hash(name, length, 0) % PLACES;
    while (families->place[place] != 0 &&
           strcmp(families->family[families->place[place] - 1].name, name) != 0)
        place = (place + 1) % PLACES;
    if (families->place[place] != 0)
        return &families->family[families->place[place] - 1];
    if (walk->out->family_count == LOADED_FAMILIES_MAX)
        return &families->family[LOADED_FAMILIES_MAX - 1];
    struct loaded_family *family = &families->family[walk->out->family_count++];
    families->place[place] = (uint16_t)walk->out->family_count;
    bool last = walk->out->family_count == LOADED_FAMILIES_MAX;
    snprintf(family->name, sizeof family->name, "%s", last ? OTHER : name);
    return family;
}

/* The class's cache: its length, then an id for each method, 0 while there is none. */
static int64_t ids_of(uintptr_t klass, int64_t methods)
{
    int64_t count = 0;
    uintptr_t cache = field(klass, layout.instance_method_ids);
    uint64_t length = cache != 0 ? load_u64(cache, 0) : 0;
    if (length > METHODS_MAX + 1)
        return 0;
    for (uint64_t i = 0; i < length && (int64_t)i <= methods + 1; i++)
        count += load_pointer(cache + (i + 1) * (uintptr_t)WORD_BYTES) != 0;
    return count;
}

static void add_to_family(struct walk *walk, uintptr_t klass, const char *name, int64_t methods)
{
    char family_name[CLASS_FAMILY_MAX];
    size_t length = class_family(name, strlen(name), family_name);
    struct loaded_family *family = family_of(walk, family_name, length);
    family->classes++;
    family->methods += methods;
    if (walk->ids)
        walk->out->ids += ids_of(klass, methods);
}

/* False: that is no class of this loader (any more): the list cannot be followed. */
static bool take_class(struct walk *walk, uintptr_t klass, uintptr_t loader, bool boot)
{
    char name[CLASS_NAME_MAX];
    struct loaded_methods *out = walk->out;
    if (field(klass, layout.klass_loader_data) != loader)
        return false;
    if ((int32_t)load_u32(klass + (uintptr_t)layout.klass_layout_helper, 0) < 0)
        return true; /* an array's */
    uintptr_t array = field(klass, layout.instance_methods);
    int64_t methods =
        array != 0 ? (int64_t)load_u32(array + (uintptr_t)layout.any_array_length, 0) : 0;
    if (methods > METHODS_MAX || (walk->families != NULL && !class_graph_name(klass, name)))
        return true; /* being loaded */
    if (walk->families != NULL)
        add_to_family(walk, klass, name, methods);
    out->classes++;
    out->methods += methods;
    out->slots += methods > SLOTS_MIN ? methods : SLOTS_MIN;
    out->own_classes += !boot;
    out->own_methods += boot ? 0 : methods;
    return true;
}

/* False: there are too many. */
static bool take_loaders(struct walk *walk)
{
    uintptr_t loader = load_pointer(layout.loaders_head);
    while (loader != 0) {
        if (walk->steps++ == STEPS_MAX)
            return false;
        /* The boot loader's is the last of the list. */
        uintptr_t next = field(loader, layout.loader_next);
        uintptr_t klass = field(loader, layout.loader_classes);
        walk->out->loaders++;
        while (klass != 0) {
            if (walk->steps++ == STEPS_MAX)
                return false;
            if (!take_class(walk, klass, loader, next == 0)) {
                walk->out->torn++;
                break;
            }
            klass = field(klass, layout.klass_next);
        }
        loader = next;
    }
    return true;
}

static int by_methods(const void *a, const void *b)
{
    const struct loaded_family *left = a, *right = b;
    if (left->methods != right->methods)
        return left->methods < right->methods ? 1 : -1;
    return strcmp(left->name, right->name);
}

bool class_graph_walk(struct loaded_methods *out, struct loaded_families *families, char *error,
                      size_t error_size)
{
    struct walk walk = {.out = out,
                        .families = families,
                        .ids = families != NULL && layout.instance_method_ids >= 0 &&
                               layout.jdk_major < IDS_ELSEWHERE};
    *out = (struct loaded_methods){.families = families};
    if (!is_known()) {
        snprintf(error, error_size, "JDK %d does not export where its classes are",
                 layout.jdk_major);
        return false;
    }
    if (!take_loaders(&walk)) {
        snprintf(error, error_size,
                 "more than %d class loaders and classes, or a list without an end", STEPS_MAX);
        return false;
    }
    out->ids = walk.ids ? out->ids : -1;
    if (families != NULL)
        qsort(families->family, out->family_count, sizeof *families->family, by_methods);
    return true;
}
