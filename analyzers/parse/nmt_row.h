/*
 * nmt_row: one category of an NMT summary, and the reading of the lines that describe it.
 *
 *   -                    Thread (reserved=24640KB, committed=1396KB)      nmt_row_read_amounts
 *                               (stack: reserved=24576KB, committed=1332KB)  nmt_row_read_line
 *                               (malloc=38KB #148) (peak=46KB #152)
 *
 * Which lines there are and how they are written differs between versions; here all of them are
 * known (JDK 8 to 27, summary and diff). nmt_summary puts the rows together.
 *
 * A value that was not printed is missing, not zero; a delta that was not printed is zero, because
 * a JVM leaves zero deltas out. Any thread.
 */
#pragma once

#include "floor/base/span.h"

/* The categories; the table is nmt_categories.def. */
enum nmt_category {
#define NMT_CATEGORY(id, name) NMT_##id,
#include "analyzers/parse/nmt_categories.def"
    NMT_CATEGORY_COUNT,
    NMT_NOT_IN_TABLE = NMT_CATEGORY_COUNT, /* a category that this program does not know */
};

/* The name as the JVM prints it; "?" outside the table. */
const char *nmt_category_name(enum nmt_category category);
/* NMT_NOT_IN_TABLE when the name is not known. */
enum nmt_category nmt_category_from_name(struct span name);

enum nmt_row_field {
#define NMT_ROW_FIELD(id, key) NMT_ROW_##id,
#include "analyzers/parse/nmt_row_fields.def"
    NMT_ROW_FIELD_COUNT,
};

struct nmt_row {
    struct span name;
    enum nmt_category category; /* NMT_NOT_IN_TABLE for a name we do not know, and for the total */
    uint64_t present;           /* bit per nmt_row_field */
    int64_t value[NMT_ROW_FIELD_COUNT];
    int64_t delta[NMT_ROW_FIELD_COUNT]; /* since the baseline; meaningful when is_diff */
};

bool nmt_row_has(const struct nmt_row *row, enum nmt_row_field field);
/* False, and *value untouched, when missing. */
bool nmt_row_get(const struct nmt_row *row, enum nmt_row_field field, int64_t *value);

/* Under which heading of the Class category a line stands. */
enum nmt_section { NMT_SECTION_NONE, NMT_SECTION_METADATA, NMT_SECTION_CLASS_SPACE };

/* "reserved=1KB, committed=1KB)" of a category or of the total. False when that is not what the
 * text says. *unit_bytes: of the numbers. *all_known: false when something else follows. */
bool nmt_row_read_amounts(struct nmt_row *row, struct span text, int64_t *unit_bytes,
                          bool *all_known);

/* A line below a category or below the total. False, and the row untouched, when it is not
 * understood. *section is NMT_SECTION_NONE before the first line of a row. */
bool nmt_row_read_line(struct nmt_row *row, enum nmt_section *section, struct span line);
