#include "nmtwatch/observe/loaded_methods.h"

#include "agent/hotspot/layout.h"
#include "agent/hotspot/load.h"
#include "analyzers/classes/stem_table.h"
#include "nmtwatch/observe/remote.h"
#include "nmtwatch/observe/stacks.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS            30
#define JSON_FAMILIES   200
#define LOADERS_MAX     (INT64_C(4) << 20)
#define CLASSES_MAX     (INT64_C(16) << 20) /* of all loaders: a list may be a circle */
#define METHODS_MAX     65535               /* of a class file */
#define PLACES          8192                /* of families, twice as many and more */
#define OTHER           "[other families]"
#define IDS_ELSEWHERE   26 /* since this JDK */
#define OWN_CLASSES_MIN 200

struct walk {
    struct loaded_methods *out;
    uint16_t place[PLACES]; /* family + 1; 0: free */
    bool ids;
    int64_t steps; /* classes looked at */
};

static uintptr_t field(uintptr_t structure, int32_t offset)
{
    return load_pointer(structure + (uintptr_t)offset);
}

static bool is_known(char *error, size_t error_size)
{
    bool known = layout.loaders_head != 0 && layout.loader_next >= 0 &&
                 layout.loader_classes >= 0 && layout.klass_next >= 0 &&
                 layout.klass_loader_data >= 0 && layout.instance_methods >= 0 &&
                 layout.any_array_length >= 0 && layout.klass_layout_helper >= 0;
    if (!known)
        snprintf(error, error_size, "JDK %d does not export where its classes are",
                 layout.jdk_major);
    return known;
}

/* The last row takes what finds no room. */
static struct loaded_family *family_of(struct walk *walk, const char *name)
{
    struct loaded_methods *out = walk->out;
    size_t place = stem_hash(span_from_cstr(name)) % PLACES;
    while (walk->place[place] != 0 && strcmp(out->families[walk->place[place] - 1].name, name) != 0)
        place = (place + 1) % PLACES;
    if (walk->place[place] != 0)
        return &out->families[walk->place[place] - 1];
    if (out->family_count == LOADED_FAMILIES_MAX)
        return &out->families[LOADED_FAMILIES_MAX - 1];
    struct loaded_family *family = &out->families[out->family_count++];
    walk->place[place] = (uint16_t)out->family_count;
    bool last = out->family_count == LOADED_FAMILIES_MAX;
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

/* False: that is no class of this loader (any more): the list cannot be followed. */
static bool take_class(struct walk *walk, uintptr_t klass, uintptr_t loader, bool boot)
{
    char name[CLASS_NAME_MAX], family_name[CLASS_FAMILY_MAX];
    struct loaded_methods *out = walk->out;
    if (field(klass, layout.klass_loader_data) != loader)
        return false;
    if ((int32_t)load_u32(klass + (uintptr_t)layout.klass_layout_helper, 0) < 0)
        return true; /* an array's */
    uintptr_t array = field(klass, layout.instance_methods);
    int64_t methods =
        array != 0 ? (int64_t)load_u32(array + (uintptr_t)layout.any_array_length, 0) : 0;
    if (methods > METHODS_MAX || !stacks_class_name(klass, name))
        return true; /* being loaded */
    class_family(name, strlen(name), family_name);
    struct loaded_family *family = family_of(walk, family_name);
    family->classes++;
    family->methods += methods;
    out->classes++;
    out->methods += methods;
    out->own_classes += !boot;
    out->own_methods += boot ? 0 : methods;
    if (walk->ids)
        out->ids += ids_of(klass, methods);
    return true;
}

static void take_loaders(struct walk *walk)
{
    uintptr_t loader = load_pointer(layout.loaders_head);
    for (int64_t i = 0; loader != 0 && i < LOADERS_MAX; i++) {
        /* The boot loader's is the last of the list. */
        uintptr_t next = field(loader, layout.loader_next);
        uintptr_t klass = field(loader, layout.loader_classes);
        walk->out->loaders++;
        while (klass != 0 && walk->steps++ < CLASSES_MAX) {
            if (!take_class(walk, klass, loader, next == 0))
                break;
            klass = field(klass, layout.klass_next);
        }
        loader = next;
    }
}

static int by_methods(const void *a, const void *b)
{
    const struct loaded_family *left = a, *right = b;
    if (left->methods != right->methods)
        return left->methods < right->methods ? 1 : -1;
    return strcmp(left->name, right->name);
}

bool loaded_methods_read(const struct target *target, struct loaded_methods *out, char *error,
                         size_t error_size)
{
    *out = (struct loaded_methods){0};
    struct walk *walk = calloc(1, sizeof *walk);
    out->families = calloc(LOADED_FAMILIES_MAX, sizeof *out->families);
    bool good = walk != NULL && out->families != NULL;
    if (!good)
        snprintf(error, error_size, "out of memory");
    layout_forget();
    good = good && remote_open(target, error, error_size) &&
           layout_fill(&layout, error, error_size) && is_known(error, error_size);
    if (good) {
        walk->out = out;
        walk->ids = layout.instance_method_ids >= 0 && layout.jdk_major < IDS_ELSEWHERE;
        take_loaders(walk);
        out->ids = walk->ids ? out->ids : -1;
        qsort(out->families, out->family_count, sizeof *out->families, by_methods);
    }
    free(walk);
    remote_close();
    return good;
}

double loaded_methods_per_class(const struct loaded_methods *methods)
{
    if (methods->own_classes >= OWN_CLASSES_MIN)
        return (double)methods->own_methods / (double)methods->own_classes;
    return methods->classes > 0 ? (double)methods->methods / (double)methods->classes : 0.0;
}

void loaded_methods_free(struct loaded_methods *methods)
{
    free(methods->families);
    methods->families = NULL;
}

/* --- as a table and as JSON -------------------------------------------------------------------- */

static bool write_json(const struct loaded_methods *methods, const struct target *target, FILE *out)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_text(&json, "observed", "methods");
    json_out_int(&json, "pid", target->pid);
    json_out_text_if(&json, "main", target->identity.main);
    json_out_int(&json, "loaders", methods->loaders);
    json_out_int(&json, "classes", methods->classes);
    json_out_int(&json, "methods", methods->methods);
    json_out_int(&json, "own_classes", methods->own_classes);
    json_out_int(&json, "own_methods", methods->own_methods);
    json_out_real(&json, "methods_per_class", loaded_methods_per_class(methods));
    json_out_int_if(&json, "jmethodids", methods->ids >= 0, methods->ids);
    json_out_int(&json, "family_count", (int64_t)methods->family_count);
    json_out_begin(&json, "families", '[');
    for (size_t i = 0; i < methods->family_count && i < JSON_FAMILIES; i++) {
        json_out_begin(&json, NULL, '{');
        json_out_text(&json, "family", methods->families[i].name);
        json_out_int(&json, "classes", methods->families[i].classes);
        json_out_int(&json, "methods", methods->families[i].methods);
        json_out_end(&json, '}');
    }
    json_out_end(&json, ']');
    json_out_end(&json, '}');
    return json_out_print(&json, out);
}

static bool write_table(const struct loaded_methods *methods, const struct target *target,
                        FILE *out)
{
    static const char *const HEADS[] = {"#classes", "#methods", "#a class", "family", NULL};
    struct page page;
    char each[32];
    fprintf(out, "pid %d (%s): %s methods in %s classes of %s class loaders\n", (int)target->pid,
            escape_name(target->identity.main).text, units_count(methods->methods).text,
            units_count(methods->classes).text, units_count(methods->loaders).text);
    fprintf(out, "Without the boot loader's: %s in %s classes, %.1f a class\n",
            units_count(methods->own_methods).text, units_count(methods->own_classes).text,
            loaded_methods_per_class(methods));
    if (methods->ids >= 0)
        fprintf(out, "jmethodIDs: %s\n", units_count(methods->ids).text);
    fputc('\n', out);
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, HEADS);
    for (size_t i = 0; i < methods->family_count && i < ROWS; i++) {
        const struct loaded_family *family = &methods->families[i];
        snprintf(each, sizeof each, "%.1f", (double)family->methods / (double)family->classes);
        page_row(&page, units_count(family->classes).text, units_count(family->methods).text, each,
                 family->name);
    }
    return page_print(&page, out);
}

bool loaded_methods_write(const struct loaded_methods *methods, const struct target *target,
                          enum profile_format format, FILE *out)
{
    if (format == PROFILE_TOP)
        return write_json(methods, target, out);
    return format == PROFILE_TOP_TEXT && write_table(methods, target, out);
}

void loaded_methods_sentence(const struct loaded_methods *methods, char *out, size_t size)
{
    snprintf(out, size, "%s methods in %s classes of %s class loaders",
             units_count(methods->methods).text, units_count(methods->classes).text,
             units_count(methods->loaders).text);
}
