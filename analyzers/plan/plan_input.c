#include "analyzers/plan/plan_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* More within the horizon is a slip of the pen; up to here every sum fits into 64 bits. */
#define LOADS_MOST 1e10

static const struct plan_number_row number_rows[PLAN_NUMBER_COUNT] = {
#define PLAN_INPUT(id, option, kind, initial, least, most, value, help)                            \
    [PLAN_##id] = {option, PLAN_KIND_##kind, initial, least, most, value, help},
#include "analyzers/plan/plan_inputs.def"
#undef PLAN_INPUT
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
        if (!input->slot[i].given)
            continue;
        if (!(number >= row->least && number <= row->most)) {
            snprintf(error, size, "--%s: a number from %.15g to %.15g is needed", row->option,
                     row->least, row->most);
            return false;
        }
        if (row->kind == PLAN_KIND_COUNT && number != floor(number)) {
            snprintf(error, size, "--%s: a whole number is needed", row->option);
            return false;
        }
    }
    if (!plan_input_known(input, PLAN_CLASSES)) {
        snprintf(error, size, "--classes N is needed, or --from");
        return false;
    }
    if (input->slot[PLAN_LOADERS].given &&
        plan_input_get(input, PLAN_LOADERS) > plan_input_get(input, PLAN_CLASSES)) {
        snprintf(error, size, "--loaders: more loaders than classes");
        return false;
    }
    if (plan_input_churned(input) + plan_input_grown(input) > LOADS_MOST) {
        snprintf(error, size, "--churn and --growth over that time: more than 10^10 classes");
        return false;
    }
    if (input->jdk_major < 8 || input->jdk_major > 99) {
        snprintf(error, size, "--jdk: 8 or later is needed");
        return false;
    }
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
