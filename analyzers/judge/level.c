#include "analyzers/judge/level.h"

#include "analyzers/native/internal.h"
#include "analyzers/parse/span.h"

#include <stdio.h>
#include <stdlib.h>

#define MB INT64_C(1048576)

/* JDKs up to 10 count the whole reserved stack of each thread as committed: a thousand threads of
 * 1 MB are no leak. */
#define STACKS_RESERVED_LAST_JDK 10
#define STACKS_RESERVED_BYTES    (1024 * MB)
#define UNLISTED_BYTES           (64 * MB)
/* Of what is reserved for the heap; the Z collector reserves 16 times what it may use. */
#define HEAP_RESERVED_PART       4

static const struct {
    enum finding_kind kind;
    enum threshold threshold;
} STEPS[LEVEL_STEPS] = {
    {FINDING_INTERNAL_INVESTIGATE, TH_INTERNAL_INVESTIGATE_BYTES},
    {FINDING_INTERNAL_EXPLOSION, TH_INTERNAL_EXPLOSION_BYTES},
    {FINDING_INTERNAL_UNACCEPTABLE, TH_INTERNAL_UNACCEPTABLE_BYTES},
};

static const struct row {
    bool listed;
    int64_t bytes;
    int64_t heap_percent;
    enum finding_kind kind;
    const char *name;
} ROWS[NMT_CATEGORY_COUNT] = {
#define LEVEL(category, mb, percent, finding, words)                                               \
    [NMT_##category] = {true, (mb)*MB, percent, FINDING_##finding, words},
#include "analyzers/judge/levels.def"
#undef LEVEL
};

int level_step_of(enum finding_kind kind)
{
    for (int i = 0; i < LEVEL_STEPS; i++) {
        if (STEPS[i].kind == kind)
            return i + 1;
    }
    return 0;
}

enum finding_kind level_step_kind(int step)
{
    return STEPS[step - 1].kind;
}

enum threshold level_step_threshold(int step)
{
    return STEPS[step - 1].threshold;
}

/* --- what a category holds, and what it began with ------------------------------------------- */

/* Categories that are judged together stand at the first of them; false for the others, and for
 * what is missing. */
static bool bytes_of(const struct sample *sample, enum nmt_category category, int jdk_major,
                     int64_t *bytes)
{
    struct nmt_amount amount;
    int64_t sum;
    if (category == NMT_INTERNAL)
        return internal_bytes(sample, jdk_major, bytes);
    if (category == NMT_CLASS)
        return class_metaspace_bytes(sample, bytes);
    if (category == NMT_METASPACE && class_metaspace_bytes(sample, &sum))
        return false;
    if (category == NMT_JNI && internal_has_jni(jdk_major) &&
        internal_bytes(sample, jdk_major, &sum))
        return false;
    if (!sample_get_nmt(sample, category, &amount))
        return false;
    *bytes = amount.committed_bytes;
    return true;
}

static int64_t expected_at_start(const struct sample *now, enum nmt_category category,
                                 int jdk_major)
{
    const struct row *row = &ROWS[category];
    int64_t bytes = row->bytes;
    if (row->kind == FINDING_THREAD_GROWTH && jdk_major > 0 &&
        jdk_major <= STACKS_RESERVED_LAST_JDK)
        bytes = STACKS_RESERVED_BYTES;
    struct nmt_amount heap;
    if (row->heap_percent == 0 || !sample_get_nmt(now, NMT_JAVA_HEAP, &heap))
        return bytes;
    int64_t size = heap.reserved_bytes / HEAP_RESERVED_PART;
    if (size < heap.committed_bytes)
        size = heap.committed_bytes;
    return saturated_add(bytes, size / 100 * row->heap_percent);
}

static bool extra_bytes(const struct sample *sample, const char *name, int64_t *bytes)
{
    for (int i = 0; i < sample->extra_count; i++) {
        if (strcmp(sample->extra[i].name, name) == 0) {
            *bytes = sample->extra[i].amount.committed_bytes;
            return true;
        }
    }
    return false;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Keeps the worse of what a category has shown in the pairs so far. */
static int keep(struct level *levels, int count, const struct level *level)
{
    for (int i = 0; i < count; i++) {
        if (levels[i].category != level->category || strcmp(levels[i].name, level->name) != 0)
            continue;
        if (level->step >= levels[i].step) /* as bad: what was seen says more than a start */
            levels[i] = *level;
        return count;
    }
    if (count == LEVELS_MAX)
        return count;
    levels[count] = *level;
    return count + 1;
}

static bool step_up(const struct thresholds *thresholds, int64_t from_bytes, struct level *level)
{
    level->growth_bytes = level->bytes - from_bytes;
    level->step = LEVEL_STEPS;
    while (level->step > 0) {
        level->threshold_bytes = thresholds->value[STEPS[level->step - 1].threshold];
        if (level->growth_bytes > level->threshold_bytes)
            return true;
        level->step--;
    }
    return false;
}

static int judge_pair(int jdk_major, const struct thresholds *thresholds,
                      const struct level_pair *pair, struct level *levels, int count)
{
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct level level = {.category = (enum nmt_category)i, .kind = ROWS[i].kind};
        int64_t from;
        if (!ROWS[i].listed || !bytes_of(pair->now, level.category, jdk_major, &level.bytes))
            continue;
        if (pair->before == NULL)
            from = expected_at_start(pair->now, level.category, jdk_major);
        else if (!bytes_of(pair->before, level.category, jdk_major, &from))
            continue;
        level.since = pair->before != NULL ? pair->since : NULL;
        snprintf(level.name, sizeof level.name, "%s",
                 i == NMT_INTERNAL ? internal_meaning(jdk_major) : ROWS[i].name);
        if (!step_up(thresholds, from, &level))
            continue;
        if (i == NMT_INTERNAL)
            level.kind = level_step_kind(level.step);
        count = keep(levels, count, &level);
    }
    for (int i = 0; i < pair->now->extra_count; i++) {
        struct level level = {.category = NMT_NOT_IN_TABLE, .kind = FINDING_CATEGORY_GROWTH};
        int64_t from = UNLISTED_BYTES;
        snprintf(level.name, sizeof level.name, "%s", pair->now->extra[i].name);
        level.bytes = pair->now->extra[i].amount.committed_bytes;
        level.since = pair->before != NULL ? pair->since : NULL;
        if ((pair->before == NULL || extra_bytes(pair->before, level.name, &from)) &&
            step_up(thresholds, from, &level))
            count = keep(levels, count, &level);
    }
    return count;
}

static int worst_first(const void *a, const void *b)
{
    const struct level *x = a, *y = b;
    if (x->step != y->step)
        return y->step - x->step;
    if (x->growth_bytes != y->growth_bytes)
        return x->growth_bytes < y->growth_bytes ? 1 : -1;
    return (int)x->category - (int)y->category;
}

int levels_judge(int jdk_major, const struct thresholds *thresholds, const struct level_pair *pairs,
                 int pair_count, struct level levels[LEVELS_MAX])
{
    int count = 0;
    for (int i = 0; i < pair_count; i++)
        count = judge_pair(jdk_major, thresholds, &pairs[i], levels, count);
    qsort(levels, (size_t)count, sizeof levels[0], worst_first);
    return count;
}

enum severity level_severity(const struct level *level)
{
    return level->step > 1 ? SEVERITY_CRITICAL : SEVERITY_WARNING;
}

bool level_holds_method_ids(const struct level *level)
{
    return level_step_of(level->kind) > 0 || level->kind == FINDING_CLASS_METASPACE_GROWTH ||
           level->category == NMT_JNI;
}

void level_finding(const struct level *level, struct texts *texts, struct finding *finding)
{
    bool internal = level_step_of(level->kind) > 0;
    finding_init(finding, texts, level->kind);
    finding->severity = level_severity(level);
    finding_title(finding, "%s is %.0f MB, +%.0f MB since %s", level->name,
                  (double)level->bytes / (double)MB, (double)level->growth_bytes / (double)MB,
                  level->since != NULL ? level->since : "the JVM's start (no baseline given)");
    if (internal)
        finding_add_text(finding, "internal_means", level->name);
    else
        finding_add_text(finding, "category", level->name);
    finding_add_int(finding, internal ? "internal_bytes" : "level_bytes", level->bytes);
    finding_add_int(finding, "growth_bytes", level->growth_bytes);
    finding_add_int(finding, "threshold_bytes", level->threshold_bytes);
    finding_add_text(finding, "since",
                     level->since == NULL                              ? "start"
                     : strcmp(level->since, LEVEL_SINCE_BASELINE) == 0 ? "baseline"
                                                                       : level->since);
}

/* --- the circuit breaker of libnmtagent.so ---------------------------------------------------- */

static const struct {
    const char *name, *sentence;
} BREAKER[AGENT_BREAKER_STEPS + 1] = {
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
    return BREAKER[step].name;
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
                  BREAKER[step].sentence, (double)resident / (double)MB, (double)ids / (double)MB);
    finding_add_text(finding, "step", BREAKER[step].name);
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++)
        if (sample_get(sample, FIGURES[i].field, &value))
            finding_add_int(finding, FIGURES[i].key, value);
}
