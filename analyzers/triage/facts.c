#include "analyzers/triage/facts.h"

#include "analyzers/classes/heap_census.h"

bool facts_growth(const struct jvm_facts *facts, enum nmt_category category, int64_t *bytes)
{
    struct nmt_amount now, before;
    if (facts->have_sample && facts->have_before &&
        sample_get_nmt(&facts->sample, category, &now) &&
        sample_get_nmt(&facts->before, category, &before)) {
        *bytes = now.committed_bytes - before.committed_bytes;
        return true;
    }
    if (!facts->have_diff || !sample_get_nmt(&facts->diff_now, category, &now) ||
        !sample_get_nmt(&facts->diff_before, category, &before))
        return false;
    *bytes = now.committed_bytes - before.committed_bytes;
    return true;
}

int facts_level_pairs(const struct jvm_facts *facts, struct level_pair pairs[FACTS_LEVEL_PAIRS])
{
    int count = 0;
    if (facts->have_sample && sample_has_nmt(&facts->sample)) {
        pairs[count++] = (struct level_pair){.now = &facts->sample};
        if (facts->have_before)
            pairs[count++] =
                (struct level_pair){&facts->sample, &facts->before, "the first measurement"};
    } else if (facts->have_diff) {
        pairs[count++] = (struct level_pair){.now = &facts->diff_now};
    }
    if (facts->have_diff)
        pairs[count++] =
            (struct level_pair){&facts->diff_now, &facts->diff_before, "the baseline of NMT"};
    return count;
}

void facts_add_histogram(struct jvm_facts *facts, const struct histogram_event *histogram)
{
    struct facts_heap_growth *growth = &facts->heap_growth;
    int grown[FACTS_GROWN_MAX];
    if (growth->histograms++ == 0) {
        growth->bytes_before = histogram->bytes;
        growth->instances_before = histogram->instances;
    }
    growth->bytes = histogram->bytes;
    growth->instances = histogram->instances;
    growth->row_count = histogram_growing(histogram, grown, FACTS_GROWN_MAX);
    for (int i = 0; i < growth->row_count; i++)
        growth->rows[i] = histogram->rows[grown[i]];
}

void facts_add_agent(struct jvm_facts *facts, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct span name = span_from_cstr(slash != NULL ? slash + 1 : path);
    char copy[FACTS_AGENT_NAME_MAX];
    facts->agents_known = true;
    span_copy(name, copy, sizeof copy);
    for (int i = 0; i < facts->agent_count; i++) {
        if (strcmp(facts->agents[i], copy) == 0)
            return;
    }
    if (copy[0] != '\0' && facts->agent_count < FACTS_AGENTS_MAX)
        memcpy(facts->agents[facts->agent_count++], copy, sizeof copy);
}

/* --- objects on the heap ---------------------------------------------------------------------- */

/* A leak report of MAT names one object, or a few, and what they retain. */
#define SUSPECT_BYTES (INT64_C(64) << 20)

static const struct heap_suspect_row ROWS[HEAP_SUSPECT_COUNT] = {
    [HEAP_SUSPECT_NONE] = {"", 0, 0, "", "", ""},
#define HEAP_SUSPECT(id, key, instances, native_kb, patterns, what, advice)                        \
    [HEAP_SUSPECT_##id] = {key, instances, native_kb, patterns, what, advice},
#include "analyzers/triage/heap_suspects.def"
};

const struct heap_suspect_row *heap_suspect_row(enum heap_suspect suspect)
{
    return &ROWS[(unsigned)suspect < HEAP_SUSPECT_COUNT ? suspect : HEAP_SUSPECT_NONE];
}

static enum heap_suspect suspect_of(struct span name, int64_t instances, int64_t bytes)
{
    for (int i = HEAP_SUSPECT_NONE + 1; i < HEAP_SUSPECT_COUNT; i++) {
        if ((instances >= ROWS[i].instances || bytes >= SUSPECT_BYTES) &&
            span_fits_one(name, ROWS[i].patterns, span_is_like))
            return (enum heap_suspect)i;
    }
    return HEAP_SUSPECT_NONE;
}

void heap_objects_add(struct heap_objects *objects, struct span name, int64_t instances,
                      int64_t bytes)
{
    struct heap_class row = {.instances = instances, .bytes = bytes};
    span_copy(name, row.name, sizeof row.name);
    objects->classes++;
    objects->total_bytes = saturated_add(objects->total_bytes, bytes > 0 ? bytes : 0);
    int at = objects->count;
    while (at > 0 && objects->row[at - 1].bytes < bytes)
        at--;
    if (at < HEAP_OBJECTS_MAX) {
        int last = objects->count < HEAP_OBJECTS_MAX ? objects->count++ : HEAP_OBJECTS_MAX - 1;
        memmove(&objects->row[at + 1], &objects->row[at], (size_t)(last - at) * sizeof row);
        objects->row[at] = row;
    }
    for (int i = HEAP_SUSPECT_NONE + 1; i < HEAP_SUSPECT_COUNT && instances > 0; i++) {
        int64_t outside = MIN(instances, INT64_MAX >> 20) * ROWS[i].native_kb * 1024;
        if (outside > objects->native_class.bytes &&
            span_fits_one(name, ROWS[i].patterns, span_is_like)) {
            objects->native = (enum heap_suspect)i;
            objects->native_class = row;
            objects->native_class.bytes = outside;
        }
    }
    enum heap_suspect suspect = suspect_of(name, instances, bytes);
    if (suspect != HEAP_SUSPECT_NONE &&
        (objects->suspect == HEAP_SUSPECT_NONE || bytes > objects->suspected.bytes)) {
        objects->suspect = suspect;
        objects->suspected = row;
    }
}

void facts_add_sample(struct jvm_facts *facts, const struct sample *sample, int64_t ms)
{
    int jdk = facts->identity.jdk_major;
    struct account account;
    int64_t value;
    for (int rule = 0; rule < GROWTH_RULES; rule++) {
        if (growth_value((enum growth_rule)rule, sample, jdk, &value))
            growth_points_add(&facts->growth[rule], ms, value);
    }
    if (sample_get(sample, SAMPLE_GC_OLD, &value)) {
        facts->first_old_gcs = facts->have_old_gcs ? facts->first_old_gcs : value;
        facts->have_old_gcs = true;
        facts->old_collections = value - facts->first_old_gcs;
    }
    if (sample_get(sample, SAMPLE_MEMORY_LIMIT_BYTES, &value))
        facts->container_limit_bytes = value;
    if (!account_of(sample, jdk, &account))
        return;
    if (!facts->have_account_before)
        facts->account_before = account;
    facts->have_account_before = facts->have_account = true;
    facts->account = account;
}
