/* Class loaders of one type that multiply: redeploys that leak, plug-ins, a loader per script. */
#include "analyzers/judge/judge_internal.h"

#include <inttypes.h>
#include <stdio.h>

static struct loader_track *loader_of(struct judge *judge, const char *type)
{
    for (int i = 0; i < judge->loader_count; i++) {
        if (strcmp(judge->loaders[i].type, type) == 0)
            return &judge->loaders[i];
    }
    if (judge->loader_count == LOADER_TYPES_MAX)
        return NULL;
    struct loader_track *track = &judge->loaders[judge->loader_count++];
    memset(track, 0, sizeof *track);
    snprintf(track->type, sizeof track->type, "%s", type);
    for (size_t i = 0; i < sizeof track->recent / sizeof *track->recent; i++)
        track->recent[i] = -1;
    return track;
}

/* What a GC between two censuses cannot explain: the smallest of the last three. */
static int64_t floor_of(const struct loader_track *track)
{
    int64_t floor = track->recent[0];
    for (size_t i = 1; i < sizeof track->recent / sizeof *track->recent; i++) {
        if (track->recent[i] < floor)
            floor = track->recent[i];
    }
    return floor; /* -1 until three censuses were taken */
}

static void judge_type(struct judge *judge, const struct loader_track *track)
{
    int64_t floor = floor_of(track);
    int64_t threshold = judge_threshold(judge, TH_LOADER_GROWTH_COUNT);
    struct episode *episode = judge_episode(judge, FINDING_LOADER_GROWTH, track->type);
    if (episode != NULL) {
        judge_hold(judge, episode,
                   floor - track->baseline < judge_clear_level(judge, TH_LOADER_GROWTH_COUNT));
        return;
    }
    bool rising = track->recent[0] > track->recent[1] && track->recent[1] > track->recent[2];
    if (floor < 2 * track->baseline || floor - track->baseline < threshold || !rising ||
        judge_episode_of_kind(judge, FINDING_CLASS_CHURN))
        return;
    struct finding finding;
    finding_init(&finding, &judge->texts, FINDING_LOADER_GROWTH);
    finding_title(&finding, "%s: %" PRId64 " of %.150s, %" PRId64 " at the baseline",
                  finding_row(finding.kind)->title, track->recent[0], track->type, track->baseline);
    finding_add_text(&finding, "loader_type", track->type);
    finding_add_int(&finding, "loaders", track->recent[0]);
    finding_add_int(&finding, "baseline_loaders", track->baseline);
    judge_raise(judge, &finding, track->type, judge->baseline_ms >= 0 ? judge->baseline_ms : 0);
}

void judge_loaders(struct judge *judge, const struct loaders_event *loaders)
{
    bool baseline = !judge->loaders_have_baseline;
    judge->loaders_have_baseline = true;
    for (int i = 0; i < loaders->row_count; i++) {
        const struct loader_row *row = &loaders->rows[i];
        struct loader_track *track = loader_of(judge, row->type);
        if (track == NULL)
            continue;
        memmove(track->recent + 1, track->recent, sizeof track->recent - sizeof *track->recent);
        track->recent[0] = judge_value(row->loaders);
        if (baseline)
            track->baseline = track->recent[0];
        judge_type(judge, track);
    }
}
