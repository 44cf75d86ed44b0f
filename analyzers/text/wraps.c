/* What is inside of lines: colours, HTML, blanks of other alphabets. */
#include "analyzers/text/text_lines.h"

#include <strings.h>

/* --- colours, blanks, entities ---------------------------------------------------------------- */

/* "\x1b[31;1m", "\x1b]0;title\a": the bytes it takes; 0: none. */
static size_t escape_sequence(struct span text)
{
    if (at(text, 0) != '\x1b')
        return 0;
    size_t i = 2;
    if (at(text, 1) == '[') {
        while (i < text.len && i < 32 && (text.ptr[i] < '@' || text.ptr[i] > '~'))
            i++;
        return i < text.len ? i + 1 : text.len;
    }
    if (at(text, 1) == ']') {
        while (i < text.len && text.ptr[i] != '\a' && text.ptr[i] != '\x1b')
            i++;
        return i < text.len ? i + 1 : text.len;
    }
    return text.len < 2 ? 1 : 2;
}

/* A blank in UTF-8 that is not ' ', or what has no width: its bytes. */
static size_t blank_bytes(struct span text, bool *width)
{
    unsigned char a = (unsigned char)at(text, 0), b = (unsigned char)at(text, 1),
                  c = (unsigned char)at(text, 2);
    *width = true;
    if (a == 0xc2 && b == 0xa0)
        return 2;
    if (a == 0xe3 && b == 0x80 && c == 0x80)
        return 3;
    if (a == 0xe2 && b == 0x80 && ((c >= 0x80 && c <= 0x8a) || c == 0xaf))
        return 3;
    *width = false;
    if (a == 0xe2 && ((b == 0x80 && (c == 0x8b || c == 0x8c || c == 0x8d || c == 0x8e)) ||
                      (b == 0x81 && c == 0xa0)))
        return 3;
    return a == 0xef && b == 0xbb && c == 0xbf ? 3 : 0;
}

static const struct {
    struct span name;
    char means;
} ENTITIES[] = {
    {SPAN_INIT("&lt;"), '<'},    {SPAN_INIT("&gt;"), '>'},   {SPAN_INIT("&amp;"), '&'},
    {SPAN_INIT("&quot;"), '"'},  {SPAN_INIT("&#39;"), '\''}, {SPAN_INIT("&#x27;"), '\''},
    {SPAN_INIT("&apos;"), '\''}, {SPAN_INIT("&nbsp;"), ' '}, {SPAN_INIT("&#160;"), ' '},
    {SPAN_INIT("&#34;"), '"'},   {SPAN_INIT("&#43;"), '+'},  {SPAN_INIT("&#61;"), '='},
    {SPAN_INIT("&#x2F;"), '/'},  {SPAN_INIT("&#xA0;"), ' '}, {SPAN_INIT("&#91;"), '['},
    {SPAN_INIT("&#93;"), ']'},
};

static size_t entity(struct span text, char *means)
{
    for (size_t i = 0; at(text, 0) == '&' && i < sizeof ENTITIES / sizeof *ENTITIES; i++) {
        if (span_starts_with(text, ENTITIES[i].name)) {
            *means = ENTITIES[i].means;
            return ENTITIES[i].name.len;
        }
    }
    return 0;
}

/* "<pre>", "</code>", "<span class=x>"; class names and templates have other names in "<>". */
static size_t html_tag(struct span text)
{
    static const char *const names[] = {
        "pre", "code", "details", "summary", "br", "p",  "div",        "span", "samp",
        "tt",  "font", "table",   "tbody",   "tr", "td", "blockquote", "html", "body",
    };
    if (at(text, 0) != '<')
        return 0;
    size_t start = at(text, 1) == '/' ? 2 : 1, i = start;
    while (i < text.len && i - start < 12 &&
           ((text.ptr[i] | 0x20) >= 'a' && (text.ptr[i] | 0x20) <= 'z'))
        i++;
    bool known = false;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        known = known || (strlen(names[k]) == i - start &&
                          strncasecmp(text.ptr + start, names[k], i - start) == 0);
    if (!known || (at(text, i) != '>' && at(text, i) != ' ' && at(text, i) != '/'))
        return 0;
    while (i < text.len && i < 200 && text.ptr[i] != '>')
        i++;
    return at(text, i) == '>' ? i + 1 : 0;
}

static bool is_special(char c)
{
    return c == '\x1b' || c == '&' || c == '<' || c == '\r' || (unsigned char)c == 0xc2 ||
           (unsigned char)c == 0xe2 || (unsigned char)c == 0xe3 || (unsigned char)c == 0xef;
}

static bool rewrite(struct text_lines *lines, struct text_line *line)
{
    size_t first = 0;
    struct span text = line->text;
    while (first < text.len && !is_special(text.ptr[first]))
        first++;
    if (first == text.len)
        return false;
    bool took[REMOVED_COUNT] = {false}, any = false;
    char *out = text_lines_room(lines, text.len);
    if (out == NULL)
        return false;
    size_t used = first;
    memcpy(out, text.ptr, first);
    for (size_t i = first; i < text.len;) {
        struct span rest = from(text, i);
        char means;
        bool width;
        size_t n;
        if (!is_special(text.ptr[i])) {
            out[used++] = text.ptr[i++];
            continue;
        }
        if ((n = escape_sequence(rest)) > 0) {
            took[REMOVED_ANSI] = true;
            i += n;
        } else if ((n = blank_bytes(rest, &width)) > 0) {
            took[REMOVED_BLANKS] = true;
            if (width)
                out[used++] = ' ';
            i += n;
        } else if ((n = entity(rest, &means)) > 0) {
            took[REMOVED_ENTITY] = true;
            out[used++] = means;
            i += n;
        } else if ((n = html_tag(rest)) > 0) {
            took[REMOVED_TAG] = true;
            i += n;
        } else if (text.ptr[i] == '\r') {
            took[REMOVED_CARRIAGE_RETURN] = true;
            i++;
        } else {
            out[used++] = text.ptr[i++];
        }
    }
    for (int i = 0; i < REMOVED_COUNT; i++) {
        lines->removed[i] += took[i];
        any = any || took[i];
    }
    if (any)
        line->text = span_of(out, used);
    return any;
}

bool wraps_take(struct text_lines *lines)
{
    bool any = json_take(lines);
    for (size_t i = 0; i < lines->count && !lines->failed; i++) {
        if (!lines->lines[i].gone)
            any = rewrite(lines, &lines->lines[i]) || any;
    }
    return any;
}
