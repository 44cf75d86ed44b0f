#include "nmtwatch/jfr/jfr_classes.h"

#include "analyzers/classes/family.h"
#include "reports/text/escape.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "reports/text/units.h"

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
