/*
 * story_page: a story as a page (reports/page/page.h): the verdict on top; then who, alerts,
 * charts, families with their fixes, class loaders, what the watching cost, thresholds, notes. One
 * thread.
 */
#ifndef REPORTS_STORY_REPORT_H
#define REPORTS_STORY_REPORT_H

#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "reports/story/story.h"

/* A drawn chart: its SVG for HTML, the name of its file for Markdown; either may be NULL. */
struct story_picture {
    const char *title;
    const char *caption;
    const char *svg;
    const char *file;
};

/* Begins the page and fills it; to be freed by the caller. no_pictures: why there are none, when
 * count is 0; NULL: they were not asked for. */
void story_page(const struct story *story, const struct story_picture *pictures, int count,
                const char *no_pictures, struct page *page);

/* One object, '\n' at its end; the text is out's. NULL when memory ran out. */
const char *report_json(struct json_out *out, const struct story *story);

#endif
