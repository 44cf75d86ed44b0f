#include "reports/profile/class_makers.h"

#include "analyzers/classes/call_site.h"
#include "analyzers/classes/family.h"
#include "floor/base/normalize.h"
#include "analyzers/classes/stem_table.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <stdlib.h>
#include <string.h>

/* --- what is shown ---------------------------------------------------------------------------- */

#define JSON_FAMILIES_MAX 200

static const struct family *producer_of(const struct class_family *family)
{
    const struct family *known = family_match(span_from_cstr(family->name));
    if (known == NULL && family->example != NULL) /* the classes of a package */
        known = family_match(span_from_cstr(family->example));
    /* A pattern so general that ordinary names match is no proof. */
    return known != NULL && known->evidence == FAMILY_BY_NAME ? known : NULL;
}

static void add_way(struct page *page, const struct class_family *family)
{
    const struct class_way *way = &family->way[0];
    int64_t stacks = 0;
    char of[128];
    for (int i = 0; i < family->way_count; i++)
        stacks += family->way[i].stacks;
    if (family->way_count == 0)
        return;
    page_row_fact(page, "defined by", way->definer);
    if (way->caller != NULL && strcmp(way->caller, way->definer) != 0)
        page_row_fact(page, "asked by", way->caller);
    if (way->stacks == stacks)
        return;
    snprintf(of, sizeof of, "%s of %s stacks", units_count(way->stacks).text,
             units_count(stacks).text);
    page_row_fact(page, "in", of);
}

static const char *bytes_text(int64_t bytes, struct units_text *room)
{
    if (bytes < 0)
        return "unknown";
    *room = units_bytes(bytes);
    return room->text;
}

void class_makers_print(const struct class_makers *classes, size_t rows, FILE *out)
{
    struct units_text room;
    struct page page;
    fprintf(out, "%s classes loaded and %s unloaded in %s", units_count(classes->loaded).text,
            units_count(classes->unloaded).text, units_duration(classes->duration_ms).text);
    if (classes->bytes >= 0)
        fprintf(out, "; their metadata: %s", bytes_text(classes->bytes, &room));
    fputs("\n\n", out);
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "#loaded", "#unloaded", "#net", "#bytes", "family", "producer");
    for (size_t i = 0; i < classes->family_count && i < rows; i++) {
        const struct class_family *family = classes->families[i];
        const struct family *producer = producer_of(family);
        page_row(&page, units_count(family->loaded).text, units_count(family->unloaded).text,
                 units_count(family->loaded - family->unloaded).text,
                 bytes_text(family->bytes, &room), family->name,
                 producer != NULL ? producer->producer : "");
        add_way(&page, family);
    }
    if (!page_print(&page, out))
        fputs("The table is left out: out of memory\n", out);
    if (classes->family_count > rows)
        fprintf(out, "%s more families\n",
                units_count((int64_t)(classes->family_count - rows)).text);
    bool stacks = classes->loaded == 0;
    for (size_t i = 0; i < classes->family_count; i++)
        stacks = stacks || classes->families[i]->way_count > 0;
    if (!stacks)
        fprintf(out, "No stacks: they were not asked for, or the engine cannot walk them here.\n");
    if (classes->damage[0] != '\0')
        fprintf(out, "The recording is damaged: %s\n", escape_name(classes->damage).text);
}

static void put_bytes(struct json_out *out, const char *key, int64_t bytes)
{
    if (bytes < 0)
        json_out_null(out, key);
    else
        json_out_int(out, key, bytes);
}

static void put_way(struct json_out *out, const struct class_way *way)
{
    json_out_begin(out, NULL, '{');
    json_out_text(out, "definer", way->definer);
    json_out_text(out, "caller", way->caller);
    json_out_text(out, "through", way->through);
    json_out_int(out, "classes", way->classes);
    json_out_int(out, "stacks", way->stacks);
    json_out_begin(out, "frames", '[');
    for (int i = 0; i < way->depth; i++)
        json_out_text(out, NULL, way->frames[i]);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void put_family(struct json_out *out, const struct class_family *family)
{
    const struct family *producer = producer_of(family);
    json_out_begin(out, NULL, '{');
    json_out_text(out, "family", family->name);
    json_out_text(out, "id", producer != NULL ? producer->id : NULL);
    json_out_text(out, "producer", producer != NULL ? producer->producer : NULL);
    json_out_int(out, "loaded", family->loaded);
    json_out_int(out, "unloaded", family->unloaded);
    json_out_int(out, "net", family->loaded - family->unloaded);
    put_bytes(out, "bytes", family->bytes);
    json_out_int(out, "sized", family->sized);
    json_out_text(out, "example", family->example);
    json_out_begin(out, "ways", '[');
    for (int i = 0; i < family->way_count; i++)
        put_way(out, &family->way[i]);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

void class_makers_families_json(const struct class_makers *classes, struct json_out *out)
{
    json_out_int(out, "family_count", (int64_t)classes->family_count);
    json_out_begin(out, "families", '[');
    for (size_t i = 0; i < classes->family_count && i < JSON_FAMILIES_MAX; i++)
        put_family(out, classes->families[i]);
    json_out_end(out, ']');
}

bool class_makers_json(const struct class_makers *classes, FILE *out)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_int(&json, "duration_ms", classes->duration_ms);
    json_out_int(&json, "loaded", classes->loaded);
    json_out_int(&json, "unloaded", classes->unloaded);
    put_bytes(&json, "bytes", classes->bytes);
    json_out_int(&json, "sized", classes->sized);
    class_makers_families_json(classes, &json);
    json_out_text_if(&json, "damage", classes->damage);
    json_out_end(&json, '}');
    return json_out_print(&json, out) && !ferror(out);
}

/* --- building --------------------------------------------------------------------------------- */

#define FAMILIES_MAX  4096
#define PLACES        8192
#define GENERATED_MIN 5 /* classes of a family */
#define FRAMES_MAX    CLASS_MAKERS_FRAMES_MAX
_Static_assert(FAMILIES_MAX <= PLACES / 2, "the table is never more than half full");

struct class_makers_builder {
    struct class_makers *classes;
    struct class_family *place[PLACES];
    struct stack_frame frames[FRAMES_MAX + 1];
};

struct class_makers_builder *class_makers_build(struct class_makers *classes)
{
    *classes = (struct class_makers){0};
    struct class_makers_builder *builder = calloc(1, sizeof *builder);
    classes->families = calloc(FAMILIES_MAX, sizeof *classes->families);
    classes->tree = call_tree_create();
    if (builder != NULL && classes->families != NULL && classes->tree != NULL) {
        builder->classes = classes;
        return builder;
    }
    free(builder);
    class_makers_free(classes);
    return NULL;
}

static struct class_family **place_of(struct class_makers_builder *builder, const char *name)
{
    size_t at = stem_hash(span_from_cstr(name)) % PLACES;
    while (builder->place[at] != NULL && strcmp(builder->place[at]->name, name) != 0)
        at = (at + 1) % PLACES;
    return &builder->place[at];
}

struct class_family *class_makers_family(struct class_makers_builder *builder, const char *name)
{
    struct class_makers *classes = builder->classes;
    struct class_family **place = place_of(builder, name);
    if (*place != NULL || classes->family_count == FAMILIES_MAX)
        return *place;
    struct class_family *family = calloc(1, sizeof *family);
    if (family == NULL || (family->name = strdup(name)) == NULL) {
        free(family);
        return NULL;
    }
    family->bytes = -1;
    classes->families[classes->family_count++] = family;
    return *place = family;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void free_way(struct class_way *way)
{
    free(way->definer);
    free(way->caller);
    free(way->through);
    for (int frame = 0; frame < way->depth; frame++)
        free(way->frames[frame]);
    *way = (struct class_way){0};
}

/* False: out of memory. */
static bool keep_way(struct class_family *family, const struct stack_frame *frames, int depth,
                     const struct call_site *site, int64_t count)
{
    struct class_way new = {
        .definer = stack_frame_text(&frames[site->made_by >= 0 ? site->made_by : 0]),
        .caller = site->asked_by >= 0 ? stack_frame_text(&frames[site->asked_by]) : NULL,
        .through = site->through >= 0 ? stack_frame_text(&frames[site->through]) : NULL,
    };
    bool good = new.definer != NULL && (new.caller != NULL || site->asked_by < 0);
    int i = 0;
    while (good && i < family->way_count &&
           !(same_text(family->way[i].definer, new.definer) &&
             same_text(family->way[i].caller, new.caller)))
        i++;
    if (i == CLASS_WAYS_MAX)
        i--;
    if (good && i == family->way_count) {
        for (int frame = 0; good && frame < depth && frame < CLASS_WAY_FRAMES_MAX; frame++) {
            new.frames[frame] = stack_frame_text(&frames[frame]);
            good = new.frames[frame] != NULL;
            new.depth += good;
        }
        family->way[family->way_count++] = new;
    } else {
        free_way(&new);
    }
    if (good) {
        family->way[i].classes += count;
        family->way[i].stacks++;
    }
    return good;
}

/* Code that stands in classes of a family that is being loaded itself, of numbered names, was generated. */
static bool is_generated(struct class_makers_builder *builder, const struct stack_frame *frame)
{
    char family[CLASS_FAMILY_MAX];
    if (frame->kind != CALL_FRAME_JAVA || frame->origin != ORIGIN_UNKNOWN)
        return false;
    class_family(frame->name, (size_t)frame_class_length(frame), family);
    const struct class_family *loaded =
        strchr(family, '#') != NULL ? *place_of(builder, family) : NULL;
    return loaded != NULL && loaded->loaded >= GENERATED_MIN;
}

bool class_makers_add(struct class_makers_builder *builder, struct class_family *family,
                      const char *class_name, const struct stack_frame *frames, int depth,
                      int64_t count)
{
    struct stack_frame *kept = builder->frames;
    if (family->example == NULL && class_name != NULL &&
        (family->example = strdup(class_name)) == NULL)
        return false;
    if (depth > FRAMES_MAX)
        depth = FRAMES_MAX;
    kept[0] = (struct stack_frame){.name = family->name, .kind = CALL_FRAME_CLASS};
    for (int i = 0; i < depth; i++) {
        kept[i + 1] = frames[i];
        if (is_generated(builder, &frames[i]))
            kept[i + 1].origin = ORIGIN_GENERATED;
    }
    call_tree_add(builder->classes->tree, kept, depth + 1, count);
    struct call_site site = call_site_find(kept + 1, depth);
    return depth == 0 || keep_way(family, kept + 1, depth, &site, count);
}

static int by_loaded(const void *a, const void *b)
{
    const struct class_family *first = *(struct class_family *const *)a;
    const struct class_family *second = *(struct class_family *const *)b;
    if (first->loaded != second->loaded)
        return first->loaded > second->loaded ? -1 : 1;
    return strcmp(first->name, second->name);
}

static int by_classes(const void *a, const void *b)
{
    const struct class_way *first = a, *second = b;
    return (first->classes < second->classes) - (first->classes > second->classes);
}

void class_makers_finish(struct class_makers *classes)
{
    classes->bytes = -1;
    for (size_t i = 0; i < classes->family_count; i++) {
        struct class_family *family = classes->families[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): none of them is NULL */
        qsort(family->way, (size_t)family->way_count, sizeof family->way[0], by_classes);
        classes->loaded += family->loaded;
        classes->unloaded += family->unloaded;
        if (family->bytes < 0)
            continue;
        classes->bytes = (classes->bytes < 0 ? 0 : classes->bytes) + family->bytes;
        classes->sized += family->sized;
    }
    qsort(classes->families, classes->family_count, sizeof classes->families[0], by_loaded);
    call_tree_finish(classes->tree);
}

static void free_family(struct class_family *family)
{
    if (family == NULL)
        return;
    for (int i = 0; i < family->way_count; i++)
        free_way(&family->way[i]);
    free(family->name);
    free(family->example);
    free(family);
}

void class_makers_free(struct class_makers *classes)
{
    for (size_t i = 0; classes->families != NULL && i < classes->family_count; i++)
        free_family(classes->families[i]);
    free(classes->families);
    if (classes->tree != NULL)
        call_tree_destroy(classes->tree);
    *classes = (struct class_makers){0};
}
