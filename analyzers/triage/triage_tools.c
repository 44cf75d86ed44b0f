/* What other programs say in a line (tool_lines.def), and thread dumps. */
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define THREADS_MANY 1000
#define POOLS_MANY   200
#define GROWN_MIN    50
#define STEMS_LISTED 4
#define STACK_BYTES  (1 * MB) /* the default of -Xss */
#define LEAKED_EXECUTORS                                                                           \
    "Find who calls Executors.new...ThreadPool() for each request or task, and make one pool for " \
    "all, or shut each down (close() in a try since JDK 19). Give pools names: a ThreadFactory."

static const struct {
    enum finding_kind finding;
    enum severity severity;
    enum oom_cause cause;
    const char *what;
} ROWS[TOOL_LINE_COUNT] = {
#define TOOL_LINE(id, mark, figures, finding, severity, cause, what)                               \
    {FINDING_##finding, SEVERITY_##severity, OOM_CAUSE_##cause, what},
#include "analyzers/parse/tool_lines.def"
};

static void sentence(const struct jvm_facts *facts, int i, struct triage *out)
{
    const struct tool_lines *lines = &facts->tools;
    char sizes[96] = "";
    if (lines->lines[i] == 0 || triage_has(out, ROWS[i].finding))
        return;
    struct finding *finding = triage_add(out, ROWS[i].finding);
    finding->severity = ROWS[i].severity;
    if (lines->used_bytes[i] >= 0)
        snprintf(sizes, sizeof sizes, ": %s of %s", size_text(lines->used_bytes[i]).text,
                 size_text(lines->limit_bytes[i]).text);
    finding_title(finding, "%s%s", ROWS[i].what, sizes);
    triage_advise(finding, ROWS[i].cause);
    finding_add_known(finding, "held_bytes", lines->used_bytes[i]);
    finding_add_known(finding, "container_limit_bytes", lines->limit_bytes[i]);
    if (facts->max_heap_bytes > 0)
        finding_add_int(finding, "max_heap_bytes", facts->max_heap_bytes);
    finding_add_int(finding, "error_lines", lines->lines[i]);
    finding_add_text(finding, "words", lines->words);
}

static void add_stems(const struct thread_dump *dump, struct finding *finding)
{
    finding_add_int(finding, "threads", dump->threads);
    finding_add_int(finding, "stacks_bytes", dump->threads * STACK_BYTES);
    for (int i = 0; i < dump->stem_count && i < STEMS_LISTED; i++)
        finding_add_listed(finding, "threads", i + 1, "%" PRId64 " x %s%s%s", dump->stem[i].threads,
                           dump->stem[i].name, dump->stem[i].place[0] != '\0' ? ", in " : "",
                           dump->stem[i].place);
}

/* The pattern that has most more threads than in the first dump; NULL: none has many more. */
static const struct thread_stem *grown(const struct thread_dump *before,
                                       const struct thread_dump *now, int64_t *by)
{
    const struct thread_stem *most = NULL;
    *by = GROWN_MIN - 1;
    for (int i = 0; i < now->stem_count && before->threads > 0; i++) {
        int64_t was = 0;
        for (int k = 0; k < before->stem_count; k++)
            if (strcmp(before->stem[k].name, now->stem[i].name) == 0)
                was = before->stem[k].threads;
        if (now->stem[i].threads - was > *by && now->stem[i].threads - was > was / 5) {
            *by = now->stem[i].threads - was;
            most = &now->stem[i];
        }
    }
    return most;
}

static void threads(const struct jvm_facts *facts, struct triage *out)
{
    const struct thread_dump *dump = &facts->thread_dump;
    int64_t by;
    const struct thread_stem *most = grown(&facts->thread_dump_before, dump, &by);
    if (dump->threads == 0)
        return;
    if (dump->deadlocks > 0) {
        struct finding *finding = triage_add(out, FINDING_OBSERVATION);
        finding->severity = SEVERITY_WARNING;
        finding_title(finding, "%" PRId64 " deadlocks of Java threads: they wait for each other",
                      dump->deadlocks);
        finding_advice(finding, "%s",
                       "The end of the dump names the threads and locks: take the locks in one "
                       "order. Requests pile up behind them, and with them threads.");
    }
    if (triage_has(out, FINDING_THREAD_GROWTH) ||
        (dump->pools < POOLS_MANY && most == NULL && dump->threads < THREADS_MANY))
        return;
    struct finding *finding = triage_add(out, FINDING_THREAD_GROWTH);
    if (dump->pools >= POOLS_MANY) {
        finding_title(finding,
                      "%s thread pools were made (pool-%" PRId64
                      "-thread-N): an ExecutorService for each request that is not shut down",
                      units_count(dump->pools).text, dump->pools);
        finding_advice(finding, "%s", LEAKED_EXECUTORS);
        finding_add_int(finding, "pools", dump->pools);
    } else if (most != NULL) {
        finding_title(finding,
                      "%" PRId64 " more threads \"%s\" than in the first dump, %" PRId64 " now", by,
                      most->name, most->threads);
        finding_add_int(finding, "growth_threads", by);
    } else {
        finding_title(finding, "%s threads, %s of them \"%s\"", units_count(dump->threads).text,
                      units_count(dump->stem[0].threads).text, dump->stem[0].name);
    }
    add_stems(dump, finding);
}

/* Memory outside of NMT, and the objects of the heap that hold memory of their own: one case. */
static void join_objects(const struct jvm_facts *facts, struct triage *out)
{
    const struct heap_objects *objects = &facts->objects;
    const struct heap_suspect_row *row = heap_suspect_row(objects->native);
    for (int i = 0; i < out->finding_count && objects->native != HEAP_SUSPECT_NONE; i++) {
        struct finding *finding = &out->findings[i];
        const struct evidence *outside = finding_evidence(finding, "outside_nmt_bytes");
        if (finding->kind != FINDING_OUTSIDE_NMT || outside == NULL ||
            objects->native_class.bytes < outside->number / 4)
            continue;
        finding_title(finding, "%s; %s objects of %s account for about %s of it", finding->title,
                      units_count(objects->native_class.instances).text, objects->native_class.name,
                      size_text(MIN(objects->native_class.bytes, outside->number)).text);
        finding_advice(finding, "%s", row->advice);
        finding_add_text(finding, "cause", row->key);
    }
}

void triage_tools(const struct jvm_facts *facts, struct triage *out)
{
    for (int i = 0; i < TOOL_LINE_COUNT; i++)
        sentence(facts, i, out);
    threads(facts, out);
    join_objects(facts, out);
}

bool triage_of_malloc_profile(const struct jvm_facts *facts, struct finding *finding)
{
    const struct heap_objects *sites = &facts->native_sites;
    if (sites->classes == 0)
        return false;
    const struct heap_suspect_row *row = heap_suspect_row(sites->suspect);
    finding_title(finding, "a profile of malloc: most is held by %s, %s of %s%s%s",
                  sites->row[0].name, size_text(sites->row[0].bytes).text,
                  size_text(sites->total_bytes).text, row->what[0] != '\0' ? "; " : "", row->what);
    finding_advice(finding, "%s",
                   row->advice[0] != '\0'
                       ? row->advice
                       : "Bound what that library holds (its caches, buffers, open handles). "
                         "os::malloc is the JVM itself: jcmd PID VM.native_memory summary.");
    for (int i = 0; i < sites->count; i++)
        finding_add_listed(finding, "objects", i + 1, "%s %s", size_text(sites->row[i].bytes).text,
                           sites->row[i].name);
    return true;
}

bool triage_of_pmap(const struct jvm_facts *facts, struct finding *finding)
{
    const struct pmap *map = &facts->map;
    char heap[96] = "", brk[64] = "", stacks[128] = "";
    if (map->mappings == 0 || map->is_other ||
        map->java_heap_bytes + map->brk_bytes + map->stacks == 0)
        return false;
    if (map->java_heap_bytes > 0)
        snprintf(heap, sizeof heap, "; by its address the Java heap (0x%" PRIx64 ") %s",
                 map->java_heap_at, size_text(map->java_heap_bytes).text);
    if (map->brk_bytes > 0)
        snprintf(brk, sizeof brk, "; malloc's main arena %s", size_text(map->brk_bytes).text);
    if (map->stacks > 0)
        snprintf(stacks, sizeof stacks,
                 "; %" PRId64 " blocks of 1 MB with a guard, as stacks of threads and 32-bit arenas of malloc are, %s",
                 map->stacks, size_text(map->stack_bytes).text);
    finding_title(finding, "pmap shows %s in mappings without a file%s%s%s",
                  size_text(map->anonymous_bytes).text, heap, brk, stacks);
    finding_advice(finding, "%s",
                   "Without -Xmx a JVM takes a quarter of the host for its heap: set it. What is "
                   "neither heap nor stack is counted by jcmd PID VM.native_memory summary, or is "
                   "native code's.");
    finding_add_int(finding, "anonymous_bytes", map->anonymous_bytes);
    return true;
}

bool triage_of_threads(const struct jvm_facts *facts, struct finding *finding)
{
    const struct thread_dump *dump = &facts->thread_dump;
    if (dump->threads == 0)
        return false;
    finding_title(finding, "a dump of %" PRId64 " threads, most of them \"%s\" (%" PRId64 ")",
                  dump->threads, dump->stem[0].name, dump->stem[0].threads);
    finding_advice(
        finding, "%s",
        "Whether they grow needs a second dump, given together with this one. A stack "
        "reserves -Xss (1 MB); what of it is resident, NMT's Thread does not say: smaps.");
    add_stems(dump, finding);
    return true;
}

bool triage_of_direct(const struct jvm_facts *facts, struct finding *finding)
{
    if (facts->tools.direct_bytes <= 0)
        return false;
    finding_title(finding, "direct buffers hold %s (BufferPool \"direct\")%s%s",
                  size_text(facts->tools.direct_bytes).text,
                  facts->max_heap_bytes > 0 ? ", -Xmx is " : "",
                  facts->max_heap_bytes > 0 ? size_text(facts->max_heap_bytes).text : "");
    triage_advise(finding, OOM_CAUSE_DIRECT);
    finding_add_int(finding, "direct_bytes", facts->tools.direct_bytes);
    return true;
}
