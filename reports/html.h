/*
 * html: a story as one self-contained page: no network, no script, light and dark, readable on a
 * telephone and on paper. The verdict stands on top; then who, alerts, pictures, families with
 * their fixes, class loaders, what the watching cost, thresholds, notes.
 *
 * Everything that came from the target is escaped. The pictures are gnuplot's own SVG texts; they
 * are put into the page with their ids made unique. One thread.
 */
#ifndef REPORTS_HTML_H
#define REPORTS_HTML_H

#include "reports/story.h"

#include <stdio.h>

struct html_picture {
    const char *title;
    const char *caption;
    const char *svg; /* NUL-terminated; a prolog before <svg is left out */
};

/* no_pictures: why there are none, when count is 0; may be NULL. False when out failed. */
bool html_write(const struct story *story, const struct html_picture *pictures, int count,
                const char *no_pictures, FILE *out);

#endif
