/* nmt_category: the NMT categories as an enum; the table is nmt_categories.def. Any thread. */
#ifndef ANALYZERS_PARSE_NMT_CATEGORY_H
#define ANALYZERS_PARSE_NMT_CATEGORY_H

#include "analyzers/parse/span.h"

enum nmt_category {
#define NMT_CATEGORY(id, name) NMT_##id,
#include "analyzers/parse/nmt_categories.def"
#undef NMT_CATEGORY
    NMT_CATEGORY_COUNT,
    NMT_NOT_IN_TABLE = NMT_CATEGORY_COUNT, /* a category of a JDK we have not met */
};

/* The name as the JVM prints it; "?" outside the table. */
const char *nmt_category_name(enum nmt_category category);
/* NMT_NOT_IN_TABLE when the name is not known. */
enum nmt_category nmt_category_from_name(struct span name);

#endif
