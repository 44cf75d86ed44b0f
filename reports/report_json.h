/*
 * report_json: a story for programs: {"verdict","status","target","alerts","families","loaders",
 * "cost","notes",...}; docs/json.md shows it. Units stand in the keys; what is not known is left
 * out or null. One thread.
 */
#ifndef REPORTS_REPORT_JSON_H
#define REPORTS_REPORT_JSON_H

#include "reports/json_out.h"
#include "reports/story.h"

/* One object, '\n' at its end; the text is out's. NULL when memory ran out. */
const char *report_json(struct json_out *out, const struct story *story);

#endif
