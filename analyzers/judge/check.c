#include "analyzers/judge/check.h"

#include "analyzers/classes/census.h"
#include "analyzers/classes/family.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define MB                      1048576.0
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
    struct finding finding;
    finding_init(&finding, &result->texts, FINDING_CLASS_METASPACE_GROWTH);
    finding_title(&finding, "%s: +%.0f MB, now %.0f MB", finding_row(finding.kind)->title,
                  (double)(now - before) / MB, (double)now / MB);
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
    struct finding finding;
    finding_init(&finding, &result->texts, FINDING_METASPACE_LIMIT);
    finding_title(&finding, "%s: %.0f MB committed of %.0f MB, %.0f %%",
                  finding_row(finding.kind)->title, (double)committed / MB, (double)max / MB,
                  percent);
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
    struct finding finding;
    finding_init(&finding, &result->texts, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_LOAD_RATE);
    finding_title(&finding,
                  "%" PRId64 " classes loaded in %" PRId64 " min, %.1f/s on average, %" PRId64
                  " %% of them unloaded again",
                  loaded, uptime_ms / 60000, per_s, percent);
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
        struct finding finding;
        finding_init(&finding, &result->texts, FINDING_CLASS_EXPLOSION);
        finding.severity = SEVERITY_WARNING; /* a level, not a rate: `watch` can tell */
        finding_family(&finding, rows[i].family);
        finding_title(&finding, "%" PRId64 " of %" PRId64 " classes belong to %.100s (%.60s)",
                      rows[i].loads, input->loaders->classes,
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
    int used =
        snprintf(result->reason, sizeof result->reason, "%s %.1f MB, Class + Metaspace %.1f MB",
                 internal_meaning(jdk), (double)internal / MB, (double)class_metaspace / MB);
    if (sample_get(input->sample, SAMPLE_CLASSES_LOADED, &loaded)) {
        sample_get(input->sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
        used += snprintf(result->reason + used, sizeof result->reason - (size_t)used,
                         ", %" PRId64 " classes", loaded - unloaded);
    }
    if (sample_get(input->sample, SAMPLE_AGENT_RESIDENT_BYTES, &agent))
        snprintf(result->reason + used, sizeof result->reason - (size_t)used, ", agent %.1f MB",
                 (double)agent / MB);
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
