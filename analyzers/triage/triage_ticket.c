/* What a ticket says of itself: an error file, the kernel's OOM killer, a console, a process table:
 * which limit was hit, with the numbers of the text. */
#include "analyzers/plan/plan.h"
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTSIDE_MIN_BYTES      (256 * MB)
#define OUTSIDE_SHARE          0.25 /* of what is resident */
#define ARENAS_MIN             3
#define ARENAS_BYTES_MIN       (64 * MB)
#define CONTAINER_NEAR_PERCENT 90
#define METASPACE_GROWN_BYTES  (64 * MB)
#define FULL_GC_MIN            3
#define OLD_FULL_PERCENT       98
#define DEAD_LOADERS_MIN       100

/* A figure of an error file, and its name in the evidence. */
struct named_figure {
    enum hs_err_figure figure;
    const char *key;
};

void triage_advise(struct finding *finding, enum oom_cause cause)
{
    const struct oom_cause_row *row = oom_cause_row(cause);
    finding_advice(finding, "%s It decides: %s", row->fix, row->command);
    finding_add_text(finding, "cause", row->key);
}

/* --- the container's limit, and what fits into it ----------------------------------------- */

/* What the texts say of the heap: the limit of it, else what is committed; 0: nothing. */
static int64_t known_heap(const struct jvm_facts *facts)
{
    struct nmt_amount heap;
    if (facts->max_heap_bytes >= MB)
        return facts->max_heap_bytes;
    if (facts->have_sample && sample_get_nmt(&facts->sample, NMT_JAVA_HEAP, &heap) &&
        heap.committed_bytes >= MB)
        return heap.committed_bytes;
    return facts->heap_committed_bytes;
}

/* The flags of a plan for this limit, where the heap is known. The heap is what was asked for when that
 * fits, else what the other parts leave. held: what the process held, below which nothing is proposed. */
static void add_plan(const struct jvm_facts *facts, struct finding *finding, int64_t limit,
                     int64_t held)
{
    struct plan_input input;
    char error[160];
    int64_t value;
    int64_t heap = known_heap(facts);
    if (heap < MB || limit < 64 * MB || limit > INT64_C(16) << 40)
        return;
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return;
    plan_input_default(&input);
    if (facts->identity.jdk_major > 0) {
        input.jdk_major = facts->identity.jdk_major;
        input.jdk_given = true;
    }
    value = facts->have_sample ? sample_value(&facts->sample, SAMPLE_CLASSES_LOADED) : -1;
    /* 15 000: of an application server, when they were not counted. */
    plan_input_set(&input, PLAN_CLASSES, value > 0 ? (double)value : 15000);
    bool assumed = value <= 0;
    value = facts->crash.have ? facts->crash.figure[HS_ERR_JAVA_THREADS] : facts->row.threads;
    if (value > 0)
        plan_input_set(&input, PLAN_THREADS, (double)value);
    plan_input_set(&input, PLAN_LIMIT, (double)limit);
    plan_input_set(&input, PLAN_HEAP, (double)heap);
    if (plan_input_check(&input, error, sizeof error)) {
        plan_make(plan, &input, NULL);
        int64_t others = plan->sizing.proposal_bytes - heap;
        int64_t fitting = (limit - others) / (16 * MB) * (16 * MB);
        if (plan->sizing.proposal_bytes > limit && limit >= held && fitting >= 64 * MB &&
            fitting + others >= held) {
            plan_input_set(&input, PLAN_HEAP, (double)fitting);
            plan_make(plan, &input, NULL);
        }
        /* A process that held more than its heap, classes and threads explain has a part that no plan
         * knows. */
        if (plan->sizing.proposal_bytes >= held) {
            finding_add_int(finding, "proposed_limit_bytes", plan->sizing.proposal_bytes);
            finding_add_text(finding, "flags", plan->sizing.flags);
            if (assumed)
                finding_add_text(finding, "plan_assumes", "15 000 classes: the texts do not say");
        }
    }
    free(plan);
}

static void container(const struct jvm_facts *facts, struct triage *out)
{
    const struct process_row *row = &facts->row;
    int64_t limit = facts->container_limit_bytes;
    if (limit <= 0 || triage_has(out, FINDING_OOM_KILLED) || triage_has(out, FINDING_NATIVE_OOM) ||
        triage_has(out, FINDING_CRASH))
        return;
    int64_t held = row->source != PROCESS_NONE ? row->rss_bytes : -1;
    bool near = held >= limit / 100 * CONTAINER_NEAR_PERCENT;
    if (!near && facts->max_heap_bytes < limit / 100 * CONTAINER_NEAR_PERCENT)
        return;
    struct finding *finding = triage_add(out, FINDING_CONTAINER_LIMIT);
    if (near)
        finding_title(
            finding,
            "%s of the container's %s are used: near the limit at which the kernel kills it",
            size_text(held).text, size_text(limit).text);
    else
        finding_title(finding,
                      "-Xmx of %s in a container of %s leaves no room for what is not heap",
                      size_text(facts->max_heap_bytes).text, size_text(limit).text);
    finding_add_known(finding, "container_limit_bytes", limit);
    finding_add_known(finding, "container_usage_bytes", held);
    add_plan(facts, finding, limit, held);
}

/* --- an error file ------------------------------------------------------------------------ */

static void add_threads(const struct crash *crash, struct finding *finding)
{
    for (int i = 0; i < crash->stem_count && crash->stem[i].threads > 1; i++)
        finding_add_listed(finding, "threads", i + 1, "%" PRId64 " x %s", crash->stem[i].threads,
                           crash->stem[i].name);
}

static void add_figures(const struct crash *crash, struct finding *finding,
                        const struct named_figure *figures, size_t count)
{
    for (size_t i = 0; i < count; i++)
        finding_add_known(finding, figures[i].key, crash->figure[figures[i].figure]);
}

static void native_oom(const struct jvm_facts *facts, struct triage *out)
{
    static const struct named_figure figures[] = {
        {HS_ERR_REQUEST, "request_bytes"},
        {HS_ERR_MEM_TOTAL, "host_memory_bytes"},
        {HS_ERR_MEM_AVAILABLE, "host_available_bytes"},
        {HS_ERR_SWAP_FREE, "swap_free_bytes"},
        {HS_ERR_COMMIT_LIMIT, "commit_limit_bytes"},
        {HS_ERR_COMMITTED_AS, "committed_as_bytes"},
        {HS_ERR_CONTAINER_LIMIT, "container_limit_bytes"},
        {HS_ERR_CONTAINER_USAGE, "container_usage_bytes"},
        {HS_ERR_XMX, "max_heap_bytes"},
        {HS_ERR_JAVA_THREADS, "java_threads"},
        {HS_ERR_MAPPINGS, "mappings"},
        {HS_ERR_METASPACE_COMMITTED, "metaspace_committed_bytes"},
        {HS_ERR_PROCESS_RSS, "process_rss_bytes"},
    };
    struct finding *finding = triage_add(out, FINDING_NATIVE_OOM);
    /* The head alone was pasted, and what top says of the host beside it. */
    struct crash known = facts->crash;
    if (known.figure[HS_ERR_MEM_TOTAL] < 0 && facts->row.host_bytes > 0) {
        known.figure[HS_ERR_MEM_TOTAL] = facts->row.host_bytes;
        known.figure[HS_ERR_MEM_AVAILABLE] = facts->row.host_free_bytes;
    }
    if (known.figure[HS_ERR_XMX] < 0 && facts->max_heap_bytes > 0)
        known.figure[HS_ERR_XMX] = facts->max_heap_bytes;
    const struct crash *crash = &known;
    enum oom_cause cause = crash_cause(crash);
    char sentence[400];
    crash_sentence(crash, cause, sentence, sizeof sentence);
    finding_title(finding, "%s", sentence);
    triage_advise(finding, cause);
    add_figures(crash, finding, figures, sizeof figures / sizeof figures[0]);
    finding_add_text(finding, "words", crash->how);
    if (cause == OOM_CAUSE_THREADS)
        add_threads(crash, finding);
    if (cause == OOM_CAUSE_CONTAINER ||
        (cause == OOM_CAUSE_HEAP_TOO_LARGE && crash->figure[HS_ERR_CONTAINER_LIMIT] > 0))
        add_plan(facts, finding, crash->figure[HS_ERR_CONTAINER_LIMIT],
                 crash->figure[HS_ERR_CONTAINER_USAGE]);
}

/* "libjvm.so": the JVM itself. */
static const char *owner_of(const struct crash *crash)
{
    const char *library = crash->library;
    if (strncmp(library, "libjvm", 6) == 0 || strcmp(library, "jvm.dll") == 0)
        return "the JVM itself";
    if (library[0] != '\0')
        return library;
    if (crash->frame[0] == 'J' || crash->frame[0] == 'j')
        return "Java code, compiled or interpreted";
    if (crash->frame[0] == 'v')
        return "a stub of the JVM";
    return crash->frame[0] == 'C' ? "native code without a name" : "a place that is not named";
}

static void crashed(const struct jvm_facts *facts, struct triage *out)
{
    static const struct named_figure figures[] = {
        {HS_ERR_REDEFINED, "redefined_classes"},
        {HS_ERR_UNLOADED, "unloaded_classes"},
        {HS_ERR_EXCEPTIONS, "recent_exceptions"},
        {HS_ERR_OOM_EVENTS, "recent_oom_exceptions"},
        {HS_ERR_OOM_HEAP, "oom_heap"},
        {HS_ERR_OOM_METASPACE, "oom_metaspace"},
    };
    const struct crash *crash = &facts->crash;
    struct finding *finding = triage_add(out, FINDING_CRASH);
    if (crash->end == HS_ERR_SIGNAL)
        finding_title(finding, "crash by %.95s in %.95s, not a memory problem%s%.150s",
                      crash->signal, owner_of(crash), crash->frame[0] != '\0' ? ": " : "",
                      crash->frame);
    else
        finding_title(finding, "the JVM stopped itself: %.95s, not a memory problem%s%.199s",
                      crash->signal, crash->how[0] != '\0' ? ": " : "", crash->how);
    finding_add_text(finding, "signal", crash->signal);
    finding_add_text(finding, "frame", crash->frame);
    finding_add_text(finding, "library", crash->library);
    finding_add_text(finding, "called_from",
                     strcmp(crash->caller, crash->library) != 0 ? crash->caller : "");
    finding_add_text(finding, "thread", crash->thread);
    finding_add_text(finding, "jre", crash->jre);
    finding_add_text(finding, "platform", crash->arch);
    finding_add_text(finding, "os", crash->os);
    add_figures(crash, finding, figures, sizeof figures / sizeof figures[0]);
}

static void java_oom(const struct jvm_facts *facts, enum oom_cause cause, const char *words,
                     struct triage *out)
{
    const struct oom_lines *lines = &facts->lines;
    if (cause == OOM_CAUSE_UNKNOWN && facts->have_lines && crash_is_at_start(lines->request_bytes))
        cause = OOM_CAUSE_START;
    bool native = cause == OOM_CAUSE_START || cause == OOM_CAUSE_THREADS ||
                  cause == OOM_CAUSE_UNKNOWN || cause == OOM_CAUSE_PAGE_FILE ||
                  cause == OOM_CAUSE_MAP_COUNT || cause == OOM_CAUSE_HEAP_TOO_LARGE;
    struct finding *finding = triage_add(out, native ? FINDING_NATIVE_OOM : FINDING_JAVA_OOM);
    int64_t count = facts->have_lines ? lines->lines[lines->last] : 0;
    if (cause == OOM_CAUSE_THREADS)
        finding_title(finding, "threads could not be started, %" PRId64 " lines say so%s%s%s",
                      count, lines->thread[0] != '\0' ? ", the last for \"" : "", lines->thread,
                      lines->thread[0] != '\0' ? "\"" : "");
    else if (cause == OOM_CAUSE_DIRECT && lines->direct_limit_bytes > 0)
        finding_title(finding, "direct buffers: %s of %s are used%s, %s more were refused",
                      size_text(MAX(lines->direct_used_bytes, 0)).text,
                      size_text(lines->direct_limit_bytes).text,
                      lines->netty ? " by Netty's own counter" : "",
                      size_text(MAX(lines->request_bytes, 0)).text);
    else if (cause == OOM_CAUSE_UNKNOWN && lines->request_bytes >= 0)
        finding_title(finding, "the system refused %" PRId64 " bytes of native memory",
                      lines->request_bytes);
    else
        finding_title(finding, "%s", oom_cause_row(cause)->what);
    triage_advise(finding, cause);
    finding_add_text(finding, "words", words);
    finding_add_known(finding, "error_lines", count > 0 ? count : -1);
    if (facts->have_lines) {
        finding_add_known(finding, "request_bytes", lines->request_bytes);
        finding_add_known(finding, "nproc_limit", lines->threads_limit);
        finding_add_known(finding, "max_direct_bytes", lines->direct_limit_bytes);
    }
    if (cause == OOM_CAUSE_METASPACE && facts->max_metaspace_bytes > 0)
        finding_add_int(finding, "max_metaspace_bytes", facts->max_metaspace_bytes);
    if (cause == OOM_CAUSE_UNKNOWN && facts->row.host_bytes > 0)
        finding_add_int(finding, "host_memory_bytes", facts->row.host_bytes);
}

/* --- the kernel ----------------------------------------------------------------------------- */

/* What the killed process held; -1: not said. ZGC maps its heap three times, and each page counts three times
 * in shmem-rss: more than the heap or the limit can be is a third of it. */
static int64_t held_by(const struct oom_killer *kill, int64_t max_heap, int64_t limit)
{
    int64_t shared = MAX(kill->shmem_rss_bytes, 0);
    int64_t held = saturated_add(kill->anon_rss_bytes, MAX(kill->file_rss_bytes, 0));
    if (kill->anon_rss_bytes < 0)
        return -1;
    bool counted_thrice = (max_heap > 0 && shared > max_heap + max_heap / 4) ||
                          (limit > 0 && saturated_add(held, shared) > limit + limit / 4);
    return saturated_add(held, counted_thrice ? shared / 3 : shared);
}

/* The main thread of a JVM is "java", unless a launcher started it: without a text of a JVM beside it the
 * name counts. */
static bool is_other_process(const struct jvm_facts *facts)
{
    static const struct span launchers[] = {SPAN_INIT("java"),   SPAN_INIT("jsvc"),
                                            SPAN_INIT("Thread"), SPAN_INIT("GC "),
                                            SPAN_INIT("VM "),    SPAN_INIT("Compile")};
    return facts->kill.killed && !facts->kill.orchestrator && facts->kill.name[0] != '\0' &&
           span_row(span_from_cstr(facts->kill.name), span_contains, SPAN_TABLE(launchers)) < 0;
}

static void oom_killed(const struct jvm_facts *facts, struct triage *out)
{
    const struct oom_killer *kill = &facts->kill;
    if (kill->reports == 0)
        return;
    struct finding *finding = triage_add(out, FINDING_OOM_KILLED);
    char title[400] = "";
    int64_t bound = kill->limit_bytes > 0 ? kill->limit_bytes : facts->container_limit_bytes;
    int64_t held = held_by(kill, facts->max_heap_bytes, bound);
    bool contained = kill->container || kill->limit_bytes > 0;
    char limit[40] = "", whose[96];
    if (kill->limit_bytes > 0)
        snprintf(limit, sizeof limit, " of %s", size_text(kill->limit_bytes).text);
    snprintf(whose, sizeof whose, "%s%s",
             contained    ? "its container's limit"
             : kill->host ? "the memory of the host"
                          : "a limit that the text does not name (container or host)",
             limit);
    int64_t heap = known_heap(facts);
    int64_t not_heap = heap > 0 && held > heap ? held - heap : -1;
    if (kill->killed && held >= 0)
        text_add(title, sizeof title,
                 "the kernel killed %s (pid %" PRId64 "), which held %s, because of %s", kill->name,
                 kill->pid, size_text(held).text, whose);
    else if (kill->killed)
        text_add(title, sizeof title, "the kernel killed %s (pid %" PRId64 ") because of %s",
                 kill->name, kill->pid, whose);
    else if (kill->orchestrator && !contained)
        text_add(title, sizeof title,
                 "the OOM killer killed a process of a systemd unit: the memory of the host, or "
                 "MemoryMax of the unit");
    else if (kill->orchestrator)
        text_add(title, sizeof title,
                 "OOMKilled: the kernel killed a process because of its container's limit%s",
                 limit);
    else
        text_add(
            title, sizeof title,
            "the kernel's OOM killer was called by %s because of %s; the killed process is not in "
            "the text",
            kill->name[0] != '\0' ? kill->name : "a process", whose);
    bool compiler = strncmp(kill->invoker, "C2 Compiler", 11) == 0 ||
                    strncmp(kill->invoker, "C1 Compiler", 11) == 0;
    if (!compiler)
        triage_advise(finding, is_other_process(facts)                 ? OOM_CAUSE_OTHER_PROCESS
                               : not_heap >= GB && not_heap > held / 4 ? OOM_CAUSE_NOT_HEAP
                               : contained                             ? OOM_CAUSE_CONTAINER
                               : kill->host || kill->orchestrator      ? OOM_CAUSE_HOST
                                                                       : OOM_CAUSE_KILLED);
    finding_add_text(finding, "process", kill->name);
    finding_add_known(finding, "killed_pid", kill->pid);
    finding_add_known(finding, "held_bytes", held);
    finding_add_known(finding, "process_virtual_bytes", kill->total_vm_bytes);
    finding_add_known(finding, "container_usage_bytes", kill->usage_bytes);
    finding_add_known(finding, "container_limit_bytes", kill->limit_bytes);
    finding_add_text(finding, "cgroup", kill->cgroup);
    if (facts->max_heap_bytes > 0)
        finding_add_int(finding, "max_heap_bytes", facts->max_heap_bytes);
    finding_add_known(finding, "not_heap_bytes", not_heap);
    if (not_heap >= GB && not_heap > held / 4)
        text_add(title, sizeof title, "; %s of it are above the heap's %s",
                 size_text(not_heap).text, size_text(heap).text);
    if (kill->largest_bytes > 0 && kill->largest_pid != kill->pid) {
        finding_add_text(finding, "largest_process", kill->largest);
        finding_add_int(finding, "largest_process_bytes", kill->largest_bytes);
    }
    if (kill->order > 0)
        text_add(title, sizeof title,
                 "; it wanted %" PRId64 " KB in one piece (order=%" PRId64
                 "): memory may be fragmented rather than used up",
                 (INT64_C(4) << (kill->order < 20 ? kill->order : 20)), kill->order);
    if (compiler) {
        text_add(title, sizeof title, "; a JIT compiler thread (%s) asked for the memory",
                 kill->invoker);
        triage_advise(finding, OOM_CAUSE_COMPILER);
    }
    finding_title(finding, "%s", title);
    finding_add_text(finding, "asked_by", kill->invoker);
    if (contained && bound <= 0 && held > 0)
        bound = held; /* it was killed at its limit */
    if (contained && !is_other_process(facts))
        add_plan(facts, finding, bound, held);
}

/* --- resident, against NMT -------------------------------------------------------------- */

static void resident_against_nmt(const struct jvm_facts *facts, struct triage *out)
{
    const struct process_row *row = &facts->row;
    int64_t committed, rss = row->source != PROCESS_NONE ? row->rss_bytes : -1;
    const char *source = process_source_name(row->source);
    if (facts->map.total_rss_bytes > rss) {
        rss = facts->map.total_rss_bytes;
        source = "pmap";
    }
    if (facts->kill.killed && facts->kill.anon_rss_bytes > rss) {
        rss = facts->kill.anon_rss_bytes;
        source = "the OOM killer";
    }
    if (rss < 0 || facts->have_rss || !facts->have_sample ||
        !sample_get(&facts->sample, SAMPLE_NMT_COMMITTED_BYTES, &committed) || committed <= 0)
        return;
    int64_t outside = rss - committed;
    if (outside < OUTSIDE_MIN_BYTES || (double)outside < OUTSIDE_SHARE * (double)rss)
        return;
    struct finding *finding = triage_add(out, FINDING_OUTSIDE_NMT);
    finding_title(finding,
                  "%s shows %s resident, NMT has %s committed: at least %s are outside NMT", source,
                  size_text(rss).text, size_text(committed).text, size_text(outside).text);
    finding_add_int(finding, "outside_nmt_bytes", outside);
    finding_add_int(finding, "rss_bytes", rss);
    finding_add_int(finding, "nmt_committed_bytes", committed);
}

static void arenas(const struct jvm_facts *facts, struct triage *out)
{
    const struct pmap *map = &facts->map;
    if (map->arenas < ARENAS_MIN || map->arena_bytes < ARENAS_BYTES_MIN || map->is_other)
        return;
    struct finding *finding = triage_add(out, FINDING_MALLOC_ARENAS);
    char brk[64] = "";
    if (map->brk_bytes >= ARENAS_BYTES_MIN)
        snprintf(brk, sizeof brk, "; the main arena ([heap]) holds %s more",
                 size_text(map->brk_bytes).text);
    finding_title(finding, "%" PRId64 " mappings of 64 MB are arenas of malloc, %s in all%s%s",
                  map->arenas, size_text(map->arena_bytes).text,
                  map->has_rss ? " resident" : " of addresses", brk);
    if (!map->has_rss) /* addresses cost nothing */
        finding->severity = SEVERITY_INFO;
    finding_add_int(finding, "arena_mappings", map->arenas);
    finding_add_int(finding, "arena_bytes", map->arena_bytes);
    finding_add_int(finding, "anonymous_bytes", map->anonymous_bytes);
    finding_add_known(finding, "rss_bytes",
                      map->total_rss_bytes >= 0           ? map->total_rss_bytes
                      : facts->row.source != PROCESS_NONE ? facts->row.rss_bytes
                                                          : -1);
}

/* What glibc says of itself, in VM.info. */
static void retained(const struct jvm_facts *facts, struct triage *out)
{
    const struct crash *crash = &facts->crash;
    if (!crash->have || crash->end != HS_ERR_NO_END ||
        crash->figure[HS_ERR_MALLOC_RETAINED] < OUTSIDE_MIN_BYTES ||
        triage_has(out, FINDING_MALLOC_RETAINED))
        return;
    struct finding *finding = triage_add(out, FINDING_MALLOC_RETAINED);
    finding_title(finding, "glibc retains %s of freed memory, by its own account",
                  size_text(crash->figure[HS_ERR_MALLOC_RETAINED]).text);
    finding_add_int(finding, "kept_bytes", crash->figure[HS_ERR_MALLOC_RETAINED]);
}

/* --- logs ----------------------------------------------------------------------------- */

static void logs(const struct jvm_facts *facts, struct triage *out)
{
    const struct oom_lines *lines = &facts->lines;
    const struct jstat *jstat = &facts->jstat;
    if (jstat->rows > 0 && jstat->old_percent >= OLD_FULL_PERCENT &&
        jstat->full_gcs >= FULL_GC_MIN && !triage_has(out, FINDING_JAVA_OOM)) {
        struct finding *finding = triage_add(out, FINDING_JAVA_OOM);
        finding_title(finding,
                      "the Java heap is full: the old generation is %" PRId64
                      " %% full after %" PRId64 " full collections",
                      jstat->old_percent, jstat->full_gcs);
        finding->severity = SEVERITY_WARNING;
        triage_advise(finding, OOM_CAUSE_HEAP);
    }
    if (!facts->have_lines)
        return;
    int64_t grown = lines->metaspace_last_bytes - lines->metaspace_first_bytes;
    if (lines->metaspace_lines > 1 && grown >= METASPACE_GROWN_BYTES &&
        !triage_has(out, FINDING_CLASS_METASPACE_GROWTH)) {
        struct finding *finding = triage_add(out, FINDING_CLASS_METASPACE_GROWTH);
        finding_title(finding,
                      "Metaspace grew from %s to %s within the log, over %" PRId64 " collections",
                      size_text(lines->metaspace_first_bytes).text,
                      size_text(lines->metaspace_last_bytes).text, lines->metaspace_lines);
        finding_add_int(finding, "growth_bytes", grown);
        finding_add_known(finding, "metaspace_used_bytes", lines->metaspace_last_bytes);
        finding_add_known(finding, "metaspace_committed_bytes", lines->metaspace_committed_bytes);
    }
}

/* "alive=104, dead=803" of jmap -permstat and -clstats. */
static void dead_loaders(const struct jvm_facts *facts, struct triage *out)
{
    int64_t dead = facts->dead_loaders, all = dead + facts->live_loaders;
    if (dead < DEAD_LOADERS_MIN || dead < all / 2 || triage_has(out, FINDING_LOADER_GROWTH))
        return;
    struct finding *finding = triage_add(out, FINDING_LOADER_GROWTH);
    finding_title(
        finding, "%" PRId64 " of %" PRId64 " class loaders are dead and wait to be collected%s%s",
        dead, all, facts->dead_type[0] != '\0' ? ", most of type " : "", facts->dead_type);
    finding_advice(
        finding,
        "Dead loaders are freed by the next collection that unloads classes (a full one, or a "
        "concurrent cycle): let it happen (-XX:+ClassUnloading, "
        "-XX:+CMSClassUnloadingEnabled on JDK 6 and 7). DelegatingClassLoader is reflection: "
        "-Dsun.reflect.inflationThreshold=2147483647 makes none.");
    finding_add_int(finding, "loaders", all);
    finding_add_int(finding, "dead_loaders", dead);
    finding_add_text(finding, "loader_type", facts->dead_type);
}

void triage_ticket(const struct jvm_facts *facts, struct triage *out)
{
    dead_loaders(facts, out);
    const struct crash *crash = &facts->crash;
    if (crash->have && crash->end == HS_ERR_NATIVE_OOM)
        native_oom(facts, out);
    else if (crash->have && (crash->end == HS_ERR_SIGNAL || crash->end == HS_ERR_INTERNAL))
        crashed(facts, out);
    else if (crash->have && crash->end == HS_ERR_JAVA_OOM)
        java_oom(facts,
                 strstr(crash->how, "Metaspace") != NULL ? OOM_CAUSE_METASPACE : OOM_CAUSE_HEAP,
                 crash->how, out);
    oom_killed(facts, out);
    bool said = triage_has(out, FINDING_NATIVE_OOM) || triage_has(out, FINDING_JAVA_OOM);
    if (facts->have_lines && facts->lines.last != OOM_LINE_NONE && !said)
        java_oom(facts, oom_cause_of_line(facts->lines.last), facts->lines.words, out);
    container(facts, out);
    resident_against_nmt(facts, out);
    arenas(facts, out);
    retained(facts, out);
    triage_gc(facts, out);
    triage_tools(facts, out);
    logs(facts, out);
}
