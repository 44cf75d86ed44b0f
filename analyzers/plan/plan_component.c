#include "analyzers/plan/plan_component.h"

#include <math.h>

#define TABLE_FIRST      65536.0 /* entries */
#define TABLE_ENTRY      16.0
#define TABLE_FULL_SHARE 0.75

#define K                         1024.0
#define M                         (K * 1024.0)
#define I(input)                  plan_input_get(in, PLAN_##input)
#define ORDINARY(text, low, high) text, low, high
#define CHURN(text, low, high)    text, low, high

#define WHOLE(bytes) ((bytes) < 0 ? -1 : (int64_t)((bytes) + 0.5))
#define RANGE(text, low, high)                                                                     \
    {                                                                                              \
        text, WHOLE(low), WHOLE(high)                                                              \
    }
#define RANGE_OF(...) RANGE(__VA_ARGS__)

static const struct plan_component_row component_rows[PLAN_COMPONENT_COUNT] = {
#define PLAN_COMPONENT(id, key, title, names, ordinary, churn, documented, expected)               \
    [PLAN_PART_##id] = {key, title, names, RANGE_OF(ordinary), RANGE_OF(churn)},
#include "analyzers/plan/plan.def"
#undef PLAN_COMPONENT
};

static const struct plan_range sums[PLAN_SUM_COUNT][SUITABILITY_LOAD_COUNT] = {
    [PLAN_SUM_WITHOUT_IDS] = {RANGE("14-56 MB", 14 * M, 56 * M),
                              RANGE("63-273 MB", 63 * M, 273 * M),
                              RANGE("63-273 MB", 63 * M, 273 * M),
                              RANGE("1-2 GB", 1024 * M, 2048 * M)},
    [PLAN_SUM_WITH_IDS] = {RANGE("24-206 MB", 24 * M, 206 * M),
                           RANGE("100 MB - 1 GB", 100 * M, 1024 * M), RANGE("1+ GB", 1024 * M, -1),
                           RANGE("10+ GB", 10240 * M, -1)},
};
/* Of moderate churn: 70 to 90 % of 100 MB to 1 GB. */
static const struct plan_range jmethod_ids[SUITABILITY_LOAD_COUNT] = {
    [SUITABILITY_LOAD_MODERATE] = RANGE("70-900 MB", 70 * M, 0.9 * 1024 * M),
    [SUITABILITY_LOAD_EXTREME] = RANGE("9-10 GB", 9216 * M, 10240 * M),
};

const struct plan_component_row *plan_component_row(enum plan_component component)
{
    return &component_rows[component];
}

struct plan_range plan_documented_sum(enum plan_sum sum, enum suitability_load load)
{
    return sums[sum][load];
}

struct plan_range plan_documented(enum plan_component component, enum suitability_load load)
{
    const struct plan_component_row *row = &component_rows[component];
    if (component == PLAN_PART_JMETHOD_IDS && jmethod_ids[load].text != NULL)
        return jmethod_ids[load];
    return load == SUITABILITY_LOAD_ORDINARY ? row->ordinary : row->churn;
}

/* An open hash table that doubles at 75 %. */
static double table_bytes(double traces)
{
    double entries = TABLE_FIRST;
    while (entries * TABLE_FULL_SHARE < traces)
        entries *= 2.0;
    return entries * TABLE_ENTRY;
}

static int64_t whole(double bytes)
{
    return bytes >= 9.2e18 ? INT64_MAX : bytes < 0.0 ? -1 : (int64_t)(bytes + 0.5);
}

void plan_component_formulas(enum plan_component component, const struct plan_input *in,
                             int64_t classes, int64_t ids, int64_t *documented, int64_t *expected)
{
    const double CLASSES = (double)classes, jmethod_ids_bytes = (double)ids;
    double by_document = -1.0, here = -1.0;
    switch (component) {
#define PLAN_COMPONENT(id, key, title, names, ordinary, churn, documented_bytes, expected_bytes)   \
    case PLAN_PART_##id:                                                                           \
        by_document = (documented_bytes);                                                          \
        here = (expected_bytes);                                                                   \
        break;
#include "analyzers/plan/plan.def"
#undef PLAN_COMPONENT
    case PLAN_COMPONENT_COUNT:
        break;
    }
    *documented = whole(by_document);
    *expected = whole(here);
}
