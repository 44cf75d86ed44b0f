#include "reports/profile/profile_difference.h"

#include "reports/page/terminal.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct profile_change *left = a, *right = b;
    int order = strcmp(left->frame.name, right->frame.name);
    return order != 0 ? order : (int)left->frame.kind - (int)right->frame.kind;
}

static int by_change(const void *a, const void *b)
{
    const struct profile_change *left = a, *right = b;
    double more = fabs(right->change) - fabs(left->change);
    return more > 0 ? 1 : more < 0 ? -1 : by_name(a, b);
}

static uint32_t put_rows(const struct call_tree *tree, const struct toptable *table, bool after,
                         struct profile_change *out)
{
    uint32_t count = toptable_row_count(table);
    for (uint32_t i = 0; i < count; i++) {
        const struct top_row *row = toptable_row(table, i);
        out[i] = (struct profile_change){.frame = call_tree_name(tree, row->name)};
        *(after ? &out[i].self_after : &out[i].self_before) = row->self;
        *(after ? &out[i].total_after : &out[i].total_before) = row->total;
    }
    return count;
}

/* What never ran itself changes by what it called: that has a row of its own. */
static uint32_t drop_callers(struct profile_change *rows, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].self_before != 0 || rows[i].self_after != 0)
            rows[kept++] = rows[i];
    return kept;
}

/* Rows of one name become one. */
static uint32_t merge(struct profile_change *rows, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || by_name(&rows[kept - 1], &rows[i]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        struct profile_change *into = &rows[kept - 1];
        into->self_before += rows[i].self_before;
        into->self_after += rows[i].self_after;
        into->total_before += rows[i].total_before;
        into->total_after += rows[i].total_after;
    }
    return kept;
}

bool profile_difference_make(struct profile_difference *difference, const struct call_tree *before,
                             const struct call_tree *after, bool absolute, bool bytes)
{
    struct toptable *first = toptable_create(before, 0), *second = toptable_create(after, 0);
    *difference = (struct profile_difference){.before = call_tree_samples(before),
                                              .after = call_tree_samples(after),
                                              .scale = 1,
                                              .bytes = bytes,
                                              .absolute = absolute};
    if (!absolute && difference->before > 0 && difference->after > 0)
        difference->scale = (double)difference->after / (double)difference->before;
    if (first != NULL && second != NULL)
        difference->rows =
            calloc((size_t)toptable_row_count(first) + toptable_row_count(second) + 1,
                   sizeof *difference->rows);
    struct profile_change *rows = difference->rows;
    if (rows != NULL) {
        uint32_t count = put_rows(before, first, false, rows);
        count += put_rows(after, second, true, rows + count);
        qsort(rows, count, sizeof *rows, by_name);
        difference->row_count = drop_callers(rows, merge(rows, count));
        double all = (double)(difference->after > 0 ? difference->after : difference->before);
        for (uint32_t i = 0; i < difference->row_count && all > 0; i++)
            rows[i].change =
                100 *
                ((double)rows[i].self_after - (double)rows[i].self_before * difference->scale) /
                all;
        qsort(rows, difference->row_count, sizeof *rows, by_change);
    }
    toptable_destroy(first);
    toptable_destroy(second);
    return rows != NULL;
}

void profile_difference_free(struct profile_difference *difference)
{
    free(difference->rows);
    difference->rows = NULL;
}

/* --- output ----------------------------------------------------------------------------------- */

enum { CHANGE, BEFORE, AFTER, WHAT, METHOD, COLUMNS };
struct cells {
    char text[METHOD][64];
};

static const char *remark(const struct profile_change *row)
{
    return row->total_before == 0 ? "new" : row->total_after == 0 ? "gone" : "";
}

static void fill(struct cells *cells, const struct profile_difference *difference,
                 const struct profile_change *row)
{
    struct units_text before =
        difference->bytes ? units_bytes(row->self_before) : units_count(row->self_before);
    struct units_text after =
        difference->bytes ? units_bytes(row->self_after) : units_count(row->self_after);
    snprintf(cells->text[CHANGE], sizeof cells->text[0], "%+.2f", row->change);
    snprintf(cells->text[BEFORE], sizeof cells->text[0], "%s", before.text);
    snprintf(cells->text[AFTER], sizeof cells->text[0], "%s", after.text);
    snprintf(cells->text[WHAT], sizeof cells->text[0], "%s", remark(row));
}

static uint32_t shown(const struct profile_difference *difference, uint32_t rows)
{
    return difference->row_count < rows ? difference->row_count : rows;
}

bool profile_difference_print(const struct profile_difference *difference, uint32_t rows, FILE *out)
{
    static const struct terminal_column columns[COLUMNS] = {
        [CHANGE] = {"CHANGE %", true, 0, TERMINAL_PLAIN},
        [BEFORE] = {"BEFORE", true, 0, TERMINAL_PLAIN},
        [AFTER] = {"AFTER", true, 0, TERMINAL_PLAIN},
        [WHAT] = {"", false, 0, TERMINAL_PLAIN},
        [METHOD] = {"METHOD", false, 0, TERMINAL_PLAIN},
    };
    uint32_t count = shown(difference, rows);
    const struct terminal terminal = {.out = out, .width = 200};
    struct cells *cells = calloc((size_t)count + 1, sizeof *cells);
    const char **texts = calloc((size_t)count * COLUMNS + 1, sizeof *texts);
    bool good = cells != NULL && texts != NULL;
    for (uint32_t i = 0; i < count && good; i++) {
        fill(&cells[i], difference, &difference->rows[i]);
        for (int c = 0; c < METHOD; c++)
            texts[i * COLUMNS + (uint32_t)c] = cells[i].text[c];
        texts[i * COLUMNS + METHOD] = difference->rows[i].frame.name;
    }
    const struct terminal_table table = {.gap = 2,
                                         .column_count = COLUMNS,
                                         .columns = columns,
                                         .row_count = (int)count,
                                         .cells = texts};
    good = good && terminal_table(&terminal, &table);
    free(texts);
    free(cells);
    if (good && count < difference->row_count)
        fprintf(out, "%u more methods\n", difference->row_count - count);
    return good && !ferror(out);
}

static void put_html_table(const struct profile_difference *difference, const char *title,
                           bool only_new_and_gone, uint32_t rows, FILE *out)
{
    uint32_t put = 0, left = 0;
    fprintf(out,
            "<h2>%s</h2>\n<div class=\"scroll\" tabindex=\"0\"><table "
            "class=\"difference\">\n<thead><tr>"
            "<th scope=\"col\">change, points</th><th scope=\"col\">before</th>"
            "<th scope=\"col\">after</th><td></td>"
            "<th scope=\"col\" class=\"method\">method</th></tr></thead><tbody>\n",
            title);
    for (uint32_t i = 0; i < difference->row_count; i++) {
        const struct profile_change *row = &difference->rows[i];
        struct cells cells = {0};
        if (only_new_and_gone && remark(row)[0] == '\0')
            continue;
        if (put == rows) {
            left++;
            continue;
        }
        put++;
        fill(&cells, difference, row);
        fprintf(out, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td class=\"method\">",
                cells.text[CHANGE], cells.text[BEFORE], cells.text[AFTER], cells.text[WHAT]);
        escape_put(ESCAPE_HTML, row->frame.name, out);
        fputs("</td></tr>\n", out);
    }
    if (put == 0)
        fputs("<tr><td colspan=\"5\">none</td></tr>\n", out);
    fputs("</tbody></table></div>\n", out);
    if (left > 0)
        fprintf(out, "<p>%s more.</p>\n", units_count(left).text);
}

void profile_difference_html(const struct profile_difference *difference, uint32_t rows, FILE *out)
{
    put_html_table(difference, "Methods by the change of what they take themselves", false, rows,
                   out);
    put_html_table(difference, "New and gone methods", true, rows, out);
}
