#include "analyzers/parse/nmt_row.h"

#define NOWHERE NMT_ROW_FIELD_COUNT /* a value this kind of line never has */

/* One line of text being read, and the unit in which its numbers turned out to be. */
struct scan {
    struct span rest;
    int64_t unit_bytes;
};

_Static_assert(NMT_ROW_FIELD_COUNT <= 64, "presence bits");
#define METADATA_TO_CLASS_SPACE                                                                    \
    (NMT_ROW_CLASS_SPACE_RESERVED_BYTES - NMT_ROW_METADATA_RESERVED_BYTES)
_Static_assert(NMT_ROW_CLASS_SPACE_WASTE_BYTES - NMT_ROW_METADATA_WASTE_BYTES ==
                   METADATA_TO_CLASS_SPACE,
               "both sections list the same fields in the same order");

bool nmt_row_has(const struct nmt_row *row, enum nmt_row_field field)
{
    return row->present >> field & 1;
}

bool nmt_row_get(const struct nmt_row *row, enum nmt_row_field field, int64_t *value)
{
    if (!nmt_row_has(row, field))
        return false;
    *value = row->value[field];
    return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int64_t take_unit(struct span *text)
{
    static const struct {
        struct span name;
        int64_t bytes;
    } units[] = {
        {SPAN_INIT("KB"), 1LL << 10},
        {SPAN_INIT("MB"), 1LL << 20},
        {SPAN_INIT("GB"), 1LL << 30},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (span_take(text, units[i].name))
            return units[i].bytes;
    return 0;
}

static bool at_sign(struct span text)
{
    return text.len > 1 && text.ptr[0] == ' ' && (text.ptr[1] == '+' || text.ptr[1] == '-');
}

/* " +12KB", " -3", or nothing. A delta without unit is in the unit of its value: the arena deltas
 * of JDK 8 to 17 are printed so. */
static bool take_delta(struct span *text, int64_t unit_bytes, int64_t *delta)
{
    if (!at_sign(*text))
        return true;
    *text = span_skip(*text, 1);
    int64_t number;
    if (!span_take_i64(text, &number))
        return false;
    int64_t own_unit = take_unit(text);
    return !__builtin_mul_overflow(number, own_unit ? own_unit : unit_bytes, delta);
}

static void set(struct nmt_row *row, enum nmt_row_field field, int64_t value, int64_t delta)
{
    row->present |= UINT64_C(1) << field;
    row->value[field] = value;
    row->delta[field] = delta;
}

/* "1234KB", "1234KB +56KB" */
static bool take_size(struct scan *scan, struct nmt_row *row, enum nmt_row_field field)
{
    int64_t value, delta = 0;
    if (field == NOWHERE || !span_take_unsigned(&scan->rest, &value))
        return false;
    int64_t unit_bytes = take_unit(&scan->rest);
    scan->unit_bytes = unit_bytes ? unit_bytes : 1;
    if (__builtin_mul_overflow(value, scan->unit_bytes, &value) ||
        !take_delta(&scan->rest, scan->unit_bytes, &delta))
        return false;
    set(row, field, value, delta);
    return true;
}

/* "1234", "1234 +5" */
static bool take_count(struct scan *scan, struct nmt_row *row, enum nmt_row_field field)
{
    int64_t value, delta = 0;
    if (field == NOWHERE || !span_take_unsigned(&scan->rest, &value) ||
        !take_delta(&scan->rest, 1, &delta))
        return false;
    set(row, field, value, delta);
    return true;
}

static bool take(struct scan *scan, const char *literal)
{
    return span_take(&scan->rest, span_from_cstr(literal));
}

/* --- the shapes of lines below a category ----------------------------------------------------- */

/* Where the values of a line go; which are used depends on its shape. */
struct places {
    enum nmt_row_field first, second, peak, peak_count;
};

/* "3297KB #1109)", "197KB tag=Class #2950) (peak=232KB #2903)", "8196KB #2) (at peak)",
 * "173KB)", and in the total "22130510 #16921, peak=24048441 #17064". */
static bool read_size_and_count(struct scan *scan, struct nmt_row *row, struct places to)
{
    if (!take_size(scan, row, to.first))
        return false;
    if (take(scan, " tag=") || take(scan, " type=")) {
        ptrdiff_t count = span_find(scan->rest, SPAN_LITERAL(" #"));
        if (count < 0)
            return false;
        scan->rest = span_skip(scan->rest, (size_t)count);
    }
    if (take(scan, " #") && !take_count(scan, row, to.second))
        return false;
    bool closed = take(scan, ")");
    if (take(scan, " (at peak)")) {
        set(row, to.peak, row->value[to.first], 0);
        if (nmt_row_has(row, to.second))
            set(row, to.peak_count, row->value[to.second], 0);
        return scan->rest.len == 0;
    }
    if (take(scan, closed ? " (peak=" : ", peak=")) {
        if (!take_size(scan, row, to.peak) ||
            (take(scan, " #") && !take_count(scan, row, to.peak_count)))
            return false;
        if (closed && !take(scan, ")"))
            return false;
    }
    return scan->rest.len == 0;
}

/* "reserved=36KB, committed=36KB)", "..., at peak)", "..., peak=40KB)"; ")" is missing in the
 * total, and "reserved=" when it is the prefix by which the line was known. */
static bool read_reserved_and_committed(struct scan *scan, struct nmt_row *row, struct places to)
{
    scan->rest = span_trim(scan->rest);
    take(scan, "reserved=");
    if (!take_size(scan, row, to.first) || !take(scan, ", committed=") ||
        !take_size(scan, row, to.second))
        return false;
    if (to.peak != NOWHERE && take(scan, ", at peak"))
        set(row, to.peak, row->value[to.second], 0);
    else if (take(scan, ", peak=") && !take_size(scan, row, to.peak))
        return false;
    take(scan, ")");
    return scan->rest.len == 0;
}

/* "1382KB)", and for waste "282KB =16.92% +134KB)": the delta stands behind the percentage. */
static bool read_size(struct scan *scan, struct nmt_row *row, struct places to)
{
    if (!take_size(scan, row, to.first))
        return false;
    if (take(scan, " =")) {
        ptrdiff_t percent = span_find(scan->rest, SPAN_LITERAL("%"));
        if (percent < 0)
            return false;
        scan->rest = span_skip(scan->rest, (size_t)percent + 1);
        if (!take_delta(&scan->rest, scan->unit_bytes, &row->delta[to.first]))
            return false;
    }
    return take(scan, ")") && scan->rest.len == 0;
}

/* "1055)", "935, array classes #120)" */
static bool read_count(struct scan *scan, struct nmt_row *row, struct places to)
{
    if (!take_count(scan, row, to.first))
        return false;
    if (take(scan, ", array classes #") && !take_count(scan, row, to.second))
        return false;
    return take(scan, ")") && scan->rest.len == 0;
}

/* How a line begins, and how it continues. */
struct form {
    struct span prefix;
    bool (*read)(struct scan *scan, struct nmt_row *row, struct places to); /* NULL: a heading */
    enum nmt_section opens;
    struct places to; /* below a heading: those of the metadata */
};

/* clang-format off */
#define LINE(prefix, read, ...) {SPAN_INIT(prefix), read, NMT_SECTION_NONE, {__VA_ARGS__}}
#define HEADING(prefix, section) {SPAN_INIT(prefix), NULL, section, {0}}

static const struct form forms[] = {
    LINE("malloc=", read_size_and_count, NMT_ROW_MALLOC_BYTES, NMT_ROW_MALLOC_COUNT,
         NMT_ROW_MALLOC_PEAK_BYTES, NMT_ROW_MALLOC_PEAK_COUNT),
    LINE("malloc: ", read_size_and_count, NMT_ROW_MALLOC_BYTES, NMT_ROW_MALLOC_COUNT,
         NMT_ROW_MALLOC_PEAK_BYTES, NMT_ROW_MALLOC_PEAK_COUNT),
    LINE("arena=", read_size_and_count, NMT_ROW_ARENA_BYTES, NMT_ROW_ARENA_COUNT,
         NMT_ROW_ARENA_PEAK_BYTES, NMT_ROW_ARENA_PEAK_COUNT),
    LINE("mmap:", read_reserved_and_committed, NMT_ROW_MMAP_RESERVED_BYTES,
         NMT_ROW_MMAP_COMMITTED_BYTES, NMT_ROW_MMAP_PEAK_BYTES, NOWHERE),
    LINE("stack:", read_reserved_and_committed, NMT_ROW_STACK_RESERVED_BYTES,
         NMT_ROW_STACK_COMMITTED_BYTES, NMT_ROW_STACK_PEAK_BYTES, NOWHERE),
    LINE("classes #", read_count, NMT_ROW_CLASSES_COUNT, NOWHERE, NOWHERE, NOWHERE),
    LINE("instance classes #", read_count, NMT_ROW_INSTANCE_CLASSES_COUNT,
         NMT_ROW_ARRAY_CLASSES_COUNT, NOWHERE, NOWHERE),
    LINE("thread #", read_count, NMT_ROW_THREADS_COUNT, NOWHERE, NOWHERE, NOWHERE),
    LINE("threads #", read_count, NMT_ROW_THREADS_COUNT, NOWHERE, NOWHERE, NOWHERE),
    LINE("tracking overhead=", read_size, NMT_ROW_TRACKING_OVERHEAD_BYTES, NOWHERE, NOWHERE,
         NOWHERE),
    HEADING("Metadata", NMT_SECTION_METADATA),
    HEADING("Class space", NMT_SECTION_CLASS_SPACE),
    LINE("reserved=", read_reserved_and_committed, NMT_ROW_METADATA_RESERVED_BYTES,
         NMT_ROW_METADATA_COMMITTED_BYTES, NOWHERE, NOWHERE),
    LINE("used=", read_size, NMT_ROW_METADATA_USED_BYTES, NOWHERE, NOWHERE, NOWHERE),
    LINE("free=", read_size, NMT_ROW_METADATA_FREE_BYTES, NOWHERE, NOWHERE, NOWHERE),
    LINE("waste=", read_size, NMT_ROW_METADATA_WASTE_BYTES, NOWHERE, NOWHERE, NOWHERE),
};
/* clang-format on */

static const struct form *form_of(struct span content)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (span_starts_with(content, forms[i].prefix))
            return &forms[i];
    return NULL;
}

static bool read_form(struct nmt_row *row, enum nmt_section *section, const struct form *form,
                      struct span content)
{
    struct scan scan = {content, 1};
    span_take(&scan.rest, form->prefix);
    if (form->read == NULL) {
        *section = form->opens;
        return true;
    }
    struct places to = form->to;
    if (to.first >= NMT_ROW_METADATA_RESERVED_BYTES) {
        if (*section == NMT_SECTION_NONE)
            return false;
        if (*section == NMT_SECTION_CLASS_SPACE) {
            to.first += METADATA_TO_CLASS_SPACE;
            if (to.second != NOWHERE)
                to.second += METADATA_TO_CLASS_SPACE;
        }
    }
    return form->read(&scan, row, to);
}

/* "(malloc=...)", "(  Metadata:   )", ": (  Class space)"; the total's lines have no parenthesis.
 * A line that fails halfway leaves no value behind. */
bool nmt_row_read_line(struct nmt_row *row, enum nmt_section *section, struct span line)
{
    struct scan scan = {span_trim(line), 1};
    take(&scan, ": ");
    take(&scan, "(");
    struct span content = span_trim(scan.rest);
    const struct form *form = form_of(content);
    if (form == NULL)
        return false;
    struct nmt_row before = *row;
    if (read_form(row, section, form, content))
        return true;
    *row = before;
    return false;
}

bool nmt_row_read_amounts(struct nmt_row *row, struct span text, int64_t *unit_bytes,
                          bool *all_known)
{
    struct scan scan = {text, 1};
    if (!take(&scan, "reserved=") || !take_size(&scan, row, NMT_ROW_RESERVED_BYTES))
        return false;
    *unit_bytes = scan.unit_bytes;
    if (!take(&scan, ", committed=") || !take_size(&scan, row, NMT_ROW_COMMITTED_BYTES) ||
        scan.unit_bytes != *unit_bytes) /* a table has one unit: the number was cut off */
        return false;
    if (take(&scan, ", readonly=") && !take_size(&scan, row, NMT_ROW_READONLY_BYTES))
        return false;
    struct span tail = span_trim(scan.rest);
    *all_known = tail.len == 0 || span_equals(tail, SPAN_LITERAL(")"));
    return *all_known || tail.ptr[0] == ',';
}

/* --- categories ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t len;
} CATEGORIES[NMT_CATEGORY_COUNT] = {
#define NMT_CATEGORY(id, text) [NMT_##id] = {text, sizeof text - 1},
#include "analyzers/parse/nmt_categories.def"
};

const char *nmt_category_name(enum nmt_category category)
{
    if ((unsigned)category >= NMT_CATEGORY_COUNT)
        return "?";
    return CATEGORIES[category].name;
}

enum nmt_category nmt_category_from_name(struct span name)
{
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        if (CATEGORIES[i].len == name.len && memcmp(CATEGORIES[i].name, name.ptr, name.len) == 0)
            return (enum nmt_category)i;
    }
    return NMT_NOT_IN_TABLE;
}
