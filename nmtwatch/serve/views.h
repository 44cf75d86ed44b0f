/*
 * views: a snapshot as what is served: the page, and JSON (docs/schema/serve-*.json).
 * Pure; any thread.
 */
#ifndef NMTWATCH_SERVE_VIEWS_H
#define NMTWATCH_SERVE_VIEWS_H

#include "nmtwatch/serve/snapshot.h"
#include "reports/json/json_out.h"

#include <stdio.h>

/* False when out failed. */
bool view_page(const struct snapshot *snapshot, FILE *out);
/* One line each; NULL when memory ran out. */
const char *view_targets_json(const struct snapshot *snapshot, struct json_out *out);
const char *view_findings_json(const struct snapshot *snapshot, struct json_out *out);

#endif
