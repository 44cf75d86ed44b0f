/* difference: two moments of one JVM or of two, side by side: series, class families, loaders.
 *
 *   difference_make -> (the fields, difference_page, difference_json) -> difference_destroy
 *
 * A series' level is estimated over a window that ends at the moment (analyzers/soak/estimate.h); a
 * change is significant when its 95 % interval does not hold 0 and it is not too small to matter.
 * The interval knows the noise within each window only: two runs of the same program differ by
 * more. A family's classes are counted while a census looked; with both rates known the change is
 * significant when the counts, as Poisson counts, differ by more than two standard deviations.
 * One thread. */
#pragma once

#include "analyzers/soak/trial.h"
#include "reports/json/json_out.h"
#include "reports/story/story.h"
#include "reports/soak/soak_report.h"
#include "reports/page/page.h"

#define DIFFERENCE_BYTES_MIN 16384
#define DIFFERENCE_COUNT_MIN 5

/* A recording up to a moment. Borrowed pointers. */
struct difference_side {
    const char *file;
    const struct trial *trial;
    const struct story *story;
    int64_t at_ms; /* the moment */
    int64_t window_ms;
};

enum significance { SIGNIFICANCE_UNKNOWN, SIGNIFICANCE_NOISE, SIGNIFICANCE_REAL };

struct difference_series {
    char key[SOAK_KEY_MAX];
    const char *title;
    enum soak_unit unit;
    bool have_a, have_b;
    struct estimate a, b,
        change; /* unknown where the window held too few points: then values alone */
    double value_a, value_b;
    enum significance significance;
};

struct difference_family {
    const char *family; /* in the stories */
    const char *stem;
    int64_t classes_a, classes_b; /* seen loaded or alive; -1: not measured */
    double per_s_a, per_s_b;      /* < 0: unknown */
    enum significance significance;
};

struct difference_loader {
    const char *type;
    int64_t loaders_a, loaders_b; /* -1: not in the census, or no census */
};

struct difference {
    struct difference_side a, b;
    bool same_recording;
    int series_count;
    /* largest change first; bytes before counts */
    struct difference_series series[SOAK_SERIES_COUNT];
    int family_count;
    struct difference_family families[2 * STORY_FAMILIES_MAX];
    int loader_count;
    struct difference_loader loaders[2 * EVENT_ROWS_MAX];
};

/* NULL when out of memory. */
struct difference *difference_make(const struct difference_side *a,
                                   const struct difference_side *b);
/* Begins the page and fills it; to be freed by the caller. all: rows that did not change, too. */
void difference_page(const struct difference *difference, bool all, struct page *page);
const char *difference_json(struct json_out *out, const struct difference *difference);
void difference_destroy(struct difference *difference);
