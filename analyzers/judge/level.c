#include "analyzers/model/texts.h"
#include "analyzers/judge/level.h"

#include "analyzers/native/internal.h"
#include "floor/base/span.h"
#include "analyzers/classes/census.h"
#include "analyzers/classes/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <inttypes.h>

#define MB INT64_C(1048576)

/* A thousand threads of 1 MB are no leak. */
#define STACKS_RESERVED_BYTES (1024 * MB)
#define UNLISTED_BYTES        (64 * MB)
/* Of what is reserved for the heap; the Z collector reserves 16 times what it may use. */
#define HEAP_RESERVED_PART    4

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
    size = MAX(size, heap.committed_bytes);
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
    return compare_numbers(y->step, x->step) ?: compare_numbers(y->growth_bytes, x->growth_bytes)
               ?: compare_numbers(x->category, y->category);
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

static void level_finding(const struct level *level, struct texts *texts, struct finding *finding)
{
    bool internal = level_step_of(level->kind) > 0;
    *finding = finding_begin(texts, level->kind);
    finding->severity = level_severity(level);
    finding_title(finding, "%s is %s, %s since %s", level->name, units_bytes(level->bytes).text,
                  units_growth(level->growth_bytes).text,
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
    {"warned", "the profiler agent warns about its cost"},
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
    int step = agent_breaker_step(sample);
    int64_t resident = sample_value(sample, SAMPLE_AGENT_RESIDENT_BYTES),
            ids = sample_value(sample, SAMPLE_AGENT_JMETHOD_ID_BYTES);
    *finding = finding_begin(texts, FINDING_AGENT_SHEDDING);
    finding_title(finding, "%s: it holds %s, the JVM %s of jmethodIDs for it",
                  BREAKER[step].sentence, units_bytes(MAX(resident, 0)).text,
                  units_bytes(MAX(ids, 0)).text);
    finding_add_text(finding, "step", BREAKER[step].name);
    finding_add_known(finding, "agent_reserved_bytes",
                      sample_value(sample, SAMPLE_AGENT_RESERVED_BYTES));
    finding_add_known(finding, "agent_resident_bytes", resident);
    finding_add_known(finding, "agent_jmethod_id_bytes", ids);
}

/* --- check ------------------------------------------------------------------------------------ */

/* One look sees a level, not a rate: only a large share of a large number is a finding. */
#define GENERATED_CLASSES_MIN   1000
#define GENERATED_SHARE_PERCENT 30
/* An average over the JVM's life means something only when start-up is a small part of it. */
#define LIFETIME_MIN_MS         600000

const char *check_status_name(enum check_status status)
{
    static const char *const NAMES[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    return NAMES[status];
}

static void add(struct check_result *result, const struct finding *finding)
{
    if (result->finding_count == CHECK_FINDINGS_MAX)
        return;
    int at = result->finding_count++;
    while (at > 0 && result->findings[at - 1].severity < finding->severity) {
        result->findings[at] = result->findings[at - 1];
        at--;
    }
    result->findings[at] = *finding;
}

/* Levels of all categories; true when Class + Metaspace is among them. */
static bool look_at_levels(const struct check_input *input, struct check_result *result)
{
    const struct level_pair pair = {input->sample, input->baseline, LEVEL_SINCE_BASELINE};
    const struct level_pair *pairs = input->level_pair_count > 0 ? input->level_pairs : &pair;
    int pair_count = input->level_pair_count > 0 ? input->level_pair_count : 1;
    struct level levels[LEVELS_MAX];
    bool classes = false;
    int count =
        levels_judge(input->identity->jdk_major, input->thresholds, pairs, pair_count, levels);
    for (int i = 0; i < count; i++) {
        struct finding finding;
        level_finding(&levels[i], &result->texts, &finding);
        add(result, &finding);
        classes = classes || levels[i].kind == FINDING_CLASS_METASPACE_GROWTH;
    }
    return classes;
}

static void look_at_class_metaspace(const struct check_input *input, struct check_result *result)
{
    int64_t now, before;
    int64_t threshold = input->thresholds->value[TH_CLASS_METASPACE_BYTES];
    if (input->baseline == NULL || !class_metaspace_bytes(input->sample, &now) ||
        !class_metaspace_bytes(input->baseline, &before) || now - before <= threshold)
        return;
    struct finding finding = finding_begin(&result->texts, FINDING_CLASS_METASPACE_GROWTH);
    finding_title(&finding, "%s: %s, now %s", finding_row(finding.kind)->title,
                  units_growth(now - before).text, units_bytes(now).text);
    finding_add_int(&finding, "class_metaspace_bytes", now);
    finding_add_int(&finding, "growth_bytes", now - before);
    finding_add_int(&finding, "threshold_bytes", threshold);
    add(result, &finding);
}

static void look_at_metaspace_limit(const struct check_input *input, struct check_result *result)
{
    int64_t committed, max;
    if (!sample_get(input->sample, SAMPLE_METASPACE_COMMITTED_BYTES, &committed) ||
        !sample_get(input->sample, SAMPLE_METASPACE_MAX_BYTES, &max) || max <= 0)
        return;
    double percent = (double)committed * 100.0 / (double)max;
    if (percent < (double)input->thresholds->value[TH_METASPACE_LIMIT_PERCENT])
        return;
    struct finding finding = finding_begin(&result->texts, FINDING_METASPACE_LIMIT);
    finding_title(&finding, "%s: %s committed of %s, %.0f %%", finding_row(finding.kind)->title,
                  units_bytes(committed).text, units_bytes(max).text, percent);
    finding_add_int(&finding, "metaspace_committed_bytes", committed);
    finding_add_int(&finding, "metaspace_max_bytes", max);
    finding_add_int(&finding, "percent", (int64_t)percent);
    add(result, &finding);
}

/* Counters of the whole life: a rate that start-up alone cannot explain. Returns true for churn. */
static bool look_at_class_counters(const struct check_input *input, struct check_result *result)
{
    int64_t loaded, unloaded = 0, uptime_ms;
    if (!sample_get(input->sample, SAMPLE_CLASSES_LOADED, &loaded) ||
        !sample_get(input->sample, SAMPLE_UPTIME_MS, &uptime_ms) || uptime_ms < LIFETIME_MIN_MS)
        return false;
    sample_get(input->sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
    double per_s = (double)loaded * 1000.0 / (double)uptime_ms;
    if (per_s < (double)input->thresholds->value[TH_CLASS_LOAD_RATE_PER_S])
        return false;
    int64_t percent = (int64_t)((double)unloaded * 100.0 / (double)loaded);
    bool churn = percent >= input->thresholds->value[TH_CHURN_UNLOADED_PERCENT];
    struct finding finding =
        finding_begin(&result->texts, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_LOAD_RATE);
    finding_title(
        &finding, "%s classes loaded in %s, %s on average, %" PRId64 " %% of them unloaded again",
        units_count(loaded).text, units_duration(uptime_ms).text, units_rate(per_s).text, percent);
    finding_add_real(&finding, "rate_per_s", per_s);
    finding_add_int(&finding, "classes_loaded", loaded);
    finding_add_int(&finding, "classes_unloaded", unloaded);
    finding_add_int(&finding, "unloaded_percent", percent);
    add(result, &finding);
    return churn;
}

/* Loader types that belong to a generator and hold a large share of all classes. */
static void look_at_loaders(const struct check_input *input, struct check_result *result)
{
    if (input->loaders == NULL)
        return;
    struct census *census = census_create(0);
    if (census == NULL)
        return;
    census_add_loaders(census, input->loaders->rows, input->loaders->row_count);
    struct family_row rows[4];
    int count = census_rows(census, rows, 4);
    for (int i = 0; i < count; i++) {
        if (rows[i].loads < GENERATED_CLASSES_MIN ||
            rows[i].loads * 100 < input->loaders->classes * GENERATED_SHARE_PERCENT)
            continue;
        const struct family *family = family_by_id(rows[i].family);
        struct finding finding = finding_begin(&result->texts, FINDING_CLASS_EXPLOSION);
        finding.severity = SEVERITY_WARNING; /* a level, not a rate: `watch` shows growth */
        finding_family(&finding, rows[i].family);
        finding_title(&finding, "%s of %s classes belong to %.100s (%.60s)",
                      units_count(rows[i].loads).text, units_count(input->loaders->classes).text,
                      family != NULL ? family->producer : "one generator", rows[i].family);
        if (family != NULL)
            finding_advice(&finding, "%s Why it grows: %s", family->fix, family->cause);
        finding_add_int(&finding, "classes", rows[i].loads);
        finding_add_int(&finding, "all_classes", input->loaders->classes);
        finding_add_text(&finding, "loader_type", rows[i].source);
        add(result, &finding);
    }
    census_destroy(census);
}

static void describe_ok(const struct check_input *input, struct check_result *result)
{
    int jdk = input->identity->jdk_major;
    int64_t internal = 0, class_metaspace = 0, loaded = 0, unloaded = 0, agent;
    internal_bytes(input->sample, jdk, &internal);
    class_metaspace_bytes(input->sample, &class_metaspace);
    snprintf(result->reason, sizeof result->reason, "%s %s, Class + Metaspace %s",
             internal_meaning(jdk), units_bytes(internal).text, units_bytes(class_metaspace).text);
    if (sample_get(input->sample, SAMPLE_CLASSES_LOADED, &loaded)) {
        sample_get(input->sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
        text_add(result->reason, sizeof result->reason, ", %s classes",
                 units_count(loaded - unloaded).text);
    }
    if (sample_get(input->sample, SAMPLE_AGENT_RESIDENT_BYTES, &agent))
        text_add(result->reason, sizeof result->reason, ", agent %s", units_bytes(agent).text);
}

void check_result_free(struct check_result *result)
{
    texts_free(&result->texts);
    result->finding_count = 0;
}

void check_jvm(const struct check_input *input, struct check_result *result)
{
    check_result_free(result);
    memset(result, 0, sizeof *result);
    if (!look_at_levels(input, result))
        look_at_class_metaspace(input, result);
    look_at_metaspace_limit(input, result);
    if (agent_breaker_step(input->sample) > 0) {
        struct finding finding;
        agent_shedding_finding(input->sample, &result->texts, &finding);
        add(result, &finding);
    }
    if (!look_at_class_counters(input, result))
        look_at_loaders(input, result);

    const char *missing = input->missing;
    if (missing == NULL || missing[0] == '\0')
        missing = sample_has_nmt(input->sample) ? NULL : "no NMT summary";
    if (result->finding_count > 0) {
        result->status =
            result->findings[0].severity == SEVERITY_CRITICAL ? CHECK_CRITICAL : CHECK_WARNING;
        snprintf(result->reason, sizeof result->reason, "%s", result->findings[0].title);
    } else if (missing != NULL) {
        result->status = CHECK_UNKNOWN;
        snprintf(result->reason, sizeof result->reason, "%s", missing);
    } else {
        result->status = CHECK_OK;
        describe_ok(input, result);
    }
}
