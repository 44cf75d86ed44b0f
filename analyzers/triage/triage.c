#include "analyzers/judge/level.h"
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *category_of(const struct finding *finding)
{
    const struct evidence *category = finding_evidence(finding, "category");
    return category != NULL ? category->text : "";
}

/* Of steps of Internal one is enough, the worst. */
static bool same_thing(const struct finding *a, const struct finding *b)
{
    if (level_step_of(a->kind) > 0 && level_step_of(b->kind) > 0)
        return true;
    return a->kind == b->kind && strcmp(a->family, b->family) == 0 &&
           (a->kind != FINDING_CATEGORY_GROWTH || strcmp(category_of(a), category_of(b)) == 0);
}

static bool worse(const struct finding *a, const struct finding *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return level_step_of(a->kind) > level_step_of(b->kind);
}

static void copy_in(struct triage *out, const struct finding *findings, int count)
{
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < out->finding_count && !same_thing(&out->findings[at], &findings[i]))
            at++;
        if (at == TRIAGE_FINDINGS_MAX)
            return;
        if (at < out->finding_count && !worse(&findings[i], &out->findings[at]))
            continue;
        finding_copy(&out->findings[at], &out->texts, &findings[i]);
        out->finding_count += at == out->finding_count;
    }
}

/* Levels and averages, as `check` judges them. */
static void one_look(const struct jvm_facts *facts, struct triage *out)
{
    if (!facts->have_sample && !facts->have_diff)
        return;
    struct level_pair pairs[FACTS_LEVEL_PAIRS];
    struct check_result *result = calloc(1, sizeof *result);
    if (result == NULL)
        return;
    const struct loaders_event loaders = {
        .loaders = facts->loaders.loaders,
        .classes = facts->loaders.classes,
        .row_count = facts->loaders.row_count,
        .rows = facts->loaders.rows,
    };
    const struct check_input input = {
        .identity = &facts->identity,
        .thresholds = &facts->thresholds,
        .sample = &facts->sample,
        .baseline = facts->have_before ? &facts->before : NULL,
        .level_pairs = pairs,
        .level_pair_count = facts_level_pairs(facts, pairs),
        .loaders = facts->loaders.have ? &loaders : NULL,
    };
    check_jvm(&input, result);
    copy_in(out, result->findings, result->finding_count);
    check_result_free(result);
    free(result);
}

static int culprit_first(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    const struct evidence *left = finding_evidence(x, "loads"),
                          *right = finding_evidence(y, "loads");
    return compare_numbers(y->severity, x->severity)
               ?: compare_numbers(finding_row(x->kind)->order, finding_row(y->kind)->order)
               ?: (left != NULL && right != NULL ? compare_numbers(right->number, left->number) : 0)
               ?: strcmp(x->family, y->family);
}

void triage_insert(struct triage *triage, const struct finding *findings, int count)
{
    for (int i = 0; i < count; i++) {
        int at = triage->finding_count, last = TRIAGE_FINDINGS_MAX - 1;
        while (at > 0 && culprit_first(&triage->findings[at - 1], &findings[i]) > 0)
            at--;
        if (at > last)
            continue;
        if (triage->finding_count <= last)
            last = triage->finding_count++;
        memmove(&triage->findings[at + 1], &triage->findings[at],
                (size_t)(last - at) * sizeof triage->findings[0]);
        finding_copy(&triage->findings[at], &triage->texts, &findings[i]);
    }
}

void triage_free(struct triage *triage)
{
    texts_free(&triage->texts);
    triage->finding_count = 0;
}

void triage_judge(const struct jvm_facts *facts, const struct finding *alerts, int alert_count,
                  struct triage *out)
{
    triage_free(out);
    memset(out, 0, sizeof *out);
    out->account = facts->account;
    out->account_before = facts->account_before;
    account_settle(&out->account, facts->have_account_before ? &out->account_before : NULL);
    copy_in(out, alerts, alert_count);
    one_look(facts, out);
    triage_names(facts, out);
    triage_agents(facts, out);
    triage_memory(facts, out);
    triage_growth(facts, out);
    triage_ticket(facts, out);
    triage_categories(facts, out);
    triage_answers(facts, out);
    qsort(out->findings, (size_t)out->finding_count, sizeof out->findings[0], culprit_first);
    triage_suitability(facts, out);
}

/* --- suitability ------------------------------------------------------------------------------ */

/* What a facts says of a profiler's suitability; the limits are analyzers/plan/suitability.h. */
static const struct finding *worst_of(const struct triage *out, enum finding_kind kind)
{
    for (int i = 0; i < out->finding_count; i++) {
        if (out->findings[i].kind == kind && out->findings[i].severity > SEVERITY_INFO)
            return &out->findings[i];
    }
    return NULL;
}

/* Start-up, or a generator that was observed for too short a time; -1: not known. */
static double loading_per_s(const struct jvm_facts *facts)
{
    int64_t now, before;
    if (!facts->have_sample || !facts->have_before || facts->span_s < 1.0 ||
        !sample_get(&facts->sample, SAMPLE_CLASSES_LOADED, &now) ||
        !sample_get(&facts->before, SAMPLE_CLASSES_LOADED, &before))
        return -1.0;
    return (double)(now - before) / facts->span_s;
}

static void take_level(const struct jvm_facts *facts, struct suitability_facts *inputs, char *words,
                       size_t size)
{
    struct level_pair pairs[FACTS_LEVEL_PAIRS];
    struct level levels[LEVELS_MAX];
    int count = levels_judge(facts->identity.jdk_major, &facts->thresholds, pairs,
                             facts_level_pairs(facts, pairs), levels);
    suitability_take_level(inputs, levels, count, words, size);
}

void triage_suitability(const struct jvm_facts *facts, struct triage *out)
{
    const struct finding *explosion = worst_of(out, FINDING_CLASS_EXPLOSION);
    const struct finding *churn = worst_of(out, FINDING_CLASS_CHURN);
    double methods = methods_per_class(&facts->methods.event);
    struct suitability_facts inputs = {
        .jdk_major = facts->identity.jdk_major,
        .methods_per_class = methods > 0.0 ? methods : TYPICAL_METHODS_PER_CLASS,
        .explosion = explosion != NULL ? explosion->family : NULL,
        .loader_leak = worst_of(out, FINDING_REDEPLOY_LEAK) != NULL,
        .churn = churn != NULL ? churn->family : NULL,
        .loading_per_s = loading_per_s(facts),
    };
    char level[128];
    take_level(facts, &inputs, level, sizeof level);
    inputs.counted =
        facts->have_sample && sample_get(&facts->sample, SAMPLE_CLASSES_LOADED, &inputs.loaded);
    if (facts->have_sample)
        sample_get(&facts->sample, SAMPLE_CLASSES_UNLOADED, &inputs.unloaded);
    if (!inputs.counted && facts->flow.have) {
        inputs.loaded = facts->flow.loads;
        inputs.unloaded = facts->flow.unloads;
        inputs.counted = true;
    }
    suitability_judge(&inputs, &out->suitability);
}
