#include "reports/flamegraph.h"

#include "reports/escape.h"
#include "reports/flamegraph_page.h"
#include "reports/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROW_PX           18
#define TEXT_MIN_PERCENT 0.8 /* narrower frames have no room for a word; the script adds them */
#define TEXT_BYTES       400

struct drawing {
    const struct call_tree *tree;
    const struct flamegraph_page *page;
    FILE *out;
    char *escaped;
    size_t capacity;
    bool failed;
    int rows;
    uint32_t hidden; /* frames that are too narrow */
};

static void put(struct drawing *drawing, const char *text)
{
    size_t most = strlen(text) * ESCAPE_GROWTH + 1;
    if (most > drawing->capacity) {
        char *bigger = realloc(drawing->escaped, most);
        if (bigger == NULL) {
            drawing->failed = true;
            return;
        }
        drawing->escaped = bigger;
        drawing->capacity = most;
    }
    escape(ESCAPE_HTML, text, drawing->escaped, most);
    fputs(drawing->escaped, drawing->out);
}

static bool is_shown(const struct drawing *drawing, const struct call_node *node)
{
    return (double)node->total >= (double)call_tree_samples(drawing->tree) * FLAMEGRAPH_MIN_SHARE;
}

/* --- pictures -----------------------------------------------------------------------------------
 */

static const char *class_of(struct call_frame frame, uint32_t node)
{
    static const char *const classes[CALL_FRAME_KINDS][3] = {
        [CALL_FRAME_JAVA] = {"j0", "j1", "j2"},
        [CALL_FRAME_NATIVE] = {"n0", "n1", "n2"},
        [CALL_FRAME_CLASS] = {"c0", "c1", "c2"},
    };
    unsigned shade = 0;
    if (node == 0)
        return "a";
    for (const char *at = frame.name; *at != '\0'; at++)
        shade = shade * 31 + (unsigned char)*at;
    return classes[frame.kind][shade % 3];
}

static struct units_text amount(const struct drawing *drawing, int64_t samples)
{
    return drawing->page->bytes ? units_bytes(samples) : units_count(samples);
}

static void put_frame(struct drawing *drawing, uint32_t number, int depth, int64_t first_sample)
{
    const struct call_node *node = call_tree_node(drawing->tree, number);
    struct call_frame frame = call_tree_name(drawing->tree, node->name);
    double all = (double)call_tree_samples(drawing->tree);
    double x = 100.0 * (double)first_sample / all, width = 100.0 * (double)node->total / all;
    fprintf(drawing->out,
            "<svg class=\"f\" tabindex=\"0\" data-x=\"%.9g\" data-w=\"%.9g\" x=\"%.9g%%\" y=\"%d\" "
            "width=\"%.9g%%\" height=\"%d\"><title>",
            x, width, x, depth * ROW_PX, width, ROW_PX);
    put(drawing, frame.name);
    fprintf(drawing->out, "\n%s%s, %.2f%%", amount(drawing, node->total).text,
            drawing->page->bytes ? "" : " samples", width);
    if (node->self > 0 && node->self < node->total)
        fprintf(drawing->out, "; itself %s", amount(drawing, node->self).text);
    if (frame.kind != CALL_FRAME_JAVA)
        fprintf(drawing->out, "; %s", call_frame_kind_name(frame.kind));
    fprintf(drawing->out, "</title><rect class=\"%s\" width=\"100%%\" height=\"100%%\"/>",
            class_of(frame, number));
    if (width >= TEXT_MIN_PERCENT) {
        char text[TEXT_BYTES];
        escape(ESCAPE_HTML, frame.name, text, sizeof text);
        fprintf(drawing->out, "<text x=\"3\" y=\"12\">%s</text>", text);
    }
    fputs("</svg>\n", drawing->out);
}

/* Calls draw for each frame that is wide enough, parents first; without one it only counts. */
static bool each_shown(struct drawing *drawing,
                       void (*draw)(struct drawing *, uint32_t, int, int64_t))
{
    int64_t *next_sample = NULL; /* by depth: where the next child of the node on the way begins */
    int capacity = 0, depth = 0;
    drawing->hidden = 0;
    for (uint32_t i = 0; i != CALL_TREE_NONE; i = call_tree_next(drawing->tree, i, &depth)) {
        const struct call_node *node = call_tree_node(drawing->tree, i);
        if (depth >= capacity) {
            int more = capacity ? capacity * 2 : 256;
            int64_t *longer = reallocarray(next_sample, (size_t)more, sizeof *longer);
            if (longer == NULL) {
                free(next_sample);
                return false;
            }
            next_sample = longer;
            capacity = more;
        }
        int64_t first = depth > 0 ? next_sample[depth - 1] : 0;
        next_sample[depth] = first;
        if (depth > 0)
            next_sample[depth - 1] += node->total;
        if (is_shown(drawing, node)) {
            if (depth + 1 > drawing->rows)
                drawing->rows = depth + 1;
            if (draw != NULL)
                draw(drawing, i, depth, first);
        } else if (node->total > 0) {
            drawing->hidden++;
        }
    }
    free(next_sample);
    return true;
}

/* --- the page -----------------------------------------------------------------------------------
 */

static void put_head(struct drawing *drawing, const struct flamegraph_page *page)
{
    FILE *out = drawing->out;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          out);
    put(drawing, page->title);
    fputs("</title>\n<style>\n" FLAMEGRAPH_STYLE "</style></head><body>\n<h1>", out);
    put(drawing, page->title);
    fprintf(out, "</h1>\n<p>%s ", amount(drawing, call_tree_samples(drawing->tree)).text);
    put(drawing, page->unit);
    fputs(". Callers above, callees below.<span class=\"key j0\"></span>Java"
          "<span class=\"key n0\"></span>native",
          out);
    if (page->bytes)
        fputs("<span class=\"key c0\"></span>what was allocated", out);
    fputs("</p>\n"
          "<div id=\"bar\" hidden><input id=\"find\" type=\"search\" placeholder=\"Search\" "
          "aria-label=\"Search\"><span id=\"found\" role=\"status\"></span>"
          "<button id=\"reset\" disabled>Whole picture</button></div>\n<div id=\"now\"></div>\n",
          out);
}

static void put_notes(struct drawing *drawing, const struct flamegraph_page *page)
{
    if (drawing->hidden > 0)
        fprintf(drawing->out, "<p>%s frames narrower than %.2f %% are not drawn.</p>\n",
                units_count(drawing->hidden).text, 100 * FLAMEGRAPH_MIN_SHARE);
    if (call_tree_refused(drawing->tree) > 0)
        fprintf(drawing->out, "<p>%s%s found no room in the tree and are not counted.</p>\n",
                amount(drawing, call_tree_refused(drawing->tree)).text,
                page->bytes ? "" : " samples");
    for (int i = 0; i < page->note_count; i++) {
        fputs("<p>", drawing->out);
        put(drawing, page->notes[i]);
        fputs("</p>\n", drawing->out);
    }
}

bool flamegraph_write(const struct call_tree *tree, const struct flamegraph_page *page, FILE *out)
{
    struct drawing drawing = {.tree = tree, .page = page, .out = out};
    bool some = call_tree_samples(tree) > 0;
    bool good = true;
    put_head(&drawing, page);
    if (some) {
        good = each_shown(&drawing, NULL); /* how high it becomes */
        fprintf(out,
                "<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" "
                "height=\"%d\" role=\"img\" aria-label=\"flame graph\">\n",
                drawing.rows * ROW_PX);
        good = good && each_shown(&drawing, put_frame);
        fputs("</svg>\n", out);
    } else {
        fputs("<p>There are no samples.</p>\n", out);
    }
    put_notes(&drawing, page);
    if (some)
        fputs("<script>\n" FLAMEGRAPH_SCRIPT "</script>\n", out);
    fputs("</body></html>\n", out);
    free(drawing.escaped);
    return good && !drawing.failed && !ferror(out);
}
