#include "reports/profile/call_tree.h"

#include "analyzers/model/texts.h"
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

/* What a page holds at most, however large the profile is: frames in its data, of 10 bytes each and their
 * names; frames of the picture that is seen without the script, of 250 bytes; cells of the heat map, of 4. */
#define NODES_MAX      100000
#define STATIC_MAX     5000
#define CELLS_MAX      400000
#define SLOTS_MAX      4800
#define NAMES_MAX      (8 << 20)
#define NAME_BYTES_MIN 60
#define NAME_BYTES_MAX 2000
#define TABLE_ROWS     40

/* A frame is an svg of its own, so that its text is cut where it ends, whose x and width are percentages. The
 * script makes the same from the data (flamegraph.js). */
EMBED_FILE(flamegraph_css, "reports/profile/flamegraph.css")
EMBED_FILE(flamegraph_js, "reports/profile/flamegraph.js")

/* A frame that the page has. */
struct shown {
    uint32_t node;
    uint32_t match; /* in page->before; CALL_TREE_NONE: it is not there */
    int depth;
    int64_t first_sample; /* where it begins */
};

struct drawing {
    const struct call_tree *tree;
    const struct flamegraph_page *page;
    FILE *out;
    struct shown *shown; /* callers first, in the order of the picture */
    uint32_t count;
    uint32_t *number_of; /* of a node: its index there, or that of its nearest caller that is */
    int64_t left_out;    /* frames that are not in the page */
};

static void put(struct drawing *drawing, const char *text)
{
    escape_put(ESCAPE_HTML, text, drawing->out);
}

/* --- which frames --------------------------------------------------------------------------- */

/* The same frame among the children of a node of the other tree, from *next on: children of both trees are in
 * the order of their names. */
static uint32_t same_child(const struct drawing *drawing, uint32_t *next, struct stack_frame frame)
{
    const struct call_tree *before = drawing->page->before;
    while (before != NULL && *next != CALL_TREE_NONE) {
        uint32_t child = *next;
        struct stack_frame other = call_tree_name(before, call_tree_node(before, child)->name);
        int order = strcmp(other.name, frame.name);
        if (order == 0)
            order = (int)other.kind - (int)frame.kind;
        if (order > 0)
            break;
        *next = call_tree_node(before, child)->next_sibling;
        if (order == 0)
            return child;
    }
    return CALL_TREE_NONE;
}

static int by_size(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left < *right) - (*left > *right);
}

/* What the smallest of the largest so many frames has. *ties: how many of just that size are among them. */
static bool smallest_of(const struct call_tree *tree, uint32_t most, int64_t *least, uint32_t *ties)
{
    uint32_t nodes = call_tree_node_count(tree);
    *least = 1;
    *ties = UINT32_MAX;
    if (nodes <= most)
        return true;
    int64_t *sizes = reallocarray(NULL, nodes, sizeof *sizes);
    if (sizes == NULL)
        return false;
    for (uint32_t i = 0; i < nodes; i++)
        sizes[i] = call_tree_node(tree, i)->total;
    qsort(sizes, nodes, sizeof *sizes, by_size);
    if (sizes[most - 1] > 0) {
        *least = sizes[most - 1];
        *ties = 0;
        for (uint32_t i = most; i > 0 && sizes[i - 1] == *least; i--)
            ++*ties;
    }
    free(sizes);
    return true;
}

/* Numbers in number_of: 1 for a frame that is shown. A caller has a smaller number than what it calls, and is
 * not smaller, so that it is shown where its callee is. */
static bool choose(struct drawing *drawing)
{
    uint32_t nodes = call_tree_node_count(drawing->tree), ties;
    int64_t least;
    drawing->number_of = calloc(nodes, sizeof *drawing->number_of);
    if (drawing->number_of == NULL || !smallest_of(drawing->tree, NODES_MAX, &least, &ties))
        return false;
    for (uint32_t i = 0; i < nodes; i++) {
        int64_t total = call_tree_node(drawing->tree, i)->total;
        bool chosen = i == 0 || total > least || (total == least && ties > 0);
        if (chosen && total == least && i > 0)
            ties--;
        drawing->number_of[i] = chosen;
        drawing->count += chosen;
        drawing->left_out += !chosen && total > 0;
    }
    drawing->shown = calloc(drawing->count, sizeof *drawing->shown);
    return drawing->shown != NULL;
}

/* Puts the chosen frames in their order and says where they begin. */
static bool place(struct drawing *drawing)
{
    struct way {
        int64_t next_sample; /* where the next child of the node on the way begins */
        uint32_t match;      /* the same node of the other tree */
        uint32_t next_match; /* where to look for the next child's */
    } *way = NULL;           /* by depth */
    size_t capacity = 0;
    int depth = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i != CALL_TREE_NONE; i = call_tree_next(drawing->tree, i, &depth)) {
        const struct call_node *node = call_tree_node(drawing->tree, i);
        if (!array_room(&way, &capacity, (size_t)depth + 1, sizeof *way)) {
            free(way);
            return false;
        }
        int64_t first = depth > 0 ? way[depth - 1].next_sample : 0;
        way[depth] = (struct way){.next_sample = first};
        if (depth > 0) {
            way[depth - 1].next_sample += node->total;
            way[depth].match = same_child(drawing, &way[depth - 1].next_match,
                                          call_tree_name(drawing->tree, node->name));
        }
        way[depth].next_match = CALL_TREE_NONE;
        if (drawing->page->before != NULL && way[depth].match != CALL_TREE_NONE)
            way[depth].next_match =
                call_tree_node(drawing->page->before, way[depth].match)->first_child;
        if (drawing->number_of[i] == 0)
            continue;
        drawing->shown[count] = (struct shown){i, way[depth].match, depth, first};
        drawing->number_of[i] = count++;
    }
    free(way);
    /* The root's number is 0, and so is that of what is left out: a caller's is known before. */
    for (uint32_t i = 1; i < call_tree_node_count(drawing->tree); i++)
        if (drawing->number_of[i] == 0)
            drawing->number_of[i] = drawing->number_of[call_tree_node(drawing->tree, i)->parent];
    return true;
}

/* --- compared with another profile ----------------------------------------------------------- */

static int64_t total_before(const struct drawing *drawing, const struct shown *shown)
{
    return shown->match != CALL_TREE_NONE
               ? call_tree_node(drawing->page->before, shown->match)->total
               : 0;
}

/* Percent of the samples of this tree by which the frame takes more than in the other. */
static double points_more(const struct drawing *drawing, const struct shown *shown)
{
    double before = (double)total_before(drawing, shown) * drawing->page->difference->scale;
    return 100 * ((double)call_tree_node(drawing->tree, shown->node)->total - before) /
           (double)call_tree_samples(drawing->tree);
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

/* --- the picture without the script ----------------------------------------------------------- */

static const char *class_of(struct stack_frame frame, uint32_t node)
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

static struct units_text amount(const struct drawing *drawing, int64_t samples)
{
    return drawing->page->bytes ? units_bytes(samples) : units_count(samples);
}

static void put_frame(struct drawing *drawing, const struct shown *shown)
{
    const struct call_node *node = call_tree_node(drawing->tree, shown->node);
    struct stack_frame frame = call_tree_name(drawing->tree, node->name);
    double all = (double)call_tree_samples(drawing->tree);
    double width = 100.0 * (double)node->total / all;
    fprintf(drawing->out,
            "<svg class=\"f\" x=\"%.9g%%\" y=\"%d\" width=\"%.9g%%\" height=\"%d\"><title>",
            100.0 * (double)shown->first_sample / all, shown->depth * ROW_PX, width, ROW_PX);
    put(drawing, frame.name);
    fprintf(drawing->out, "\n%s%s, %.2f%%", amount(drawing, node->total).text,
            drawing->page->bytes ? "" : " samples", width);
    if (node->self > 0 && node->self < node->total)
        fprintf(drawing->out, "; itself %s", amount(drawing, node->self).text);
    const char *colour = class_of(frame, shown->node);
    if (drawing->page->before != NULL) {
        double points = points_more(drawing, shown);
        colour = class_of_change(points);
        fprintf(drawing->out, "; before %s, %+.2f points",
                amount(drawing, total_before(drawing, shown)).text, points);
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

static bool put_picture(struct drawing *drawing)
{
    int64_t least;
    uint32_t ties, narrow = 0;
    int rows = 0;
    if (!smallest_of(drawing->tree, STATIC_MAX, &least, &ties))
        return false;
    double wide = (double)call_tree_samples(drawing->tree) * FLAMEGRAPH_MIN_SHARE;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            fprintf(drawing->out,
                    "<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" "
                    "height=\"%d\" role=\"group\" aria-label=\"flame graph\">\n",
                    rows * ROW_PX);
        for (uint32_t i = 0; i < drawing->count; i++) {
            int64_t total = call_tree_node(drawing->tree, drawing->shown[i].node)->total;
            /* Of the smallest size there may be more than fit: then none of them. */
            bool drawn = (double)total >= wide && (ties == UINT32_MAX || total > least || i == 0);
            if (drawn && pass == 0)
                rows = rows > drawing->shown[i].depth ? rows : drawing->shown[i].depth + 1;
            else if (drawn)
                put_frame(drawing, &drawing->shown[i]);
            else
                narrow += pass;
        }
    }
    fputs("</svg>\n<p id=\"narrow\">", drawing->out);
    if (narrow > 0)
        fprintf(drawing->out, "%s frames narrower than %.2f %% are not drawn.",
                units_count(narrow).text, 100 * FLAMEGRAPH_MIN_SHARE);
    fputs("</p>\n", drawing->out);
    return true;
}

/* --- the data of the script ------------------------------------------------------------------- */

/* In a script element, which ends at the first "</script>" in it, whatever it is in. */
static bool put_name(struct drawing *drawing, const char *name, size_t most)
{
    char *visible = malloc(most + 1), *quoted = NULL;
    if (visible != NULL) {
        escape(ESCAPE_TERMINAL, name, visible, most + 1);
        quoted = escape_copy(ESCAPE_JSON, visible);
    }
    free(visible);
    if (quoted == NULL)
        return false;
    putc('"', drawing->out);
    for (const char *at = quoted; *at != '\0'; at++)
        if (*at == '<')
            fputs("\\u003c", drawing->out);
        else
            putc(*at, drawing->out);
    putc('"', drawing->out);
    free(quoted);
    return true;
}

/* Names of the frames that are shown, each once, with the number of its kind; index: a name's place among
 * them. Long names are cut where they are so many that the page becomes large. */
static bool put_names(struct drawing *drawing, uint32_t *index)
{
    uint32_t names = call_tree_name_count(drawing->tree), count = 0;
    size_t bytes = 0, most = NAME_BYTES_MAX;
    bool good = true;
    memset(index, 0xff, names * sizeof *index);
    for (uint32_t i = 0; i < drawing->count; i++) {
        uint32_t name = call_tree_node(drawing->tree, drawing->shown[i].node)->name;
        if (index[name] == UINT32_MAX) {
            size_t length = strlen(call_tree_name(drawing->tree, name).name);
            bytes += length < NAME_BYTES_MAX ? length : NAME_BYTES_MAX;
            index[name] = count++;
        }
    }
    if (bytes > NAMES_MAX && count > 0)
        most = NAMES_MAX / count > NAME_BYTES_MIN ? NAMES_MAX / count : NAME_BYTES_MIN;
    fputs("\"names\":[", drawing->out);
    uint32_t next = 0; /* they are met in the order of their numbers again */
    for (uint32_t i = 0; i < drawing->count && good; i++) {
        uint32_t name = call_tree_node(drawing->tree, drawing->shown[i].node)->name;
        if (index[name] != next)
            continue;
        fputs(next++ > 0 ? ",\n" : "", drawing->out);
        good = put_name(drawing, call_tree_name(drawing->tree, name).name, most);
        fprintf(drawing->out, ",%d", (int)call_tree_name(drawing->tree, name).kind);
    }
    fputs("],\n", drawing->out);
    return good;
}

/* A frame: by how much its depth differs from that of the one before, name, samples of its own and of
 * what it calls that is left out; compared: samples it had before. */
static bool put_nodes(struct drawing *drawing, const uint32_t *index)
{
    int64_t *own = calloc(drawing->count, sizeof *own);
    if (own == NULL)
        return false;
    for (uint32_t i = 0; i < call_tree_node_count(drawing->tree); i++)
        own[drawing->number_of[i]] += call_tree_node(drawing->tree, i)->self;
    fputs("\"frames\":[", drawing->out);
    for (uint32_t i = 0; i < drawing->count; i++) {
        const struct shown *shown = &drawing->shown[i];
        fprintf(drawing->out, "%s%d,%u,%" PRId64,
                i == 0        ? ""
                : i % 16 == 0 ? ",\n"
                              : ",",
                i > 0 ? shown->depth - shown[-1].depth : 0,
                index[call_tree_node(drawing->tree, shown->node)->name], own[i]);
        if (drawing->page->before != NULL)
            fprintf(drawing->out, ",%" PRId64, total_before(drawing, shown));
    }
    fputs("],\n", drawing->out);
    free(own);
    return true;
}

static void put_base36(FILE *out, uint64_t number)
{
    char digits[16];
    int length = 0;
    do {
        digits[length++] = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
        number /= 36;
    } while (number > 0);
    while (length > 0)
        putc(digits[--length], out);
}

/* As which frame a node counts in a span: its nearest caller of so many samples in all. */
static void count_as(const struct drawing *drawing, int64_t least, uint32_t *number_of)
{
    number_of[0] = 0;
    for (uint32_t i = 1; i < call_tree_node_count(drawing->tree); i++) {
        const struct call_node *node = call_tree_node(drawing->tree, i);
        number_of[i] = node->total >= least ? drawing->number_of[i] : number_of[node->parent];
    }
}

/* Slots are as short as there is room for; where samples are of so many places that their cells have none,
 * rare places count as their callers. *least: samples of a place that does not. */
static bool take_times(const struct drawing *drawing, struct call_times *times, int64_t *least)
{
    uint32_t *number_of =
        reallocarray(NULL, call_tree_node_count(drawing->tree), sizeof *number_of);
    bool good = number_of != NULL;
    *least = 1;
    while (good) {
        bool last = *least > call_tree_samples(drawing->tree) / 4;
        count_as(drawing, *least, number_of);
        good = call_tree_times(drawing->tree, number_of, SLOTS_MAX, last ? CELLS_MAX : UINT32_MAX,
                               times);
        if (!good || last || times->count <= CELLS_MAX)
            break;
        free(times->cells);
        *least *= 4;
    }
    free(number_of);
    return good;
}

/* For each slot the frames its samples end in: the distance to the one before, and "*samples" where it is
 * more than one, in base 36. */
static bool put_times(struct drawing *drawing)
{
    struct call_times times;
    FILE *out = drawing->out;
    int64_t least;
    if (!take_times(drawing, &times, &least))
        return false;
    if (times.slots > 0 && drawing->page->before == NULL &&
        times.cells[0].slot != times.cells[times.count - 1].slot) {
        fprintf(out, "\"start\":%" PRId64 ",\"slot\":%" PRId64 ",\"least\":%" PRId64 ",\"slots\":[",
                times.start_ms, times.slot_ms, least);
        uint32_t at = 0;
        for (int32_t slot = 0; slot < times.slots; slot++) {
            fputs(slot > 0 ? ",\"" : "\"", out);
            uint32_t before = 0;
            for (; at < times.count && times.cells[at].slot == slot; at++) {
                const struct call_cell *cell = &times.cells[at];
                if (cell > times.cells && cell[-1].slot == slot)
                    putc(' ', out);
                put_base36(out, cell->node - before);
                before = cell->node;
                if (cell->samples != 1) {
                    putc('*', out);
                    put_base36(out, cell->samples > 0 ? (uint64_t)cell->samples : 0);
                }
            }
            fputs(slot % 16 == 15 ? "\"\n" : "\"", out);
        }
        fputs("],\n", out);
    }
    free(times.cells);
    return true;
}

static bool put_data(struct drawing *drawing)
{
    const struct flamegraph_page *page = drawing->page;
    uint32_t *index = reallocarray(NULL, call_tree_name_count(drawing->tree), sizeof *index);
    if (index == NULL)
        return false;
    fputs("<script type=\"application/json\" id=\"data\">{", drawing->out);
    bool good = put_names(drawing, index) && put_nodes(drawing, index) && put_times(drawing);
    if (page->before != NULL)
        fprintf(drawing->out, "\"before\":%" PRId64 ",\"absolute\":%s,", page->difference->before,
                page->difference->absolute ? "true" : "false");
    fprintf(drawing->out, "\"bytes\":%s}</script>\n", page->bytes ? "true" : "false");
    free(index);
    return good;
}

/* --- the page ------------------------------------------------------------------------------- */

static void put_key(FILE *out, const char *colour, const char *text)
{
    fprintf(out, "<span><span class=\"key %s\"></span>%s</span>", colour, text);
}

static bool has_kind(const struct drawing *drawing, enum call_frame_kind kind)
{
    for (uint32_t i = 1; i < drawing->count; i++) {
        uint32_t name = call_tree_node(drawing->tree, drawing->shown[i].node)->name;
        if (call_tree_name(drawing->tree, name).kind == kind)
            return true;
    }
    return false;
}

static void put_head(struct drawing *drawing, const struct flamegraph_page *page)
{
    FILE *out = drawing->out;
    page_html_head(out, page->title, flamegraph_css_begin);
    fputs("<main>\n<h1>", out);
    put(drawing, page->title);
    fprintf(out, "</h1>\n<p>%s ", amount(drawing, call_tree_samples(drawing->tree)).text);
    put(drawing, page->unit);
    if (page->before != NULL)
        fprintf(
            out,
            ". Compared with %s before, <span id=\"by\">%s</span>; the width is what a frame takes "
            "now.",
            amount(drawing, page->difference->before).text,
            page->difference->absolute ? "by samples" : "by shares");
    else
        putc('.', out);
    fputs("</p>\n<p class=\"keys\">", out);
    if (page->before != NULL) {
        put_key(out, "m3", "more");
        put_key(out, "l3", "less");
        put_key(out, "e0", "as before");
    } else {
        static const struct {
            enum call_frame_kind kind;
            const char *colour, *text;
        } keys[] = {{CALL_FRAME_JAVA, "j0", "Java"},
                    {CALL_FRAME_NATIVE, "n0", "native"},
                    {CALL_FRAME_THREAD, "t0", "thread without Java frames"},
                    {CALL_FRAME_STATE, "s0", "what the thread was doing"},
                    {CALL_FRAME_CLASS, "c0", "what was allocated"}};
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            if (has_kind(drawing, keys[i].kind))
                put_key(out, keys[i].colour, keys[i].text);
    }
    fputs("</p>\n"
          "<section id=\"times\" hidden><h2>",
          out);
    fputs(page->bytes ? "Bytes allocated over time" : "Samples over time", out);
    fputs("</h2>"
          "<canvas id=\"heat\" tabindex=\"0\" role=\"img\" aria-label=\"samples over time; arrow "
          "keys "
          "pick a span, with Shift they make it longer\"></canvas><p id=\"axis\"></p>"
          "<p><span id=\"span\" role=\"status\"></span> <button id=\"whole\" disabled>Whole "
          "time</button></p></section>\n"
          "<div id=\"bar\" hidden><input id=\"find\" type=\"search\" placeholder=\"Search\" "
          "aria-label=\"Search\"><span id=\"found\" role=\"status\"></span>"
          "<button id=\"reset\" disabled>Reset zoom</button>"
          "<button id=\"flip\">Callers below</button>",
          out);
    if (page->before != NULL)
        fputs("<button id=\"mode\">Compare samples</button>", out);
    fputs("</div>\n<div id=\"now\"></div>\n", out);
}

static void put_notes(struct drawing *drawing, const struct flamegraph_page *page)
{
    if (drawing->left_out > 0)
        fprintf(drawing->out,
                "<p>The %s smallest frames are left out of this page; their samples are those of "
                "their callers.</p>\n",
                units_count(drawing->left_out).text);
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

/* By shares and by samples: the script shows one of them. */
static bool put_tables(const struct flamegraph_page *page, const struct call_tree *tree, FILE *out)
{
    struct profile_difference other;
    bool absolute = page->difference->absolute;
    if (!profile_difference_make(&other, page->before, tree, !absolute, page->bytes))
        return false;
    for (int mode = 0; mode < 2; mode++) {
        bool first = mode == 0;
        fprintf(out, "<section class=\"mode\" id=\"%s\"%s>\n",
                first == absolute ? "by-samples" : "by-shares", first ? "" : " hidden");
        profile_difference_html(first ? page->difference : &other, TABLE_ROWS, out);
        fputs("</section>\n", out);
    }
    profile_difference_free(&other);
    return true;
}

bool flamegraph_write(const struct call_tree *tree, const struct flamegraph_page *page, FILE *out)
{
    struct drawing drawing = {.tree = tree, .page = page, .out = out};
    bool some = call_tree_samples(tree) > 0;
    bool good = choose(&drawing) && place(&drawing);
    if (good)
        put_head(&drawing, page);
    if (good && some)
        good = put_picture(&drawing);
    else if (good)
        fputs("<p>There are no samples.</p>\n", out);
    if (good && page->before != NULL)
        good = put_tables(page, tree, out);
    if (good)
        put_notes(&drawing, page);
    if (good && some) {
        good = put_data(&drawing);
        fprintf(out, "<script>%s</script>\n", flamegraph_js_begin);
    }
    fputs("</main></body></html>\n", out);
    free(drawing.shown);
    free(drawing.number_of);
    return good && !ferror(out);
}
