#include "analyzers/parse/nmt_category.h"

static const struct {
    const char *name;
    size_t len;
} CATEGORIES[NMT_CATEGORY_COUNT] = {
#define NMT_CATEGORY(id, text) [NMT_##id] = {text, sizeof(text) - 1},
#include "analyzers/parse/nmt_categories.def"
#undef NMT_CATEGORY
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
