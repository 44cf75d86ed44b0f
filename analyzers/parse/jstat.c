#include "analyzers/parse/jstat.h"

#include <stddef.h>

#define COLUMNS_MAX 32
#define KB          INT64_C(1024)
#define LARGEST_KB  (INT64_C(1) << 40)

struct columns {
    int count;
    struct span word[COLUMNS_MAX];
};

static void split(struct span line, struct columns *columns)
{
    columns->count = 0;
    line = span_trim(line);
    while (line.len > 0 && columns->count < COLUMNS_MAX) {
        size_t length = 0;
        while (length < line.len && line.ptr[length] != ' ' && line.ptr[length] != '\t')
            length++;
        columns->word[columns->count++] = span_of(line.ptr, length);
        line = span_trim(span_of(line.ptr + length, line.len - length));
    }
}

bool jstat_is_heading(struct span line)
{
    struct columns heads;
    line = span_trim(line);
    if (!span_starts_with(line, SPAN_LITERAL("S0")))
        return false;
    split(line, &heads);
    return heads.count >= 8 && (span_equals(heads.word[0], SPAN_LITERAL("S0C")) ||
                                (span_equals(heads.word[0], SPAN_LITERAL("S0")) &&
                                 span_equals(heads.word[1], SPAN_LITERAL("S1"))));
}

/* The whole part of "99.98", "99,98"; -1: no such column, or no number ("-"). */
static int64_t value_of(const struct columns *heads, const struct columns *row, const char *name)
{
    for (int i = 0; i < heads->count && i < row->count; i++) {
        int64_t value;
        struct span word = row->word[i];
        if (span_equals(heads->word[i], span_from_cstr(name)))
            return span_take_unsigned(&word, &value) && value < LARGEST_KB ? value : -1;
    }
    return -1;
}

static int64_t sum_of(const struct columns *heads, const struct columns *row,
                      const char *const names[4])
{
    int64_t sum = -1;
    for (int i = 0; i < 4; i++) {
        int64_t value = value_of(heads, row, names[i]);
        if (value >= 0)
            sum = (sum < 0 ? 0 : sum) + value * KB;
    }
    return sum;
}

void jstat_read(struct jstat *jstat, struct span text)
{
    static const char *const used[] = {"S0U", "S1U", "EU", "OU"};
    static const char *const capacity[] = {"S0C", "S1C", "EC", "OC"};
    struct columns heads = {.count = 0}, row;
    struct span line;
    bool terminated;
    *jstat = (struct jstat){0, -1, -1, -1, -1, -1, -1};
    while (span_next_line(&text, &line, &terminated)) {
        if (jstat_is_heading(line)) {
            split(line, &heads);
            continue;
        }
        split(line, &row);
        if (heads.count == 0 || row.count != heads.count || value_of(&heads, &row, "YGC") < 0)
            continue;
        jstat->rows++;
        jstat->full_gcs = value_of(&heads, &row, "FGC");
        jstat->young_gcs = value_of(&heads, &row, "YGC");
        jstat->old_percent = value_of(&heads, &row, "O");
        jstat->heap_used_bytes = sum_of(&heads, &row, used);
        jstat->heap_committed_bytes = sum_of(&heads, &row, capacity);
        int64_t old_used = value_of(&heads, &row, "OU"), old = value_of(&heads, &row, "OC");
        if (old > 0 && old_used >= 0)
            jstat->old_percent = old_used * 100 / old;
        int64_t metaspace = value_of(&heads, &row, "MU");
        jstat->metaspace_used_bytes = metaspace < 0 ? -1 : metaspace * KB;
    }
}
