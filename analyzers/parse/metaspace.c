#include "analyzers/parse/metaspace.h"

#include "analyzers/parse/jcmd_reply.h"

_Static_assert(METASPACE_FIELD_COUNT <= 32, "presence bits");

bool metaspace_get(const struct metaspace *metaspace, enum metaspace_field field, int64_t *value)
{
    if (!(metaspace->present >> field & 1))
        return false;
    *value = metaspace->value[field];
    return true;
}

static void set(struct metaspace *metaspace, enum metaspace_field field, int64_t value)
{
    metaspace->present |= UINT32_C(1) << field;
    metaspace->value[field] = value;
}

/* --- amounts ------------------------------------------------------------------------- */

static const struct {
    struct span name;
    int64_t bytes;
} units[] = {
    {SPAN_INIT("bytes"), 1},      {SPAN_INIT("KB"), 1LL << 10}, {SPAN_INIT("MB"), 1LL << 20},
    {SPAN_INIT("GB"), 1LL << 30}, {SPAN_INIT("TB"), 1LL << 40},
};

/* ".59" in hundredths; more digits than two are not printed. */
static bool take_hundredths(struct span *text, int64_t *hundredths)
{
    *hundredths = 0;
    if (!span_take(text, SPAN_LITERAL(".")))
        return true;
    for (int scale = 10; scale > 0; scale /= 10) {
        if (text->len == 0 || text->ptr[0] < '0' || text->ptr[0] > '9')
            return false;
        *hundredths += (text->ptr[0] - '0') * scale;
        *text = span_skip(*text, 1);
    }
    return true;
}

#define TOO_LARGE INT64_MAX

static bool take_whole(struct span *text, int64_t *whole)
{
    if (span_take_unsigned(text, whole))
        return true;
    size_t digits = 0;
    while (digits < text->len && text->ptr[digits] >= '0' && text->ptr[digits] <= '9')
        digits++;
    *text = span_skip(*text, digits);
    *whole = TOO_LARGE;
    return digits > 0;
}

/* "306.59 KB", "67108864 bytes", "<0.01 MB". TOO_LARGE when it does not fit. */
static bool take_amount(struct span *text, int64_t *bytes, bool *exact)
{
    struct span rest = span_trim(*text);
    int64_t whole, hundredths;
    span_take(&rest, SPAN_LITERAL("<"));
    if (!take_whole(&rest, &whole) || !take_hundredths(&rest, &hundredths) ||
        !span_take(&rest, SPAN_LITERAL(" ")))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!span_take(&rest, units[i].name))
            continue;
        if (__builtin_mul_overflow(whole, units[i].bytes, bytes) ||
            __builtin_add_overflow(*bytes, hundredths * units[i].bytes / 100, bytes))
            *bytes = TOO_LARGE;
        *exact &= units[i].bytes == 1;
        *text = rest;
        return true;
    }
    return false;
}

/* --- lines --------------------------------------------------------------------------- */

enum section { SECTION_NONE, SECTION_USAGE, SECTION_VIRTUAL_SPACE };

/* The three lines of a section, by their label; a JVM without class space prints one, unlabelled */
enum part { NON_CLASS, CLASS, BOTH, PART_COUNT };

static const struct {
    struct span label;
    enum part part;
} labels[] = {
    {SPAN_INIT("Non-class space:"), NON_CLASS},
    {SPAN_INIT("Non-class:"), NON_CLASS},
    {SPAN_INIT("Non-Class:"), NON_CLASS},
    {SPAN_INIT("Class space:"), CLASS},
    {SPAN_INIT("Class:"), CLASS},
    {SPAN_INIT("Both:"), BOTH},
};

static const struct {
    enum section section;
    struct span word;
    enum metaspace_field field[PART_COUNT];
} amounts[] = {
    {SECTION_USAGE,
     SPAN_INIT("used"),
     {METASPACE_USED_NON_CLASS, METASPACE_USED_CLASS, METASPACE_USED_BOTH}},
    {SECTION_VIRTUAL_SPACE,
     SPAN_INIT("reserved"),
     {METASPACE_RESERVED_NON_CLASS, METASPACE_RESERVED_CLASS, METASPACE_RESERVED_BOTH}},
    {SECTION_VIRTUAL_SPACE,
     SPAN_INIT("committed"),
     {METASPACE_COMMITTED_NON_CLASS, METASPACE_COMMITTED_CLASS, METASPACE_COMMITTED_BOTH}},
};

/* One piece between commas: " 2.31 MB (  4%) committed". Pieces without an amount ("397 chunks",
 * "1 nodes.") and words we do not want are passed over. */
static void read_piece(struct metaspace *metaspace, enum section section, enum part part,
                       struct span piece)
{
    int64_t bytes;
    bool exact = true;
    if (!take_amount(&piece, &bytes, &exact) || bytes == TOO_LARGE)
        return;
    ptrdiff_t percent_end = span_find(piece, SPAN_LITERAL(")"));
    if (percent_end >= 0)
        piece = span_skip(piece, (size_t)percent_end + 1);
    piece = span_trim(piece);
    while (piece.len > 0 && piece.ptr[piece.len - 1] == '.')
        piece.len--;
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        if (amounts[i].section == section && span_equals(piece, amounts[i].word)) {
            set(metaspace, amounts[i].field[part], bytes);
            metaspace->exact &= exact;
        }
    }
}

static void read_amounts(struct metaspace *metaspace, enum section section, struct span line)
{
    enum part part = BOTH;
    line = span_trim(line);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        if (span_take(&line, labels[i].label)) {
            part = labels[i].part;
            break;
        }
    }
    while (line.len > 0) {
        ptrdiff_t comma = span_find(line, SPAN_LITERAL(","));
        size_t len = comma < 0 ? line.len : (size_t)comma;
        read_piece(metaspace, section, part, span_of(line.ptr, len));
        len += comma >= 0;
        line = span_skip(line, len);
    }
}

static enum section section_of(struct span line)
{
    if (span_equals(line, SPAN_LITERAL("Usage:")) ||
        span_starts_with(line, SPAN_LITERAL("Total Usage - ")))
        return SECTION_USAGE;
    return span_equals(line, SPAN_LITERAL("Virtual space:")) ? SECTION_VIRTUAL_SPACE : SECTION_NONE;
}

/* A line with which the reply may begin: anything else is another command's. */
static bool is_opening(struct span line)
{
    return section_of(line) == SECTION_USAGE ||
           span_starts_with(line, SPAN_LITERAL("Metaspace ")) ||
           span_starts_with(line, SPAN_LITERAL("class space "));
}

static const struct {
    struct span label;
    enum metaspace_field field;
} settings[] = {
    {SPAN_INIT("MaxMetaspaceSize:"), METASPACE_MAX},
    {SPAN_INIT("CompressedClassSpaceSize:"), METASPACE_CLASS_SPACE_SIZE},
    {SPAN_INIT("Current GC threshold:"), METASPACE_GC_THRESHOLD},
};

/* False when the value of a setting we know cannot be read. Without a limit the JVM prints
 * "unlimited" or, in some versions, 2^64 in the unit of the day ("17179869184.00 GB"). */
static bool read_setting(struct metaspace *metaspace, struct span line)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        int64_t bytes = TOO_LARGE;
        bool exact = true;
        if (!span_take(&line, settings[i].label))
            continue;
        line = span_trim(line);
        if (!span_equals(line, SPAN_LITERAL("unlimited")) && !take_amount(&line, &bytes, &exact))
            return false;
        if (bytes != TOO_LARGE) {
            set(metaspace, settings[i].field, bytes);
            metaspace->exact &= exact;
        } else if (settings[i].field == METASPACE_MAX) {
            metaspace->max_unlimited = true;
        }
        return true;
    }
    return true;
}

/* Lines behind the settings belong to the reply too: the internal statistics
 * ("num_chunk_merges: 27."), or one more setting on JDK 11. */
static void skip_end(struct line_cursor *lines)
{
    struct line_cursor ahead = *lines;
    struct span line;
    bool in_statistics = false;
    while (line_cursor_next(&ahead, &line)) {
        struct span content = span_trim(line);
        bool setting =
            span_starts_with(content, SPAN_LITERAL("InitialBootClassLoaderMetaspaceSize:"));
        if (span_equals(content, SPAN_LITERAL("Internal statistics:")))
            in_statistics = true;
        else if (content.len > 0 && !setting &&
                 (!in_statistics || !span_starts_with(content, SPAN_LITERAL("num_"))))
            return;
        if (in_statistics || setting)
            lines->at = ahead.at;
    }
}

static enum parse_result read_lines(struct metaspace *metaspace, struct line_cursor *lines)
{
    enum section section = SECTION_NONE;
    bool opened = false, in_settings = false;
    struct span line;
    while (line_cursor_next(lines, &line)) {
        struct span content = span_trim(line);
        if (content.len == 0) {
            if (in_settings)
                return PARSE_OK;
            continue;
        }
        if (!opened && !is_opening(content)) {
            line_cursor_give_back(lines, line);
            return PARSE_MALFORMED;
        }
        opened = true;
        in_settings |= span_starts_with(content, SPAN_LITERAL("MaxMetaspaceSize:"));
        if (in_settings) {
            if (!read_setting(metaspace, content)) {
                line_cursor_give_back(lines, line);
                return PARSE_MALFORMED;
            }
        } else if (line.ptr[0] != ' ' && content.ptr[content.len - 1] == ':') {
            section = section_of(content); /* "Usage:", "Chunk freelists:", ... */
        } else if (section != SECTION_NONE) {
            read_amounts(metaspace, section, content);
        }
    }
    return in_settings && lines->result == PARSE_OK ? PARSE_OK : PARSE_INCOMPLETE;
}

enum parse_result metaspace_parse(struct metaspace *metaspace, struct span text, size_t *consumed)
{
    *metaspace = (struct metaspace){.exact = true};
    struct line_cursor lines;
    line_cursor_begin(&lines, text);
    enum parse_result result = read_lines(metaspace, &lines);
    if (result == PARSE_OK)
        skip_end(&lines);
    *consumed = lines.at;
    const uint32_t required = UINT32_C(1) << METASPACE_USED_BOTH |
                              UINT32_C(1) << METASPACE_COMMITTED_BOTH |
                              UINT32_C(1) << METASPACE_RESERVED_BOTH;
    if (result == PARSE_OK && (metaspace->present & required) != required)
        return PARSE_MALFORMED;
    return result;
}
