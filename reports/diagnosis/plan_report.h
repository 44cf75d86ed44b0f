/*
 * plan_report: a capacity plan as a page (page.h: terminal, Markdown) and as JSON.
 *
 * One thread. Ownership: nothing is kept.
 */
#ifndef REPORTS_PLAN_REPORT_H
#define REPORTS_PLAN_REPORT_H

#include "analyzers/plan/plan.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"

/* Begins the page and fills it; to be freed by the caller. source: what was measured, "pid 4711";
 * NULL: nothing. */
void plan_page(const struct plan *plan, const char *source, struct page *page);
/* The whole object. */
void plan_json(const struct plan *plan, const char *source, struct json_out *out);

#endif
