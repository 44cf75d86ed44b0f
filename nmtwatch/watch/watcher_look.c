/* What costs the target nothing: its counters in hsperfdata, /proc, and the agent's figures. */
#include "nmtwatch/jvm/agent_figures.h"
#include "nmtwatch/watch/watcher_internal.h"

#define IDENTITY_RETRY_MS 1000

/* A JVM that has just started has no hsperfdata yet, and so no name and no version. */
static void complete_identity(struct watcher *watcher)
{
    if (watcher->perfdata != NULL || watcher->now_ms < watcher->next_identity_ms)
        return;
    watcher->next_identity_ms = watcher->now_ms + IDENTITY_RETRY_MS;
    target_refresh_identity(&watcher->target);
    if (watcher->target.perfdata[0] != '\0')
        watcher->perfdata = perfdata_open(&watcher->target);
}

/* Its own words, at each step: what the alert's figures do not say. */
static void tell_why_the_agent_gave_way(struct watcher *watcher, const struct sample *sample)
{
    char reason[200];
    int64_t step, before = 0;
    sample_get(&watcher->picture, SAMPLE_AGENT_BREAKER, &before);
    if (sample_get(sample, SAMPLE_AGENT_BREAKER, &step) && step > before &&
        agent_figures_reason(&watcher->target, reason, sizeof reason))
        watcher_note(watcher, "the profiler agent says: %s", reason);
}

bool watcher_look(struct watcher *watcher, struct sample *sample)
{
    sample_clear(sample);
    if (!proc_sample(&watcher->proc, sample))
        return false;
    complete_identity(watcher);
    if (watcher->perfdata != NULL && !perfdata_sample(watcher->perfdata, sample)) {
        perfdata_close(watcher->perfdata);
        watcher->perfdata = NULL;
        watcher->target.perfdata[0] = '\0';
    }
    agent_figures_sample(&watcher->target, sample);
    tell_why_the_agent_gave_way(watcher, sample);
    return true;
}
