/*
 * flamegraph: a call tree as one self-contained page: a picture (SVG) of who called whom and how
 * much of the samples that took, callers above, callees below.
 *
 * Without scripts it is a static picture with a tooltip for each frame. The script that is inside
 * adds zoom (click, Enter) and a search that tells how much of the samples matched. Nothing is
 * loaded from anywhere. Names are hostile and escaped. Frames narrower than FLAMEGRAPH_MIN_SHARE of
 * the samples are left out; the page says how many. One thread.
 */
#ifndef REPORTS_FLAMEGRAPH_H
#define REPORTS_FLAMEGRAPH_H

#include "reports/profile/call_tree.h"

#include <stdio.h>

/* A pixel of a screen 2000 wide. */
#define FLAMEGRAPH_MIN_SHARE (1.0 / 2000)

struct flamegraph_page {
    const char *title;
    const char *unit;         /* what a sample is: "CPU samples, one each 10 ms" */
    bool bytes;               /* samples are bytes, of classes */
    const char *const *notes; /* sentences below the picture: losses, damage */
    int note_count;
};

/* A finished tree. False when out failed, or memory. */
bool flamegraph_write(const struct call_tree *tree, const struct flamegraph_page *page, FILE *out);

#endif
