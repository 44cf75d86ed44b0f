#include "nmtwatch/observe/observe_child.h"

#include "analyzers/classes/family.h"

#include <jansson.h>
#include <stdlib.h>

#define FRAMES_MAX   256 /* of a stack, innermost */
#define TOUCHERS_MAX 64

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static int64_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* --- classes ---------------------------------------------------------------------------------- */

/* The place that asked for most of a family's classes. */
static void read_family(const json_t *family, struct caller_row *row)
{
    const json_t *ways = json_object_get(family, "ways");
    const json_t *way, *frame;
    size_t i, j;
    *row = (struct caller_row){.classes = number_of(family, "loaded")};
    snprintf(row->family, sizeof row->family, "%s", text_of(family, "family"));
    json_array_foreach (ways, i, way) { /* most classes first; several may come to one place */
        const char *labels[FRAMES_MAX];
        int depth = 0;
        json_array_foreach (json_object_get(way, "frames"), j, frame) {
            if (depth < FRAMES_MAX && json_is_string(frame))
                labels[depth++] = json_string_value(frame);
        }
        int site = definer_call_site(labels, depth, text_of(family, "example"));
        if (site < 0)
            continue;
        if (row->call_site[0] == '\0')
            snprintf(row->call_site, sizeof row->call_site, "%s", labels[site]);
        if (strncmp(row->call_site, labels[site], sizeof row->call_site - 1) == 0)
            row->stacks += number_of(way, "stacks");
    }
}

int observe_callers(const char *text, size_t length, struct caller_row *rows, int max)
{
    json_t *root = json_loadb(text, length, 0, NULL), *family;
    int count = 0;
    size_t i;
    json_array_foreach (json_object_get(root, "families"), i, family) {
        if (count == max)
            break;
        read_family(family, &rows[count]);
        count += rows[count].call_site[0] != '\0';
    }
    json_decref(root);
    return count;
}

/* --- rss -------------------------------------------------------------------------------------- */

struct touchers {
    int count;
    struct facts_toucher row[TOUCHERS_MAX];
    int64_t outside_bytes;
};

static bool is_plumbing(const char *label)
{
    static const char *const libraries[] = {"[libc", "[libjvm", "[ld-", "[unknown", "[stack"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strstr(label, libraries[i]) != NULL)
            return true;
    return false;
}

/* Labels innermost first. */
static void add_stack(struct touchers *touchers, const char *const labels[], int depth,
                      int64_t bytes)
{
    struct facts_toucher toucher = {.have = true};
    struct definer java = definer_find(labels, depth);
    int native = 0;
    while (native < depth && labels[native][strlen(labels[native]) - 1] == ']' &&
           is_plumbing(labels[native]))
        native++;
    bool is_native = native < depth && labels[native][0] != '\0' &&
                     labels[native][strlen(labels[native]) - 1] == ']';
    const char *in = is_native ? labels[native] : "", *by = in;
    if (java.definer >= 0 && strchr(labels[java.definer], ']') == NULL)
        by = labels[java.definer];
    touchers->outside_bytes += bytes;
    if (by[0] == '\0')
        return;
    snprintf(toucher.by, sizeof toucher.by, "%s", by);
    snprintf(toucher.in, sizeof toucher.in, "%s", in == by ? "" : in);
    int i = 0;
    while (i < touchers->count && (strcmp(touchers->row[i].by, toucher.by) != 0 ||
                                   strcmp(touchers->row[i].in, toucher.in) != 0))
        i++;
    if (i == TOUCHERS_MAX)
        return;
    if (i == touchers->count)
        touchers->row[touchers->count++] = toucher;
    touchers->row[i].bytes += bytes;
}

/* A collapsed stack, outermost first: "malloc outside of NMT;Main.main;...;malloc [libc.so.6] 4096". */
static void read_stack(struct touchers *touchers, char *line)
{
    char *labels[FRAMES_MAX], *last = strrchr(line, ' '), *rest = line, *label;
    const char *innermost[FRAMES_MAX];
    int depth = 0;
    if (last == NULL)
        return;
    *last = '\0';
    char *row = strsep(&rest, ";");
    if (strstr(row, "outside of NMT") == NULL)
        return;
    while ((label = strsep(&rest, ";")) != NULL) {
        if (label[0] == '\0')
            continue;
        if (depth == FRAMES_MAX) /* the outermost go */
            memmove(labels, labels + 1, (size_t)--depth * sizeof *labels);
        labels[depth++] = label;
    }
    for (int i = 0; i < depth; i++)
        innermost[i] = labels[depth - 1 - i];
    add_stack(touchers, innermost, depth, strtoll(last + 1, NULL, 10));
}

void observe_outside(char *text, struct facts_toucher *toucher)
{
    struct touchers touchers = {0};
    *toucher = (struct facts_toucher){0};
    for (char *line; (line = strsep(&text, "\n")) != NULL;)
        read_stack(&touchers, line);
    for (int i = 0; i < touchers.count; i++)
        if (touchers.row[i].bytes > toucher->bytes)
            *toucher = touchers.row[i];
    toucher->outside_bytes = touchers.outside_bytes;
}

void observe_arenas(const char *text, size_t length, struct facts_toucher *toucher)
{
    json_t *root = json_loadb(text, length, 0, NULL);
    const json_t *arenas = json_object_get(root, "arenas");
    toucher->arenas = number_of(arenas, "count");
    toucher->kept_bytes = number_of(arenas, "trim_bytes") + number_of(arenas, "top_bytes");
    json_decref(root);
}

/* --- methods ---------------------------------------------------------------------------------- */

bool observe_ids(const char *text, size_t length, struct facts_ids *ids)
{
    json_t *root = json_loadb(text, length, 0, NULL);
    const json_t *count = json_object_get(root, "jmethodids");
    bool counted = json_is_integer(count);
    *ids = (struct facts_ids){.have = counted,
                              .ids = json_integer_value(count),
                              .classes = number_of(root, "classes"),
                              .methods = number_of(root, "methods"),
                              .loaders = number_of(root, "loaders")};
    json_decref(root);
    return counted;
}
