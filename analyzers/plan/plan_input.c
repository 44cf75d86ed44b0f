#include "analyzers/plan/plan_input.h"

#include "analyzers/model/texts.h"

#include <math.h>
#include <stdio.h>

/* More within the horizon is a slip of the pen; up to here every sum fits into 64 bits. */
#define LOADS_MOST 1e10

static const struct plan_number_row number_rows[PLAN_NUMBER_COUNT] = {
#define PLAN_INPUT(id, option, kind, initial, least, most, value, help)                            \
    [PLAN_##id] = {option, PLAN_KIND_##kind, initial, least, most, value, help},
#include "analyzers/plan/plan_inputs.def"
};

static const char *const gc_names[] = {
    [PLAN_GC_SERIAL] = "serial", [PLAN_GC_PARALLEL] = "parallel",     [PLAN_GC_G1] = "g1",
    [PLAN_GC_Z] = "z",           [PLAN_GC_SHENANDOAH] = "shenandoah",
};

const struct plan_number_row *plan_number_row(enum plan_number number)
{
    return &number_rows[number];
}

void plan_input_default(struct plan_input *input)
{
    memset(input, 0, sizeof *input);
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++)
        input->slot[i].number = number_rows[i].initial;
    input->jdk_major = PLAN_JDK_DEFAULT;
    input->gc = PLAN_GC_G1;
}

void plan_input_set(struct plan_input *input, enum plan_number number, double value)
{
    input->slot[number] = (struct plan_slot){value, true};
}

double plan_input_get(const struct plan_input *input, enum plan_number number)
{
    return input->slot[number].number;
}

bool plan_input_known(const struct plan_input *input, enum plan_number number)
{
    return input->slot[number].given || input->slot[number].number >= 0.0;
}

double plan_input_churned(const struct plan_input *input)
{
    return round(plan_input_get(input, PLAN_CHURN) * plan_input_get(input, PLAN_HORIZON));
}

double plan_input_grown(const struct plan_input *input)
{
    return round(plan_input_get(input, PLAN_GROWTH) * plan_input_get(input, PLAN_HORIZON));
}

bool plan_input_check(const struct plan_input *input, char *error, size_t size)
{
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++) {
        const struct plan_number_row *row = &number_rows[i];
        double number = input->slot[i].number;
        if (input->slot[i].given && !(number >= row->least && number <= row->most))
            return text_error(error, size, "--%s: a number from %.15g to %.15g is needed",
                              row->option, row->least, row->most);
        if (input->slot[i].given && row->kind == PLAN_KIND_COUNT && number != floor(number))
            return text_error(error, size, "--%s: a whole number is needed", row->option);
    }
    if (!plan_input_known(input, PLAN_CLASSES))
        return text_error(error, size, "--classes N is needed, or --from");
    if (input->slot[PLAN_LOADERS].given &&
        plan_input_get(input, PLAN_LOADERS) > plan_input_get(input, PLAN_CLASSES))
        return text_error(error, size, "--loaders: more loaders than classes");
    if (plan_input_churned(input) + plan_input_grown(input) > LOADS_MOST)
        return text_error(error, size,
                          "--churn and --growth over that time: more than 10^10 classes");
    if (input->jdk_major < 8 || input->jdk_major > 99)
        return text_error(error, size, "--jdk: 8 or later is needed");
    return true;
}

const char *plan_gc_name(enum plan_gc gc)
{
    return gc_names[gc];
}

bool plan_gc_from_name(const char *name, enum plan_gc *gc)
{
    for (unsigned i = 0; i < sizeof gc_names / sizeof gc_names[0]; i++) {
        if (strcmp(name, gc_names[i]) == 0) {
            *gc = (enum plan_gc)i;
            return true;
        }
    }
    return false;
}

/* --- the parts of a profiler ------------------------------------------------------------------ */

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

/* Of stacks and frames: 8 bytes an entry, doubled at five eighths. */
static double index_bytes(double entries, double used)
{
    while (entries * 5 / 8 < used)
        entries *= 2.0;
    return entries * 8;
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
    case PLAN_COMPONENT_COUNT:
        break;
    }
    *documented = by_document < 0.0 ? -1 : plan_whole(by_document);
    *expected = here < 0.0 ? -1 : plan_whole(here);
}
