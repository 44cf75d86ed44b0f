/* Memory that is nobody's class: outside NMT, direct buffers, threads, names, redeployments. */
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define KB (INT64_C(1) << 10)
#define MB (INT64_C(1) << 20)

#define OUTSIDE_GROWN_MIN_BYTES (8 * MB)
#define FREED_UNKNOWN_BYTES     (32 * MB)
#define OUTSIDE_LEVEL_MIN_BYTES (256 * MB)
#define OUTSIDE_LEVEL_SHARE     0.30 /* of RSS without the heap */
#define ARENAS_KEEP_MIN_BYTES   (64 * MB)
#define DIRECT_GROWN_MIN_BYTES  (16 * MB)
#define SYMBOL_GROWN_MIN_BYTES  (4 * MB)
#define THREADS_GROWN_MIN       20
#define REDEPLOY_MIN_BYTES      (1 * MB)
#define REDEPLOY_MIN_CLASSES    200
#define OWN_EFFECT_MIN_BYTES    (1 * MB)
#define GROWN_SHARE             0.05 /* of its level, or it is noise of a large thing */

static void add_largest(const struct rss_account *rss, struct finding *finding)
{
    for (int i = 0; i < rss->largest_count && i < 4; i++) {
        char key[24], text[96];
        snprintf(key, sizeof key, "mapping_%d", i + 1);
        snprintf(text, sizeof text, "%" PRIx64 "-%" PRIx64 " %" PRId64 " KB resident",
                 rss->largest[i].low, rss->largest[i].high, rss->largest[i].rss_bytes / KB);
        finding_add_text(finding, key, text);
    }
}

/* Memory the JVM has freed and malloc may keep grows RSS without being outside NMT. JDKs that print
 * no peaks (8, 11) are taken for one large compilation. */
static int64_t freed_allowance(const struct rss_account *rss)
{
    return rss->nmt_freed_bytes > 0 ? rss->nmt_freed_bytes : FREED_UNKNOWN_BYTES;
}

static void outside_nmt(const struct dossier *dossier, struct triage *out)
{
    const struct rss_account *rss = &dossier->rss;
    if (!dossier->have_rss || !rss->compared)
        return;
    int64_t grown = 0;
    /* Without the heap's place its pages look anonymous, and it is touched bit by bit. */
    bool know_growth = dossier->have_rss_before && dossier->rss_before.compared && rss->heap_placed;
    if (know_growth)
        grown = rss_growth_outside_nmt(rss, &dossier->rss_before) - freed_allowance(rss);
    int64_t outside = rss->outside_nmt_bytes;
    double others = (double)(rss->rss_bytes - rss->kind[RSS_JAVA_HEAP].rss_bytes);
    bool grows = grown >= OUTSIDE_GROWN_MIN_BYTES && (double)grown >= GROWN_SHARE * 0.4 * others;
    bool large =
        outside >= OUTSIDE_LEVEL_MIN_BYTES && (double)outside >= OUTSIDE_LEVEL_SHARE * others;
    int64_t malloc_resident =
        rss->kind[RSS_MALLOC_MAIN].rss_bytes + rss->kind[RSS_MALLOC_ARENAS].rss_bytes;
    if (grows || large) {
        struct finding *finding = triage_add(out, FINDING_OUTSIDE_NMT);
        if (finding == NULL)
            return;
        if (grows)
            finding_title(finding,
                          "not in NMT: %" PRId64 " MB grew while observed, %" PRId64
                          " MB at least in all; native code allocates",
                          grown / MB, (outside > grown ? outside : grown) / MB);
        else
            finding_title(finding, "not in NMT: at least %" PRId64 " MB of %" PRId64 " MB resident",
                          outside / MB, rss->rss_bytes / MB);
        finding_add_int(finding, "outside_nmt_bytes", outside > grown ? outside : grown);
        if (know_growth)
            finding_add_int(finding, "growth_bytes", grown);
        finding_add_int(finding, "rss_bytes", rss->rss_bytes);
        finding_add_int(finding, "nmt_malloc_bytes", rss->nmt_malloc_bytes);
        finding_add_int(finding, "malloc_resident_bytes", malloc_resident);
        finding_add_int(finding, "anonymous_bytes", rss->kind[RSS_ANONYMOUS].rss_bytes);
        add_largest(rss, finding);
        return;
    }
    int64_t kept = malloc_resident - rss->nmt_malloc_bytes;
    if (kept < ARENAS_KEEP_MIN_BYTES)
        return;
    struct finding *finding = triage_add(out, FINDING_MALLOC_RETAINED);
    if (finding == NULL)
        return;
    finding_title(finding,
                  "malloc keeps about %" PRId64 " MB that NMT does not count, and it does not grow",
                  kept / MB);
    finding_add_int(finding, "kept_bytes", kept);
    finding_add_int(finding, "arena_mappings", rss->kind[RSS_MALLOC_ARENAS].mappings);
}

static int64_t level_of(const struct dossier *dossier, enum nmt_category category)
{
    struct nmt_amount amount;
    return dossier->have_sample && sample_get_nmt(&dossier->sample, category, &amount)
               ? amount.committed_bytes
               : 0;
}

/* A category that grew by at least so much, and by a share of its level that is not noise. */
static void category_grew(const struct dossier *dossier, enum nmt_category category, int64_t least,
                          enum finding_kind kind, const char *what, struct triage *out)
{
    int64_t grown;
    if (!dossier_growth(dossier, category, &grown) || grown < least ||
        (double)grown < GROWN_SHARE * (double)level_of(dossier, category))
        return;
    for (int i = 0; i < out->finding_count; i++) {
        if (out->findings[i].kind == kind) { /* its level was told */
            finding_add_int(&out->findings[i], "growth_within_look_bytes", grown);
            return;
        }
    }
    struct finding *finding = triage_add(out, kind);
    if (finding == NULL)
        return;
    char span[48] = "";
    if (dossier->span_s > 0.0)
        snprintf(span, sizeof span, " in %.0f s", dossier->span_s);
    finding_title(finding, "%s (NMT %s) grew by %" PRId64 " MB%s", what,
                  nmt_category_name(category), grown / MB, span);
    finding_add_text(finding, "category", nmt_category_name(category));
    finding_add_int(finding, "growth_bytes", grown);
    finding_add_int(finding, "level_bytes", level_of(dossier, category));
}

static void threads(const struct dossier *dossier, struct triage *out)
{
    int64_t now, before, grown = dossier->diff_threads;
    if (dossier->have_sample && dossier->have_before &&
        sample_get(&dossier->sample, SAMPLE_THREADS, &now) &&
        sample_get(&dossier->before, SAMPLE_THREADS, &before)) {
        grown = now - before;
        if (grown * 10 < before)
            return;
    }
    if (grown < THREADS_GROWN_MIN)
        return;
    struct finding *finding = triage_add(out, FINDING_THREAD_GROWTH);
    if (finding == NULL)
        return;
    finding_title(finding, "%" PRId64 " more threads than at the first look", grown);
    finding_add_int(finding, "growth_threads", grown);
}

static void redeploys(const struct dossier *dossier, struct triage *out)
{
    const struct loader_copies *worst = loader_leak_worst(&dossier->leak);
    if (worst == NULL)
        return;
    int64_t each = worst->chunk_bytes / worst->copies;
    int64_t extra = each * (worst->copies - 1);
    bool measured = worst->chunk_bytes > 0; /* MAT does not say */
    char megabytes[48];
    snprintf(megabytes, sizeof megabytes, ", %.1f MB of Metaspace each", (double)each / (double)MB);
    if (measured ? extra < REDEPLOY_MIN_BYTES
                 : worst->classes / worst->copies < REDEPLOY_MIN_CLASSES)
        return;
    struct finding *finding = triage_add(out, FINDING_REDEPLOY_LEAK);
    if (finding == NULL)
        return;
    finding_title(finding,
                  "%" PRId64 " loaders of type %.120s hold about %" PRId64
                  " classes each: one application loaded %" PRId64 " times%s",
                  worst->copies, worst->type, worst->classes / worst->copies, worst->copies,
                  measured ? megabytes : "");
    finding_add_text(finding, "loader_type", worst->type);
    finding_add_int(finding, "copies", worst->copies);
    finding_add_int(finding, "classes_each", worst->classes / worst->copies);
    if (measured) {
        finding_add_int(finding, "metaspace_bytes_each", each);
        finding_add_int(finding, "metaspace_bytes_extra", extra);
    }
}

static void own_effect(const struct dossier *dossier, struct triage *out)
{
    if (dossier->symbol_files_bytes < OWN_EFFECT_MIN_BYTES)
        return;
    struct finding *finding = triage_add(out, FINDING_OWN_EFFECT);
    if (finding == NULL)
        return;
    finding_title(finding,
                  "%.1f MB of Internal are the JVM's symbol files, read for a detailed report",
                  (double)dossier->symbol_files_bytes / (double)MB);
    finding_add_int(finding, "symbol_files_bytes", dossier->symbol_files_bytes);
}

void triage_memory(const struct dossier *dossier, struct triage *out)
{
    outside_nmt(dossier, out);
    /* Direct buffers are Other since 9; on 8 they are in Internal, with much else. */
    category_grew(dossier, dossier->identity.jdk_major == 8 ? NMT_INTERNAL : NMT_OTHER,
                  DIRECT_GROWN_MIN_BYTES, FINDING_DIRECT_MEMORY,
                  dossier->identity.jdk_major == 8 ? "direct buffers, or what else Internal holds"
                                                   : "direct buffers and Unsafe memory",
                  out);
    if (!triage_has(out, FINDING_CLASS_EXPLOSION))
        category_grew(dossier, NMT_SYMBOL, SYMBOL_GROWN_MIN_BYTES, FINDING_SYMBOL_GROWTH,
                      "interned names and strings", out);
    threads(dossier, out);
    redeploys(dossier, out);
    own_effect(dossier, out);
}
