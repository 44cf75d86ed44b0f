#include "nmtwatch/plan/plan_live.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/jvm/agent_figures.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/memory_limit.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/profile/agent_call.h"
#include "analyzers/model/memory_reply.h"

#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void look_without_asking(struct plan_look *look, const struct target *target)
{
    struct proc proc;
    if (proc_open(&proc, target) == 0) {
        proc_sample(&proc, &look->sample);
        proc_close(&proc);
    }
    struct perfdata *perfdata = perfdata_open(target);
    if (perfdata == NULL)
        return;
    perfdata_sample(perfdata, &look->sample);
    int64_t shared;
    if (perfdata_number(perfdata, "java.cls.sharedLoadedClasses", &shared))
        look->shared_classes = shared;
    perfdata_close(perfdata);
}

static enum failure_kind look(struct plan_look *out, const struct target *target,
                              struct attach *attach, struct failure *failure)
{
    struct span reply;
    struct memory_reading reading;
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    sample_clear(&out->sample);
    out->shared_classes = out->arenas = -1;
    if (attach_run(attach, memory_reply_command(target->identity.jdk_major, true), &reply,
                   failure) != FAILURE_NONE)
        return failure->kind;
    memory_reply_read(reply, true, &out->sample, &reading);
    out->arenas = reading.arenas;
    if (reading.result == MEMORY_NMT_OFF)
        return failure_set(failure, FAILURE_NMT_OFF, who, NULL);
    if (reading.result == MEMORY_MALFORMED)
        return failure_set(failure, FAILURE_BAD_REPLY, who, reading.problem);
    /* Counters and memory of one moment, as near as may be: classes come meanwhile. */
    look_without_asking(out, target);
    return FAILURE_NONE;
}

static bool names_contain(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(names, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static enum plan_component component_of(const char *name)
{
    enum plan_component rest = PLAN_COMPONENT_COUNT;
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
        const char *names = plan_component_row((enum plan_component)i)->names;
        if (names == NULL)
            rest = (enum plan_component)i;
        else if (names_contain(names, name))
            return (enum plan_component)i;
    }
    return rest;
}

bool plan_live_components(const char *json, struct plan_measured *measured)
{
    json_t *answer = json_loads(json, 0, NULL), *entry;
    json_t *components = json_object_get(answer, "components");
    size_t i;
    json_array_foreach(components, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        json_t *bytes = json_object_get(entry, "resident_bytes");
        if (name == NULL || !json_is_integer(bytes) || json_integer_value(bytes) < 0)
            continue;
        int64_t *into = &measured->component_bytes[component_of(name)];
        *into = (*into > 0 ? *into : 0) + json_integer_value(bytes);
    }
    json_t *ids = json_object_get(json_object_get(answer, "jvm"), "jmethod_ids");
    json_t *present = json_object_get(ids, "present_bytes");
    if (json_is_integer(present))
        measured->component_bytes[PLAN_PART_JMETHOD_IDS] = json_integer_value(present);
    bool whole = json_is_array(components) && json_array_size(components) > 0;
    json_decref(answer);
    return whole;
}

/* An agent that is there and does not answer is passed over: the plan has its formulas. */
static void ask_agent(struct plan_measured *measured, const struct target *target)
{
    struct agent_session session;
    struct failure failure;
    struct sample sample;
    char *answer;
    sample_clear(&sample);
    agent_figures_sample(target, &sample);
    if (!sample_has(&sample, SAMPLE_AGENT_RESIDENT_BYTES) ||
        agent_session_open(&session, target, AGENT_MEMORY, NULL, &failure) != FAILURE_NONE)
        return;
    if (agent_call(&session, "memory", &answer, &failure) == FAILURE_NONE) {
        plan_live_components(answer, measured);
        free(answer);
    }
    agent_session_close(&session);
}

enum failure_kind plan_live(struct plan_measured *measured, const struct target *target,
                            int64_t between_ms, int timeout_ms, struct failure *failure)
{
    struct plan_look first, last;
    struct attach_limits limits = {.timeout_ms = timeout_ms};
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return failure_set(failure, FAILURE_SYSTEM, "attach", "out of memory");
    double began = (double)clock_us(CLOCK_MONOTONIC) / 1e6;
    enum failure_kind kind = look(&first, target, attach, failure);
    double span = 0.0;
    if (kind == FAILURE_NONE && between_ms > 0) {
        poll(NULL, 0, between_ms > INT_MAX ? INT_MAX : (int)between_ms);
        span = (double)clock_us(CLOCK_MONOTONIC) / 1e6 - began;
        kind = look(&last, target, attach, failure);
    } else {
        last = first;
    }
    attach_destroy(attach);
    if (kind != FAILURE_NONE)
        return kind;
    plan_measure(measured, span > 0.0 ? &first : NULL, &last, span);
    measured->limit_bytes = memory_limit(target->pid);
    ask_agent(measured, target);
    return FAILURE_NONE;
}
