#include "analyzers/plan/measured.h"

#include "analyzers/plan/suitability.h"

#include <math.h>

static const enum nmt_category class_categories[] = {
    NMT_CLASS, NMT_METASPACE, NMT_MODULE, NMT_SYMBOL, NMT_NMT,
};
#define CLASS_CATEGORIES (sizeof class_categories / sizeof class_categories[0])

const char *plan_basis_name(enum plan_basis basis)
{
    static const char *const names[] = {[PLAN_BASIS_GROWTH] = "growth",
                                        [PLAN_BASIS_MEAN] = "mean",
                                        [PLAN_BASIS_FORMULA] = "formula"};
    return names[basis];
}

/* -1 when the sample has no NMT summary. A category that a JDK does not print holds nothing. */
static int64_t class_memory(const struct sample *sample)
{
    int64_t sum = 0;
    if (sample_committed(sample, NMT_CLASS) < 0)
        return -1;
    for (unsigned i = 0; i < CLASS_CATEGORIES; i++) {
        int64_t bytes = sample_committed(sample, class_categories[i]);
        sum += bytes > 0 ? bytes : 0;
    }
    return sum;
}

int64_t plan_classes_alive(const struct sample *sample)
{
    int64_t loaded = sample_value(sample, SAMPLE_CLASSES_LOADED);
    int64_t unloaded = sample_value(sample, SAMPLE_CLASSES_UNLOADED);
    if (loaded < 0)
        return -1;
    return loaded - (unloaded > 0 ? unloaded : 0);
}

/* A class loader has an arena in Metaspace, and one in class space where there is such a thing. */
static int64_t loaders_of(const struct plan_sample *at)
{
    int64_t loaders = sample_value(&at->sample, SAMPLE_LOADERS);
    if (at->arenas < 0)
        return loaders;
    return sample_value(&at->sample, SAMPLE_CLASS_SPACE_USED_BYTES) > 0 ? at->arenas / 2
                                                                        : at->arenas;
}

void plan_measured_none(struct plan_measured *measured)
{
    *measured = (struct plan_measured){
        .classes = -1,
        .loaded = -1,
        .unloaded = -1,
        .loaders = -1,
        .threads = -1,
        .loads_per_s = -1.0,
        .unloads_per_s = -1.0,
        .methods_per_class = -1.0,
        .rss_bytes = -1,
        .nmt_bytes = -1,
        .heap_bytes = -1,
        .class_bytes = -1,
        .metaspace_bytes = -1,
        .code_bytes = -1,
        .gc_bytes = -1,
        .thread_bytes = -1,
        .rest_bytes = -1,
        .metaspace_max_bytes = -1,
        .limit_bytes = -1,
        .bytes_per_class = -1.0,
        .metaspace_per_class = -1.0,
        .loaders_per_class = -1.0,
    };
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++)
        measured->component_bytes[i] = -1;
}

static void take_level(struct plan_measured *out, const struct plan_sample *at)
{
    const struct sample *sample = &at->sample;
    struct nmt_amount heap = {-1, -1};
    out->classes = plan_classes_alive(sample);
    out->loaded = sample_value(sample, SAMPLE_CLASSES_LOADED);
    out->unloaded = sample_value(sample, SAMPLE_CLASSES_UNLOADED);
    out->threads = sample_value(sample, SAMPLE_THREADS);
    out->loaders = loaders_of(at);
    if (out->classes >= 0 && out->loaders > out->classes)
        out->loaders = out->classes;
    out->rss_bytes = sample_value(sample, SAMPLE_RSS_BYTES);
    out->nmt_bytes = sample_value(sample, SAMPLE_NMT_COMMITTED_BYTES);
    out->metaspace_max_bytes = sample_value(sample, SAMPLE_METASPACE_MAX_BYTES);
    sample_get_nmt(sample, NMT_JAVA_HEAP, &heap);
    out->heap_bytes = heap.reserved_bytes;
    out->class_bytes = class_memory(sample);
    out->metaspace_bytes = sample_value(sample, SAMPLE_METASPACE_COMMITTED_BYTES);
    out->code_bytes = sample_committed(sample, NMT_CODE);
    out->gc_bytes = sample_committed(sample, NMT_GC);
    out->thread_bytes = sample_committed(sample, NMT_THREAD);
    if (out->nmt_bytes < 0 || out->class_bytes < 0 || heap.committed_bytes < 0)
        return;
    int64_t rest = out->nmt_bytes - out->class_bytes - heap.committed_bytes;
    rest -= out->code_bytes > 0 ? out->code_bytes : 0;
    rest -= out->gc_bytes > 0 ? out->gc_bytes : 0;
    rest -= out->thread_bytes > 0 ? out->thread_bytes : 0;
    out->rest_bytes = rest > 0 ? rest : 0;
}

static void take_growth(struct plan_measured *out, const struct plan_sample *first_kept,
                        const struct plan_sample *last_kept)
{
    const struct sample *first = &first_kept->sample, *last = &last_kept->sample;
    int64_t classes = plan_classes_alive(last) - plan_classes_alive(first);
    int64_t before = class_memory(first), after = class_memory(last);
    if (plan_classes_alive(first) < 0 || before < 0 || after <= before ||
        classes < PLAN_GROWTH_CLASSES_MIN)
        return;
    out->basis = PLAN_BASIS_GROWTH;
    out->basis_classes = classes;
    out->bytes_per_class = (double)(after - before) / (double)classes;
    int64_t then = sample_value(first, SAMPLE_METASPACE_COMMITTED_BYTES);
    if (then >= 0 && out->metaspace_bytes >= then)
        out->metaspace_per_class = (double)(out->metaspace_bytes - then) / (double)classes;
    int64_t loaders = loaders_of(first_kept);
    if (loaders >= 0 && out->loaders >= loaders)
        out->loaders_per_class = fmin(1.0, (double)(out->loaders - loaders) / (double)classes);
}

static void take_mean(struct plan_measured *out, const struct plan_sample *last)
{
    int64_t classes = out->classes - (last->shared_classes > 0 ? last->shared_classes : 0);
    if (out->basis != PLAN_BASIS_FORMULA || out->class_bytes < 0 || classes <= 0)
        return;
    out->basis = PLAN_BASIS_MEAN;
    out->basis_classes = classes;
    out->bytes_per_class = (double)out->class_bytes / (double)classes;
    if (out->metaspace_bytes >= 0)
        out->metaspace_per_class = (double)out->metaspace_bytes / (double)classes;
}

void plan_measure_rates(struct plan_measured *measured, const struct plan_sample *first,
                        const struct plan_sample *last, double span_s)
{
    int64_t loaded = sample_value(&first->sample, SAMPLE_CLASSES_LOADED);
    int64_t unloaded = sample_value(&first->sample, SAMPLE_CLASSES_UNLOADED);
    int64_t loaded_now = sample_value(&last->sample, SAMPLE_CLASSES_LOADED);
    int64_t unloaded_now = sample_value(&last->sample, SAMPLE_CLASSES_UNLOADED);
    measured->loads_per_s = loaded >= 0 && loaded_now >= loaded && span_s > 0.0
                                ? (double)(loaded_now - loaded) / span_s
                                : -1.0;
    measured->unloads_per_s = unloaded >= 0 && unloaded_now >= unloaded && span_s > 0.0
                                  ? (double)(unloaded_now - unloaded) / span_s
                                  : -1.0;
}

void plan_measure(struct plan_measured *measured, const struct plan_sample *first,
                  const struct plan_sample *last, double span_s)
{
    plan_measured_none(measured);
    measured->have = true;
    take_level(measured, last);
    if (first != NULL && span_s > 0.0) {
        measured->span_s = span_s;
        plan_measure_rates(measured, first, last, span_s);
        take_growth(measured, first, last);
    }
    take_mean(measured, last);
}

static void offer(struct plan_input *input, enum plan_number number, double value)
{
    const struct plan_number_row *row = plan_number_row(number);
    if (value >= row->least && !input->slot[number].given)
        input->slot[number].number = value < row->most ? value : row->most;
}

void plan_measured_input(const struct plan_measured *measured, struct plan_input *input)
{
    offer(input, PLAN_CLASSES, (double)measured->classes);
    double classes = plan_input_get(input, PLAN_CLASSES);
    double further = fmax(0.0, classes - (double)measured->classes);
    double loaders = (double)measured->loaders + further * fmax(0.0, measured->loaders_per_class);
    if (measured->loaders >= 0)
        offer(input, PLAN_LOADERS, fmin(classes, round(loaders)));
    offer(input, PLAN_METHODS_PER_CLASS, measured->methods_per_class);
    offer(input, PLAN_THREADS, (double)measured->threads);
    offer(input, PLAN_HEAP, (double)measured->heap_bytes);
    offer(input, PLAN_LIMIT, (double)measured->limit_bytes);
    offer(input, PLAN_CHURN, measured->unloads_per_s);
    if (measured->judged && measured->growing)
        offer(input, PLAN_GROWTH, measured->loads_per_s - measured->unloads_per_s);
}

void plan_measure_level(struct plan_measured *measured, int jdk_major, const struct sample *now)
{
    struct thresholds thresholds;
    struct level levels[LEVELS_MAX];
    struct suitability_facts facts = {0};
    const struct level_pair pair = {.now = now};
    thresholds_default(&thresholds);
    int count = levels_judge(jdk_major, &thresholds, &pair, 1, levels);
    measured->level[0] = '\0';
    suitability_take_level(&facts, levels, count, measured->level, sizeof measured->level);
    measured->level_excludes = facts.level_excludes;
}
