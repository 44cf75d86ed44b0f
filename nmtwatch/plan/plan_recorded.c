#include "nmtwatch/plan/plan_recorded.h"

#include "analyzers/trend/verdict.h"
#include "nmtwatch/record/reader.h"

#include <stdio.h>

/* A JVM that starts loads hundreds of classes from its archive, which cost it nothing. */
#define STARTUP_MS 10000

struct reading {
    struct plan_look first, last;
    bool settled, have_last;
    int64_t first_ms, last_ms;
    int64_t uptime_ms;             /* of the JVM when the recording began */
    struct verdict_series *series; /* of all that NMT counts */
};

/* A tick has what was asked for then; what was asked before still holds. */
static void carry(struct sample *into, const struct sample *from)
{
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        int64_t value;
        if (sample_get(from, (enum sample_field)i, &value))
            sample_set(into, (enum sample_field)i, value);
    }
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct nmt_amount amount;
        if (sample_get_nmt(from, (enum nmt_category)i, &amount))
            sample_set_nmt(into, (enum nmt_category)i, amount);
    }
}

static bool take(struct reading *reading, const struct event *event)
{
    int64_t bytes = VERDICT_MISSING, classes = VERDICT_MISSING;
    if (event->kind != EVENT_SAMPLE)
        return true;
    carry(&reading->last.sample, &event->sample);
    if (!sample_has_nmt(&event->sample))
        return true;
    reading->have_last = true;
    reading->last_ms = event->ms;
    if (!reading->settled) {
        int64_t uptime_ms = reading->uptime_ms + event->ms;
        sample_get(&reading->last.sample, SAMPLE_UPTIME_MS, &uptime_ms);
        reading->first = reading->last;
        reading->first_ms = event->ms;
        reading->settled = uptime_ms >= STARTUP_MS;
    }
    sample_get(&event->sample, SAMPLE_NMT_COMMITTED_BYTES, &bytes);
    sample_get(&reading->last.sample, SAMPLE_CLASSES_LOADED, &classes);
    return verdict_feed(reading->series, event->ms, bytes, classes);
}

static void judge(const struct reading *reading, struct plan_measured *measured)
{
    struct verdict verdict;
    verdict_ask(reading->series, &verdict);
    measured->judged = verdict.answer != VERDICT_UNDECIDED;
    measured->growing = verdict.answer == VERDICT_GROWING;
    if (verdict.have_slope)
        measured->growth_bytes_per_s = verdict.slope_bytes_per_h.value / 3600.0;
    snprintf(measured->growth_sentence, sizeof measured->growth_sentence, "%s", verdict.sentence);
}

bool plan_recorded(struct plan_measured *measured, struct target_identity *identity,
                   const char *path, char *damage, size_t damage_size, char *error,
                   size_t error_size)
{
    struct verdict_options options;
    struct event event;
    struct recording *recording = recording_open(path, error, error_size);
    if (recording == NULL)
        return false;
    verdict_options_default(&options);
    struct reading reading = {.series = verdict_create(&options)};
    const struct recording_header *header = recording_header(recording);
    reading.first.shared_classes = reading.last.shared_classes = -1;
    reading.first.arenas = reading.last.arenas = -1;
    reading.uptime_ms = header->target.uptime_ms;
    sample_clear(&reading.last.sample);
    bool good = reading.series != NULL;
    while (good && recording_next(recording, &event))
        good = take(&reading, &event);
    *identity = header->target;
    damage[0] = '\0';
    if (recording_damage(recording) != NULL)
        snprintf(damage, damage_size, "%s", recording_damage(recording));
    recording_close(recording);
    if (!good)
        snprintf(error, error_size, "%s: out of memory", path);
    else if (!reading.have_last)
        snprintf(error, error_size, "%s: no NMT summary in it%s%s", path,
                 damage[0] != '\0' ? "; " : "", damage);
    if (good && reading.have_last) {
        plan_measure(measured, &reading.first, &reading.last,
                     (double)(reading.last_ms - reading.first_ms) / 1000.0);
        judge(&reading, measured);
    }
    if (reading.series != NULL)
        verdict_destroy(reading.series);
    return good && reading.have_last;
}
