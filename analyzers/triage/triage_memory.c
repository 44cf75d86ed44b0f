/* Memory of no class: outside NMT, direct buffers, threads, names, redeployments. */
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define OUTSIDE_GROWN_MIN_BYTES (8 * MB)
#define FREED_UNKNOWN_BYTES     (32 * MB)
#define OUTSIDE_LEVEL_MIN_BYTES (256 * MB)
#define OUTSIDE_LEVEL_SHARE     0.30 /* of RSS without the heap */
#define HEAP_TABLES_PART                                                                           \
    16 /* G1: cards, offsets and the bitmap, 1/512 + 1/512 + 1/64, and remembered sets */
#define TOUCHED_MIN_BYTES      (1 * MB)
#define ARENAS_KEEP_MIN_BYTES  (64 * MB)
#define DIRECT_GROWN_MIN_BYTES (16 * MB)
#define SYMBOL_GROWN_MIN_BYTES (4 * MB)
#define THREADS_GROWN_MIN      20
#define REDEPLOY_MIN_BYTES     (1 * MB)
#define REDEPLOY_MIN_CLASSES   200
#define OWN_EFFECT_MIN_BYTES   (1 * MB)
#define GROWN_SHARE            0.05 /* of its level, or it is noise of a large thing */

static void add_largest(const struct rss_account *rss, struct finding *finding)
{
    for (int i = 0; i < rss->largest_count && i < 4; i++)
        finding_add_listed(finding, "mapping", i + 1,
                           "%" PRIx64 "-%" PRIx64 " %" PRId64 " KB resident", rss->largest[i].low,
                           rss->largest[i].high, rss->largest[i].rss_bytes / KB);
}

/* Most of what grew while the process was seen from outside has one author. */
static void add_toucher(const struct facts_toucher *toucher, struct finding *finding)
{
    if (!toucher->have || toucher->bytes < TOUCHED_MIN_BYTES)
        return;
    finding_add_text(finding, "touched_by", toucher->by);
    finding_add_text(finding, "touched_in", toucher->in);
    finding_add_int(finding, "touched_bytes", toucher->bytes);
    finding_add_int(finding, "observed_outside_bytes", toucher->outside_bytes);
    if (toucher->bytes < toucher->outside_bytes / 2)
        return; /* one of several */
    finding_title(finding, "%s; most of the growth by %.150s", finding->title, toucher->by);
    finding_advice(finding,
                   "%.150s%s%.100s allocates it: free it there, end what it opens, or bound its "
                   "number. Stacks: nmtwatch observe PID rss --for 60s -o rss.html",
                   toucher->by, toucher->in[0] != '\0' ? " in " : "", toucher->in);
}

/* Memory the JVM has freed and malloc may keep grows RSS without being outside NMT. JDKs that print
 * no peaks (8, 11) are taken for one large compilation. */
static int64_t freed_allowance(const struct rss_account *rss)
{
    return rss->nmt_freed_bytes > 0 ? rss->nmt_freed_bytes : FREED_UNKNOWN_BYTES;
}

/* Most of what is outside was freed, and glibc's malloc keeps it: nobody leaks. */
static void retained(const struct facts_toucher *toucher, int64_t outside, struct triage *out)
{
    struct finding *finding = triage_add(out, FINDING_MALLOC_RETAINED);
    finding->severity = SEVERITY_WARNING;
    finding_title(finding,
                  "glibc's malloc keeps %s that was freed, of %s outside of NMT, in %" PRId64
                  " arenas: no leak",
                  units_bytes(toucher->kept_bytes).text, units_bytes(outside).text,
                  toucher->arenas);
    finding_advice(finding, "MALLOC_ARENA_MAX=2 in the environment keeps it from coming back; jcmd "
                            "PID System.trim_native_heap (JDK 17.0.9, 21 and later) gives it back "
                            "now.");
    finding_add_int(finding, "kept_bytes", toucher->kept_bytes);
    finding_add_int(finding, "outside_nmt_bytes", outside);
}

/* The collector's tables cover the heap: committed long before, they are touched with it. */
static int64_t touched_with_heap(const struct rss_account *now, const struct rss_account *before)
{
    int64_t grown = now->kind[RSS_JAVA_HEAP].rss_bytes - before->kind[RSS_JAVA_HEAP].rss_bytes;
    return grown > 0 ? grown / HEAP_TABLES_PART : 0;
}

static void outside_nmt(const struct jvm_facts *facts, struct triage *out)
{
    const struct rss_account *rss = &facts->rss;
    if (!facts->have_rss || !rss->compared)
        return;
    int64_t grown = 0;
    /* Without the heap's place its pages look anonymous, and it is touched bit by bit. */
    bool know_growth = facts->have_rss_before && facts->rss_before.compared && rss->heap_placed;
    if (know_growth)
        grown = rss_growth_outside_nmt(rss, &facts->rss_before) - freed_allowance(rss) -
                touched_with_heap(rss, &facts->rss_before);
    int64_t outside = rss->outside_nmt_bytes;
    double others = (double)(rss->rss_bytes - rss->kind[RSS_JAVA_HEAP].rss_bytes);
    bool grows = grown >= OUTSIDE_GROWN_MIN_BYTES && (double)grown >= GROWN_SHARE * 0.4 * others;
    bool large =
        outside >= OUTSIDE_LEVEL_MIN_BYTES && (double)outside >= OUTSIDE_LEVEL_SHARE * others;
    int64_t malloc_resident =
        rss->kind[RSS_MALLOC_MAIN].rss_bytes + rss->kind[RSS_MALLOC_ARENAS].rss_bytes;
    int64_t outside_most = MAX(outside, grown);
    if ((grows || large) && facts->toucher.kept_bytes >= ARENAS_KEEP_MIN_BYTES &&
        facts->toucher.kept_bytes >= outside_most / 2) {
        retained(&facts->toucher, outside_most, out);
        return;
    }
    if (grows || large) {
        struct finding *finding = triage_add(out, FINDING_OUTSIDE_NMT);
        if (grows)
            finding_title(finding,
                          "not in NMT: %s grew while observed, %s at least in all; native code "
                          "allocates",
                          units_bytes(grown).text, units_bytes(outside_most).text);
        else
            finding_title(finding, "not in NMT: at least %s of %s resident",
                          units_bytes(outside).text, units_bytes(rss->rss_bytes).text);
        finding_add_int(finding, "outside_nmt_bytes", outside_most);
        if (know_growth)
            finding_add_int(finding, "growth_bytes", grown);
        finding_add_int(finding, "rss_bytes", rss->rss_bytes);
        finding_add_int(finding, "nmt_malloc_bytes", rss->nmt_malloc_bytes);
        finding_add_int(finding, "malloc_resident_bytes", malloc_resident);
        finding_add_int(finding, "anonymous_bytes", rss->kind[RSS_ANONYMOUS].rss_bytes);
        add_toucher(&facts->toucher, finding);
        add_largest(rss, finding);
        return;
    }
    int64_t kept = malloc_resident - rss->nmt_malloc_bytes;
    if (kept < ARENAS_KEEP_MIN_BYTES)
        return;
    struct finding *finding = triage_add(out, FINDING_MALLOC_RETAINED);
    finding_title(finding, "malloc keeps about %s that NMT does not count, and it does not grow",
                  units_bytes(kept).text);
    finding_add_int(finding, "kept_bytes", kept);
    finding_add_int(finding, "arena_mappings", rss->kind[RSS_MALLOC_ARENAS].mappings);
}

static int64_t level_of(const struct jvm_facts *facts, enum nmt_category category)
{
    struct nmt_amount amount;
    return facts->have_sample && sample_get_nmt(&facts->sample, category, &amount)
               ? amount.committed_bytes
               : 0;
}

/* A category that grew by at least so much, and by a share of its level that is not noise. */
static void category_grew(const struct jvm_facts *facts, enum nmt_category category, int64_t least,
                          enum finding_kind kind, const char *what, struct triage *out)
{
    int64_t grown;
    if (!facts_growth(facts, category, &grown) || grown < least ||
        (double)grown < GROWN_SHARE * (double)level_of(facts, category))
        return;
    for (int i = 0; i < out->finding_count; i++) {
        if (out->findings[i].kind == kind) { /* its level was reported */
            finding_add_int(&out->findings[i], "growth_within_look_bytes", grown);
            return;
        }
    }
    struct finding *finding = triage_add(out, kind);
    char span[48] = "";
    if (facts->span_s > 0.0)
        snprintf(span, sizeof span, " in %.0f s", facts->span_s);
    finding_title(finding, "%s (NMT %s) grew by %s%s", what, nmt_category_name(category),
                  units_bytes(grown).text, span);
    finding_add_text(finding, "category", nmt_category_name(category));
    finding_add_int(finding, "growth_bytes", grown);
    finding_add_int(finding, "level_bytes", level_of(facts, category));
}

static void threads(const struct jvm_facts *facts, struct triage *out)
{
    int64_t now, before, grown = facts->diff_threads;
    if (facts->have_sample && facts->have_before &&
        sample_get(&facts->sample, SAMPLE_THREADS, &now) &&
        sample_get(&facts->before, SAMPLE_THREADS, &before)) {
        grown = now - before;
        if (grown * 10 < before)
            return;
    }
    if (grown < THREADS_GROWN_MIN)
        return;
    struct finding *finding = triage_add(out, FINDING_THREAD_GROWTH);
    finding_title(finding, "%" PRId64 " more threads than at the first measurement", grown);
    finding_add_int(finding, "growth_threads", grown);
}

static void redeploys(const struct jvm_facts *facts, struct triage *out)
{
    const struct loader_copies *worst = loader_leak_worst(&facts->leak);
    if (worst == NULL)
        return;
    int64_t each = worst->chunk_bytes / worst->copies;
    int64_t extra = each * (worst->copies - 1);
    bool measured = worst->chunk_bytes > 0; /* MAT does not say */
    char megabytes[80];
    snprintf(megabytes, sizeof megabytes, ", %s of Metaspace each", units_bytes(each).text);
    if (measured ? extra < REDEPLOY_MIN_BYTES
                 : worst->classes / worst->copies < REDEPLOY_MIN_CLASSES)
        return;
    struct finding *finding = triage_add(out, FINDING_REDEPLOY_LEAK);
    finding_title(finding,
                  "%" PRId64 " loaders of type %.120s hold about %s classes each: one application "
                  "loaded %" PRId64 " times%s",
                  worst->copies, worst->type, units_count(worst->classes / worst->copies).text,
                  worst->copies, measured ? megabytes : "");
    finding_add_text(finding, "loader_type", worst->type);
    finding_add_int(finding, "copies", worst->copies);
    finding_add_int(finding, "classes_each", worst->classes / worst->copies);
    if (measured) {
        finding_add_int(finding, "metaspace_bytes_each", each);
        finding_add_int(finding, "metaspace_bytes_extra", extra);
    }
}

static void own_effect(const struct jvm_facts *facts, struct triage *out)
{
    if (facts->symbol_files_bytes < OWN_EFFECT_MIN_BYTES)
        return;
    struct finding *finding = triage_add(out, FINDING_OWN_EFFECT);
    finding_title(finding, "%s of Internal are the JVM's symbol files, read for a detailed report",
                  units_bytes(facts->symbol_files_bytes).text);
    finding_add_int(finding, "symbol_files_bytes", facts->symbol_files_bytes);
}

void triage_memory(const struct jvm_facts *facts, struct triage *out)
{
    outside_nmt(facts, out);
    /* Direct buffers are Other since 9; on 8 they are in Internal, with much else. */
    category_grew(facts, facts->identity.jdk_major == 8 ? NMT_INTERNAL : NMT_OTHER,
                  DIRECT_GROWN_MIN_BYTES, FINDING_DIRECT_MEMORY,
                  facts->identity.jdk_major == 8 ? "direct buffers, or what else Internal holds"
                                                 : "direct buffers and Unsafe memory",
                  out);
    if (!triage_has(out, FINDING_CLASS_EXPLOSION))
        category_grew(facts, NMT_SYMBOL, SYMBOL_GROWN_MIN_BYTES, FINDING_SYMBOL_GROWTH,
                      "interned names and strings", out);
    threads(facts, out);
    redeploys(facts, out);
    own_effect(facts, out);
}

/* --- agents ----------------------------------------------------------------------------------- */

/* Results of GetClassMethods are given back at once: what stands there is forgotten. */
#define METHOD_ARRAYS_MIN_BYTES (64 * KB)
/* More than arrays alone come to: where the compiler has inlined it, the ids themselves, too. */
#define MANY_IDS_BYTES          (256 * MB)
#define MANY_IDS_ADVICE                                                                            \
    "A profiler makes jmethodIDs of every class and they are never freed: update it, choose an "   \
    "engine without them (jmethodid=none) or remove it, and stop what generates classes "          \
    "(nmtwatch "                                                                                   \
    "triage PID names it)."
/* A profiler keeps the line tables of the methods it has sampled: 40 KB to 1.6 MB. */
#define LINE_TABLES_MIN_BYTES   (4 * MB)
#define LINE_TABLES_GROWN_BYTES (64 * KB)
/* Bytes of Internal for each class loaded that ids do not explain: leaked arrays are 8 a method. */
#define LEFT_PER_CLASS_BYTES    64
#define LEFT_MIN_BYTES          (256 * KB)
#define GROWN_MIN_BYTES         (4 * MB)
/* Ids worth reporting. */
#define IDS_WARN_BYTES          (100 * MB)

static struct explained_amounts amounts_of(const struct sample *sample)
{
    return (struct explained_amounts){
        .classes_loaded = sample_value(sample, SAMPLE_CLASSES_LOADED),
        .classes_unloaded = sample_value(sample, SAMPLE_CLASSES_UNLOADED),
        .loaders = sample_value(sample, SAMPLE_LOADERS),
        .internal_bytes = sample_committed(sample, NMT_INTERNAL),
        .class_bytes = sample_committed(sample, NMT_CLASS),
        .jni_bytes = sample_committed(sample, NMT_JNI),
    };
}

/* Who it is, for a title: the library, or what is known instead. */
static const char *who(const struct explained *explained)
{
    return explained->library[0] != '\0' ? explained->library : "an agent";
}

static void retained_by_sites(const struct jvm_facts *facts, struct triage *out)
{
    const struct call_site_sum *arrays = &facts->sites.group[CALL_SITES_METHOD_ARRAYS];
    const struct call_site_sum *lines = &facts->sites.group[CALL_SITES_LINE_TABLES];
    bool grown = facts->sites_have_growth && lines->bytes_delta >= LINE_TABLES_GROWN_BYTES;
    bool leaks_arrays = arrays->bytes >= METHOD_ARRAYS_MIN_BYTES;
    bool leaks_lines = lines->bytes >= LINE_TABLES_MIN_BYTES || grown;
    if (!leaks_arrays && !leaks_lines)
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_RETAINS);
    int64_t kept = (leaks_arrays ? arrays->bytes : 0) + (leaks_lines ? lines->bytes : 0);
    if (kept > facts->thresholds.value[TH_INTERNAL_EXPLOSION_BYTES])
        finding->severity = SEVERITY_CRITICAL;
    finding_title(finding, "%.100s does not free JVMTI results: %s below %s are never freed%s",
                  who(&out->explained), size_text(kept).text,
                  leaks_arrays && leaks_lines ? "GetClassMethods and GetLineNumberTable"
                  : leaks_arrays              ? "GetClassMethods"
                                              : "GetLineNumberTable",
                  leaks_arrays && kept > MANY_IDS_BYTES
                      ? ": jmethodIDs that a profiler asks for, of each method of each class loaded"
                      : "");
    if (leaks_arrays && kept > MANY_IDS_BYTES)
        finding_advice(finding, "%s", MANY_IDS_ADVICE);
    finding_add_text(finding, "library", out->explained.library);
    finding_add_int(finding, "get_class_methods_bytes", arrays->bytes);
    finding_add_int(finding, "get_line_number_table_bytes", lines->bytes);
    if (facts->sites_have_growth)
        finding_add_int(finding, "growth_bytes", arrays->bytes_delta + lines->bytes_delta);
}

/* Without call sites: Internal grows by more than ids for every class, and an agent is there. */
static void retained_by_growth(const struct jvm_facts *facts, const struct explained_facts *inputs,
                               struct triage *out)
{
    const struct explained *explained = &out->explained;
    int64_t left = explained->unexplained_growth_bytes;
    if (!explained->have_growth || facts->agent_count == 0 || left < LEFT_MIN_BYTES)
        return;
    int64_t loads = inputs->now.classes_loaded - inputs->before.classes_loaded;
    if (loads < EXPLAINED_LOADS_MIN || left / loads < LEFT_PER_CLASS_BYTES)
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_RETAINS);
    char agents[200];
    size_t used = 0;
    for (int i = 0; i < facts->agent_count && used < sizeof agents; i++)
        used += (size_t)snprintf(agents + used, sizeof agents - used, "%s%s", i > 0 ? ", " : "",
                                 facts->agents[i]);
    finding_title(finding,
                  "Internal grew by %s with %s classes loaded, %s a class beyond jmethodIDs: an "
                  "agent keeps them (%.180s)",
                  units_bytes(explained->growth_bytes).text, units_count(loads).text,
                  units_bytes(left / loads).text, agents);
    finding_add_text(finding, "library", facts->agent_count == 1 ? agents : "");
    finding_add_text(finding, "agents", agents);
    finding_add_int(finding, "growth_bytes", explained->growth_bytes);
    finding_add_int(finding, "explained_bytes", explained->explained_growth_bytes);
    finding_add_int(finding, "classes_loaded", loads);
}

/* Internal grows, no class load explains it, and an agent is there: JVMTI Allocate books to
 * Internal. */
static void retained_by_level(const struct jvm_facts *facts, struct triage *out)
{
    const struct explained *explained = &out->explained;
    int64_t left = explained->unexplained_growth_bytes;
    if (!explained->have_growth || facts->agent_count == 0 || left < GROWN_MIN_BYTES ||
        facts->identity.jdk_major == 8) /* direct buffers are in Internal there */
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_RETAINS);
    finding_title(finding,
                  "Internal grew by %s that no class load explains: memory an agent has from JVMTI "
                  "(%s%.180s)",
                  units_bytes(left).text, facts->agent_count > 1 ? "one of several: " : "",
                  facts->agents[0]);
    finding_add_text(finding, "library", facts->agent_count == 1 ? facts->agents[0] : "");
    finding_add_int(finding, "growth_bytes", left);
    if (facts->have_sites)
        finding_add_int(finding, "jvmti_bytes", facts->sites.group[CALL_SITES_JVMTI_RESULTS].bytes);
}

static void preallocates(const struct jvm_facts *facts, struct triage *out)
{
    const struct explained *explained = &out->explained;
    if (explained->preallocates != EXPLAINED_YES)
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_PREALLOCATES);
    int64_t loaded =
        explained->ids_counted ? explained->ids_bytes : jmethodid_loaded_bytes(&explained->alive);
    int64_t total = loaded + explained->kept_after_unload_bytes;
    int64_t observed =
        facts->have_sites ? facts->sites.group[CALL_SITES_JMETHODIDS_AGENT].bytes : 0;
    total = MAX(total, observed);
    if (total >= facts->thresholds.value[TH_INTERNAL_EXPLOSION_BYTES])
        finding->severity = SEVERITY_CRITICAL;
    else if (total >= IDS_WARN_BYTES ||
             (explained->have_growth && explained->explained_growth_bytes >= MB &&
              triage_has(out, FINDING_CLASS_EXPLOSION)))
        finding->severity = SEVERITY_WARNING;
    char counted[96] = "";
    if (explained->ids_counted)
        snprintf(counted, sizeof counted, ", %s ids counted in it",
                 units_count(explained->ids).text);
    finding_title(finding,
                  "%.100s preallocates jmethodIDs: about %s a class loaded, %s of it never freed; "
                  "some %s now%s",
                  who(explained), units_bytes(explained->bytes_per_class_load).text,
                  units_bytes(explained->kept_bytes_per_class).text, size_text(total).text,
                  counted);
    if (finding->severity == SEVERITY_CRITICAL)
        finding_advice(finding, "%s", MANY_IDS_ADVICE);
    finding_add_text(finding, "library", explained->library);
    finding_add_text(finding, "reason", explained->reason);
    finding_add_int(finding, "bytes_per_class", explained->bytes_per_class_load);
    finding_add_int(finding, "kept_bytes_per_class", explained->kept_bytes_per_class);
    if (explained->ids_counted) {
        finding_add_int(finding, "jmethod_ids", explained->ids);
        finding_add_int(finding, "jmethod_ids_bytes", loaded);
    } else {
        finding_add_int(finding, "predicted_bytes", loaded);
    }
    finding_add_int(finding, "kept_bytes", explained->kept_after_unload_bytes);
    if (facts->have_sites)
        finding_add_int(finding, "observed_bytes", observed);
}

/* Of a class of the family that is loaded most, which need not be like those that are loaded now. 0: not counted. */
static double methods_of_coming(const struct jvm_facts *facts)
{
    const struct facts_names *names = facts->flow.have ? &facts->flow : &facts->stock;
    const struct methods_event *methods = &facts->methods.event;
    if (!names->have || names->row_count == 0)
        return 0;
    for (int i = 0; i < methods->row_count; i++) {
        const struct method_family *row = &facts->methods.rows[i];
        if (row->classes > 0 && (strcmp(row->family, names->rows[0].stem) == 0 ||
                                 strcmp(row->family, names->rows[0].family) == 0))
            return (double)row->methods / (double)row->classes;
    }
    return 0;
}

void triage_agents(const struct jvm_facts *facts, struct triage *out)
{
    const char *agents[FACTS_AGENTS_MAX];
    static const struct explained_amounts unknown = {-1, -1, -1, -1, -1, -1};
    for (int i = 0; i < facts->agent_count; i++)
        agents[i] = facts->agents[i];
    struct explained_facts inputs = {
        .jdk_major = facts->identity.jdk_major,
        .now = facts->have_sample ? amounts_of(&facts->sample) : unknown,
        .have_before = facts->have_before,
        .before = facts->have_before ? amounts_of(&facts->before) : unknown,
        .sites = facts->have_sites ? &facts->sites : NULL,
        .sites_have_growth = facts->sites_have_growth,
        .ids_counted = facts->ids.have,
        .ids = facts->ids.ids,
        .id_classes = facts->ids.classes,
        .id_methods = facts->ids.methods,
        .id_loaders = facts->ids.loaders,
        .methods_per_class = methods_per_class(&facts->methods.event),
        .methods_of_coming = methods_of_coming(facts),
        .agents_known = facts->agents_known,
        .agent_count = facts->agent_count,
        .agents = agents,
    };
    /* Memory used by the measurement itself: the first detailed report makes the JVM read its
     * symbol files, 4 to 5 MB of Internal. */
    if (inputs.have_before && inputs.now.internal_bytes > facts->symbol_files_grown_bytes)
        inputs.now.internal_bytes -= facts->symbol_files_grown_bytes;
    explain_internal(&out->explained, &inputs);
    if (out->explained.library[0] == '\0' && facts->agent_count == 1)
        snprintf(out->explained.library, sizeof out->explained.library, "%s", facts->agents[0]);
    if (facts->have_sites)
        retained_by_sites(facts, out);
    if (!triage_has(out, FINDING_AGENT_RETAINS))
        retained_by_growth(facts, &inputs, out);
    if (!triage_has(out, FINDING_AGENT_RETAINS))
        retained_by_level(facts, out);
    preallocates(facts, out);
}
