#include "nmtwatch/plan/plan_sources.h"

#include "analyzers/model/memory_reply.h"
#include "analyzers/trend/verdict.h"
#include "nmtwatch/jvm/agent_files.h"
#include "nmtwatch/jvm/attach.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/perfdata.h"
#include "nmtwatch/observe/observe_child.h"
#include "nmtwatch/process/apart.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/profile/agent_call.h"
#include "nmtwatch/record/recording.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* --- plan recorded ---------------------------------------------------------------------------- */

/* A JVM that starts loads hundreds of classes from its archive, which cost it nothing. */
#define STARTUP_MS   10000
#define KEPT_MAX     64
/* 50 000 classes take 350 ms. */
#define COUNT_MAX_MS 15000

struct kept_sample {
    int64_t ms;
    struct plan_sample sample;
};

struct reading {
    struct plan_sample last;
    bool have_last;
    int64_t last_ms;
    int64_t uptime_ms; /* of the JVM when the recording began */
    /* Samples since the start-up, thinned to every n-th when they are too many. */
    int count, every, passed;
    struct kept_sample kept[KEPT_MAX];
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

static void keep(struct reading *reading, int64_t ms)
{
    if (reading->passed++ % reading->every != 0)
        return;
    if (reading->count == KEPT_MAX) {
        for (int i = 0; i < KEPT_MAX / 2; i++)
            reading->kept[i] = reading->kept[2 * i];
        reading->count = KEPT_MAX / 2;
        reading->every *= 2;
    }
    reading->kept[reading->count++] = (struct kept_sample){ms, reading->last};
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
    int64_t uptime_ms = reading->uptime_ms + event->ms;
    sample_get(&reading->last.sample, SAMPLE_UPTIME_MS, &uptime_ms);
    if (uptime_ms >= STARTUP_MS)
        keep(reading, event->ms);
    sample_get(&event->sample, SAMPLE_NMT_COMMITTED_BYTES, &bytes);
    sample_get(&reading->last.sample, SAMPLE_CLASSES_LOADED, &classes);
    return verdict_feed(reading->series, event->ms, bytes, classes);
}

/* Before the classes that come at the end come those of libraries, by which the former are made:
 * the later half of all that came speaks, when it is enough. */
static const struct kept_sample *first_kept(const struct reading *reading)
{
    if (reading->count == 0)
        return NULL;
    const struct kept_sample *first = &reading->kept[0];
    int64_t begin = plan_classes_alive(&first->sample.sample);
    int64_t end = plan_classes_alive(&reading->last.sample);
    for (int i = 1; i < reading->count; i++) {
        int64_t now = plan_classes_alive(&reading->kept[i].sample.sample);
        if (end - now >= (end - begin) / 4 && end - now >= PLAN_GROWTH_CLASSES_MIN)
            first = &reading->kept[i];
    }
    return first;
}

/* Rates are those of the second half. */
static const struct kept_sample *middle_kept(const struct reading *reading)
{
    int at = 0;
    int64_t from = reading->kept[0].ms;
    while (at + 1 < reading->count &&
           reading->kept[at + 1].ms - from <= (reading->last_ms - from) / 2)
        at++;
    return &reading->kept[at];
}

static void measure(const struct reading *reading, struct plan_measured *measured)
{
    const struct kept_sample *first = first_kept(reading);
    if (first == NULL) {
        plan_measure(measured, NULL, &reading->last, 0.0);
        return;
    }
    plan_measure(measured, &first->sample, &reading->last,
                 (double)(reading->last_ms - first->ms) / 1000.0);
    const struct kept_sample *middle = middle_kept(reading);
    plan_measure_rates(measured, &middle->sample, &reading->last,
                       (double)(reading->last_ms - middle->ms) / 1000.0);
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
    struct reading *reading = calloc(1, sizeof *reading);
    verdict_options_default(&options);
    bool good = reading != NULL && (reading->series = verdict_create(&options)) != NULL;
    const struct recording_header *header = recording_header(recording);
    if (good) {
        reading->last.shared_classes = reading->last.arenas = -1;
        reading->uptime_ms = header->target.uptime_ms;
        reading->every = 1;
        sample_clear(&reading->last.sample);
    }
    while (good && recording_next(recording, &event))
        good = take(reading, &event);
    *identity = header->target;
    damage[0] = '\0';
    if (recording_damage(recording) != NULL)
        snprintf(damage, damage_size, "%s", recording_damage(recording));
    recording_close(recording);
    bool useful = good && reading->have_last;
    if (!good)
        snprintf(error, error_size, "%s: out of memory", path);
    else if (!useful)
        snprintf(error, error_size, "%s: no NMT summary in it%s%s", path,
                 damage[0] != '\0' ? "; " : "", damage);
    if (useful) {
        measure(reading, measured);
        plan_measure_level(measured, identity->jdk_major, &reading->last.sample);
        judge(reading, measured);
    }
    if (reading != NULL && reading->series != NULL)
        verdict_destroy(reading->series);
    free(reading);
    return useful;
}

static void sample_without_asking(struct plan_sample *out, const struct target *target)
{
    sample_unasked(target, &out->sample);
    struct perfdata *perfdata = perfdata_open(target);
    int64_t shared;
    if (perfdata == NULL)
        return;
    if (perfdata_number(perfdata, "java.cls.sharedLoadedClasses", &shared))
        out->shared_classes = shared;
    perfdata_close(perfdata);
}

static enum failure_kind ask(struct plan_sample *out, const struct target *target,
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
    /* Counters and memory of one moment, as near as may be: classes come in between. */
    sample_without_asking(out, target);
    return FAILURE_NONE;
}

static bool names_contain(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(names, name); at != NULL; at = strstr(at + 1, name))
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
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
    json_array_foreach (components, i, entry) {
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

static void take_count(struct plan_measured *measured, const struct methods_event *methods,
                       double slots)
{
    double each = (double)methods->methods / (double)methods->classes;
    measured->methods_per_class = round(methods_per_class(methods) * 10.0) / 10.0;
    measured->counted = (struct jmethodid_load){methods->classes, each, methods->loaders};
    measured->counted_slots = slots;
}

struct counting {
    const struct target *target;
    struct plan_measured measured;
    bool good;
};

/* From outside where its memory may be read. */
static int count_outside(void *context)
{
    struct counting *counting = context;
    struct loaded_methods methods;
    char unused[200];
    counting->good = loaded_methods_read(counting->target, &methods, unused, sizeof unused) &&
                     methods.classes > 0;
    if (counting->good) {
        const struct methods_event sums = loaded_methods_sums(&methods);
        take_count(&counting->measured, &sums, (double)methods.slots / (double)methods.classes);
    }
    loaded_methods_free(&methods);
    return 0;
}

/* ... else by the agent; else the usual mean stays. */
static void count_methods(struct plan_measured *measured, const struct target *target)
{
    struct kept_methods by_agent;
    struct counting *counting =
        mmap(NULL, sizeof *counting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool good = counting != MAP_FAILED;
    if (good) {
        *counting = (struct counting){.target = target, .measured = *measured};
        good = apart_run(count_outside, counting, COUNT_MAX_MS) == 0 && counting->good;
        if (good)
            *measured = counting->measured;
        munmap(counting, sizeof *counting);
    }
    if (!good && agent_figures_methods(target, &by_agent) && by_agent.event.classes > 0)
        take_count(measured, &by_agent.event, 0.0);
}

enum failure_kind plan_live(struct plan_measured *measured, const struct target *target,
                            int64_t between_ms, int timeout_ms, struct failure *failure)
{
    struct plan_sample first, last;
    struct attach_limits limits = {.timeout_ms = timeout_ms};
    struct attach *attach = attach_create(target, &limits);
    if (attach == NULL)
        return failure_set(failure, FAILURE_SYSTEM, "attach", "out of memory");
    double began = (double)clock_us(CLOCK_MONOTONIC) / 1e6;
    enum failure_kind kind = ask(&first, target, attach, failure);
    double span = 0.0;
    if (kind == FAILURE_NONE && between_ms > 0) {
        poll(NULL, 0, between_ms > INT_MAX ? INT_MAX : (int)between_ms);
        span = (double)clock_us(CLOCK_MONOTONIC) / 1e6 - began;
        kind = ask(&last, target, attach, failure);
    } else {
        last = first;
    }
    attach_destroy(attach);
    if (kind != FAILURE_NONE)
        return kind;
    plan_measure(measured, span > 0.0 ? &first : NULL, &last, span);
    plan_measure_level(measured, target->identity.jdk_major, &last.sample);
    measured->limit_bytes = memory_limit(target->pid);
    ask_agent(measured, target);
    count_methods(measured, target);
    return FAILURE_NONE;
}
