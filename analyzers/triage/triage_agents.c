/* What agents cost: jmethodIDs they preallocate, results they keep. */
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define KB (INT64_C(1) << 10)
#define MB (INT64_C(1) << 20)

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
/* Ids worth a look. */
#define IDS_WARN_BYTES          (100 * MB)

static int64_t value_or(const struct sample *sample, enum sample_field field)
{
    int64_t value;
    return sample_get(sample, field, &value) ? value : -1;
}

static int64_t committed_or(const struct sample *sample, enum nmt_category category)
{
    struct nmt_amount amount;
    return sample_get_nmt(sample, category, &amount) ? amount.committed_bytes : -1;
}

static struct explained_look look_of(const struct sample *sample)
{
    return (struct explained_look){
        .classes_loaded = value_or(sample, SAMPLE_CLASSES_LOADED),
        .classes_unloaded = value_or(sample, SAMPLE_CLASSES_UNLOADED),
        .loaders = value_or(sample, SAMPLE_LOADERS),
        .internal_bytes = committed_or(sample, NMT_INTERNAL),
        .class_bytes = committed_or(sample, NMT_CLASS),
        .jni_bytes = committed_or(sample, NMT_JNI),
    };
}

/* Who it is, for a title: the library, or what is known instead. */
static const char *who(const struct explained *explained)
{
    return explained->library[0] != '\0' ? explained->library : "an agent";
}

static void retained_by_sites(const struct dossier *dossier, struct triage *out)
{
    const struct call_site_sum *arrays = &dossier->sites.group[CALL_SITES_METHOD_ARRAYS];
    const struct call_site_sum *lines = &dossier->sites.group[CALL_SITES_LINE_TABLES];
    bool grown = dossier->sites_have_growth && lines->bytes_delta >= LINE_TABLES_GROWN_BYTES;
    bool leaks_arrays = arrays->bytes >= METHOD_ARRAYS_MIN_BYTES;
    bool leaks_lines = lines->bytes >= LINE_TABLES_MIN_BYTES || grown;
    if (!leaks_arrays && !leaks_lines)
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_RETAINS);
    if (finding == NULL)
        return;
    int64_t kept = (leaks_arrays ? arrays->bytes : 0) + (leaks_lines ? lines->bytes : 0);
    if (kept > dossier->thresholds.value[TH_INTERNAL_EXPLOSION_BYTES])
        finding->severity = SEVERITY_CRITICAL;
    finding_title(finding, "%.100s keeps what JVMTI gave it: %s below %s are never given back%s",
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
    if (dossier->sites_have_growth)
        finding_add_int(finding, "growth_bytes", arrays->bytes_delta + lines->bytes_delta);
}

/* Without call sites: Internal grows by more than ids for every class, and an agent is there. */
static void retained_by_growth(const struct dossier *dossier, const struct explained_facts *facts,
                               struct triage *out)
{
    const struct explained *explained = &out->explained;
    int64_t loads = facts->now.classes_loaded - facts->before.classes_loaded;
    int64_t left = explained->unexplained_growth_bytes;
    if (!explained->have_growth || dossier->agent_count == 0 || left < LEFT_MIN_BYTES ||
        loads < EXPLAINED_LOADS_MIN || left / loads < LEFT_PER_CLASS_BYTES)
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_RETAINS);
    if (finding == NULL)
        return;
    char agents[200];
    size_t used = 0;
    for (int i = 0; i < dossier->agent_count && used < sizeof agents; i++)
        used += (size_t)snprintf(agents + used, sizeof agents - used, "%s%s", i > 0 ? ", " : "",
                                 dossier->agents[i]);
    finding_title(finding,
                  "Internal grew by %" PRId64 " KB with %" PRId64 " classes loaded, %" PRId64
                  " bytes a class beyond jmethodIDs: an agent keeps them (%.180s)",
                  explained->growth_bytes / KB, loads, left / loads, agents);
    finding_add_text(finding, "library", dossier->agent_count == 1 ? agents : "");
    finding_add_text(finding, "agents", agents);
    finding_add_int(finding, "growth_bytes", explained->growth_bytes);
    finding_add_int(finding, "explained_bytes", explained->explained_growth_bytes);
    finding_add_int(finding, "classes_loaded", loads);
}

/* Internal grows, no class load explains it, and an agent is there: JVMTI Allocate books to
 * Internal. */
static void retained_by_level(const struct dossier *dossier, struct triage *out)
{
    const struct explained *explained = &out->explained;
    int64_t left = explained->unexplained_growth_bytes;
    if (!explained->have_growth || dossier->agent_count == 0 || left < GROWN_MIN_BYTES ||
        dossier->identity.jdk_major == 8) /* direct buffers are in Internal there */
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_RETAINS);
    if (finding == NULL)
        return;
    finding_title(
        finding,
        "Internal grew by %" PRId64 " MB that no class load explains: memory an agent has from "
        "JVMTI (%s%.180s)",
        left / MB, dossier->agent_count > 1 ? "one of several: " : "", dossier->agents[0]);
    finding_add_text(finding, "library", dossier->agent_count == 1 ? dossier->agents[0] : "");
    finding_add_int(finding, "growth_bytes", left);
    if (dossier->have_sites)
        finding_add_int(finding, "jvmti_bytes",
                        dossier->sites.group[CALL_SITES_JVMTI_RESULTS].bytes);
}

static void preallocates(const struct dossier *dossier, struct triage *out)
{
    const struct explained *explained = &out->explained;
    if (explained->preallocates != EXPLAINED_YES)
        return;
    struct finding *finding = triage_add(out, FINDING_AGENT_PREALLOCATES);
    if (finding == NULL)
        return;
    int64_t loaded = jmethodid_loaded_bytes(&explained->alive);
    int64_t total = loaded + explained->kept_after_unload_bytes;
    int64_t observed =
        dossier->have_sites ? dossier->sites.group[CALL_SITES_JMETHODIDS_AGENT].bytes : 0;
    if (observed > total)
        total = observed;
    if (total >= dossier->thresholds.value[TH_INTERNAL_EXPLOSION_BYTES])
        finding->severity = SEVERITY_CRITICAL;
    else if (total >= IDS_WARN_BYTES ||
             (explained->have_growth && explained->explained_growth_bytes >= MB &&
              triage_has(out, FINDING_CLASS_EXPLOSION)))
        finding->severity = SEVERITY_WARNING;
    finding_title(finding,
                  "%.100s preallocates jmethodIDs: about %" PRId64 " bytes a class loaded, %" PRId64
                  " of them never freed; some %s now",
                  who(explained), explained->bytes_per_class_load, explained->kept_bytes_per_class,
                  size_text(total).text);
    if (finding->severity == SEVERITY_CRITICAL)
        finding_advice(finding, "%s", MANY_IDS_ADVICE);
    finding_add_text(finding, "library", explained->library);
    finding_add_text(finding, "reason", explained->reason);
    finding_add_int(finding, "bytes_per_class", explained->bytes_per_class_load);
    finding_add_int(finding, "kept_bytes_per_class", explained->kept_bytes_per_class);
    finding_add_int(finding, "predicted_bytes", loaded);
    finding_add_int(finding, "kept_bytes", explained->kept_after_unload_bytes);
    if (dossier->have_sites)
        finding_add_int(finding, "observed_bytes", observed);
}

void triage_agents(const struct dossier *dossier, struct triage *out)
{
    const char *agents[DOSSIER_AGENTS_MAX];
    static const struct explained_look unknown = {-1, -1, -1, -1, -1, -1};
    for (int i = 0; i < dossier->agent_count; i++)
        agents[i] = dossier->agents[i];
    struct explained_facts facts = {
        .jdk_major = dossier->identity.jdk_major,
        .now = dossier->have_sample ? look_of(&dossier->sample) : unknown,
        .have_before = dossier->have_before,
        .before = dossier->have_before ? look_of(&dossier->before) : unknown,
        .sites = dossier->have_sites ? &dossier->sites : NULL,
        .agents_known = dossier->agents_known,
        .agent_count = dossier->agent_count,
        .agents = agents,
    };
    /* What looking has brought is nobody's: the first detailed report makes the JVM read its symbol
     * files, 4 to 5 MB of Internal. */
    if (facts.have_before && facts.now.internal_bytes > dossier->symbol_files_grown_bytes)
        facts.now.internal_bytes -= dossier->symbol_files_grown_bytes;
    explain_internal(&out->explained, &facts);
    if (out->explained.library[0] == '\0' && dossier->agent_count == 1)
        snprintf(out->explained.library, sizeof out->explained.library, "%s", dossier->agents[0]);
    if (dossier->have_sites)
        retained_by_sites(dossier, out);
    if (!triage_has(out, FINDING_AGENT_RETAINS))
        retained_by_growth(dossier, &facts, out);
    if (!triage_has(out, FINDING_AGENT_RETAINS))
        retained_by_level(dossier, out);
    preallocates(dossier, out);
}
