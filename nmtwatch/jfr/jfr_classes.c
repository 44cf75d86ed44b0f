#include "nmtwatch/jfr/jfr_classes.h"

#include "analyzers/classes/family.h"
#include "nmtwatch/jfr/jfr_read.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <stdlib.h>
#include <string.h>

/* --- jfr classes print ------------------------------------------------------------------------ */

#define JSON_FAMILIES_MAX 200

static const struct family *producer_of(const struct jfr_family *family)
{
    const struct family *known = family_match(span_from_cstr(family->name));
    if (known == NULL && family->example != NULL) /* the classes of a package */
        known = family_match(span_from_cstr(family->example));
    /* A pattern so general that ordinary names match is no proof. */
    return known != NULL && known->evidence == FAMILY_BY_NAME ? known : NULL;
}

static void add_way(struct page *page, const struct jfr_family *family)
{
    const struct jfr_way *way = &family->way[0];
    int64_t stacks = 0;
    char of[128];
    for (int i = 0; i < family->way_count; i++)
        stacks += family->way[i].stacks;
    if (family->way_count == 0)
        return;
    page_row_fact(page, "defined by", way->definer);
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

void jfr_classes_print(const struct jfr_classes *classes, size_t rows, FILE *out)
{
    static const char *const HEADS[] = {"#loaded", "#unloaded", "#net", "#bytes",
                                        "family",  "producer",  NULL};
    struct units_text room;
    struct page page;
    fprintf(out, "%s classes loaded and %s unloaded in %s; their metadata: %s\n\n",
            units_count(classes->loaded).text, units_count(classes->unloaded).text,
            units_duration(classes->duration_ms).text, bytes_text(classes->bytes, &room));
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, HEADS);
    for (size_t i = 0; i < classes->family_count && i < rows; i++) {
        const struct jfr_family *family = classes->families[i];
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

static void put_way(struct json_out *out, const struct jfr_way *way)
{
    json_out_begin(out, NULL, '{');
    json_out_text(out, "definer", way->definer);
    json_out_text(out, "caller", way->caller);
    json_out_int(out, "classes", way->classes);
    json_out_int(out, "stacks", way->stacks);
    json_out_begin(out, "frames", '[');
    for (int i = 0; i < way->depth; i++)
        json_out_text(out, NULL, way->frames[i]);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void put_family(struct json_out *out, const struct jfr_family *family)
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

bool jfr_classes_json(const struct jfr_classes *classes, FILE *out)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_int(&json, "duration_ms", classes->duration_ms);
    json_out_int(&json, "loaded", classes->loaded);
    json_out_int(&json, "unloaded", classes->unloaded);
    put_bytes(&json, "bytes", classes->bytes);
    json_out_int(&json, "sized", classes->sized);
    json_out_int(&json, "family_count", (int64_t)classes->family_count);
    json_out_begin(&json, "families", '[');
    for (size_t i = 0; i < classes->family_count && i < JSON_FAMILIES_MAX; i++)
        put_family(&json, classes->families[i]);
    json_out_end(&json, ']');
    json_out_text_if(&json, "damage", classes->damage);
    json_out_end(&json, '}');
    return json_out_print(&json, out) && !ferror(out);
}

#define FAMILIES_MAX 4096
#define PLACES       8192
#define FRAMES_MAX   4096
#define FIGURE_MAX   (INT64_C(1) << 50)
#define COUNT_MAX    (INT64_C(1) << 31)
_Static_assert(FAMILIES_MAX <= PLACES / 2, "the table is never more than half full");

struct reading {
    struct jfr_classes *classes;
    struct jfr_family *place[PLACES];
    const char *labels[FRAMES_MAX];
    struct call_frame frames[FRAMES_MAX + 1];
};

/* What a damaged file claims must not overflow the sums: of 4096 families, of a chunk's events. */
static int64_t bounded(int64_t number, int64_t most)
{
    return number < 0 ? 0 : number > most ? most : number;
}

/* --- families --------------------------------------------------------------------------------- */

static size_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32) % PLACES;
}

/* NULL: there are too many of them, or no memory. */
static struct jfr_family *family_of(struct reading *reading, const char *name)
{
    struct jfr_classes *classes = reading->classes;
    size_t at = hash_of(name);
    while (reading->place[at] != NULL && strcmp(reading->place[at]->name, name) != 0)
        at = (at + 1) % PLACES;
    if (reading->place[at] != NULL || classes->family_count == FAMILIES_MAX)
        return reading->place[at];
    struct jfr_family *family = calloc(1, sizeof *family);
    if (family == NULL || (family->name = strdup(name)) == NULL) {
        free(family);
        return NULL;
    }
    family->bytes = -1;
    reading->place[at] = family;
    classes->families[classes->family_count++] = family;
    return family;
}

static void keep_family(struct reading *reading, const struct jfr_event *event)
{
    struct jfr_family *family =
        event->family.family != NULL ? family_of(reading, event->family.family) : NULL;
    if (family == NULL)
        return;
    family->loaded = bounded(event->family.loaded, FIGURE_MAX);
    family->unloaded = bounded(event->family.unloaded, FIGURE_MAX);
    family->bytes = event->family.bytes < 0 ? -1 : bounded(event->family.bytes, FIGURE_MAX);
    family->sized = bounded(event->family.sized, FIGURE_MAX);
}

/* --- ways ------------------------------------------------------------------------------------- */

static bool same_label(const char *with_line, const char *label)
{
    size_t length = strlen(label);
    return strncmp(with_line, label, length) == 0 &&
           (with_line[length] == '\0' || with_line[length] == ':');
}

static bool is_way(const struct jfr_way *way, const char *definer, const char *caller)
{
    if (!same_label(way->definer, definer))
        return false;
    return caller == NULL ? way->caller == NULL
                          : way->caller != NULL && same_label(way->caller, caller);
}

static bool new_way(struct jfr_family *family, const struct jfr_trace *trace,
                    const struct definer *definer)
{
    struct jfr_way *way = &family->way[family->way_count];
    way->definer = jfr_frame_text(&trace->frames[definer->definer]);
    if (definer->caller >= 0)
        way->caller = jfr_frame_text(&trace->frames[definer->caller]);
    bool good = way->definer != NULL && (definer->caller < 0 || way->caller != NULL);
    for (int i = 0; good && i < trace->depth && i < JFR_WAY_FRAMES_MAX; i++) {
        way->frames[i] = jfr_frame_text(&trace->frames[i]);
        good = way->frames[i] != NULL;
        way->depth += good;
    }
    family->way_count++; /* in any case: what it has is freed with it */
    return good;
}

/* False: out of memory. */
static bool keep_way(struct jfr_family *family, const struct jfr_trace *trace,
                     const struct definer *definer, int64_t count)
{
    const char *made_by = trace->frames[definer->definer].label;
    const char *asked_by = definer->caller < 0 ? NULL : trace->frames[definer->caller].label;
    int i = 0;
    while (i < family->way_count && !is_way(&family->way[i], made_by, asked_by))
        i++;
    if (i == JFR_WAYS_MAX)
        i--;
    else if (i == family->way_count && !new_way(family, trace, definer))
        return false;
    family->way[i].classes += count;
    family->way[i].stacks++;
    return true;
}

static bool keep_definition(struct reading *reading, const struct jfr_event *event)
{
    const struct jfr_trace *trace = event->definition.trace;
    struct jfr_family *family =
        event->definition.family != NULL ? family_of(reading, event->definition.family) : NULL;
    int64_t count = bounded(event->definition.count, COUNT_MAX);
    if (family == NULL || count == 0)
        return true;
    if (family->example == NULL && event->definition.class_name != NULL &&
        (family->example = strdup(event->definition.class_name)) == NULL)
        return false;
    int depth = trace != NULL && trace->depth < FRAMES_MAX ? trace->depth : 0;
    reading->frames[0] = (struct call_frame){family->name, CALL_FRAME_CLASS};
    for (int i = 0; i < depth; i++) {
        const struct jfr_stack_frame *frame = &trace->frames[i];
        reading->labels[i] = frame->label;
        reading->frames[i + 1] = (struct call_frame){
            frame->label, frame->kind == JFR_FRAME_JAVA ? CALL_FRAME_JAVA : CALL_FRAME_NATIVE};
    }
    call_tree_add(reading->classes->tree, reading->frames, depth + 1, count);
    if (depth == 0)
        return true;
    struct definer definer = definer_find(reading->labels, depth);
    return definer.definer < 0 || keep_way(family, trace, &definer, count);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int by_loaded(const void *a, const void *b)
{
    const struct jfr_family *first = *(struct jfr_family *const *)a;
    const struct jfr_family *second = *(struct jfr_family *const *)b;
    if (first->loaded != second->loaded)
        return first->loaded > second->loaded ? -1 : 1;
    return strcmp(first->name, second->name);
}

static int by_classes(const void *a, const void *b)
{
    const struct jfr_way *first = a, *second = b;
    return (first->classes < second->classes) - (first->classes > second->classes);
}

static void sum_up(struct jfr_classes *classes)
{
    classes->bytes = -1;
    for (size_t i = 0; i < classes->family_count; i++) {
        struct jfr_family *family = classes->families[i];
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

static bool read_events(struct reading *reading, struct jfr_reader *reader)
{
    struct jfr_event event;
    bool good = true;
    while (good && jfr_reader_next(reader, &event)) {
        if (event.kind == JFR_EVENT_CLASS_FAMILY)
            keep_family(reading, &event);
        else if (event.kind == JFR_EVENT_CLASS_DEFINITION)
            good = keep_definition(reading, &event);
    }
    return good;
}

bool jfr_classes_read(struct jfr_classes *classes, int fd, const char *name, char *error,
                      size_t error_size)
{
    *classes = (struct jfr_classes){0};
    struct jfr_reader *reader = jfr_reader_open(fd, name, error, error_size);
    if (reader == NULL)
        return false;
    struct reading *reading = calloc(1, sizeof *reading);
    classes->families = calloc(FAMILIES_MAX, sizeof *classes->families);
    classes->tree = call_tree_create();
    bool good = reading != NULL && classes->families != NULL && classes->tree != NULL;
    if (good) {
        reading->classes = classes;
        good = read_events(reading, reader);
    }
    if (good) {
        struct jfr_reader_counts counts;
        jfr_reader_counts(reader, &counts);
        classes->chunks = counts.chunks;
        classes->duration_ms = (counts.end_ns - counts.start_ns) / 1000000;
        if (jfr_reader_damage(reader) != NULL)
            snprintf(classes->damage, sizeof classes->damage, "%s", jfr_reader_damage(reader));
        sum_up(classes);
    } else {
        snprintf(error, error_size, "out of memory");
        jfr_classes_free(classes);
    }
    free(reading);
    jfr_reader_close(reader);
    return good;
}

static void free_family(struct jfr_family *family)
{
    if (family == NULL)
        return;
    for (int i = 0; i < family->way_count; i++) {
        struct jfr_way *way = &family->way[i];
        free(way->definer);
        free(way->caller);
        for (int frame = 0; frame < way->depth; frame++)
            free(way->frames[frame]);
    }
    free(family->name);
    free(family->example);
    free(family);
}

void jfr_classes_free(struct jfr_classes *classes)
{
    for (size_t i = 0; classes->families != NULL && i < classes->family_count; i++)
        free_family(classes->families[i]);
    free(classes->families);
    if (classes->tree != NULL)
        call_tree_destroy(classes->tree);
    *classes = (struct jfr_classes){0};
}
