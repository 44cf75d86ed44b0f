#include "reports/profile/call_tree.h"

#include "reports/page/page.h"
#include "reports/profile/profile_difference.h"
#include "reports/text/embedded.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROW_PX           18
#define TEXT_MIN_PERCENT 0.8 /* narrower frames have no room for a word; the script adds them */

/* A frame is an svg of its own, so that its text is cut where it ends, whose x and width are
 * percentages. Zooming computes both again; data-x and data-w keep what they were. */
EMBED_FILE(flamegraph_css, "reports/profile/flamegraph.css")
EMBED_FILE(flamegraph_js, "reports/profile/flamegraph.js")

struct drawing {
    const struct call_tree *tree;
    const struct flamegraph_page *page;
    FILE *out;
    int rows;
    uint32_t hidden; /* frames that are too narrow */
    uint32_t match;  /* the frame being drawn in page->before; CALL_TREE_NONE: it is not there */
};

static void put(struct drawing *drawing, const char *text)
{
    escape_put(ESCAPE_HTML, text, drawing->out);
}

static bool is_shown(const struct drawing *drawing, const struct call_node *node)
{
    return (double)node->total >= (double)call_tree_samples(drawing->tree) * FLAMEGRAPH_MIN_SHARE;
}

/* --- pictures ------------------------------------------------------------------------------- */

static const char *class_of(struct call_frame frame, uint32_t node)
{
    static const char *const classes[CALL_FRAME_KINDS][3] = {
        [CALL_FRAME_JAVA] = {"j0", "j1", "j2"},   [CALL_FRAME_NATIVE] = {"n0", "n1", "n2"},
        [CALL_FRAME_CLASS] = {"c0", "c1", "c2"},  [CALL_FRAME_STATE] = {"s0", "s1", "s2"},
        [CALL_FRAME_THREAD] = {"t0", "t1", "t2"},
    };
    unsigned shade = 0;
    if (node == 0)
        return "a";
    for (const char *at = frame.name; *at != '\0'; at++)
        shade = shade * 31 + (unsigned char)*at;
    return classes[frame.kind][shade % 3];
}

/* --- compared with another profile ----------------------------------------------------------- */

/* The child of a node of the other tree that is the same frame. */
static uint32_t same_child(const struct drawing *drawing, uint32_t parent, struct call_frame frame)
{
    const struct call_tree *before = drawing->page->before;
    if (before == NULL || parent == CALL_TREE_NONE)
        return CALL_TREE_NONE;
    uint32_t child = call_tree_node(before, parent)->first_child;
    for (; child != CALL_TREE_NONE; child = call_tree_node(before, child)->next_sibling) {
        struct call_frame other = call_tree_name(before, call_tree_node(before, child)->name);
        if (other.kind == frame.kind && strcmp(other.name, frame.name) == 0)
            break;
    }
    return child;
}

static int64_t total_before(const struct drawing *drawing)
{
    return drawing->match != CALL_TREE_NONE
               ? call_tree_node(drawing->page->before, drawing->match)->total
               : 0;
}

/* Percent of the samples of this tree by which the frame takes more than in the other. */
static double points_more(const struct drawing *drawing, const struct call_node *node)
{
    double before = (double)total_before(drawing) * drawing->page->difference->scale;
    return 100 * ((double)node->total - before) / (double)call_tree_samples(drawing->tree);
}

static const char *class_of_change(double points)
{
    static const char *const more[] = {"m1", "m2", "m3", "m4"}, *const less[] = {"l1", "l2", "l3",
                                                                                 "l4"};
    double size = points < 0 ? -points : points;
    if (size < 0.1)
        return "e0";
    int step = size < 0.5 ? 0 : size < 2 ? 1 : size < 10 ? 2 : 3;
    return points > 0 ? more[step] : less[step];
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
    const char *colour = class_of(frame, number);
    if (drawing->page->before != NULL) {
        double points = points_more(drawing, node);
        colour = class_of_change(points);
        fprintf(drawing->out, "; before %s, %+.2f points",
                amount(drawing, total_before(drawing)).text, points);
    }
    if (frame.kind != CALL_FRAME_JAVA)
        fprintf(drawing->out, "; %s", call_frame_kind_name(frame.kind));
    fprintf(drawing->out, "</title><rect class=\"%s\" width=\"100%%\" height=\"100%%\"/>", colour);
    if (width >= TEXT_MIN_PERCENT) {
        fputs("<text x=\"3\" y=\"12\">", drawing->out);
        put(drawing, frame.name);
        fputs("</text>", drawing->out);
    }
    fputs("</svg>\n", drawing->out);
}

/* Calls draw for each frame that is wide enough, parents first; without one it only counts. */
static bool each_shown(struct drawing *drawing,
                       void (*draw)(struct drawing *, uint32_t, int, int64_t))
{
    struct way {
        int64_t next_sample; /* where the next child of the node on the way begins */
        uint32_t match;      /* the same node of the other tree */
    } *way = NULL;           /* by depth */
    int capacity = 0, depth = 0;
    drawing->hidden = 0;
    for (uint32_t i = 0; i != CALL_TREE_NONE; i = call_tree_next(drawing->tree, i, &depth)) {
        const struct call_node *node = call_tree_node(drawing->tree, i);
        if (depth >= capacity) {
            int more = capacity ? capacity * 2 : 256;
            struct way *longer = reallocarray(way, (size_t)more, sizeof *longer);
            if (longer == NULL) {
                free(way);
                return false;
            }
            way = longer;
            capacity = more;
        }
        int64_t first = depth > 0 ? way[depth - 1].next_sample : 0;
        way[depth] = (struct way){.next_sample = first};
        if (depth > 0) {
            way[depth - 1].next_sample += node->total;
            way[depth].match = same_child(drawing, way[depth - 1].match,
                                          call_tree_name(drawing->tree, node->name));
        }
        drawing->match = way[depth].match;
        if (is_shown(drawing, node)) {
            if (depth + 1 > drawing->rows)
                drawing->rows = depth + 1;
            if (draw != NULL)
                draw(drawing, i, depth, first);
        } else if (node->total > 0) {
            drawing->hidden++;
        }
    }
    free(way);
    return true;
}

/* --- the page ------------------------------------------------------------------------------- */

static void put_head(struct drawing *drawing, const struct flamegraph_page *page)
{
    FILE *out = drawing->out;
    page_html_head(out, page->title, flamegraph_css_begin);
    fputs("<h1>", out);
    put(drawing, page->title);
    fprintf(out, "</h1>\n<p>%s ", amount(drawing, call_tree_samples(drawing->tree)).text);
    put(drawing, page->unit);
    fputs(". Callers above, callees below.", out);
    if (page->before != NULL)
        fprintf(out,
                " Compared with %s before.<span class=\"key m3\"></span>more"
                "<span class=\"key l3\"></span>less; the width is what it takes now",
                amount(drawing, page->difference->before).text);
    else
        fputs("<span class=\"key j0\"></span>Java<span class=\"key n0\"></span>native", out);
    uint32_t first = call_tree_node(drawing->tree, 0)->first_child;
    if (page->before == NULL && first != CALL_TREE_NONE &&
        call_tree_name(drawing->tree, call_tree_node(drawing->tree, first)->name).kind ==
            CALL_FRAME_STATE)
        fputs("<span class=\"key s0\"></span>what the thread was doing", out);
    if (page->bytes && page->before == NULL)
        fputs("<span class=\"key c0\"></span>what was allocated", out);
    fputs("</p>\n"
          "<div id=\"bar\" hidden><input id=\"find\" type=\"search\" placeholder=\"Search\" "
          "aria-label=\"Search\"><span id=\"found\" role=\"status\"></span>"
          "<button id=\"reset\" disabled>Reset zoom</button>"
          "<button id=\"flip\">Callers below</button></div>\n<div id=\"now\"></div>\n",
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
    if (page->before != NULL)
        profile_difference_html(page->difference, 40, out);
    put_notes(&drawing, page);
    if (some)
        fprintf(out, "<script>%s</script>\n", flamegraph_js_begin);
    fputs("</body></html>\n", out);
    return good && !ferror(out);
}
