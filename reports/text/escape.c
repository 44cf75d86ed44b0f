#include "reports/text/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One character of the input: where it stands, how long it is, what it means. */
struct character {
    const unsigned char *bytes;
    size_t length;
    uint32_t code;
    bool valid; /* false: one byte that is not UTF-8 */
};

static struct character next_character(const unsigned char *at)
{
    struct character one = {at, 1, at[0], at[0] < 0x80};
    size_t more;
    uint32_t smallest;
    if (at[0] >= 0xc2 && at[0] <= 0xdf) {
        more = 1, smallest = 0x80, one.code = at[0] & 0x1f;
    } else if (at[0] >= 0xe0 && at[0] <= 0xef) {
        more = 2, smallest = 0x800, one.code = at[0] & 0x0f;
    } else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        more = 3, smallest = 0x10000, one.code = at[0] & 0x07;
    } else {
        return one;
    }
    uint32_t code = one.code;
    one.code = at[0];
    for (size_t i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return one; /* also stops at the terminating NUL */
        }
        code = code << 6 | (at[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < smallest || code > 0x10ffff || surrogate)
        return one;
    return (struct character){at, more + 1, code, true};
}

/* Characters that move the cursor, reorder what is read, or cannot be seen. */
static bool is_unsafe(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } unsafe[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
    };
    if (code >= 0x20 && code < 0x7f)
        return false;
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++) {
        if (code >= unsafe[i].first && code <= unsafe[i].last)
            return true;
    }
    return false;
}

/* What the destination writes for a character of its own syntax; NULL: the character itself. */
static const char *quoted(enum escape_for destination, uint32_t code)
{
    static const char markdown_syntax[] = "\\`*_[]#~|";
    static const char *const backslashed[] = {"\\\\", "\\`", "\\*", "\\_", "\\[",
                                              "\\]",  "\\#", "\\~", "\\|"};
    switch (destination) {
    case ESCAPE_HTML:
        switch (code) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        }
        return NULL;
    case ESCAPE_MARKDOWN:
        if (code == '&' || code == '<' || code == '>')
            return quoted(ESCAPE_HTML, code);
        if (code != 0 && code < 0x80) {
            const char *found = strchr(markdown_syntax, (int)code);
            return found ? backslashed[found - markdown_syntax] : NULL;
        }
        return NULL;
    case ESCAPE_GNUPLOT:
        return code == '\'' ? "''" : NULL;
    case ESCAPE_CSV:
        return code == '"' ? "\"\"" : NULL;
    case ESCAPE_PLUGIN:
        return code == '|' ? "/" : NULL;
    case ESCAPE_JSON:
        return code == '"'    ? "\\\""
               : code == '\\' ? "\\\\"
               : code == '\n' ? "\\n"
               : code == '\t' ? "\\t"
                              : NULL;
    case ESCAPE_UTF8:
    case ESCAPE_TERMINAL:
        break;
    }
    return NULL;
}

/* An unsafe or broken character, made visible (or, in JSON, made harmless without changing it). */
static void made_visible(enum escape_for destination, const struct character *one, char out[16])
{
    if (destination == ESCAPE_JSON || destination == ESCAPE_UTF8) {
        if (!one->valid) {
            snprintf(out, 16, "\xef\xbf\xbd");
        } else if (one->code > 0xffff) {
            uint32_t low = one->code - 0x10000;
            snprintf(out, 16, "\\u%04x\\u%04x", 0xd800 + (low >> 10), 0xdc00 + (low & 0x3ff));
        } else {
            snprintf(out, 16, "\\u%04x", one->code);
        }
        return;
    }
    /* In Markdown a backslash before a letter stays what it is. */
    if (!one->valid || one->code < 0x80) {
        snprintf(out, 16, "\\x%02x", one->code);
    } else if (one->code <= 0xffff) {
        snprintf(out, 16, "\\u%04x", one->code);
    } else {
        snprintf(out, 16, "\\U%08x", one->code);
    }
}

/* What the character at `at` becomes: *piece, its length; visible is room for it. */
static size_t next_piece(enum escape_for destination, const unsigned char *at,
                         struct character *one, char visible[16], const char **piece)
{
    *one = next_character(at);
    bool change = !one->valid || (destination != ESCAPE_UTF8 && is_unsafe(one->code));
    const char *text = quoted(destination, one->code);
    if (change && text == NULL) {
        made_visible(destination, one, visible);
        text = visible;
    }
    *piece = text != NULL ? text : (const char *)one->bytes;
    return text != NULL ? strlen(text) : one->length;
}

static bool is_formula(enum escape_for destination, const char *text)
{
    return destination == ESCAPE_CSV && *text != '\0' && strchr("=+-@", *text) != NULL;
}

size_t escape(enum escape_for destination, const char *text, char *out, size_t size)
{
    size_t written = 0;
    struct character one;
    if (is_formula(destination, text) && size > 1)
        out[written++] = '\'';
    for (const unsigned char *at = (const unsigned char *)text; *at; at += one.length) {
        char visible[16];
        const char *piece;
        size_t length = next_piece(destination, at, &one, visible, &piece);
        if (length >= size - written)
            break;
        memcpy(out + written, piece, length);
        written += length;
    }
    out[written] = '\0';
    return written;
}

void escape_put(enum escape_for destination, const char *text, FILE *out)
{
    struct character one;
    if (is_formula(destination, text))
        fputc('\'', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at += one.length) {
        char visible[16];
        const char *piece;
        size_t length = next_piece(destination, at, &one, visible, &piece);
        fwrite(piece, 1, length, out);
    }
}

char *escape_copy(enum escape_for destination, const char *text)
{
    size_t most = strlen(text) * ESCAPE_GROWTH + 1;
    char *copy = malloc(most);
    if (copy != NULL)
        escape(destination, text, copy, most);
    return copy;
}

struct escaped_name escape_name(const char *text)
{
    struct escaped_name name;
    escape(ESCAPE_TERMINAL, text, name.text, sizeof name.text);
    return name;
}

size_t escape_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}
