#include "analyzers/judge/agent_shedding.h"

#include <stdio.h>

#define MB 1048576.0

static const struct {
    const char *name, *sentence;
} STEPS[AGENT_BREAKER_STEPS + 1] = {
    {"normal", ""},
    {"warned", "the profiler agent warns of what it costs"},
    {"shedding",
     "the profiler agent reduces collection: no further jmethodIDs, smaller tables, no allocation "
     "and class profiles"},
    {"silent", "the profiler agent has switched its samples off"},
    {"stopped", "the profiler agent has stopped itself"},
};

const char *agent_breaker_step_name(int step)
{
    return STEPS[step].name;
}

int agent_breaker_step(const struct sample *sample)
{
    int64_t step;
    if (!sample_get(sample, SAMPLE_AGENT_BREAKER, &step) || step < 0)
        return 0;
    return step < AGENT_BREAKER_STEPS ? (int)step : AGENT_BREAKER_STEPS;
}

void agent_shedding_finding(const struct sample *sample, struct texts *texts,
                            struct finding *finding)
{
    static const struct {
        enum sample_field field;
        const char *key;
    } FIGURES[] = {
        {SAMPLE_AGENT_RESERVED_BYTES, "agent_reserved_bytes"},
        {SAMPLE_AGENT_RESIDENT_BYTES, "agent_resident_bytes"},
        {SAMPLE_AGENT_JMETHOD_ID_BYTES, "agent_jmethod_id_bytes"},
    };
    int step = agent_breaker_step(sample);
    int64_t resident = 0, ids = 0, value;
    sample_get(sample, SAMPLE_AGENT_RESIDENT_BYTES, &resident);
    sample_get(sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, &ids);
    finding_init(finding, texts, FINDING_AGENT_SHEDDING);
    finding_title(finding, "%s: it holds %.1f MB, the JVM %.1f MB of jmethodIDs for it",
                  STEPS[step].sentence, (double)resident / MB, (double)ids / MB);
    finding_add_text(finding, "step", STEPS[step].name);
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++)
        if (sample_get(sample, FIGURES[i].field, &value))
            finding_add_int(finding, FIGURES[i].key, value);
}
