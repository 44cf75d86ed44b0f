/*
 * markdown: a story for a ticket: verdict, facts, alerts, families with their fixes, class loaders,
 * cost, notes; pictures by file name. GitHub's dialect; everything from the target is escaped.
 * One thread.
 */
#ifndef REPORTS_MARKDOWN_H
#define REPORTS_MARKDOWN_H

#include "reports/story.h"

#include <stdio.h>

struct markdown_picture {
    const char *title;
    const char *file; /* beside the report */
};

/* False when out failed. */
bool markdown_write(const struct story *story, const struct markdown_picture *pictures, int count,
                    FILE *out);

#endif
