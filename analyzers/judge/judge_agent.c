/* The agent's circuit breaker: an alert for each step it takes; they clear when it begins anew. */
#include "analyzers/judge/agent_shedding.h"
#include "analyzers/judge/judge_internal.h"

void judge_agent_sample(struct judge *judge, const struct sample *sample)
{
    if (!sample_has(sample, SAMPLE_AGENT_BREAKER) &&
        !judge_episode_of_kind(judge, FINDING_AGENT_SHEDDING))
        return;
    int step = agent_breaker_step(sample);
    for (int i = 1; i <= AGENT_BREAKER_STEPS; i++) {
        struct episode *episode =
            judge_episode(judge, FINDING_AGENT_SHEDDING, agent_breaker_step_name(i));
        if (episode != NULL)
            judge_hold(judge, episode, step < i);
    }
    if (step == 0 ||
        judge_episode(judge, FINDING_AGENT_SHEDDING, agent_breaker_step_name(step)) != NULL)
        return;
    struct finding finding;
    agent_shedding_finding(sample, &judge->texts, &finding);
    judge_raise(judge, &finding, agent_breaker_step_name(step), judge->now_ms);
}
