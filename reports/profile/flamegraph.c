#include "reports/profile/call_tree.h"

#include "reports/page/page.h"
#include "reports/profile/profile_difference.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROW_PX           18
#define TEXT_MIN_PERCENT 0.8 /* narrower frames have no room for a word; the script adds them */

/* A frame is an svg of its own, so that its text is cut where it ends, whose x and width are
 * percentages. Zooming computes both again; data-x and data-w keep what they were. */
/* clang-format off */
#define FLAMEGRAPH_STYLE \
"body{padding:16px 20px 40px}\n" \
"p{margin:.2rem 0;color:var(--soft)}\n" \
"#bar{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;margin:.7rem 0}\n" \
"#bar[hidden]{display:none}\n" \
"input,button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);" \
"border-radius:5px;padding:3px 9px}\n" \
"input{width:min(30em,80vw)}\n" \
"button:disabled{opacity:.5}\n" \
".key{display:inline-block;width:12px;height:12px;margin:0 5px 0 12px;vertical-align:-1px}\n" \
"#now{min-height:1.5em;font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.85rem;" \
"overflow-wrap:anywhere}\n" \
".f{cursor:pointer}\n" \
".f rect{stroke:var(--bg);stroke-width:.6}\n" \
".f text{font:11px ui-monospace,'DejaVu Sans Mono',monospace;fill:#14171b;pointer-events:none}\n" \
".f:hover rect,.f:focus rect{stroke:#14171b;stroke-width:1.5}\n" \
".f:focus{outline:none}\n" \
".a{fill:#b9c0c8}.j0{fill:#7fc97f}.j1{fill:#93d28f}.j2{fill:#6dbf74}" \
".n0{fill:#f2b56b}.n1{fill:#f5c383}.n2{fill:#eda857}" \
".c0{fill:#8cb4e8}.c1{fill:#a0c2ee}.c2{fill:#7aa7e0}" \
".s0{fill:#cfa8dc}.s1{fill:#d9b9e4}.s2{fill:#c497d4}\n" \
".hit rect{fill:#e05bd6}\n" \
"span.j0{background:#7fc97f}span.n0{background:#f2b56b}span.c0{background:#8cb4e8}" \
"span.s0{background:#cfa8dc}\n" \
".e0{fill:#dfe3e7}.m1{fill:#f9d2cb}.m2{fill:#f4a79b}.m3{fill:#ea7767}.m4{fill:#dd4a3a}" \
".l1{fill:#d3e0f7}.l2{fill:#a9c3ef}.l3{fill:#7ba3e4}.l4{fill:#5283d6}\n" \
"span.m3{background:#ea7767}span.l3{background:#7ba3e4}\n" \
".difference{width:auto;border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}" \
".difference caption{text-align:left;color:var(--soft)}" \
".difference td,.difference th{padding:2px 12px 2px 0;text-align:right}" \
".difference td:last-child,.difference th:last-child{text-align:left;overflow-wrap:anywhere}\n"

#define FLAMEGRAPH_SCRIPT \
"(function(){'use strict';\n" \
"var svg=document.getElementById('flame'),now=document.getElementById('now');\n" \
"var frames=[].slice.call(svg.querySelectorAll('.f')).map(function(e){\n" \
" return{e:e,x:+e.getAttribute('data-x'),w:+e.getAttribute('data-w'),y:+e.getAttribute('y'),\n" \
"  title:e.querySelector('title').textContent}});\n" \
"var by=new Map();frames.forEach(function(f){by.set(f.e,f)});\n" \
"var find=document.getElementById('find'),found=document.getElementById('found');\n" \
"var reset=document.getElementById('reset'),flip=document.getElementById('flip');\n" \
"var zoomed=frames[0],upwards=false,replacing=false;\n" \
"document.getElementById('bar').hidden=false;\n" \
"function name(f){return f.title.slice(0,f.title.lastIndexOf('\\n'))}\n" \
"function label(f,share){\n" \
" var t=f.e.querySelector('text');\n" \
" if(share<0.8){if(t)t.style.display='none';return}\n" \
" if(!t){t=document.createElementNS('http://www.w3.org/2000/svg','text');\n" \
"  t.setAttribute('x',3);t.setAttribute('y',12);t.textContent=name(f);f.e.appendChild(t)}\n" \
" t.style.display=''}\n" \
"function zoom(to){\n" \
" var end=to.x+to.w,tiny=1e-6;\n" \
" frames.forEach(function(f){\n" \
"  var x=f.x,w=f.w,above=f.y<to.y&&f.x<=to.x+tiny&&f.x+f.w>=end-tiny;\n" \
"  if(above){x=to.x;w=to.w}\n" \
"  var seen=above||f.x>=to.x-tiny&&f.x+f.w<=end+tiny&&f.y>=to.y;\n" \
"  f.e.style.display=seen?'':'none';if(!seen)return;\n" \
"  f.e.style.opacity=above?.55:1;\n" \
"  x=(x-to.x)/to.w*100;w=w/to.w*100;\n" \
"  f.e.setAttribute('x',x+'%');f.e.setAttribute('width',w+'%');label(f,w)});\n" \
" reset.disabled=to===frames[0];zoomed=to;keep()}\n" \
"function keep(){\n" \
" var parts=[];\n" \
" if(zoomed!==frames[0])parts.push('zoom='+frames.indexOf(zoomed));\n" \
" if(find.value!=='')parts.push('search='+encodeURIComponent(find.value));\n" \
" if(upwards)parts.push('upwards');\n" \
" var hash=parts.length?'#'+parts.join('&'):'';\n" \
" if(hash!==location.hash)history[replacing?'replaceState':'pushState'](null,'',hash||location.pathname+location.search)}\n" \
"function restore(){\n" \
" var to=frames[0],text='',up=false;replacing=true;\n" \
" location.hash.slice(1).split('&').forEach(function(part){\n" \
"  var at=part.indexOf('='),value=part.slice(at+1);\n" \
"  if(part.slice(0,at)==='zoom')to=frames[+value]||to;\n" \
"  if(part.slice(0,at)==='search')try{text=decodeURIComponent(value)}catch(e){text=value}\n" \
"  if(part==='upwards')up=true});\n" \
" find.value=text;turn(up);search();zoom(to);replacing=false}\n" \
"function turn(up){\n" \
" var high=+svg.getAttribute('height');upwards=up;\n" \
" frames.forEach(function(f){f.e.setAttribute('y',up?high-f.y-18:f.y)});\n" \
" flip.textContent=up?'Callers above':'Callers below'}\n" \
"function move(f,key){\n" \
" var best=null,middle=f.x+f.w/2,tiny=1e-6;\n" \
" if(upwards&&key==='ArrowUp')key='ArrowDown';else if(upwards&&key==='ArrowDown')key='ArrowUp';\n" \
" frames.forEach(function(g){\n" \
"  if(g.e.style.display==='none'||g===f)return;\n" \
"  var up=key==='ArrowUp'&&g.y===f.y-18&&g.x<=middle&&g.x+g.w>=middle;\n" \
"  var down=key==='ArrowDown'&&g.y===f.y+18&&g.x>=f.x-tiny&&g.x+g.w<=f.x+f.w+tiny&&(!best||g.w>best.w);\n" \
"  var left=key==='ArrowLeft'&&g.y===f.y&&g.x<f.x&&(!best||g.x>best.x);\n" \
"  var right=key==='ArrowRight'&&g.y===f.y&&g.x>f.x&&(!best||g.x<best.x);\n" \
"  if(up||down||left||right)best=g});\n" \
" if(best)best.e.focus();return best!==null}\n" \
"function search(){\n" \
" var text=find.value.toLowerCase(),until=-1,sum=0,count=0;\n" \
" frames.forEach(function(f){\n" \
"  var hit=text!==''&&name(f).toLowerCase().indexOf(text)>=0;\n" \
"  f.e.classList.toggle('hit',hit);\n" \
"  count+=hit;\n" \
"  if(hit&&f.x>=until-1e-6){sum+=f.w;until=f.x+f.w}});\n" \
" found.textContent=text===''?'':count+(count===1?' frame, ':' frames, ')+sum.toFixed(2)+' % of the samples'}\n" \
"svg.addEventListener('click',function(e){var f=by.get(e.target.closest('.f'));if(f)zoom(f)});\n" \
"svg.addEventListener('keydown',function(e){\n" \
" var f=by.get(e.target.closest('.f'));if(!f)return;\n" \
" if(e.key==='Enter')zoom(f);else if(/^Arrow/.test(e.key)&&move(f,e.key))e.preventDefault()});\n" \
"function tell(e){var f=by.get(e.target.closest('.f'));if(f)now.textContent=f.title.replace('\\n','  ')}\n" \
"svg.addEventListener('mouseover',tell);svg.addEventListener('focusin',tell);\n" \
"reset.addEventListener('click',function(){zoom(frames[0])});\n" \
"flip.addEventListener('click',function(){turn(!upwards);keep()});\n" \
"find.addEventListener('input',function(){replacing=true;search();keep();replacing=false});\n" \
"window.addEventListener('popstate',restore);window.addEventListener('hashchange',restore);\n" \
"document.addEventListener('keydown',function(e){if(e.key==='Escape'){find.value='';search();zoom(frames[0])}});\n" \
"restore();\n" \
"})();\n"
/* clang-format on */

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
        [CALL_FRAME_JAVA] = {"j0", "j1", "j2"},
        [CALL_FRAME_NATIVE] = {"n0", "n1", "n2"},
        [CALL_FRAME_CLASS] = {"c0", "c1", "c2"},
        [CALL_FRAME_STATE] = {"s0", "s1", "s2"},
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
    page_html_head(out, page->title, 0, FLAMEGRAPH_STYLE);
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
        fputs("<script>\n" FLAMEGRAPH_SCRIPT "</script>\n", out); /* PAGE_SCRIPT_HASH */
    fputs("</body></html>\n", out);
    return good && !ferror(out);
}
