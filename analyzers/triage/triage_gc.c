/* What a log of collections says: a heap that is full, a live set that grows, collections that stop the application. */
#include "analyzers/triage/triage_internal.h"
#include "analyzers/trend/verdict.h"

#include <inttypes.h>
#include <stdio.h>

#define FULL_MIN            3
#define STALLS_MIN          3
#define PAUSE_SHARE_PERCENT 20
#define SHARE_MIN           10    /* collections */
#define SPAN_MIN_MS         10000 /* a share of less is a share of start-up */
#define GROWN_SHARE         5     /* of the heap: a fifth */
#define GROWS_ADVICE                                                                               \
    "Take a histogram now and one an hour later, and compare them: jcmd PID GC.class_histogram. "  \
    "Classes that grow with the live set are what is kept; jcmd PID GC.heap_dump FILE shows by "   \
    "what. When the live set levels off, raise -Xmx to twice that."

/* -1: there were none, no figure. */
static int64_t counted(int64_t count)
{
    return count > 0 ? count : -1;
}

static void add_figures(const struct gc_log *gc, struct finding *finding)
{
    int64_t span_ms = gc->last_ms - gc->first_ms;
    finding_add_int(finding, "collections", gc->collections);
    finding_add_int(finding, "full_collections", gc->full);
    finding_add_known(finding, "heap_bytes", gc->heap_bytes);
    if (span_ms > 0) {
        finding_add_int(finding, "log_span_ms", span_ms);
        finding_add_int(finding, "allocated_bytes_per_s",
                        (int64_t)((double)gc->allocated_bytes * 1000.0 / (double)span_ms));
    }
    finding_add_known(finding, "pauses_us", gc->pause_us);
    finding_add_known(finding, "longest_pause_us", gc->longest_pause_us);
    finding_add_known(finding, "allocation_stalls", counted(gc->stalls));
    finding_add_known(finding, "degenerated", counted(gc->degenerated));
    finding_add_known(finding, "to_space_exhausted", counted(gc->exhausted));
    finding_add_known(finding, "metadata_collections", counted(gc->metadata));
    finding_add_known(finding, "humongous_collections", counted(gc->humongous));
}

/* Of the heap after the collections that include the old generation. False: no verdict. */
static bool ask(const struct gc_series *live, struct verdict *verdict)
{
    struct verdict_options options;
    verdict_options_default(&options);
    options.sparse = true;
    struct verdict_series *series =
        live->count > 1 && live->point[0].ms >= 0 ? verdict_create(&options) : NULL;
    if (series == NULL)
        return false;
    for (int i = 0; i < live->count; i++)
        verdict_feed(series, live->point[i].ms, live->point[i].bytes, VERDICT_MISSING);
    verdict_ask(series, verdict);
    verdict_destroy(series);
    return true;
}

static bool is_full(const struct gc_log *gc, struct finding *finding)
{
    if (gc->useless >= FULL_MIN)
        finding_title(finding,
                      "the Java heap was full: %" PRId64
                      " full collections in a row left it as it was, %s of %s at last",
                      gc->useless, size_text(gc->useless_bytes).text,
                      size_text(gc->heap_bytes).text);
    else if (gc->stalls >= STALLS_MIN)
        finding_title(finding,
                      "the Java heap is too small for what is allocated: threads waited %" PRId64
                      " times for memory (allocation stalls), %s of %s after the last collection",
                      gc->stalls, size_text(MAX(gc->after_bytes, 0)).text,
                      size_text(MAX(gc->heap_bytes, 0)).text);
    else
        return false;
    return true;
}

static bool stops_too_long(const struct gc_log *gc, struct finding *finding)
{
    int64_t span_ms = gc->last_ms - gc->first_ms, percent;
    if (gc->first_ms < 0 || span_ms < SPAN_MIN_MS || gc->pause_us <= 0 ||
        gc->collections < SHARE_MIN)
        return false;
    percent = (int64_t)((double)gc->pause_us / 10.0 / (double)span_ms);
    if (percent < PAUSE_SHARE_PERCENT || percent > 100)
        return false;
    finding_title(finding,
                  "collections stop the application for %" PRId64
                  " %% of the time: the heap of %s is too small for what is alive and allocated",
                  percent, size_text(gc->heap_bytes).text);
    return true;
}

static void grows(const struct gc_log *gc, struct triage *out)
{
    const struct gc_series *live = &gc->live;
    struct verdict verdict;
    if (!ask(live, &verdict) || verdict.answer != VERDICT_GROWING)
        return;
    int64_t first = live->point[0].bytes, last = live->point[live->count - 1].bytes;
    if (last - first < gc->heap_bytes / GROWN_SHARE)
        return;
    struct finding *finding = triage_add(out, FINDING_HEAP_GROWTH);
    finding->severity = SEVERITY_WARNING;
    finding_title(
        finding,
        "the live set grew from %s to %s in %s, of a heap of %s: a leak, or too small a heap",
        size_text(first).text, size_text(last).text,
        units_duration(live->point[live->count - 1].ms - live->point[0].ms).text,
        size_text(gc->heap_bytes).text);
    finding_advice(finding, "%s", GROWS_ADVICE);
    finding_add_text(finding, "state", verdict_state_name(verdict.state));
    if (verdict.have_slope)
        finding_add_int(finding, "slope_bytes_per_h", (int64_t)verdict.slope_bytes_per_h.value);
    finding_add_int(finding, "growth_bytes", last - first);
    add_figures(gc, finding);
}

/* Of the old generation, in the rows of jstat in which a full collection was new. */
static void jstat_grows(const struct jstat *jstat, struct triage *out)
{
    const struct gc_series *old = &jstat->old;
    if (old->count <= FULL_MIN)
        return;
    int64_t first = old->point[0].bytes, last = old->point[old->count - 1].bytes;
    int rises = 0;
    for (int i = 1; i < old->count; i++)
        rises += old->point[i].bytes > old->point[i - 1].bytes;
    if (last - first < 100 / GROWN_SHARE || rises * 4 < (old->count - 1) * 3)
        return;
    struct finding *finding = triage_add(out, FINDING_HEAP_GROWTH);
    finding->severity = SEVERITY_WARNING;
    finding_title(finding,
                  "the live set grows: after full collections the old generation was %" PRId64
                  " %% full at first and %" PRId64 " %% at last",
                  first, last);
    finding_advice(finding, "%s", GROWS_ADVICE);
    finding_add_int(finding, "full_collections", jstat->full_gcs);
}

void triage_gc(const struct jvm_facts *facts, struct triage *out)
{
    const struct gc_log *gc = &facts->lines.gc;
    jstat_grows(&facts->jstat, out);
    if (!facts->have_lines || gc->collections + gc->stalls == 0)
        return;
    if (!triage_has(out, FINDING_JAVA_OOM)) {
        struct finding *finding = triage_add(out, FINDING_JAVA_OOM);
        finding->severity = SEVERITY_WARNING;
        if (is_full(gc, finding) || stops_too_long(gc, finding)) {
            triage_advise(finding, OOM_CAUSE_HEAP);
            add_figures(gc, finding);
        } else {
            out->finding_count--;
        }
    }
    grows(gc, out);
}

bool triage_of_collections(const struct jvm_facts *facts, struct finding *finding)
{
    const struct gc_log *gc = &facts->lines.gc;
    if (!facts->have_lines || gc->collections == 0)
        return false;
    const struct gc_series *live = &gc->live;
    char last[96] = "";
    if (live->count > 0)
        snprintf(last, sizeof last, "; after those of the whole heap %s at last",
                 size_text(live->point[live->count - 1].bytes).text);
    finding_title(finding,
                  "a log of %" PRId64 " collections, %" PRId64
                  " of them full, of a heap of %s: it is not full%s",
                  gc->collections, gc->full, size_text(gc->heap_bytes).text, last);
    finding_advice(
        finding, "%s",
        "Whether the live set grows needs a log over hours: -Xlog:gc*:file=gc.log, JDK 8 "
        "-Xloggc:gc.log -XX:+PrintGCDetails.");
    add_figures(gc, finding);
    return true;
}
