/*
 * metrics: a snapshot as families of metrics. Names that client_java has are client_java's; the
 * rest begins with nmtwatch_. The rules of `nmtwatch rules` are written for these names.
 *
 * Every series of a target carries target=LABEL; the pid stands in nmtwatch_target_info only, so
 * that a restarted JVM goes on in the same series. Pure; any thread.
 */
#ifndef NMTWATCH_SERVE_METRICS_H
#define NMTWATCH_SERVE_METRICS_H

#include "nmtwatch/serve/snapshot.h"
#include "reports/metrics/exposition.h"

void metrics_write(const struct snapshot *snapshot, struct exposition *out);

#endif
