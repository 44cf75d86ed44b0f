#include "analyzers/judge/thresholds.h"

#include <string.h>

static const struct threshold_row ROWS[THRESHOLD_COUNT] = {
#define THRESHOLD(id, key, dflt, unit, min, max, meaning)                                          \
    [TH_##id] = {key, dflt, #unit, min, max, meaning},
#include "analyzers/judge/thresholds.def"
#undef THRESHOLD
};

const struct threshold_row *threshold_row(enum threshold which)
{
    return &ROWS[which];
}

void thresholds_default(struct thresholds *thresholds)
{
    for (int i = 0; i < THRESHOLD_COUNT; i++)
        thresholds->value[i] = ROWS[i].dflt;
}

enum threshold threshold_from_key(const char *key)
{
    for (int i = 0; i < THRESHOLD_COUNT; i++) {
        if (strcmp(ROWS[i].key, key) == 0)
            return (enum threshold)i;
    }
    return THRESHOLD_COUNT;
}
