#include "reports/toptable.h"

#include "reports/escape.h"
#include "reports/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct toptable {
    const struct call_tree *tree;
    struct top_row *rows;
    uint32_t row_count;
};

static int by_weight(const void *left, const void *right, void *context)
{
    const struct call_tree *tree = context;
    const struct top_row *a = left, *b = right;
    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    int order = strcmp(call_tree_name(tree, a->name).name, call_tree_name(tree, b->name).name);
    return order != 0 ? order : (a->name > b->name) - (a->name < b->name);
}

/* open[name]: how often it is on the way from the root to the present node. Only the outermost of
 * them adds to the total. path: the names of that way. */
static bool sum_up(struct toptable *table, uint32_t *open, uint32_t names)
{
    const struct call_tree *tree = table->tree;
    uint32_t *path = NULL;
    int depth = 0, left = 0, capacity = 0;
    for (uint32_t i = 0; i < names; i++)
        table->rows[i] = (struct top_row){.name = i};
    for (uint32_t i = call_tree_next(tree, 0, &depth); i != CALL_TREE_NONE;
         i = call_tree_next(tree, i, &depth)) {
        const struct call_node *node = call_tree_node(tree, i);
        if (path == NULL || depth >= capacity) {
            int more = capacity ? capacity * 2 : 256;
            uint32_t *longer = reallocarray(path, (size_t)more, sizeof *path);
            if (longer == NULL) {
                free(path);
                return false;
            }
            path = longer;
            capacity = more;
        }
        for (; left >= depth && left > 0; left--) /* the root has no name */
            open[path[left]]--;
        left = depth;
        path[depth] = node->name;
        table->rows[node->name].self += node->self;
        if (open[node->name]++ == 0)
            table->rows[node->name].total += node->total;
    }
    free(path);
    return true;
}

struct toptable *toptable_create(const struct call_tree *tree)
{
    uint32_t names = call_tree_name_count(tree);
    struct toptable *table = calloc(1, sizeof *table);
    uint32_t *open = calloc(names, sizeof *open);
    if (table != NULL) {
        table->tree = tree;
        table->rows = calloc(names, sizeof *table->rows);
    }
    if (table == NULL || open == NULL || table->rows == NULL || !sum_up(table, open, names)) {
        free(open);
        toptable_destroy(table);
        return NULL;
    }
    free(open);
    for (uint32_t i = 0; i < names; i++) {
        if (table->rows[i].total > 0)
            table->rows[table->row_count++] = table->rows[i];
    }
    qsort_r(table->rows, table->row_count, sizeof *table->rows, by_weight, (void *)tree);
    return table;
}

uint32_t toptable_row_count(const struct toptable *table)
{
    return table->row_count;
}

const struct top_row *toptable_row(const struct toptable *table, uint32_t row)
{
    return &table->rows[row];
}

static double percent(const struct toptable *table, int64_t samples)
{
    int64_t all = call_tree_samples(table->tree);
    return all > 0 ? 100.0 * (double)samples / (double)all : 0;
}

bool toptable_print(const struct toptable *table, uint32_t rows, FILE *out)
{
    fprintf(out, "%10s %7s %10s %7s  %s\n", "SELF", "", "TOTAL", "", "METHOD");
    for (uint32_t i = 0; i < table->row_count && i < rows; i++) {
        const struct top_row *row = &table->rows[i];
        struct call_frame name = call_tree_name(table->tree, row->name);
        fprintf(out, "%10" PRId64 " %6.2f%% %10" PRId64 " %6.2f%%  %s\n", row->self,
                percent(table, row->self), row->total, percent(table, row->total),
                escape_name(name.name).text);
    }
    if (table->row_count > rows)
        fprintf(out, "and %s methods more\n", units_count(table->row_count - rows).text);
    return !ferror(out);
}

void toptable_json(const struct toptable *table, struct json_out *out)
{
    json_out_int(out, "samples", call_tree_samples(table->tree));
    json_out_int(out, "refused_samples", call_tree_refused(table->tree));
    json_out_begin(out, "methods", '[');
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct top_row *row = &table->rows[i];
        struct call_frame name = call_tree_name(table->tree, row->name);
        json_out_begin(out, NULL, '{');
        json_out_text(out, "name", name.name);
        json_out_text(out, "kind", call_frame_kind_name(name.kind));
        json_out_int(out, "self", row->self);
        json_out_int(out, "total", row->total);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void toptable_destroy(struct toptable *table)
{
    if (table == NULL)
        return;
    free(table->rows);
    free(table);
}
