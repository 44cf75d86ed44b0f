#include "reports/diagnosis/triage_report.h"

#include "reports/json/event_json.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#define GROUPS_SHOWN 10 /* that are no suspects, in the table */
#define PATHS_SHOWN  5  /* of a group */

static int64_t damage_of(const struct heap *heap)
{
    return heap->counts.unknown_tags + heap->counts.damaged + heap->counts.classless;
}

int holders_status(const struct holders *holders)
{
    for (int i = 0; i < holders->group_count; i++)
        if (holders->groups[i].suspect)
            return 1;
    return holders->heap->truncated || damage_of(holders->heap) > 0 ? 3 : 0;
}

/* More than softly. */
static uint32_t held_of(const struct holder_group *group)
{
    return group->loaders - group->held[HELD_BY_NOTHING] - group->held[HELD_SOFTLY];
}

/* Of these, those that should be gone. */
static uint32_t left_behind(const struct holder_group *group)
{
    return held_of(group) - (group->in_use >= 0);
}

/* What a group is called: its name, or some of its classes. */
static const char *called(const struct holders *holders, const struct holder_group *group,
                          char *out, size_t size)
{
    const struct heap *heap = holders->heap;
    const struct held_loader *own = &holders->loaders[group->first];
    size_t at = 0;
    snprintf(out, size, "%s", group->name);
    for (uint32_t i = 0; group->name[0] == '\0' && i < own->classes && i < 3 && at < size; i++)
        at += (size_t)snprintf(
            out + at, size - at, "%s%.60s", i > 0 ? ", " : "",
            heap->classes[heap->loader_class[heap->loader_class_first[own->loader] + i]].name);
    return out;
}

static const struct holder_path *first_path(const struct holders *holders,
                                            const struct holder_group *group)
{
    return group->path_count > 0 ? &holders->paths[group->paths[0]] : NULL;
}

/* The row's, or that the entry at the cut has to go. */
static void words_of_fix(const struct holder_path *path, char *out, size_t size)
{
    const struct holder_step *step = path->cut >= 0 ? &path->steps[path->cut] : NULL;
    const struct holder_cause *cause = path->cause >= 0 ? &holder_causes[path->cause] : NULL;
    char cut[400] = "";
    if (step != NULL)
        snprintf(cut, sizeof cut, "%sCut at %.300s%s%s", cause != NULL ? " " : "", step->text,
                 step->is_static ? " (static)" : "",
                 cause != NULL
                     ? "."
                     : ": remove the entry of the application there when it is undeployed.");
    snprintf(out, size, "%s%s", cause != NULL ? cause->fix : "",
             step == NULL && cause == NULL ? "The root refers to it directly." : cut);
}

static void words_of_cause(const struct holder_path *path, char *out, size_t size)
{
    const struct holder_step *step = path->cut >= 0 ? &path->steps[path->cut] : NULL;
    if (path->cause >= 0)
        snprintf(out, size, "%s", holder_causes[path->cause].cause);
    else if (step != NULL)
        snprintf(out, size, "%.300s, which lives on, refers to objects of the application.",
                 step->text);
    else
        snprintf(out, size, "A GC root refers to the application.");
}

/* Further ones of the same copies. */
static void list_others(const struct holders *holders, const struct holder_group *group, char *out,
                        size_t size)
{
    size_t at = 0;
    for (int i = 1; i < group->path_count && i < PATHS_SHOWN && at < size; i++) {
        const struct holder_path *path = &holders->paths[group->paths[i]];
        if (path->turn > 0 && !path->in_use)
            at += (size_t)snprintf(out + at, size - at, "%s %.100s (%u)",
                                   at == 0 ? " Held as well by" : ",", holder_path_words(path),
                                   path->loaders);
    }
    if (at > 0 && at < size)
        snprintf(out + at, size - at, ": cut there, too.");
}

void holders_finding(const struct holders *holders, const struct holder_group *group,
                     struct texts *texts, struct finding *finding)
{
    const struct holder_path *path = first_path(holders, group);
    const struct holder_cause *cause =
        path != NULL && path->cause >= 0 ? &holder_causes[path->cause] : NULL;
    char fix[900] = "", others[600] = "", name[200];
    *finding = finding_begin(texts, FINDING_LOADERS_HELD);
    if (path != NULL)
        words_of_fix(path, fix, sizeof fix);
    list_others(holders, group, others, sizeof others);
    called(holders, group, name, sizeof name);
    char share[32] = ", all";
    bool one = left_behind(group) == 1;
    if (path != NULL && path->loaders < left_behind(group))
        snprintf(share, sizeof share, ", %u", path->loaders);
    finding_title(finding, "%u class loader%s of %.120s%s%.60s%s %s held%s%s by %s",
                  left_behind(group), one ? "" : "s", group->type, name[0] != '\0' ? " for \"" : "",
                  name, name[0] != '\0' ? "\"" : "", one ? "is" : "are", one ? "" : share,
                  one ? "" : " of them", path != NULL ? holder_path_words(path) : "");
    finding_advice(finding, "%s%s", fix, others);
    finding_add_int(finding, "loaders", left_behind(group));
    finding_add_int(finding, "classes", group->classes);
    finding_add_int(finding, "duplicate_classes", group->duplicates);
    finding_add_int(finding, "retained_bytes", group->retained_bytes);
    finding_add_text(finding, "loader_type", group->type);
    finding_add_text(finding, "loader_name", group->name);
    if (cause != NULL)
        finding_add_text(finding, "holder", cause->id);
}

int holders_findings(const struct holders *holders, struct texts *texts, struct finding *findings,
                     int most)
{
    int count = 0;
    for (int i = 0; i < holders->group_count && count < most; i++)
        if (holders->groups[i].suspect)
            holders_finding(holders, &holders->groups[i], texts, &findings[count++]);
    return count;
}

/* --- page -------------------------------------------------------------------------------------- */

#define DRAWN_MAX 24 /* steps of a picture; of a longer path front and end */
#define STEP_PX   64
#define BOX_PX    30

/* Characters of a line that fit into the picture; the table below has the whole text. */
#define TEXT_CHARS 104

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* A text that does not fit is cut in the middle: the end of a name says most. */
static void draw_text(FILE *out, int x, int y, const char *class, const char *text)
{
    size_t length = strlen(text), front = length, back = length;
    if (length > TEXT_CHARS) {
        front = TEXT_CHARS / 3;
        back = length - (TEXT_CHARS - 3 - TEXT_CHARS / 3);
        while (front > 0 && continues(text[front]))
            front--;
        while (continues(text[back]))
            back++;
    }
    char start[TEXT_CHARS + 1];
    snprintf(start, sizeof start, "%.*s", (int)front, text);
    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
    escape_put(ESCAPE_HTML, start, out);
    if (front < length)
        fputs("...", out);
    escape_put(ESCAPE_HTML, text + back, out);
    fputs("</text>\n", out);
}

static void draw_box(FILE *out, int y, const char *class, const char *what, const char *text)
{
    char words[700];
    snprintf(words, sizeof words, "%s%.600s", what, text);
    fprintf(out,
            "<rect x=\"8\" y=\"%d\" width=\"944\" height=\"%d\" rx=\"6\" "
            "class=\"%s\"/>\n",
            y, BOX_PX, class);
    draw_text(out, 20, y + 20, "", words);
}

static void draw_arrow(FILE *out, int y, bool cut, const char *text, int64_t times)
{
    int end = y + STEP_PX - BOX_PX;
    char words[700];
    fprintf(out, "<path d=\"M40 %dV%dM34 %dL40 %dL46 %d\" class=\"%s\"/>\n", y, end, end - 7,
            end - 1, end - 7, cut ? "cut" : "");
    if (times > 1)
        snprintf(words, sizeof words, "%.600s, %" PRId64 " times%s", text, times,
                 cut ? " (cut here)" : "");
    else
        snprintf(words, sizeof words, "%.600s%s", text, cut ? " (cut here)" : "");
    draw_text(out, 58, y + (STEP_PX - BOX_PX) / 2 + 5, cut ? "by cut" : "by", words);
}

/* From the root down to the loader: objects are boxes, references arrows; what should be gone has
 * the colour of the cut. To be freed; NULL: no memory. */
static char *draw_path(const struct holders *holders, const struct holder_path *path)
{
    const struct heap *heap = holders->heap;
    char *svg = NULL;
    size_t size;
    FILE *out = open_memstream(&svg, &size);
    if (out == NULL)
        return NULL;
    int drawn = path->step_count < DRAWN_MAX ? path->step_count : DRAWN_MAX, y = 4;
    fprintf(out,
            "<svg class=\"path\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 %d\">\n",
            (drawn + 2) * STEP_PX + 8);
    draw_box(out, y, "root", "", path->root);
    for (int i = 0; i < drawn; i++) {
        bool gap = drawn < path->step_count && i == drawn / 2;
        int number = i < drawn / 2 ? i : path->step_count - drawn + i;
        const struct holder_step *step = &path->steps[number];
        const struct holder_step *before = number > 0 ? &path->steps[number - 1] : NULL;
        bool cut = before != NULL && number - 1 == path->cut;
        draw_arrow(out, y + BOX_PX, cut && !gap,
                   gap              ? "... (steps left out)"
                   : before == NULL ? ""
                                    : before->text,
                   before == NULL || gap ? 1 : before->times);
        y += STEP_PX;
        draw_box(out, y, number > path->cut && path->cut >= 0 ? "gone" : "",
                 step->of_class ? "class " : "", step->type);
    }
    const struct holder_step *last =
        path->step_count > 0 ? &path->steps[path->step_count - 1] : NULL;
    draw_arrow(out, y + BOX_PX, last != NULL && path->cut == path->step_count - 1,
               last != NULL ? last->text : "", last != NULL ? last->times : 1);
    draw_box(out, y + STEP_PX, "gone", "class loader ",
             heap->classes[heap_class_of_node(heap, heap->loader_node[path->example])].name);
    fputs("</svg>", out);
    if (fclose(out) == 0)
        return svg;
    free(svg);
    return NULL;
}

static void show_path(const struct holders *holders, const struct holder_path *path,
                      struct page *page)
{
    static const char *const heads[] = {"Reference", "Of", "", NULL};
    static const char *const heads_of_chain[] = {"Reference", "Of", "", "#Times", NULL};
    bool chain = false;
    for (int i = 0; i < path->step_count; i++)
        chain = chain || path->steps[i].times > 1;
    const struct heap *heap = holders->heap;
    char words[300];
    uint32_t node = heap->loader_node[path->example];
    char *svg = draw_path(holders, path);
    page_chart(page, "The path from a GC root to the class loader", NULL, svg, NULL);
    free(svg);
    page_table_of(page, chain ? heads_of_chain : heads);
    snprintf(words, sizeof words, "%s%.250s", path->root_place != NULL ? "in " : "",
             path->root_place != NULL ? path->root_place : "");
    page_row(page, path->root, words, "root", "");
    for (int i = 0; i < path->step_count; i++) {
        const struct holder_step *step = &path->steps[i];
        bool same = step->text[0] != '<' && step->type[0] != '\0' &&
                    (strncmp(step->text, step->type, strlen(step->type)) == 0 ||
                     step->folded != step->text);
        page_row(page, step->text,
                 step->is_static ? "static"
                 : same          ? ""
                                 : step->type,
                 i == path->cut ? "cut here" : "",
                 step->times > 1 ? units_count(step->times).text : "");
        if (i == path->cut)
            page_row_tone(page, PAGE_WARNING);
    }
    snprintf(words, sizeof words, "0x%" PRIx64, heap_id_of(heap, node));
    page_row(page, heap->classes[heap_class_of_node(heap, node)].name, words, "loader", "");
}

static void show_group(const struct holders *holders, const struct holder_group *group,
                       struct page *page)
{
    char heading[400], text[900], name[200];
    snprintf(heading, sizeof heading, "%.200s%s%.100s", group->type,
             group->type[0] != '\0' ? " " : "", called(holders, group, name, sizeof name));
    page_heading(page, heading);
    page_text(
        page, "%u loaders with %" PRId64 " classes of %" PRId64 " different names; they retain %s.",
        group->loaders, group->classes, group->names, units_bytes(group->retained_bytes).text);
    if (group->metaspace_bytes >= 0)
        page_text(page, "Their classes take %s of Metaspace.",
                  units_bytes(group->metaspace_bytes).text);
    else if (group->type_metaspace_bytes >= 0)
        page_text(page, "The classes of all loaders of this type take %s of Metaspace.",
                  units_bytes(group->type_metaspace_bytes).text);
    if (group->held[HELD_BY_NOTHING] > 0)
        page_text(page, "%u of them are held by nothing: garbage that only a GC has to find.",
                  group->held[HELD_BY_NOTHING]);
    if (group->held[HELD_SOFTLY] > 0)
        page_text(
            page,
            "%u of them are held by soft references only: the JVM lets go of them before heap or "
            "Metaspace run out.",
            group->held[HELD_SOFTLY]);
    if (group->held[HELD_BY_HIDDEN] > 0)
        page_text(page, "%u of them are held by a ClassValue of a class: dumps do not show whose.",
                  group->held[HELD_BY_HIDDEN]);
    if (group->in_use >= 0)
        page_text(page, "The one at 0x%" PRIx64 " is in use: %s. The others should be gone.",
                  holders->loaders[group->in_use].id,
                  group->why_in_use == IN_USE_NOT_STOPPED
                      ? "its container has not stopped it"
                      : "it is the most recent one, and what holds it holds no other");
    for (int i = 0; i < group->path_count && i < PATHS_SHOWN; i++) {
        const struct holder_path *path = &holders->paths[group->paths[i]];
        page_text(page, "%u of %u %s %s by %s%s%s:", path->loaders, group->loaders,
                  path->loaders > 1 ? "are" : "is", path->turn > 0 ? "held as well" : "held",
                  path->loaders > 1 ? "the same path" : "this path",
                  path->held == HELD_SOFTLY ? ", over a soft reference" : "",
                  path->in_use ? ", and in use" : "");
        show_path(holders, path, page);
        words_of_cause(path, text, sizeof text);
        page_text(page, "%s Cutting it frees %s.", text, units_bytes(path->retained_bytes).text);
        /* Of the first path the finding says it. */
        words_of_fix(path, text, sizeof text);
        if ((i > 0 || !group->suspect) && !path->in_use)
            page_text(page, "%s", text);
    }
    if (group->path_count > PATHS_SHOWN)
        page_text(page, "%d more paths hold the others.", group->path_count - PATHS_SHOWN);
}

static void show_table(const struct holders *holders, struct page *page)
{
    static const char *const heads[] = {"Type",       "Name",     "#Loaders",    "#Held",
                                        "#Softly",    "#Classes", "#Duplicates", "#Retained",
                                        "#Metaspace", NULL};
    static const char *const heads_of_file[] = {"Type",        "Name",      "#Loaders",
                                                "#Held",       "#Softly",   "#Classes",
                                                "#Duplicates", "#Retained", NULL};
    bool metaspace = false;
    int shown = 0;
    for (int i = 0; i < holders->group_count; i++)
        metaspace = metaspace || holders->groups[i].metaspace_bytes >= 0;
    page_heading(page, "Class loaders");
    page_table_of(page, metaspace ? heads : heads_of_file);
    for (int i = 0; i < holders->group_count && shown < GROUPS_SHOWN; i++, shown++) {
        const struct holder_group *group = &holders->groups[i];
        char name[200];
        page_row(page, group->type, called(holders, group, name, sizeof name),
                 units_count(group->loaders).text, units_count(held_of(group)).text,
                 units_count(group->held[HELD_SOFTLY]).text, units_count(group->classes).text,
                 units_count(group->duplicates).text, units_bytes(group->retained_bytes).text,
                 group->metaspace_bytes >= 0 ? units_bytes(group->metaspace_bytes).text : "");
        if (group->suspect)
            page_row_tone(page, PAGE_WARNING);
    }
    if (holders->group_count > shown)
        page_text(page, "%d more types are not shown.", holders->group_count - shown);
}

static const char *signed_count(int64_t number, char *out, size_t size)
{
    snprintf(out, size, "%s%s", number > 0 ? "+" : "", units_count(number).text);
    return number == 0 ? "" : out;
}

/* What an earlier dump had less of, or more. */
static void show_changes(const struct holders_report *report, struct page *page)
{
    const struct holders *holders = report->holders;
    const struct holders_baseline *baseline = report->baseline;
    char number[60], heading[300];
    snprintf(heading, sizeof heading, "Since %.200s", report->baseline_name);
    page_heading(page, heading);
    int changed = 0, gone = baseline->group_count, grown = 0;
    for (int i = 0; i < holders->group_count; i++) {
        const struct holder_group *group = &holders->groups[i];
        const struct baseline_group *before = holders_baseline_group(baseline, group);
        gone -= before != NULL;
        if (before != NULL && before->loaders == group->loaders &&
            before->retained_bytes == group->retained_bytes)
            continue;
        if (changed++ == 0)
            page_table(page, "Type", "Name", "#Before", "#Now", "#New", "#Retained before",
                       "#Retained");
        int64_t more = (int64_t)group->loaders - (before != NULL ? before->loaders : 0);
        page_row(page, group->type, group->name,
                 units_count(before != NULL ? before->loaders : 0).text,
                 units_count(group->loaders).text, signed_count(more, number, sizeof number),
                 before != NULL ? units_bytes(before->retained_bytes).text : "",
                 units_bytes(group->retained_bytes).text);
        if (more > 0 && group->suspect)
            page_row_tone(page, PAGE_WARNING);
    }
    if (changed == 0)
        page_text(page, "No type of class loader has more or fewer instances, or retains more.");
    for (int i = 0; i < holders->group_count; i++) {
        const struct holder_group *group = &holders->groups[i];
        for (int k = 0; k < group->path_count; k++) {
            const struct holder_path *path = &holders->paths[group->paths[k]];
            uint32_t before = holders_baseline_path(baseline, group, path);
            if (path->loaders <= before)
                continue;
            if (grown++ == 0)
                page_table(page, "Held by", "Of", "Name", "#Loaders before", "#Now", "#New");
            page_row(page, holder_path_words(path), group->type, group->name,
                     units_count(before).text, units_count(path->loaders).text,
                     signed_count((int64_t)path->loaders - before, number, sizeof number));
        }
    }
    if (grown == 0)
        page_text(page, "No path holds more class loaders than before.");
    if (gone > 0)
        page_text(page, "%d types of class loaders that were there are gone.", gone);
}

void holders_report_page(const struct holders_report *report, struct page *page)
{
    const struct holders *holders = report->holders;
    const struct heap *heap = report->heap;
    bool held = holders_status(holders) == 1, unknown = holders_status(holders) == 3;
    int64_t objects =
        heap->counts.instances + heap->counts.object_arrays + heap->counts.primitive_arrays;
    char title[600];
    snprintf(title, sizeof title, "What holds the class loaders of %.400s", report->name);
    page_begin(page, title,
               held      ? "WARNING"
               : unknown ? "UNKNOWN"
                         : "OK",
               held || unknown ? SEVERITY_WARNING : SEVERITY_INFO);
    page_origin(page, "%s objects of %s and %s classes in %s of dump, read in %s",
                units_count(objects).text, units_bytes(heap->object_bytes).text,
                units_count(heap->counts.classes).text, units_bytes(report->dump_bytes).text,
                units_duration(report->took_ms).text);
    if (heap->truncated)
        page_text(page, "The dump is cut: what is there was used. Objects that are missing may "
                        "hold loaders as well; GC roots stand at the end of a dump.");
    if (damage_of(heap) > 0)
        page_text(page,
                  "%" PRId64 " records were damaged, %" PRId64 " parts unknown, %" PRId64
                  " objects of no known class: they were left out.",
                  heap->counts.damaged, heap->counts.unknown_tags, heap->counts.classless);
    bool softly = false;
    for (int i = 0; i < holders->group_count; i++) {
        const struct holder_group *group = &holders->groups[i];
        softly = softly || group->softly;
        if (group->scripts && !group->suspect && held_of(group) > 1)
            page_text(
                page,
                "%u loaders of %.200s have a class of another name each: scripts that are "
                "cached, or never dropped. A second dump tells which: nmtwatch holders EARLIER "
                "LATER.",
                held_of(group), group->type);
    }
    if (unknown)
        page_text(page, "Nothing was found that is held, but not all of the dump could be read: "
                        "that says nothing.");
    else if (!held && softly)
        page_text(page,
                  "Applications are there several times, but only soft references hold them: the "
                  "JVM lets go of them before heap or Metaspace run out. Until then they take "
                  "what they retain.");
    else if (!held)
        page_text(page,
                  "No class loader is held that should have been unloaded: no application is there "
                  "several times.");
    for (int i = 0; i < holders->group_count; i++) {
        struct finding finding;
        struct texts texts = {0};
        if (!holders->groups[i].suspect)
            continue;
        holders_finding(holders, &holders->groups[i], &texts, &finding);
        page_finding(page, &finding);
        texts_free(&texts);
    }
    if (report->baseline != NULL)
        show_changes(report, page);
    for (int i = 0; i < holders->group_count; i++)
        if (holders->groups[i].suspect || holders->groups[i].softly)
            show_group(holders, &holders->groups[i], page);
    show_table(holders, page);
}

/* --- JSON -------------------------------------------------------------------------------------- */

static void path_json(const struct holders_report *report, const struct holder_group *group,
                      const struct holder_path *path, struct json_out *out)
{
    const struct heap *heap = report->heap;
    const struct holder_cause *cause = path->cause >= 0 ? &holder_causes[path->cause] : NULL;
    char id[24], words[900];
    json_out_begin(out, NULL, '{');
    json_out_int(out, "loaders", path->loaders);
    if (report->baseline != NULL)
        json_out_int(out, "loaders_before", holders_baseline_path(report->baseline, group, path));
    json_out_text(out, "held", held_name(path->held));
    json_out_int(out, "retained_bytes", path->retained_bytes);
    json_out_int(out, "length", path->length);
    json_out_text(out, "root_kind", root_kinds[path->root_kind].name);
    json_out_text(out, "root", path->root);
    json_out_text(out, "root_place", path->root_place);
    json_out_begin(out, "steps", '[');
    for (int i = 0; i < path->step_count; i++) {
        const struct holder_step *step = &path->steps[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "reference", step->text);
        json_out_text(out, "in", step->type);
        json_out_bool(out, "static", step->is_static);
        json_out_int(out, "times", step->times);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "turn", path->turn);
    json_out_bool(out, "in_use", path->in_use);
    snprintf(id, sizeof id, "0x%" PRIx64, heap_id_of(heap, heap->loader_node[path->example]));
    json_out_text(out, "example", id);
    json_out_text(out, "folded", path->signature);
    json_out_text(out, "cut", path->cut >= 0 ? path->steps[path->cut].text : NULL);
    json_out_text(out, "holder", cause != NULL ? cause->id : NULL);
    words_of_cause(path, words, sizeof words);
    json_out_text(out, "cause", words);
    words_of_fix(path, words, sizeof words);
    json_out_text(out, "fix", cause != NULL ? cause->fix : words);
    json_out_end(out, '}');
}

static void group_json(const struct holders_report *report, const struct holder_group *group,
                       struct json_out *out)
{
    const struct baseline_group *before =
        report->baseline != NULL ? holders_baseline_group(report->baseline, group) : NULL;
    json_out_begin(out, NULL, '{');
    json_out_text(out, "type", group->type);
    json_out_text(out, "name", group->name);
    json_out_bool(out, "suspect", group->suspect);
    json_out_text(out, "verdict", group->suspect ? "held" : group->softly ? "soft" : "none");
    json_out_bool(out, "scripts", group->scripts);
    json_out_int(out, "loaders", group->loaders);
    json_out_begin(out, "held", '{');
    for (int i = 0; i < HELD_COUNT; i++)
        json_out_int(out, held_name(i), group->held[i]);
    json_out_end(out, '}');
    json_out_int(out, "classes", group->classes);
    json_out_int(out, "class_names", group->names);
    json_out_int(out, "duplicate_classes", group->duplicates);
    json_out_int(out, "retained_bytes", group->retained_bytes);
    if (report->baseline != NULL) {
        json_out_int(out, "loaders_before", before != NULL ? before->loaders : 0);
        json_out_int(out, "retained_bytes_before", before != NULL ? before->retained_bytes : 0);
    }
    json_out_int_if(out, "metaspace_bytes", group->metaspace_bytes >= 0, group->metaspace_bytes);
    json_out_int_if(out, "type_metaspace_bytes", group->type_metaspace_bytes >= 0,
                    group->type_metaspace_bytes);
    json_out_begin(out, "paths", '[');
    for (int i = 0; i < group->path_count; i++)
        path_json(report, group, &report->holders->paths[group->paths[i]], out);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

void holders_report_json(const struct holders_report *report, struct json_out *out)
{
    const struct heap *heap = report->heap;
    const struct holders *holders = report->holders;
    char version[16];
    snprintf(version, sizeof version, "1.0.%d", heap->version);
    json_out_begin(out, NULL, '{');
    json_out_begin(out, "dump", '{');
    json_out_text(out, "name", report->name);
    json_out_int(out, "bytes", report->dump_bytes);
    json_out_text(out, "version", version);
    json_out_int(out, "id_bytes", heap->id_size);
    json_out_int(out, "dumped_ms", heap->dumped_ms);
    json_out_int(out, "objects",
                 heap->counts.instances + heap->counts.object_arrays +
                     heap->counts.primitive_arrays);
    json_out_int(out, "object_bytes", heap->object_bytes);
    json_out_int(out, "classes", heap->counts.classes);
    json_out_int(out, "class_loaders", heap->loader_count);
    json_out_bool(out, "truncated", heap->truncated);
    json_out_int(out, "damaged",
                 heap->counts.damaged + heap->counts.unknown_tags + heap->counts.classless);
    json_out_int(out, "took_ms", report->took_ms);
    json_out_end(out, '}');
    if (report->baseline != NULL) {
        json_out_begin(out, "baseline", '{');
        json_out_text(out, "name", report->baseline_name);
        json_out_int(out, "dumped_ms", report->baseline->dumped_ms);
        json_out_begin(out, "gone", '[');
        for (int i = 0; i < report->baseline->group_count; i++) {
            const struct baseline_group *before = &report->baseline->groups[i];
            bool there = false;
            for (int k = 0; k < holders->group_count && !there; k++)
                there = holders_baseline_group(report->baseline, &holders->groups[k]) == before;
            if (there)
                continue;
            json_out_begin(out, NULL, '{');
            json_out_text(out, "type", before->type);
            json_out_text(out, "name", before->name);
            json_out_int(out, "loaders_before", before->loaders);
            json_out_end(out, '}');
        }
        json_out_end(out, ']');
        json_out_end(out, '}');
    }
    json_out_begin(out, "findings", '[');
    for (int i = 0; i < holders->group_count; i++) {
        struct finding finding;
        struct texts texts = {0};
        if (!holders->groups[i].suspect)
            continue;
        holders_finding(holders, &holders->groups[i], &texts, &finding);
        finding_json(out, NULL, &finding);
        texts_free(&texts);
    }
    json_out_end(out, ']');
    json_out_begin(out, "groups", '[');
    for (int i = 0; i < holders->group_count; i++)
        group_json(report, &holders->groups[i], out);
    json_out_end(out, ']');
    json_out_end(out, '}');
}
