#include "analyzers/parse/class_log.h"

/* Uptimes beyond this are wall-clock time stamps, which some decorators print in the same form:
 * 31 years in milliseconds; the year 2001 as a time stamp. */
#define UPTIME_LIMIT_MS INT64_C(1000000000000)

enum tags {
    TAGS_UNSEEN, /* no decoration named any: the form of the line decides */
    TAGS_LOAD,
    TAGS_UNLOAD,
    TAGS_OTHER,
};

static bool is_level(struct span text)
{
    static const struct span levels[] = {SPAN_INIT("trace"), SPAN_INIT("debug"), SPAN_INIT("info"),
                                         SPAN_INIT("warning"), SPAN_INIT("error")};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (span_equals(text, levels[i]))
            return true;
    return false;
}

/* "2.888s", "2887ms", "2887123456ns" -> milliseconds, -1 for anything else. */
static int64_t uptime_ms_of(struct span text)
{
    int64_t whole, thousandths = 0;
    if (!span_take_unsigned(&text, &whole))
        return -1;
    if (span_take(&text, SPAN_LITERAL("."))) {
        size_t digits = text.len;
        if (!span_take_unsigned(&text, &thousandths) || digits - text.len != 3)
            return -1;
    }
    if (span_equals(text, SPAN_LITERAL("s")) && whole < UPTIME_LIMIT_MS / 1000)
        return whole * 1000 + thousandths;
    if (span_equals(text, SPAN_LITERAL("ms")) && whole < UPTIME_LIMIT_MS)
        return whole;
    if (span_equals(text, SPAN_LITERAL("ns")) && whole / 1000000 < UPTIME_LIMIT_MS)
        return whole / 1000000;
    return -1;
}

/* One decoration without its brackets: the log pads it with blanks to the longest seen so far. */
static void read_decoration(struct span text, enum tags *tags, int64_t *uptime_ms)
{
    text = span_trim(text);
    if (text.len == 0)
        return;
    if (text.ptr[0] >= '0' && text.ptr[0] <= '9') {
        int64_t ms = uptime_ms_of(text);
        if (ms >= 0 && *uptime_ms < 0)
            *uptime_ms = ms;
    } else if (span_equals(text, SPAN_LITERAL("class,load"))) {
        *tags = TAGS_LOAD;
    } else if (span_equals(text, SPAN_LITERAL("class,unload"))) {
        *tags = TAGS_UNLOAD;
    } else if (text.ptr[0] >= 'a' && text.ptr[0] <= 'z' && !is_level(text)) {
        *tags = TAGS_OTHER; /* another tag set, or a host name */
    }
}

/* "[0.108s][info][class,load] ..." -> "..." */
static struct span skip_decorations(struct span line, enum tags *tags, int64_t *uptime_ms)
{
    while (line.len > 0 && line.ptr[0] == '[') {
        const char *close = memchr(line.ptr, ']', line.len);
        if (!close)
            break;
        size_t taken = (size_t)(close - line.ptr) + 1;
        enum tags seen = TAGS_UNSEEN;
        read_decoration(span_of(line.ptr + 1, taken - 2), &seen, uptime_ms);
        if (seen != TAGS_UNSEEN && (*tags == TAGS_UNSEEN || *tags == TAGS_OTHER))
            *tags = seen;
        line = span_of(line.ptr + taken, line.len - taken);
    }
    span_take(&line, SPAN_LITERAL(" "));
    return line;
}

static bool is_one_word(struct span text)
{
    return text.len > 0 && !memchr(text.ptr, ' ', text.len);
}

/* "Gone29 0x00007fa330086000" -> "Gone29" */
static bool read_unloaded(struct class_log_line *out, struct span text)
{
    const char *blank = text.len ? memrchr(text.ptr, ' ', text.len) : NULL;
    if (!blank || blank == text.ptr)
        return false;
    struct span address = span_of(blank + 1, text.len - (size_t)(blank - text.ptr) - 1);
    uint64_t ignored;
    if (!span_take(&address, SPAN_LITERAL("0x")) || !span_take_hex(&address, &ignored) ||
        address.len > 0)
        return false;
    out->kind = CLASS_LOG_UNLOAD;
    out->name = span_of(text.ptr, (size_t)(blank - text.ptr));
    return true;
}

/* "Script1 source: file:/groovy/script"; the separator is " from " on JDK 8. */
static bool read_loaded(struct class_log_line *out, struct span text, struct span separator,
                        bool any_name)
{
    ptrdiff_t at = span_find(text, separator);
    if (at <= 0)
        return false;
    struct span name = span_of(text.ptr, (size_t)at);
    if (!any_name && !is_one_word(name))
        return false;
    out->kind = CLASS_LOG_LOAD;
    out->name = name;
    size_t taken = name.len + separator.len;
    out->source = span_trim(span_of(text.ptr + taken, text.len - taken));
    return true;
}

static bool read_jdk8(struct class_log_line *out, struct span line)
{
    if (line.len < 2 || line.ptr[0] != '[' || line.ptr[line.len - 1] != ']')
        return false;
    struct span text = span_of(line.ptr + 1, line.len - 2);
    if (span_take(&text, SPAN_LITERAL("Loaded ")))
        return read_loaded(out, text, SPAN_LITERAL(" from "), true);
    return span_take(&text, SPAN_LITERAL("Unloading class ")) && read_unloaded(out, text);
}

struct class_log_line class_log_parse(struct span line)
{
    struct class_log_line out = {.kind = CLASS_LOG_OTHER, .uptime_ms = -1};
    out.name = out.source = span_of(line.ptr, 0);
    if (read_jdk8(&out, line))
        return out;

    enum tags tags = TAGS_UNSEEN;
    struct span text = skip_decorations(line, &tags, &out.uptime_ms);
    if (tags == TAGS_OTHER)
        return out;
    struct span unloading = SPAN_LITERAL("unloading class ");
    if (tags != TAGS_LOAD && span_take(&text, unloading))
        read_unloaded(&out, text);
    else if (tags != TAGS_UNLOAD)
        read_loaded(&out, text, SPAN_LITERAL(" source: "), tags == TAGS_LOAD);
    return out;
}

bool class_log_next(struct span *rest, struct class_log_line *line)
{
    struct span after = *rest, text;
    bool terminated;
    if (!span_next_line(&after, &text, &terminated) || !terminated)
        return false;
    *rest = after;
    *line = class_log_parse(text);
    return true;
}
