/* exposition: metrics as text for Prometheus: format 0.0.4, or OpenMetrics 1.0.
 *
 *   struct exposition out = {.format = EXPOSITION_OPENMETRICS};
 *   exposition_family(&out, "jvm_classes_loaded", EXPOSITION_COUNTER, "", "Classes loaded.");
 *   exposition_label(&out, "target", "orders");
 *   exposition_int(&out, 4711);
 *   text = exposition_end(&out, &length);  ...  exposition_free
 *
 * The caller names a family without the ending its type brings; the writer knows what the two
 * formats make of it:
 *
 *                 0.0.4 header and sample       OpenMetrics header    sample
 *   GAUGE         name                          name                  name
 *   COUNTER       name_total                    name                  name_total (name_created)
 *   SUMMARY       name; name_sum, name_count    the same              the same   (name_created)
 *   INFO          name_info, a gauge            name                  name_info
 *
 * A family's header is written with its first sample: one without samples does not appear. The
 * samples of a family stand together, so each family is begun once. A unit has to be the ending of
 * the name ("bytes" of jvm_native_memory_committed_bytes), "" where there is none. Label values
 * are untrusted text (reports/text/escape.h): what is unsafe becomes visible, then the format's
 * own quoting follows. Running out of memory is reported once, by exposition_end.
 *
 * Ownership: the text belongs to the struct. One thread. */
#pragma once

#include "analyzers/model/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exposition_format { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS };
enum exposition_type { EXPOSITION_GAUGE, EXPOSITION_COUNTER, EXPOSITION_SUMMARY, EXPOSITION_INFO };

/* For the header Content-Type. */
const char *exposition_content_type(enum exposition_format format);

struct exposition {
    enum exposition_format format;
    char *text;
    size_t length, capacity;
    bool failed; /* out of memory: the text is of no use */
    int64_t samples;

    enum exposition_type type;
    const char *name; /* of the family, with the three below; borrowed until the next family */
    const char *unit, *help;
    bool header_written;
    char labels[1024]; /* of the next sample: key="value",key="value" */
    size_t labels_length;
    double created_s; /* of the next sample; 0: not known */
    int64_t unix_ms;  /* of all samples until it changes; 0: none */
};

void exposition_family(struct exposition *out, const char *name, enum exposition_type type,
                       const char *unit, const char *help);
/* Labels of the next sample. One that finds no room is left out whole. */
void exposition_label(struct exposition *out, const char *key, const char *value);
/* When the next counter or summary began, seconds since the epoch; written by OpenMetrics only. */
void exposition_created(struct exposition *out, double unix_s);

/* When samples from now on were taken, milliseconds since the epoch; 0: now. */
void exposition_timestamp(struct exposition *out, int64_t unix_ms);

/* Each ends a sample. */
void exposition_int(struct exposition *out, int64_t value);
void exposition_real(struct exposition *out, double value);
void exposition_summary(struct exposition *out, double sum, int64_t count);
void exposition_info(struct exposition *out); /* its labels are what it says */

/* Ends the text (OpenMetrics: "# EOF") and returns it, NUL-terminated; NULL when memory ran out. */
const char *exposition_end(struct exposition *out, size_t *length);
void exposition_free(struct exposition *out);

/* sample_metrics: the values of one sample as metrics, by the same names in `serve` and in exports.
 *
 * A family is a metric's name; a series is a family with one set of labels: "pool" of memory pools and of
 * categories of NMT, "generation" of garbage collections. Any thread. */
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
