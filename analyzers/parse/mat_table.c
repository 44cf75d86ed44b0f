#include "analyzers/parse/mat_table.h"

#define FIGURES_MAX 3
#define THOUSANDS   ",.'"

static struct span from(struct span text, size_t at)
{
    return span_skip(text, at);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "occupies 401,627,128 (41.22%) bytes": the number, or nothing. */
static struct span occupied(struct span line)
{
    static const struct span verbs[] = {SPAN_INIT("occupies "), SPAN_INIT("occupy "),
                                        SPAN_INIT("with total size ")};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        ptrdiff_t at = span_find(line, verbs[i]);
        if (at < 0)
            continue;
        struct span rest = from(line, (size_t)at + verbs[i].len);
        if (rest.len > 0 && is_digit(rest.ptr[0]) && span_find(rest, SPAN_LITERAL("%)")) > 0)
            return rest;
    }
    return span_of(NULL, 0);
}

bool mat_table_is_heading(struct span line)
{
    static const struct span columns[] = {SPAN_INIT("Objects"), SPAN_INIT("Shallow"),
                                          SPAN_INIT("Retained"), SPAN_INIT("Defined Classes"),
                                          SPAN_INIT("No. of Instances")};
    line = span_trim(line);
    if (occupied(line).ptr != NULL)
        return true;
    span_take(&line, SPAN_LITERAL("|"));
    line = span_trim(line);
    span_take(&line, SPAN_LITERAL("\""));
    if (!span_take(&line, SPAN_LITERAL("Class Name")) &&
        !span_take(&line, SPAN_LITERAL("Class Loader Name")))
        return false;
    if (span_trim(line).len == 0) /* each column on a line of its own */
        return true;
    return span_contains_any(line, columns, sizeof columns / sizeof columns[0]);
}

void mat_table_begin(struct mat_table *table, struct span text)
{
    *table = (struct mat_table){0};
    line_cursor_begin(&table->lines, text);
    /* The columns may be apart: all of what stands in front of the first row. */
    struct span head = span_of(text.ptr, text.len < 256 ? text.len : 256);
    table->is_csv = span_find(head, SPAN_LITERAL("Class Name\",")) >= 0 ||
                    span_find(head, SPAN_LITERAL("Class Name,")) >= 0;
    table->of_loaders = span_find(head, SPAN_LITERAL("Defined Classes")) >= 0;
}

/* A number, which may have separators of thousands, at the end of the line; takes it off. */
static bool take_last(struct span *line, const char *separators, int64_t *value)
{
    size_t end = line->len;
    while (end > 0 && strchr(" \t|\",", line->ptr[end - 1]) != NULL)
        end--;
    size_t at = end;
    while (at > 0 && is_digit(line->ptr[at - 1]))
        at--;
    for (size_t group = end - at; group == 3;) {
        if (at < 2 || strchr(separators, line->ptr[at - 1]) == NULL)
            break;
        size_t front = at - 1;
        for (; front > 0 && is_digit(line->ptr[front - 1]);)
            front--;
        group = at - 1 - front;
        if (group == 0 || group > 3)
            break;
        at = front;
    }
    if (at == end || (at > 0 && strchr(" \t|\"=,", line->ptr[at - 1]) == NULL))
        return false;
    int64_t number = 0;
    for (size_t i = at; i < end; i++) {
        if (is_digit(line->ptr[i]) && (__builtin_mul_overflow(number, 10, &number) ||
                                       __builtin_add_overflow(number, line->ptr[i] - '0', &number)))
            number = INT64_MAX;
    }
    while (at > 0 && strchr(" \t|\">=,", line->ptr[at - 1]) != NULL)
        at--;
    line->len = at;
    *value = number;
    return true;
}

/* "|- a.B @ 0x1", "[a.B[]](mat://...)", "a.B$C": the name of a class, or nothing. */
static struct span class_name(struct span line)
{
    line = span_trim(line);
    while (line.len > 0 && strchr("|'\"+- \t\\*", line.ptr[0]) != NULL)
        line = from(line, 1);
    ptrdiff_t link = -1;
    if (span_take(&line, SPAN_LITERAL("[")))
        link = span_find(line, SPAN_LITERAL("]("));
    size_t length = 0;
    if (link > 0)
        length = (size_t)link;
    while (link <= 0 && length < line.len && strchr(" \t|\",(", line.ptr[length]) == NULL)
        length++;
    struct span name = span_of(line.ptr, length);
    bool array = span_ends_with(name, SPAN_LITERAL("[]"));
    bool dotted = false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        dotted = dotted || (c == '.' && i > 0 && i + 1 < name.len);
        if (c < '$' || c == '(' || c == ')' || c == ':')
            return span_of(NULL, 0);
    }
    bool letter = name.len > 0 && !is_digit(name.ptr[0]);
    return letter && (dotted || array) ? name : span_of(NULL, 0);
}

static bool quoted(struct span line, struct span *name)
{
    ptrdiff_t open = span_find(line, SPAN_LITERAL("\""));
    if (open < 0)
        return false;
    struct span rest = from(line, (size_t)open + 1);
    ptrdiff_t close = span_find(rest, SPAN_LITERAL("\""));
    if (close <= 0)
        return false;
    *name = span_of(rest.ptr, (size_t)close);
    ptrdiff_t blank = span_find(*name, SPAN_LITERAL(" @ 0x"));
    if (blank > 0)
        name->len = (size_t)blank;
    return true;
}

/* A sentence of the leak report. */
static bool read_sentence(struct mat_row *row, struct span line)
{
    struct span number = occupied(line);
    if (number.ptr == NULL || !quoted(line, &row->name))
        return false;
    size_t length = 0;
    while (length < number.len && strchr("0123456789,.'", number.ptr[length]) != NULL)
        length++;
    number.len = length;
    if (!take_last(&number, THOUSANDS, &row->bytes))
        return false;
    struct span first = span_trim(line);
    ptrdiff_t blank = span_find(first, SPAN_LITERAL(" "));
    first.len = blank > 0 ? (size_t)blank : 0;
    if (!take_last(&first, THOUSANDS, &row->instances))
        row->instances = 1;
    return true;
}

bool mat_table_next(struct mat_table *table, struct mat_row *row)
{
    struct span line;
    while (line_cursor_next(&table->lines, &line)) {
        *row = (struct mat_row){.instances = -1, .bytes = -1};
        if (span_trim(line).len == 0)
            continue;
        if (read_sentence(row, line))
            return true;
        int64_t figure[FIGURES_MAX];
        int count = 0;
        struct span rest = line;
        bool dashes = span_find(line, SPAN_LITERAL("---")) >= 0;
        while (!dashes && count < FIGURES_MAX &&
               take_last(&rest, table->is_csv ? "" : THOUSANDS, &figure[count]))
            count++;
        struct span name = dashes ? span_of(NULL, 0) : class_name(rest);
        if (name.len > 0)
            table->name = name;
        if (count == 0 || table->name.len == 0)
            continue;
        row->name = table->name;
        row->is_loader = table->of_loaders || span_find(rest, SPAN_LITERAL(" @ 0x")) > 0;
        row->instances = figure[count - 1];
        row->bytes = count > 1 && !row->is_loader ? figure[count - 2] : -1;
        table->name = span_of(NULL, 0);
        return true;
    }
    return false;
}
