/*
 * sample_metrics: the values of one sample as metrics, by the same names in `serve` and in exports.
 *
 * A family is a metric's name; a series is a family with one set of labels: "pool" of memory pools and of
 * categories of NMT, "generation" of garbage collections. Any thread.
 */
#ifndef REPORTS_METRICS_SAMPLE_METRICS_H
#define REPORTS_METRICS_SAMPLE_METRICS_H

#include "analyzers/model/event.h"
#include "reports/metrics/exposition.h"

/* The family shown behind this one; the first is 0, and behind the last is -1. */
int sample_metrics_next(int family);
void sample_metrics_family(struct exposition *out, int family);

/* What stands in front of a series: its first label, "target", and for counters when the JVM started. */
struct sample_source {
    const char *target;
    double start_unix_s; /* 0: not known */
};
/* Which text a series goes to; label: the value of its own label, "" without. NULL: nowhere. */
typedef struct exposition *sample_series_fn(void *context, const char *label);
/* All series of a family that the sample has. sample_metrics_family was called for the texts. */
void sample_metrics_write(int family, const struct sample *sample,
                          const struct sample_source *source, sample_series_fn *series,
                          void *context);

#endif
