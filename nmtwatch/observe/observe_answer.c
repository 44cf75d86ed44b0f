#include "nmtwatch/observe/observe_child.h"

#include <jansson.h>
#include <stdlib.h>

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
    const json_t *ways = json_object_get(family, "ways"), *way;
    size_t i;
    *row = (struct caller_row){.classes = number_of(family, "loaded")};
    snprintf(row->family, sizeof row->family, "%s", text_of(family, "family"));
    json_array_foreach (ways, i, way) { /* most classes first; several may come to one place */
        const char *caller = text_of(way, "caller");
        if (caller[0] == '\0')
            continue;
        if (row->call_site[0] == '\0') {
            snprintf(row->call_site, sizeof row->call_site, "%s", caller);
            snprintf(row->through, sizeof row->through, "%s", text_of(way, "through"));
        }
        if (strncmp(row->call_site, caller, sizeof row->call_site - 1) == 0)
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

void observe_outside(const char *text, size_t length, struct facts_toucher *toucher)
{
    json_t *root = json_loadb(text, length, 0, NULL), *row;
    size_t i;
    *toucher = (struct facts_toucher){0};
    json_array_foreach (json_object_get(root, "growth"), i, row)
        if (json_is_true(json_object_get(row, "outside_nmt")))
            toucher->outside_bytes += number_of(row, "bytes");
    json_array_foreach (json_object_get(root, "growers"), i, row) {
        if (toucher->have || !json_is_true(json_object_get(row, "outside_nmt")))
            continue;
        toucher->have = true;
        toucher->bytes = number_of(row, "bytes");
        snprintf(toucher->by, sizeof toucher->by, "%s", text_of(row, "by"));
        snprintf(toucher->in, sizeof toucher->in, "%s", text_of(row, "in"));
    }
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
