#include "nmtwatch/jfr/jfr_live.h"

#include "nmtwatch/jfr/jfr_read.h"
#include "reports/text/escape.h"
#include "reports/page/page.h"
#include "reports/text/units.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_SHOWN 6

/* --- reading ---------------------------------------------------------------------------------- */

static void free_site(struct jfr_live_site *site)
{
    free(site->class_name);
    for (int i = 0; i < site->depth; i++)
        free(site->frames[i]);
    *site = (struct jfr_live_site){0};
}

static void forget_sites(struct jfr_live *live)
{
    for (size_t i = 0; i < live->site_count; i++)
        free_site(&live->sites[i]);
    live->site_count = 0;
    live->objects = live->bytes = 0;
}

/* Values of a damaged file must not overflow the sums. */
static int64_t bounded(int64_t number)
{
    const int64_t most = INT64_C(1) << 50;
    return number < 0 ? 0 : number > most ? most : number;
}

/* False: out of memory. */
static bool keep_site(struct jfr_live *live, const struct jfr_event *event)
{
    if (live->site_count == JFR_LIVE_SITES_MAX || event->live.objects <= 0)
        return true;
    const char *name = event->live.class_name;
    const struct jfr_trace *trace = event->live.trace;
    struct jfr_live_site *site = &live->sites[live->site_count++];
    *site = (struct jfr_live_site){
        .class_name = strdup(name != NULL ? name : "[unknown]"),
        .objects = bounded(event->live.objects),
        .own_bytes = bounded(event->live.own_bytes),
        .bytes = bounded(event->live.bytes),
        .least_survived = bounded(event->live.least_survived),
        .most_survived = bounded(event->live.most_survived),
        .oldest_ms = bounded(event->live.oldest_ms),
    };
    live->objects += site->objects;
    live->bytes += site->bytes;
    if (site->class_name == NULL)
        return false;
    for (int i = 0; trace != NULL && i < trace->depth && i < JFR_LIVE_FRAMES_MAX; i++) {
        site->frames[i] = stack_frame_text(&trace->frames[i]);
        if (site->frames[i] == NULL)
            return false;
        site->depth++;
    }
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    const struct jfr_live_site *first = a, *second = b;
    if (first->bytes != second->bytes)
        return first->bytes > second->bytes ? -1 : 1;
    return strcmp(first->class_name, second->class_name);
}

/* Of what was kept, lines included. */
static void plant(struct jfr_live *live)
{
    struct stack_frame frames[JFR_LIVE_FRAMES_MAX + 1];
    for (size_t i = 0; i < live->site_count; i++) {
        const struct jfr_live_site *site = &live->sites[i];
        frames[0] = (struct stack_frame){.name = site->class_name, .kind = CALL_FRAME_CLASS};
        for (int frame = 0; frame < site->depth; frame++)
            frames[frame + 1] =
                (struct stack_frame){.name = site->frames[frame], .kind = CALL_FRAME_JAVA};
        call_tree_add(live->tree, frames, site->depth + 1, site->bytes);
    }
    call_tree_finish(live->tree);
}

static bool read_events(struct jfr_live *live, struct jfr_reader *reader)
{
    struct jfr_event event;
    struct jfr_reader_counts counts;
    int64_t chunk = 0;
    bool good = true;
    while (good && jfr_reader_next(reader, &event)) {
        jfr_reader_counts(reader, &counts);
        if (counts.chunks != chunk)
            forget_sites(live);
        chunk = counts.chunks;
        if (event.kind == JFR_EVENT_LIVE_OBJECT)
            good = keep_site(live, &event);
    }
    return good;
}

bool jfr_live_read(struct jfr_live *live, int fd, const char *name, char *error, size_t error_size)
{
    *live = (struct jfr_live){0};
    struct jfr_reader *reader = jfr_reader_open(fd, name, error, error_size);
    if (reader == NULL)
        return false;
    live->sites = calloc(JFR_LIVE_SITES_MAX, sizeof *live->sites);
    live->tree = call_tree_create();
    bool good = live->sites != NULL && live->tree != NULL && read_events(live, reader);
    if (good) {
        struct jfr_reader_counts counts;
        jfr_reader_counts(reader, &counts);
        live->duration_ms = (counts.end_ns - counts.start_ns) / 1000000;
        if (jfr_reader_damage(reader) != NULL)
            snprintf(live->damage, sizeof live->damage, "%s", jfr_reader_damage(reader));
        qsort(live->sites, live->site_count, sizeof live->sites[0], by_bytes);
        plant(live);
    } else {
        snprintf(error, error_size, "out of memory");
        jfr_live_free(live);
    }
    jfr_reader_close(reader);
    return good;
}

void jfr_live_free(struct jfr_live *live)
{
    if (live->sites != NULL)
        forget_sites(live);
    free(live->sites);
    if (live->tree != NULL)
        call_tree_destroy(live->tree);
    *live = (struct jfr_live){0};
}

/* --- showing ---------------------------------------------------------------------------------- */

void jfr_live_print(const struct jfr_live *live, size_t rows, FILE *out)
{
    struct page page;
    fprintf(out,
            "After %s: %s sampled objects that have survived a collection stand for about %s\n\n",
            units_duration(live->duration_ms).text, units_count(live->objects).text,
            units_bytes(live->bytes).text);
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "#bytes", "#sampled", "#collections", "#oldest", "class");
    for (size_t i = 0; i < live->site_count && i < rows; i++) {
        const struct jfr_live_site *site = &live->sites[i];
        char survived[100];
        if (site->least_survived == site->most_survived)
            snprintf(survived, sizeof survived, "%s", units_count(site->most_survived).text);
        else
            snprintf(survived, sizeof survived, "%s-%s", units_count(site->least_survived).text,
                     units_count(site->most_survived).text);
        page_row(&page, units_bytes(site->bytes).text, units_count(site->objects).text, survived,
                 units_duration(site->oldest_ms).text, site->class_name);
        for (int frame = 0; frame < site->depth && frame < FRAMES_SHOWN; frame++)
            page_row_fact(&page, frame == 0 ? "allocated by" : "called by", site->frames[frame]);
    }
    if (!page_print(&page, out))
        fputs("The table is left out: out of memory\n", out);
    if (live->site_count > rows)
        fprintf(out, "%s more sites\n", units_count((int64_t)(live->site_count - rows)).text);
    bool stacks = live->site_count == 0;
    for (size_t i = 0; i < live->site_count; i++)
        stacks = stacks || live->sites[i].depth > 0;
    if (!stacks)
        fprintf(out, "No stacks: the engine of this profile cannot walk them here.\n");
    if (live->damage[0] != '\0')
        fprintf(out, "The recording is damaged: %s\n", escape_name(live->damage).text);
}

bool jfr_live_json(const struct jfr_live *live, FILE *out)
{
    struct json_out json = {0};
    json_out_begin(&json, NULL, '{');
    json_out_int(&json, "duration_ms", live->duration_ms);
    json_out_int(&json, "objects", live->objects);
    json_out_int(&json, "bytes", live->bytes);
    json_out_begin(&json, "sites", '[');
    for (size_t i = 0; i < live->site_count; i++) {
        const struct jfr_live_site *site = &live->sites[i];
        json_out_begin(&json, NULL, '{');
        json_out_text(&json, "class", site->class_name);
        json_out_int(&json, "objects", site->objects);
        json_out_int(&json, "own_bytes", site->own_bytes);
        json_out_int(&json, "bytes", site->bytes);
        json_out_int(&json, "least_survived", site->least_survived);
        json_out_int(&json, "most_survived", site->most_survived);
        json_out_int(&json, "oldest_ms", site->oldest_ms);
        json_out_begin(&json, "frames", '[');
        for (int frame = 0; frame < site->depth; frame++)
            json_out_text(&json, NULL, site->frames[frame]);
        json_out_end(&json, ']');
        json_out_end(&json, '}');
    }
    json_out_end(&json, ']');
    json_out_text_if(&json, "damage", live->damage);
    json_out_end(&json, '}');
    return json_out_print(&json, out) && !ferror(out);
}
