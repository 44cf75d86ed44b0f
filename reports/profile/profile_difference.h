/* profile_difference: two profiles of the same kind, method by method.
 *
 * By shares (the usual question: what takes more of the time than before) samples of the first profile are
 * scaled so that both have as many; absolute they stay what they are (both have run as long at the same
 * load). A change is in percent of the second profile's samples. One thread. */
#pragma once

#include "reports/profile/call_tree.h"

struct profile_change {
    struct stack_frame frame;
    int64_t self_before, self_after, total_before, total_after; /* samples, not scaled */
    double change; /* of self, percentage points; above 0: more than before */
};

struct profile_difference {
    double scale;                /* of the samples before */
    int64_t before, after;       /* all samples */
    bool bytes;                  /* they are */
    bool absolute;               /* not by shares: scale is 1 */
    uint32_t row_count;          /* of methods that ran themselves in one of them */
    struct profile_change *rows; /* largest change first, whichever way */
};

/* Finished trees, which outlive it. False when out of memory. */
bool profile_difference_make(struct profile_difference *difference, const struct call_tree *before,
                             const struct call_tree *after, bool absolute, bool bytes);
/* Rows with most change, those that are new and those that are gone among them. False when out failed, or
 * memory. */
bool profile_difference_print(const struct profile_difference *difference, uint32_t rows,
                              FILE *out);
/* The same as a table of a page, and one of those that are new or gone alone. */
void profile_difference_html(const struct profile_difference *difference, uint32_t rows, FILE *out);
void profile_difference_free(struct profile_difference *difference);
