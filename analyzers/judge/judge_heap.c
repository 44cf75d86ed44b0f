/* Which classes of objects only ever grow: a verdict for the bytes of each (analyzers/trend), from
 * histograms of the heap. Histograms hold garbage as well. Until a GC has run everything that was
 * allocated is there: a histogram without a GC since the one before says nothing. Until an old
 * collection has run, what grows may be garbage that was promoted: the finding says so, and is no warning.
 * A verdict knows of it two histograms later: until then values that fall may be wild ones. */
#include "analyzers/judge/judge_internal.h"

#include "analyzers/classes/family.h"
#include "analyzers/classes/heap_census.h"
#include "analyzers/trend/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MB             1048576.0
#define VERDICT_BEHIND (DESPIKE_WIDTH / 2) /* points */

static bool is_of(const struct heap_track *track, const struct histogram_class *row)
{
    return strcmp(track->name, row->name) == 0 && strcmp(track->family, row->family) == 0;
}

/* A place for a class that is new: of those that this histogram does not show the one with the
 * least growth gives up its place. */
static struct heap_track *place_for(struct judge *judge, const struct histogram_class *row)
{
    struct heap_track *place = NULL;
    if (judge->heap_count < HEAP_TRACKS_MAX) {
        place = &judge->heap[judge->heap_count++];
    } else {
        for (int i = 0; i < judge->heap_count; i++) {
            struct heap_track *track = &judge->heap[i];
            if (track->seen_ms < judge->now_ms && !track->watched.alarm.active &&
                (place == NULL || track->growth_bytes < place->growth_bytes))
                place = track;
        }
        if (place == NULL)
            return NULL;
        verdict_destroy(place->watched.series);
    }
    *place = (struct heap_track){0};
    snprintf(place->name, sizeof place->name, "%s", row->name);
    snprintf(place->family, sizeof place->family, "%s", row->family);
    struct verdict_options options;
    verdict_options_default(&options);
    options.sparse = true;
    if (!judge_watched_create(&place->watched, &options)) {
        *place = judge->heap[--judge->heap_count];
        return NULL;
    }
    return place;
}

static struct heap_track *track_of(struct judge *judge, const struct histogram_class *row)
{
    for (int i = 0; i < judge->heap_count; i++) {
        if (is_of(&judge->heap[i], row))
            return &judge->heap[i];
    }
    if (judge->heap == NULL)
        judge->heap = calloc(HEAP_TRACKS_MAX, sizeof *judge->heap);
    if (judge->heap == NULL || (row->bytes_growth <= 0 &&
                                judge_episode(judge, FINDING_HEAP_CLASS_GROWTH, row->name) == NULL))
        return NULL;
    return place_for(judge, row);
}

/* Old collections that its growth has outlived; -1: not counted. */
static int64_t outlived(const struct judge *judge, const struct heap_track *track)
{
    const struct heap_moment *moments = judge->heap_moment;
    int64_t last = judge->heap_moments - 1 - VERDICT_BEHIND, at = last;
    int64_t oldest = judge->heap_moments > HEAP_MOMENTS ? judge->heap_moments - HEAP_MOMENTS : 0;
    if (judge->gc_old < 0)
        return -1;
    while (at > oldest && moments[at % HEAP_MOMENTS].ms > track->watched.verdict.from_ms)
        at--;
    return at < 0 ? 0 : moments[last % HEAP_MOMENTS].gc_old - moments[at % HEAP_MOMENTS].gc_old;
}

static bool is_confirmed(const struct judge *judge, const struct heap_track *track)
{
    return outlived(judge, track) != 0;
}

/* More than all others that grow: more than fillers can. */
static bool outgrows_others(const struct judge *judge, const struct heap_track *track)
{
    double others = 0;
    for (int i = 0; i < judge->heap_count; i++) {
        const struct heap_track *other = &judge->heap[i];
        if (other != track && other->seen_ms == judge->now_ms &&
            other->watched.verdict.answer == VERDICT_GROWING)
            others += other->watched.verdict.slope_bytes_per_h.value;
    }
    return track->watched.verdict.slope_bytes_per_h.value > others;
}

static void raise(struct judge *judge, const struct heap_track *track,
                  const struct histogram_class *row)
{
    const struct verdict *verdict = &track->watched.verdict;
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    const struct family *family = family_by_id(row->family);
    int64_t span_s = (verdict->to_ms - verdict->from_ms) / 1000;
    bool confirmed = is_confirmed(judge, track);
    struct finding finding = finding_begin(&judge->texts, FINDING_HEAP_CLASS_GROWTH);
    if (!confirmed)
        finding.severity = SEVERITY_INFO;
    finding_family(&finding, row->family);
    finding_title(&finding,
                  "objects of %.150s keep growing: %+.1f MB/h (95 %% interval %.1f to %.1f) over "
                  "%" PRId64 " min, now %s with %s: %s%s",
                  row->name, slope->value / MB, slope->low / MB, slope->high / MB, span_s / 60,
                  units_count(row->instances).text, units_bytes(row->bytes).text,
                  verdict_state_meaning(verdict->state),
                  confirmed ? "" : "; no old collection in that time: some of it may be garbage");
    if (family != NULL)
        finding_advice(&finding, "Instances of generated classes (%.60s) are kept. %s",
                       family->producer, family->fix);
    finding_add_text(&finding, "class", row->name);
    finding_add_int(&finding, "classes", row->classes);
    finding_add_int(&finding, "instances", row->instances);
    finding_add_int(&finding, "instances_growth", row->instances_growth);
    finding_add_int(&finding, "bytes", row->bytes);
    finding_add_int(&finding, "growth_bytes", row->bytes_growth);
    finding_add_text(&finding, "state", verdict_state_name(verdict->state));
    finding_add_int(&finding, "slope_bytes_per_h", (int64_t)slope->value);
    finding_add_int(&finding, "slope_low_bytes_per_h", (int64_t)slope->low);
    finding_add_int(&finding, "slope_high_bytes_per_h", (int64_t)slope->high);
    finding_add_int(&finding, "span_s", span_s);
    finding_add_int(&finding, "histograms", verdict->points);
    if (judge->gc_old >= 0)
        finding_add_int(&finding, "old_collections", outlived(judge, track));
    finding_add_int(&finding, "threshold_bytes", judge_threshold(judge, TH_HEAP_CLASS_BYTES));
    finding_add_text(&finding, "producer", family != NULL ? family->producer : "");
    judge_raise(judge, &finding, row->name, verdict->from_ms);
}

/* What is certain of its growth over the segment. */
static bool is_relevant(const struct judge *judge, const struct verdict *verdict)
{
    double hours = (double)(verdict->to_ms - verdict->from_ms) / 3600000;
    return verdict->answer == VERDICT_GROWING &&
           verdict->slope_bytes_per_h.low * hours >
               (double)judge_threshold(judge, TH_HEAP_CLASS_BYTES);
}

/* Each histogram costs a pause: they are rare, and each gets a verdict. */
static void follow(struct judge *judge, struct heap_track *track, const struct histogram_class *row)
{
    struct growth_alarm *alarm = &track->watched.alarm;
    judge_watched_add(judge, &track->watched, row->bytes);
    struct episode *episode = judge_episode(judge, FINDING_HEAP_CLASS_GROWTH, row->name);
    bool grows =
        alarm->active && judge->baseline_ms >= 0 && is_relevant(judge, &track->watched.verdict);
    bool over = !alarm->active && alarm->seen >= alarm->of;
    if (episode != NULL && !over &&
        (!grows || episode->finding.severity != SEVERITY_INFO || !is_confirmed(judge, track)))
        return;
    if (episode != NULL)
        judge_clear(judge, episode); /* it is over, or raised again as what it turned out to be */
    if (grows && heap_class_may_be_filler(judge->identity.jdk_major, row->name))
        grows = is_confirmed(judge, track) && outgrows_others(judge, track);
    if (grows)
        raise(judge, track, row);
}

/* False when no GC has run since the last histogram that was judged. */
static bool take_collections(struct judge *judge)
{
    if (judge->gc_young < 0)
        return true;
    int64_t collections = judge->gc_young + (judge->gc_old > 0 ? judge->gc_old : 0);
    bool ran = judge->heap_moments == 0 || collections != judge->heap_collections;
    judge->heap_collections = collections;
    return ran;
}

void judge_heap(struct judge *judge, const struct histogram_event *histogram)
{
    bool ran = take_collections(judge);
    if (ran)
        judge->heap_moment[judge->heap_moments++ % HEAP_MOMENTS] =
            (struct heap_moment){judge->now_ms, judge->gc_old};
    struct histogram_class fillers = {0};
    struct heap_track *filler_track = NULL;
    for (int i = 0; i < histogram->row_count; i++) {
        struct histogram_class row = histogram->rows[i];
        struct heap_track *track = track_of(judge, &row);
        if (track == NULL)
            continue;
        row.bytes = judge_value(row.bytes);
        track->seen_ms = judge->now_ms;
        track->growth_bytes = row.bytes_growth;
        if (heap_class_may_be_filler(judge->identity.jdk_major, row.name)) {
            fillers = row;
            filler_track = track;
        } else if (ran) {
            follow(judge, track, &row);
        }
    }
    if (ran && filler_track != NULL) /* after those it is compared with */
        follow(judge, filler_track, &fillers);
    /* A class with an alert that is no longer among the rows has shrunk. */
    for (int i = 0; i < judge->heap_count; i++) {
        struct heap_track *track = &judge->heap[i];
        struct histogram_class none = {0};
        memcpy(none.name, track->name, sizeof none.name);
        if (ran && track->seen_ms < judge->now_ms &&
            judge_episode(judge, FINDING_HEAP_CLASS_GROWTH, none.name) != NULL)
            follow(judge, track, &none);
    }
}

void judge_heap_destroy(struct judge *judge)
{
    for (int i = 0; i < judge->heap_count; i++)
        verdict_destroy(judge->heap[i].watched.series);
    free(judge->heap);
}
