/* What grew while the JVM was watched, by the rules of a watch (analyzers/judge/growth.def): the pace counts, not the
 * amount. What is too little to be certain is reported as a note that says how to find out. */
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define NOTED_BYTES       (1 * MB)
#define NOTED_BYTES_PER_H (50 * MB)
#define NOTED_THREADS     4
#define TOUCHED_BYTES     (16 * MB)

static double certain(const struct growth *growth)
{
    return growth->per_h.low * (double)growth->span_ms / 3600000;
}

static void add_files(const struct jvm_facts *facts, enum rss_kind kind, struct finding *finding)
{
    int listed = 0;
    for (int i = 0; facts->have_rss && i < facts->rss.file_count && listed < 4; i++) {
        const struct rss_file *file = &facts->rss.file[i];
        if (file->kind == kind && file->rss_bytes >= NOTED_BYTES)
            finding_add_listed(finding, "mapping", ++listed, "%.100s, %s resident", file->path,
                               units_bytes(file->rss_bytes).text);
    }
}

/* A minute shows what grows, not whether it continues. */
static void too_short(struct finding *finding)
{
    finding->severity = SEVERITY_INFO;
    finding_title(finding, "%s: too short to tell, `nmtwatch watch PID --for 10m` does",
                  finding->title);
}

/* The heap's garbage grows as well: only what an old collection has left is kept. */
static bool is_kept(const struct jvm_facts *facts, enum growth_rule rule)
{
    return rule != GROWTH_HEAP || facts->old_collections > 0;
}

static void one_rule(const struct jvm_facts *facts, enum growth_rule rule, struct triage *out)
{
    const struct growth_points *points = &facts->growth[rule];
    const struct growth_row *row = growth_row(rule);
    struct growth growth = {.rule = rule, .sample = &facts->sample};
    bool counts = growth_is_count(rule);
    if (row->threshold == THRESHOLD_COUNT || triage_has(out, row->kind) ||
        !growth_points_ask(points, &growth) || !growth_points_go_on(points) ||
        !is_kept(facts, rule) || growth.grown < (counts ? NOTED_THREADS : NOTED_BYTES) ||
        (!counts && growth.per_h.low < NOTED_BYTES_PER_H))
        return;
    struct finding *finding = triage_add(out, row->kind);
    growth_finding(&growth, &out->texts, finding);
    if (rule == GROWTH_SHARED || rule == GROWTH_FILES)
        add_files(facts, rule == GROWTH_SHARED ? RSS_SHARED : RSS_FILES, finding);
    if (finding->severity > SEVERITY_INFO &&
        certain(&growth) < (double)facts->thresholds.value[row->threshold]) {
        too_short(finding);
        out->undecided = true;
    }
}

/* RSS grew because more of the heap was touched, and no collection says whether it is kept. */
static void heap_touched(const struct jvm_facts *facts, struct triage *out)
{
    if (!facts->have_account || triage_has(out, FINDING_JAVA_HEAP_GROWTH))
        return;
    int64_t now = facts->account.bytes[ACCOUNT_HEAP];
    int64_t grown = now - facts->account_before.bytes[ACCOUNT_HEAP];
    struct nmt_amount heap = {0};
    if (grown < TOUCHED_BYTES)
        return;
    sample_get_nmt(&facts->sample, NMT_JAVA_HEAP, &heap);
    struct finding *finding = triage_add(out, FINDING_JAVA_HEAP_GROWTH);
    finding->severity = SEVERITY_INFO;
    finding_title(
        finding,
        "RSS grew by the Java heap: %s of it were touched for the first time, %s now%s%s; "
        "%s old collection in that time, so garbage is not told from what is kept",
        units_bytes(grown).text, units_bytes(now).text,
        heap.reserved_bytes > 0 ? " of at most " : "",
        heap.reserved_bytes > 0 ? units_bytes(heap.reserved_bytes).text : "",
        facts->old_collections > 0 ? "the" : "no");
    finding_advice(finding,
                   "A heap is touched up to its size, which is no leak. Whether objects are "
                   "kept: `nmtwatch triage PID --gc`, or `nmtwatch watch PID` until a "
                   "collection of the old generation has run.");
    finding_add_int(finding, "growth_bytes", grown);
    if (heap.committed_bytes > 0)
        finding_add_int(finding, "heap_committed_bytes", heap.committed_bytes);
    out->undecided = true;
}

void triage_growth(const struct jvm_facts *facts, struct triage *out)
{
    for (int rule = 0; rule < GROWTH_RULES; rule++)
        one_rule(facts, (enum growth_rule)rule, out);
    heap_touched(facts, out);
}
