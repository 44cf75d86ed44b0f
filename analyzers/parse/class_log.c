#include "analyzers/parse/class_log.h"

/* Uptimes beyond this are wall-clock time stamps, which some decorators print in the same form:
 * 31 years in milliseconds; the year 2001 as a time stamp. */
#define UPTIME_LIMIT_MS INT64_C(1000000000000)

#define WALL_LIMIT_MS (UPTIME_LIMIT_MS * 1000) /* no clock says so */

#define DECORATIONS_MAX 16 /* HotSpot knows twelve */
#define MARKS_MAX       8  /* places inside of a line that are tried: hostile text stays linear */

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
    return span_row(text, span_equals, SPAN_TABLE(levels)) >= 0;
}

/* --- time ------------------------------------------------------------------------------------- */

/* "2.888s", "2887ms", "2887123456ns" -> milliseconds, -1 for anything else. */
static int64_t ms_of(struct span text)
{
    int64_t whole, thousandths = 0, ms;
    if (!span_take_unsigned(&text, &whole))
        return -1;
    if (span_take(&text, SPAN_LITERAL("."))) {
        size_t digits = text.len;
        if (!span_take_unsigned(&text, &thousandths) || digits - text.len != 3)
            return -1;
    }
    if (span_equals(text, SPAN_LITERAL("s")) && !__builtin_mul_overflow(whole, 1000, &ms) &&
        !__builtin_add_overflow(ms, thousandths, &ms))
        return ms;
    if (span_equals(text, SPAN_LITERAL("ms")))
        return whole;
    return span_equals(text, SPAN_LITERAL("ns")) ? whole / 1000000 : -1;
}

/* The digits of text at [at, at + count) as a number; -1 when one of them is none. */
static int64_t digits(struct span text, size_t at, size_t count)
{
    int64_t value = 0;
    for (size_t i = at; i < at + count; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        value = value * 10 + (text.ptr[i] - '0');
    }
    return value;
}

/* Days from 1970-01-01 in the Gregorian calendar: years begin in March, so that the leap day is
 * their last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, of_era = year % 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

int64_t class_log_wall_ms(struct span text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.ddd+dddd";
    if (text.len != sizeof form - 1)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        bool fits = form[i] == 'd'   ? digit
                    : form[i] == '+' ? text.ptr[i] == '+' || text.ptr[i] == '-'
                                     : text.ptr[i] == form[i];
        if (!fits)
            return -1;
    }
    int64_t year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31)
        return -1;
    int64_t minutes =
        (days_of(year, month, day) * 24 + digits(text, 11, 2)) * 60 + digits(text, 14, 2);
    int64_t zone = digits(text, 24, 2) * 60 + digits(text, 26, 2);
    minutes -= text.ptr[23] == '-' ? -zone : zone;
    int64_t ms = (minutes * 60 + digits(text, 17, 2)) * 1000 + digits(text, 20, 3);
    return ms < 0 ? -1 : ms;
}

void class_log_read_time(struct class_log_line *out, struct span text)
{
    if (out->uptime_ms >= 0)
        return;
    int64_t ms = ms_of(text);
    if (ms >= 0 && ms < UPTIME_LIMIT_MS) {
        out->uptime_ms = ms;
        out->clock = text;
        return;
    }
    if (ms < 0)
        ms = class_log_wall_ms(text);
    if (ms >= 0 && ms < WALL_LIMIT_MS && out->wall_ms < 0) {
        out->wall_ms = ms;
        out->clock = text;
    }
}

/* --- decorations ------------------------------------------------------------------------------ */

/* One decoration without its brackets: the log pads it with blanks to the longest seen so far. */
static enum tags read_decoration(struct class_log_line *out, struct span text)
{
    text = span_trim(text);
    if (text.len == 0)
        return TAGS_UNSEEN;
    if (text.ptr[0] >= '0' && text.ptr[0] <= '9') {
        class_log_read_time(out, text);
        return TAGS_UNSEEN;
    }
    if (span_equals(text, SPAN_LITERAL("class,load")))
        return TAGS_LOAD;
    if (span_equals(text, SPAN_LITERAL("class,unload")))
        return TAGS_UNLOAD;
    bool word = text.ptr[0] >= 'a' && text.ptr[0] <= 'z';
    return word && !is_level(text) ? TAGS_OTHER : TAGS_UNSEEN; /* other tags, or a host name */
}

/* "[0.108s][info][class,load] ..." -> "..." */
static struct span skip_decorations(struct class_log_line *out, struct span line, enum tags *tags)
{
    *tags = TAGS_UNSEEN;
    for (int i = 0; i < DECORATIONS_MAX && line.len > 0 && line.ptr[0] == '['; i++) {
        const char *close = memchr(line.ptr, ']', line.len);
        if (close == NULL)
            break;
        size_t taken = (size_t)(close - line.ptr) + 1;
        enum tags seen = read_decoration(out, span_of(line.ptr + 1, taken - 2));
        if (seen != TAGS_UNSEEN && (*tags == TAGS_UNSEEN || *tags == TAGS_OTHER))
            *tags = seen;
        line = span_skip(line, taken);
    }
    span_take(&line, SPAN_LITERAL(" "));
    return line;
}

/* --- what was loaded, what was unloaded ------------------------------------------------------- */

static bool is_name(struct span text, bool one_word)
{
    return text.len > 0 && memchr(text.ptr, '[', text.len) == NULL &&
           !(one_word && memchr(text.ptr, ' ', text.len) != NULL);
}

/* "Gone29 0x00007fa330086000" -> "Gone29" */
static bool read_unloaded(struct class_log_line *out, struct span text)
{
    const char *blank = text.len ? memrchr(text.ptr, ' ', text.len) : NULL;
    if (blank == NULL)
        return false;
    struct span name = span_of(text.ptr, (size_t)(blank - text.ptr));
    struct span address = span_of(blank + 1, text.len - name.len - 1);
    uint64_t ignored;
    if (!span_take(&address, SPAN_LITERAL("0x")) || !span_take_hex(&address, &ignored) ||
        address.len > 0 || !is_name(name, false))
        return false;
    out->kind = CLASS_LOG_UNLOAD;
    out->name = name;
    return true;
}

/* "Script1 source: file:/groovy/script"; the separator is " from " on JDK 8. */
static bool read_loaded(struct class_log_line *out, struct span text, struct span separator,
                        bool one_word)
{
    /* Names have no blank as a rule: then the first one begins the separator. */
    const char *blank = text.len > 0 ? memchr(text.ptr, ' ', text.len) : NULL;
    ptrdiff_t at = blank != NULL ? blank - text.ptr : -1;
    if (at > 0 && !span_starts_with(span_of(blank, text.len - (size_t)at), separator))
        at = span_find(text, separator);
    if (at <= 0)
        return false;
    struct span name = span_of(text.ptr, (size_t)at);
    if (!is_name(name, one_word))
        return false;
    out->kind = CLASS_LOG_LOAD;
    out->name = name;
    size_t taken = name.len + separator.len;
    out->source = span_trim(span_skip(text, taken));
    return true;
}

static bool read_jdk8(struct class_log_line *out, struct span line)
{
    struct span text = line;
    bool loaded = span_take(&text, SPAN_LITERAL("[Loaded "));
    if (!loaded && !span_take(&text, SPAN_LITERAL("[Unloading class ")))
        return false;
    out->claims = true;
    struct class_log_line jdk8 = *out;
    jdk8.form = CLASS_LOG_JDK8;
    jdk8.kind = loaded ? CLASS_LOG_LOAD : CLASS_LOG_UNLOAD;
    if (!class_log_body(text, &jdk8))
        return false;
    *out = jdk8;
    return true;
}

bool class_log_body(struct span body, struct class_log_line *line)
{
    bool jdk8 = line->form == CLASS_LOG_JDK8;
    if (jdk8 && (body.len == 0 || body.ptr[--body.len] != ']'))
        return false;
    if (line->kind == CLASS_LOG_UNLOAD)
        return read_unloaded(line, body);
    return read_loaded(line, body, jdk8 ? SPAN_LITERAL(" from ") : SPAN_LITERAL(" source: "),
                       line->form == CLASS_LOG_PLAIN);
}

/* Lines of the log that are about no class: level debug adds one of addresses and sizes after each,
 * JDK 9 to 11 name the archive they open. */
static bool is_remark(struct span text)
{
    text = span_trim(text);
    return span_starts_with(text, SPAN_LITERAL("klass:")) ||
           span_starts_with(text, SPAN_LITERAL("opened: "));
}

static bool read_jdk9(struct class_log_line *out, struct span line)
{
    static const struct span unloading = SPAN_INIT("unloading class ");
    enum tags tags;
    struct span text = skip_decorations(out, line, &tags);
    if (tags == TAGS_OTHER)
        return false;
    out->form = tags == TAGS_UNSEEN ? CLASS_LOG_PLAIN : CLASS_LOG_TAGGED;
    if (tags != TAGS_LOAD && span_take(&text, unloading)) {
        out->claims = true;
        return read_unloaded(out, text);
    }
    out->claims |= tags != TAGS_UNSEEN && !is_remark(text);
    return tags != TAGS_UNLOAD &&
           read_loaded(out, text, SPAN_LITERAL(" source: "), tags != TAGS_LOAD);
}

static void forget_time(struct class_log_line *out)
{
    out->uptime_ms = out->wall_ms = -1;
    out->clock = span_of(out->name.ptr, 0);
}

/* Where the decorations begin of which one is at line.ptr[at]. */
static size_t first_decoration(struct span line, size_t at)
{
    for (int i = 1; i < DECORATIONS_MAX && at > 0 && line.ptr[at - 1] == ']'; i++) {
        const char *open = memrchr(line.ptr, '[', at);
        if (open == NULL)
            break;
        at = (size_t)(open - line.ptr);
    }
    return at;
}

/* Something that is not the JVM's stands in front, or the JVM's own line was cut off there. */
static bool read_inside(struct class_log_line *out, struct span line)
{
    static const struct span tag = SPAN_INIT("[class,"), loaded = SPAN_INIT("[Loaded "),
                             unloading = SPAN_INIT("[Unloading class ");
    struct span rest = line;
    for (int marks = 0; marks < MARKS_MAX && rest.len > 1;) {
        const char *open = memchr(rest.ptr + 1, '[', rest.len - 1);
        if (open == NULL)
            return false;
        rest = span_of(open, rest.len - (size_t)(open - rest.ptr));
        if (span_starts_with(rest, tag)) {
            size_t at = first_decoration(line, line.len - rest.len);
            marks++;
            forget_time(out);
            if (read_jdk9(out, span_skip(line, at)))
                return true;
        } else if (span_starts_with(rest, loaded) || span_starts_with(rest, unloading)) {
            marks++;
            forget_time(out);
            if (read_jdk8(out, rest))
                return true;
        }
    }
    return false;
}

struct class_log_line class_log_parse(struct span line)
{
    struct class_log_line out = {.kind = CLASS_LOG_OTHER, .uptime_ms = -1, .wall_ms = -1};
    out.name = out.source = out.clock = span_of(line.ptr, 0);
    if (read_jdk8(&out, line) || read_jdk9(&out, line)) {
        out.claims = false;
        return out;
    }
    struct class_log_line inside = out;
    if (read_inside(&inside, line)) {
        inside.claims = false;
        return inside;
    }
    out.claims |= inside.claims;
    out.form = CLASS_LOG_PLAIN;
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
