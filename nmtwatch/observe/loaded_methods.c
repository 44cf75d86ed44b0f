#include "nmtwatch/observe/observe_child.h"

#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "nmtwatch/observe/remote.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <jansson.h>
#include <stdlib.h>

#define ROWS          30
#define JSON_FAMILIES 200
#define TRIES                                                                                      \
    3 /* a list that changed while it was read is read again: classes were
                         * unloaded meanwhile */

/* A JVM that has begun has classes; one that has ended has none: what cannot be read is 0. */
static bool walk(struct loaded_methods *out, struct loaded_families *families, char *error,
                 size_t error_size)
{
    for (int i = 0; i < TRIES; i++) {
        remote_forget();
        memset(families, 0, sizeof *families);
        if (!class_graph_walk(out, families, error, error_size) || remote_spent(error, error_size))
            return false;
        if (out->torn == 0)
            break;
    }
    remote_forget();
    if (out->classes > 0 && load_pointer(layout.loaders_head) != 0)
        return true;
    return text_error(error, error_size, "it has no classes yet, or has ended meanwhile");
}

bool loaded_methods_read(const struct target *target, struct loaded_methods *out, char *error,
                         size_t error_size)
{
    *out = (struct loaded_methods){.families = calloc(1, sizeof *out->families)};
    if (out->families == NULL)
        return text_error(error, error_size, "out of memory");
    layout_forget();
    bool good = remote_open(target, error, error_size) && remote_layout(error, error_size) &&
                walk(out, out->families, error, error_size);
    remote_close();
    return good;
}

void loaded_methods_free(struct loaded_methods *methods)
{
    free(methods->families);
    methods->families = NULL;
}

/* --- as a table and as JSON -------------------------------------------------------------------- */

struct methods_event loaded_methods_sums(const struct loaded_methods *methods)
{
    return (struct methods_event){.loaders = methods->loaders,
                                  .classes = methods->classes,
                                  .methods = methods->methods,
                                  .own_classes = methods->own_classes,
                                  .own_methods = methods->own_methods};
}

static bool write_json(const struct loaded_methods *methods, const struct target *target, FILE *out)
{
    const struct methods_event sums = loaded_methods_sums(methods);
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
    json_out_real(&json, "methods_per_class", methods_per_class(&sums));
    json_out_int_if(&json, "jmethodids", methods->ids >= 0, methods->ids);
    json_out_int(&json, "family_count", (int64_t)methods->family_count);
    json_out_begin(&json, "families", '[');
    for (size_t i = 0; i < methods->family_count && i < JSON_FAMILIES; i++) {
        json_out_begin(&json, NULL, '{');
        json_out_text(&json, "family", methods->families->family[i].name);
        json_out_int(&json, "classes", methods->families->family[i].classes);
        json_out_int(&json, "methods", methods->families->family[i].methods);
        json_out_end(&json, '}');
    }
    json_out_end(&json, ']');
    json_out_end(&json, '}');
    return json_out_print(&json, out);
}

bool methods_table_write(const struct methods_event *methods, const struct target *target,
                         int64_t ids, bool by_agent, FILE *out)
{
    struct page page;
    char each[32];
    fprintf(out, "pid %d (%s): %s methods in %s classes of %s class loaders%s\n", (int)target->pid,
            escape_name(target->identity.main).text, units_count(methods->methods).text,
            units_count(methods->classes).text, units_count(methods->loaders).text,
            by_agent ? ", counted by the agent" : "");
    fprintf(out, "Without the boot loader's: %s in %s classes, %.1f a class\n",
            units_count(methods->own_methods).text, units_count(methods->own_classes).text,
            methods_per_class(methods));
    if (ids >= 0)
        fprintf(out, "jmethodIDs: %s\n", units_count(ids).text);
    fputc('\n', out);
    page_begin(&page, "", "", SEVERITY_INFO);
    page_table(&page, "#classes", "#methods", "#a class", "family");
    for (int i = 0; i < methods->row_count; i++) {
        const struct method_family *family = &methods->rows[i];
        snprintf(each, sizeof each, "%.1f",
                 family->classes > 0 ? (double)family->methods / (double)family->classes : 0.0);
        page_row(&page, units_count(family->classes).text, units_count(family->methods).text, each,
                 family->family);
    }
    return page_print(&page, out);
}

static bool write_table(const struct loaded_methods *methods, const struct target *target,
                        FILE *out)
{
    struct method_family rows[ROWS];
    struct methods_event event = loaded_methods_sums(methods);
    event.rows = rows;
    for (size_t i = 0; i < methods->family_count && i < ROWS; i++) {
        const struct loaded_family *family = &methods->families->family[i];
        struct method_family *row = &rows[event.row_count++];
        snprintf(row->family, sizeof row->family, "%s", family->name);
        row->classes = family->classes;
        row->methods = family->methods;
    }
    return methods_table_write(&event, target, methods->ids, false, out);
}

bool loaded_methods_write(const struct loaded_methods *methods, const struct target *target,
                          enum profile_format format, FILE *out)
{
    if (format == PROFILE_TOP)
        return write_json(methods, target, out);
    return format == PROFILE_TOP_TEXT && write_table(methods, target, out);
}

bool loaded_methods_event(const char *json, struct kept_methods *out)
{
    struct method_family *rows = out->rows;
    json_t *object = json_loads(json, 0, NULL), *one;
    size_t i;
    const struct {
        const char *key;
        int64_t *into;
    } NUMBERS[] = {{"loaders", &out->event.loaders},
                   {"classes", &out->event.classes},
                   {"methods", &out->event.methods},
                   {"own_classes", &out->event.own_classes},
                   {"own_methods", &out->event.own_methods}};
    *out = (struct kept_methods){.event.rows = rows};
    for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++)
        *NUMBERS[k].into = json_integer_value(json_object_get(object, NUMBERS[k].key));
    json_array_foreach (json_object_get(object, "families"), i, one) {
        const char *name = json_string_value(json_object_get(one, "family"));
        if (name == NULL || i == EVENT_ROWS_MAX)
            break;
        struct method_family *row = &rows[out->event.row_count++];
        snprintf(row->family, sizeof row->family, "%s", name);
        row->classes = json_integer_value(json_object_get(one, "classes"));
        row->methods = json_integer_value(json_object_get(one, "methods"));
    }
    json_decref(object);
    return out->event.methods > 0;
}

void loaded_methods_sentence(const struct loaded_methods *methods, char *out, size_t size)
{
    snprintf(out, size, "%s methods in %s classes of %s class loaders",
             units_count(methods->methods).text, units_count(methods->classes).text,
             units_count(methods->loaders).text);
}
