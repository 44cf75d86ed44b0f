/* What fills the heap; and, when nothing was found, what the text says and which command decides. */
#include "analyzers/classes/heap_census.h"
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define HEAP_FULL_PERCENT 97
#define OBJECTS_MIN       1000 /* of a class, for a note */

static void add_objects(const struct heap_objects *objects, struct finding *finding)
{
    for (int i = 0; i < objects->count; i++) {
        const struct heap_class *row = &objects->row[i];
        finding_add_listed(finding, "objects", i + 1, "%s %s%s%s", units_count(row->instances).text,
                           row->name, row->bytes >= 0 ? ", " : "",
                           row->bytes >= 0 ? size_text(row->bytes).text : "");
    }
}

#define GROWN_SHARE  5 /* of the heap: a fifth */
#define GROWN_LISTED 4

/* From one histogram to the next: no statistics, so only much of it is more than a note. */
static void heap_growth(const struct jvm_facts *facts, struct triage *out)
{
    const struct facts_heap_growth *growth = &facts->heap_growth;
    const struct histogram_class *most = &growth->rows[0];
    if (growth->histograms < 2 || growth->row_count == 0 || most->bytes_growth < MB)
        return;
    struct finding *finding = triage_add(out, FINDING_HEAP_GROWTH);
    bool filler = heap_class_may_be_filler(facts->identity.jdk_major, most->name);
    if (!filler && most->bytes_growth > facts->thresholds.value[TH_HEAP_CLASS_BYTES] &&
        most->bytes_growth > growth->bytes_before / GROWN_SHARE)
        finding->severity = SEVERITY_WARNING;
    finding_family(finding, most->family);
    finding_title(finding,
                  "from the first of %d histograms to the last: objects of %.150s grew most, by %s "
                  "to %s (%s%s to %s objects)%s",
                  growth->histograms, most->name, size_text(most->bytes_growth).text,
                  size_text(most->bytes).text, most->instances_growth > 0 ? "+" : "",
                  units_count(most->instances_growth).text, units_count(most->instances).text,
                  filler ? "; before JDK 19 a GC fills gaps with such arrays" : "");
    finding_add_text(finding, "class", most->name);
    finding_add_int(finding, "growth_bytes", most->bytes_growth);
    finding_add_int(finding, "instances_growth", most->instances_growth);
    for (int i = 0; i < growth->row_count && i < GROWN_LISTED; i++) {
        const struct histogram_class *row = &growth->rows[i];
        finding_add_listed(finding, "grown", i + 1, "%s, %s%s objects: %s",
                           units_growth(row->bytes_growth).text,
                           row->instances_growth > 0 ? "+" : "",
                           units_count(row->instances_growth).text, row->name);
    }
}

static void heap_objects(const struct jvm_facts *facts, struct triage *out)
{
    const struct heap_objects *objects = &facts->objects;
    bool suspect = objects->suspect != HEAP_SUSPECT_NONE;
    if (objects->classes == 0 || (!suspect && out->finding_count > 0))
        return;
    struct finding *finding = triage_add(out, FINDING_HEAP_OBJECTS);
    if (suspect) {
        const struct heap_suspect_row *row = heap_suspect_row(objects->suspect);
        const struct heap_class *of = &objects->suspected;
        finding->severity = SEVERITY_WARNING;
        finding_title(finding, "%s objects of %s%s%s: %s", units_count(of->instances).text,
                      of->name, of->bytes >= 0 ? ", " : "",
                      of->bytes >= 0 ? size_text(of->bytes).text : "", row->what);
        finding_advice(finding, "%s", row->advice);
        finding_add_text(finding, "cause", row->key);
    } else {
        const struct heap_class *first = &objects->row[0];
        finding_title(finding, "histogram of %s classes%s%s: most are %s %s%s%s",
                      units_count(objects->classes).text, objects->total_bytes > 0 ? ", " : "",
                      objects->total_bytes > 0 ? size_text(objects->total_bytes).text : "",
                      units_count(first->instances).text, first->name,
                      first->bytes >= 0 ? ", " : "",
                      first->bytes >= 0 ? size_text(first->bytes).text : "");
    }
    add_objects(objects, finding);
}

/* --- observations: one, by the first text that has something to say --------------------------- */

/* A part of an error file without its head. */
static bool of_error_file(const struct jvm_facts *facts, struct finding *finding)
{
    const struct crash *crash = &facts->crash;
    if (!crash->have || crash->end != HS_ERR_NO_END)
        return false;
    int64_t used = crash->figure[HS_ERR_METASPACE_USED];
    char metaspace[64] = "";
    if (used >= 0)
        snprintf(metaspace, sizeof metaspace, "; Metaspace: %s used", size_text(used).text);
    finding_title(finding,
                  "a part of an error file (hs_err): why the JVM ended stands in its first lines, "
                  "which are missing%s",
                  metaspace);
    finding_advice(finding, "%s",
                   "Paste the file from its beginning: head -60 hs_err_pidPID.log. \"There is "
                   "insufficient memory\" there is a memory question; a signal (SIGSEGV, "
                   "EXCEPTION_ACCESS_VIOLATION) with its problematic frame is a crash.");
    return true;
}

static bool of_process(const struct jvm_facts *facts, struct finding *finding)
{
    const struct process_row *row = &facts->row;
    bool in_row = row->source != PROCESS_NONE && row->rss_bytes > 0;
    int64_t rss = in_row ? row->rss_bytes : facts->have_rss ? facts->rss.rss_bytes : -1;
    if (rss <= 0)
        return false;
    char limit[64] = "", heap[120] = "";
    if (facts->container_limit_bytes > 0)
        snprintf(limit, sizeof limit, ", of a limit of %s",
                 size_text(facts->container_limit_bytes).text);
    if (facts->max_heap_bytes > 0)
        snprintf(heap, sizeof heap, ", -Xmx is %s", size_text(facts->max_heap_bytes).text);
    if (facts->max_heap_bytes > 0 && rss > facts->max_heap_bytes)
        snprintf(heap, sizeof heap, ", -Xmx is %s: at least %s are not heap",
                 size_text(facts->max_heap_bytes).text,
                 size_text(rss - facts->max_heap_bytes).text);
    finding_title(finding, "%s shows %s resident for %s%s%s",
                  in_row ? process_source_name(row->source) : "smaps", size_text(rss).text,
                  in_row && row->name[0] != '\0' ? row->name : "the process", limit, heap);
    finding_advice(finding, "%s",
                   "Compare it with what the JVM counts: jcmd PID VM.native_memory summary (with "
                   "-XX:NativeMemoryTracking=summary). What is resident above its total is native "
                   "code's or malloc's: pmap -x PID, MALLOC_ARENA_MAX=2. nmtwatch triage PID does "
                   "both; nmtwatch plan says which heap fits a limit.");
    finding_add_int(finding, "rss_bytes", rss);
    if (in_row && row->threads > 0)
        finding_add_int(finding, "threads", row->threads);
    return true;
}

static bool of_memory_map(const struct jvm_facts *facts, struct finding *finding)
{
    if (facts->map_regions == 0 || facts->category_count > 0)
        return false;
    finding_title(finding, "a piece of NMT's memory map: %" PRId64 " regions, %s reserved%s%s",
                  facts->map_regions, size_text(facts->map_reserved_bytes).text,
                  facts->map_largest != NMT_NOT_IN_TABLE ? ", most for " : "",
                  facts->map_largest != NMT_NOT_IN_TABLE ? nmt_category_name(facts->map_largest)
                                                         : "");
    finding_advice(finding, "%s",
                   "The totals are missing: jcmd PID VM.native_memory summary. The map has only "
                   "what the JVM reserved itself; what a native library (JNI) allocates is not in "
                   "NMT: if RSS is far above NMT's total, look with pmap -x PID and a malloc "
                   "profiler (heaptrack, jemalloc's prof).");
    return true;
}

static bool of_metaspace(const struct jvm_facts *facts, struct finding *finding)
{
    int64_t used = -1, committed = -1, max = facts->max_metaspace_bytes;
    if (facts->have_sample) {
        sample_get(&facts->sample, SAMPLE_METASPACE_USED_BYTES, &used);
        sample_get(&facts->sample, SAMPLE_METASPACE_COMMITTED_BYTES, &committed);
        sample_get(&facts->sample, SAMPLE_METASPACE_MAX_BYTES, &max);
    }
    if (used < 0 && facts->have_lines && facts->lines.metaspace_lines > 0) {
        used = facts->lines.metaspace_last_bytes;
        committed = facts->lines.metaspace_committed_bytes;
    }
    if (used < 0)
        return false;
    char limit[64];
    snprintf(limit, sizeof limit, "MaxMetaspaceSize is %s", size_text(max).text);
    finding_title(finding, "Metaspace: %s used%s%s, %s%s", size_text(used).text,
                  committed >= 0 ? ", committed " : "",
                  committed >= 0 ? size_text(committed).text : "",
                  max > 0 ? limit : "no limit is in the text",
                  used < 64 * MB ? "; it is small and not the cause" : "");
    finding_advice(
        finding, "%s",
        "Whether it grows needs two samples: jcmd PID VM.metaspace, twice; then jcmd PID "
        "VM.classloader_stats for whose classes they are.");
    finding_add_int(finding, "metaspace_used_bytes", used);
    if (committed >= 0)
        finding_add_int(finding, "metaspace_committed_bytes", committed);
    return true;
}

static bool of_loaders(const struct jvm_facts *facts, struct finding *finding)
{
    const struct facts_loaders *loaders = &facts->loaders;
    if (!loaders->have)
        return false;
    const struct loader_row *most = NULL;
    for (int i = 0; i < loaders->row_count; i++) {
        if (most == NULL || loaders->rows[i].loaders > most->loaders)
            most = &loaders->rows[i];
    }
    char type[EVENT_NAME_MAX + 64] = "";
    if (most != NULL && most->loaders > 1)
        snprintf(type, sizeof type, ", %" PRId64 " of type %s", most->loaders, most->type);
    int64_t counted = facts->live_loaders + facts->dead_loaders; /* rows may have been left out */
    char dead[64] = "";
    if (counted > 0)
        snprintf(dead, sizeof dead, ", %" PRId64 " of them dead", facts->dead_loaders);
    if (counted > loaders->loaders)
        finding_title(finding, "%" PRId64 " class loaders%s%s%s", counted, dead,
                      facts->dead_type[0] != '\0' ? ", most of type " : "", facts->dead_type);
    else
        finding_title(finding, "%" PRId64 " class loaders with %" PRId64 " classes%s%s",
                      loaders->loaders, loaders->classes, dead, type);
    finding_advice(
        finding, "%s",
        "Whether they grow needs two samples: jcmd PID VM.classloader_stats, twice, with a "
        "collection that unloads classes between them (jcmd PID GC.run).");
    finding_add_int(finding, "loaders", loaders->loaders);
    return true;
}

static bool of_heap(const struct jvm_facts *facts, struct finding *finding)
{
    int64_t used = facts->heap_used_bytes, committed = facts->heap_committed_bytes;
    if (committed <= 0)
        return false;
    bool full = used >= committed / 100 * HEAP_FULL_PERCENT;
    finding_title(finding, "the Java heap: %s used of %s committed%s", size_text(used).text,
                  size_text(committed).text, full ? ", it is full" : "");
    finding_advice(finding, "%s",
                   full ? "See what fills it: jcmd PID GC.class_histogram, then jcmd PID "
                          "GC.heap_dump FILE."
                        : "The heap has room; memory of the process beyond it: jcmd PID "
                          "VM.native_memory summary.");
    finding_add_int(finding, "heap_used_bytes", used);
    finding_add_int(finding, "heap_committed_bytes", committed);
    return true;
}

static bool of_names(const struct jvm_facts *facts, struct finding *finding)
{
    const struct facts_names *flow = &facts->flow;
    if (!flow->have || flow->loads == 0)
        return false;
    finding_title(finding,
                  "a log of %" PRId64 " class loads and %" PRId64
                  " unloads: no generator of classes stands out",
                  flow->loads, flow->unloads);
    finding_advice(
        finding, "%s",
        "Let it run for as long as the memory grows: -Xlog:class+load,class+unload:file=FILE, "
        "or nmtwatch watch PID.");
    finding_add_int(finding, "loads", flow->loads);
    return true;
}

static bool of_limits(const struct jvm_facts *facts, struct finding *finding)
{
    if (facts->max_heap_bytes <= 0)
        return false;
    finding_title(finding, "a command line: -Xmx is %s%s%s", size_text(facts->max_heap_bytes).text,
                  facts->container_limit_bytes > 0 ? ", the container's limit " : "",
                  facts->container_limit_bytes > 0 ? size_text(facts->container_limit_bytes).text
                                                   : "");
    finding_advice(finding, "%s",
                   "Besides the heap there are Metaspace, code, threads, direct buffers: nmtwatch "
                   "plan --heap SIZE --limit SIZE says what fits.");
    finding_add_int(finding, "max_heap_bytes", facts->max_heap_bytes);
    return true;
}

void triage_answers(const struct jvm_facts *facts, struct triage *out)
{
    static bool (*const observations[])(const struct jvm_facts *, struct finding *) = {
        of_error_file,
        of_process,
        triage_of_malloc_profile,
        triage_of_pmap,
        triage_of_direct,
        triage_of_threads,
        of_memory_map,
        triage_of_collections,
        of_heap,
        of_metaspace,
        of_loaders,
        of_names,
        of_limits,
    };
    heap_growth(facts, out);
    heap_objects(facts, out);
    if (out->finding_count > 0 || facts->have_account_before) /* the account says it */
        return;
    struct finding *finding = triage_add(out, FINDING_OBSERVATION);
    bool any = false;
    for (size_t i = 0; !any && i < sizeof observations / sizeof observations[0]; i++)
        any = observations[i](facts, finding);
    out->finding_count -= !any;
}
