/* Episodes: raised once, held while the figure stays up, cleared once. */
#include "analyzers/judge/judge_internal.h"

#include <stdio.h>

int64_t judge_threshold(const struct judge *judge, enum threshold which)
{
    return judge->thresholds.value[which];
}

int64_t judge_clear_level(const struct judge *judge, enum threshold which)
{
    /* Divide first: a threshold may be large enough for the product to overflow. */
    return judge->thresholds.value[which] / 100 * judge->thresholds.value[TH_CLEAR_PERCENT];
}

struct episode *judge_episode(struct judge *judge, enum finding_kind kind, const char *subject)
{
    for (int i = 0; i < judge->episode_count; i++) {
        struct episode *episode = &judge->episodes[i];
        if (episode->active && episode->kind == kind && strcmp(episode->subject, subject) == 0)
            return episode;
    }
    return NULL;
}

bool judge_episode_of_kind(const struct judge *judge, enum finding_kind kind)
{
    for (int i = 0; i < judge->episode_count; i++) {
        if (judge->episodes[i].active && judge->episodes[i].kind == kind)
            return true;
    }
    return false;
}

static void announce(struct judge *judge, enum alert_state state, int64_t started_ms,
                     const struct finding *finding)
{
    struct alerts *alerts = judge->alerts;
    if (alerts == NULL || alerts->count == JUDGE_ALERTS_MAX)
        return;
    struct alert *alert = &alerts->alert[alerts->count++];
    *alert = (struct alert){.state = state, .ms = judge->now_ms, .started_ms = started_ms};
    /* The episode may be another one before the event is through. */
    finding_copy(&alert->finding, &judge->texts, finding);
}

void judge_raise(struct judge *judge, const struct finding *finding, const char *subject,
                 int64_t started_ms)
{
    struct episode *episode = judge_episode(judge, finding->kind, subject);
    if (episode != NULL) {
        episode->below_since_ms = -1;
        return;
    }
    for (int i = 0; i < judge->episode_count && episode == NULL; i++) {
        if (!judge->episodes[i].active)
            episode = &judge->episodes[i];
    }
    if (episode == NULL) {
        if (judge->episode_count == EPISODES_MAX)
            return;
        episode = &judge->episodes[judge->episode_count++];
    }
    episode->active = true;
    episode->kind = finding->kind;
    episode->raised_ms = started_ms;
    episode->below_since_ms = -1;
    texts_free(&episode->texts);
    finding_copy(&episode->finding, &episode->texts, finding);
    snprintf(episode->subject, sizeof episode->subject, "%s", subject);
    judge->worst_ever = MAX(judge->worst_ever, finding->severity);
    announce(judge, ALERT_RAISED, started_ms, finding);
}

void judge_clear(struct judge *judge, struct episode *episode)
{
    episode->active = false;
    announce(judge, ALERT_CLEARED, episode->raised_ms, &episode->finding);
}

void judge_hold(struct judge *judge, struct episode *episode, bool below)
{
    if (!below) {
        episode->below_since_ms = -1;
        return;
    }
    if (episode->below_since_ms < 0)
        episode->below_since_ms = judge->now_ms;
    if (judge->now_ms - episode->below_since_ms >= judge_threshold(judge, TH_CLEAR_AFTER_S) * 1000)
        judge_clear(judge, episode);
}

bool judge_is_up(struct judge *judge, enum finding_kind kind, const char *subject, bool below)
{
    struct episode *episode = judge_episode(judge, kind, subject);
    if (episode != NULL)
        judge_hold(judge, episode, below);
    return episode != NULL;
}
