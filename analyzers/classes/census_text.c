#include "analyzers/classes/census_text.h"

#include "analyzers/parse/class_tables.h"
#include "analyzers/parse/class_log.h"

static const struct span NO_SOURCE = {"", 0};

static enum parse_result add_classes(struct census *census, struct span text)
{
    struct classes classes;
    struct classes_row row;
    classes_begin(&classes, text);
    while (classes_next(&classes, &row)) {
        if (!row.is_array)
            census_load(census, row.name, NO_SOURCE);
    }
    return classes.lines.result;
}

static enum parse_result add_hierarchy(struct census *census, struct span text)
{
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    class_hierarchy_begin(&hierarchy, text);
    while (class_hierarchy_next(&hierarchy, &row)) {
        census_load(census, row.name, NO_SOURCE);
        if (row.invokes.len > 0)
            census_invokes(census, row.name, row.invokes);
    }
    return hierarchy.lines.result;
}

static enum parse_result add_histogram(struct census *census, struct span text)
{
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row)) {
        if (row.name.len > 0 && row.name.ptr[0] != '[')
            census_load(census, row.name, NO_SOURCE);
    }
    return histogram.lines.result;
}

enum parse_result census_add_list(struct census *census, enum census_method method,
                                  struct span text)
{
    switch (method) {
    case CENSUS_CLASSES:
        return add_classes(census, text);
    case CENSUS_CLASS_HIERARCHY:
        return add_hierarchy(census, text);
    case CENSUS_CLASS_HISTOGRAM:
        return add_histogram(census, text);
    case CENSUS_TAP:
    case CENSUS_LOADER_TYPES:
    case CENSUS_METHOD_COUNT:
        break;
    }
    return PARSE_MALFORMED;
}

void census_add_loaders(struct census *census, const struct loader_row *rows, int count)
{
    for (int i = 0; i < count; i++)
        census_loader_type(census, span_from_cstr(rows[i].type), rows[i].loaders, rows[i].classes);
}

int64_t census_add_log(struct census *census, struct span *text)
{
    struct class_log_line line;
    int64_t named = 0;
    while (class_log_next(text, &line)) {
        if (line.kind == CLASS_LOG_LOAD)
            census_load(census, line.name, line.source);
        else if (line.kind == CLASS_LOG_UNLOAD)
            census_unload(census, line.name);
        else
            continue;
        named++;
    }
    return named;
}
