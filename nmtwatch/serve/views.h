/* views: a snapshot as what is served: the page, and JSON (docs/schema/serve-*.json).
 * Pure; any thread. */
#pragma once

#include "nmtwatch/serve/snapshot.h"
#include "reports/json/json_out.h"
#include "reports/metrics/exposition.h"

#include <stdio.h>

#define OBSERVATIONS_PATH "/observations/" /* with the name of a result: the file */

#define VIEW_RELOAD_S "15" /* of the page, for "?reload=15" */

/* False when out failed. */
/* bad: only JVMs with findings, or that do not answer. */
bool view_page(const struct snapshot *snapshot, bool bad, FILE *out);
/* One line each; NULL when memory ran out. */
const char *view_targets_json(const struct snapshot *snapshot, struct json_out *out);
const char *view_findings_json(const struct snapshot *snapshot, struct json_out *out);

/* metrics: a snapshot as families of metrics. Names that client_java has are client_java's; the
 * rest begins with nmtwatch_. The rules of `nmtwatch rules` are written for these names.
 *
 * Every series of a target carries target=LABEL; the pid stands in nmtwatch_target_info only, so
 * that a restarted JVM goes on in the same series. Pure; any thread. */
void metrics_write(const struct snapshot *snapshot, struct exposition *out);
