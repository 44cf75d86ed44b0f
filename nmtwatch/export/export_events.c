#include "nmtwatch/export/export_events.h"

#include "nmtwatch/jfr/history_jfr.h"
#include "nmtwatch/process/files.h"
#include "reports/metrics/exposition.h"
#include "reports/metrics/sample_csv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* --- OpenMetrics ------------------------------------------------------------------------------ */

/* Samples of a series have to stand together: each has a temporary file, until the end. */
#define SERIES_MAX  256
#define SPOOL_BYTES 65536

struct series {
    int family;
    char label[64];
    struct exposition text;
    FILE *spool;
};
struct metrics {
    struct series series[SERIES_MAX];
    int count, family; /* the one being written */
    int64_t unix_ms;
    char target[EVENT_NAME_MAX + 32];
    bool failed; /* errno */
};

static struct exposition *series_of(void *context, const char *label)
{
    struct metrics *metrics = context;
    bool first = true;
    for (int i = 0; i < metrics->count; i++) {
        struct series *series = &metrics->series[i];
        if (series->family != metrics->family)
            continue;
        first = false;
        if (strcmp(series->label, label) == 0) {
            exposition_timestamp(&series->text, metrics->unix_ms);
            return &series->text;
        }
    }
    if (metrics->count == SERIES_MAX) {
        errno = E2BIG;
        metrics->failed = true;
        return NULL;
    }
    struct series *series = &metrics->series[metrics->count++];
    series->family = metrics->family;
    snprintf(series->label, sizeof series->label, "%s", label);
    series->text.format = EXPOSITION_OPENMETRICS;
    sample_metrics_family(&series->text, metrics->family);
    series->text.header_written = !first;
    exposition_timestamp(&series->text, metrics->unix_ms);
    series->spool = tmpfile();
    metrics->failed |= series->spool == NULL;
    return &series->text;
}

static bool spool(struct series *series)
{
    struct exposition *text = &series->text;
    bool good = !text->failed && series->spool != NULL &&
                fwrite(text->text, 1, text->length, series->spool) == text->length;
    text->length = 0;
    return good;
}

static bool metrics_sample(struct metrics *metrics, int64_t unix_ms, const struct sample *sample)
{
    const struct sample_source source = {.target = metrics->target};
    metrics->unix_ms = unix_ms;
    for (int i = 0; i >= 0; i = sample_metrics_next(i)) {
        metrics->family = i;
        sample_metrics_write(i, sample, &source, series_of, metrics);
    }
    for (int i = 0; i < metrics->count; i++)
        if (metrics->series[i].text.length > SPOOL_BYTES)
            metrics->failed |= !spool(&metrics->series[i]);
    return !metrics->failed;
}

static bool unspool(struct series *series, int fd)
{
    return spool(series) && fflush(series->spool) == 0 &&
           lseek(fileno(series->spool), 0, SEEK_SET) == 0 && copy_all(fileno(series->spool), fd);
}

static bool metrics_end(struct metrics *metrics, int fd)
{
    static const char eof[] = "# EOF\n";
    bool good = true;
    for (int family = 0; family >= 0; family = sample_metrics_next(family)) {
        for (int i = 0; i < metrics->count && good; i++)
            if (metrics->series[i].family == family)
                good = unspool(&metrics->series[i], fd);
    }
    return good && write_all(fd, eof, sizeof eof - 1);
}

static void metrics_free(struct metrics *metrics)
{
    int error = errno;
    for (int i = 0; i < metrics->count; i++) {
        exposition_free(&metrics->series[i].text);
        if (metrics->series[i].spool != NULL)
            fclose(metrics->series[i].spool);
    }
    free(metrics);
    errno = error;
}

/* --- the recording ---------------------------------------------------------------------------- */

static bool to_jfr(struct replay *replay, int fd, const struct export_how *how)
{
    const struct recording_header *header = replay->header;
    struct history_jfr *history =
        history_jfr_create(fd, &header->target, header->wall_start_ms, how->profile_follows);
    if (history == NULL)
        return false;
    bool good = true;
    while (good && replay_next(replay)) {
        good = history_jfr_event(history, &replay->event);
        for (int i = 0; i < replay->alerts.count && good; i++)
            good = history_jfr_alert(history, &replay->alerts.alert[i]);
    }
    return history_jfr_end(history) && good;
}

static bool to_openmetrics(struct replay *replay, int fd, const struct export_how *how)
{
    const struct recording_header *header = replay->header;
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL)
        return false;
    snprintf(metrics->target, sizeof metrics->target, "%s",
             how->target != NULL              ? how->target
             : header->target.main[0] != '\0' ? header->target.main
                                              : "unknown");
    bool good = true;
    while (good && replay_next(replay)) {
        if (replay->event.kind == EVENT_SAMPLE)
            good = metrics_sample(metrics, header->wall_start_ms + replay->event.ms,
                                  &replay->event.sample);
    }
    good = good && metrics_end(metrics, fd);
    metrics_free(metrics);
    return good;
}

static bool to_csv(struct replay *replay, int fd, const struct export_how *how)
{
    int copy = dup(fd);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (out == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    if (how->histograms)
        csv_histogram_head(out);
    else
        csv_sample_head(out);
    while (replay_next(replay) && !ferror(out)) {
        const struct event *event = &replay->event;
        int64_t unix_ms = replay->header->wall_start_ms + event->ms;
        if (event->kind == EVENT_SAMPLE && !how->histograms)
            csv_sample_row(out, unix_ms, event->ms, &event->sample);
        else if (event->kind == EVENT_HISTOGRAM && how->histograms)
            csv_histogram_rows(out, unix_ms, event->ms, &event->histogram);
    }
    bool good = !ferror(out);
    return fclose(out) == 0 && good;
}

bool export_events(struct replay *replay, enum export_format format, int fd,
                   const struct export_how *how, char *error, size_t size)
{
    static bool (*const writers[])(struct replay *, int, const struct export_how *) = {
        [EXPORT_JFR] = to_jfr, [EXPORT_OPENMETRICS] = to_openmetrics, [EXPORT_CSV] = to_csv};
    error[0] = '\0';
    errno = ENOMEM;
    bool good = writers[format](replay, fd, how);
    int failure = errno;
    const char *damage = recording_damage(replay->recording);
    if (!good)
        snprintf(error, size, "%s", strerror(failure));
    else if (damage != NULL)
        snprintf(error, size, "%s", damage);
    errno = failure;
    return good;
}
