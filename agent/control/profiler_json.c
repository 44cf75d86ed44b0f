#include "agent/control/profiler_json.h"

#include "agent/control/limits_json.h"
#include "agent/hotspot/faults.h"

#include <inttypes.h>
#include <unistd.h>

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\' || *at < 0x20 || *at >= 0x7f)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

static void put_member(FILE *out, const char *name, int64_t value, bool last)
{
    fprintf(out, "\"%s\":%" PRId64 "%s", name, value, last ? "" : ",");
}

static void put_walks(const struct recording_counts *counts, FILE *out)
{
    fprintf(out, "\"walks\":{\"%s\":%" PRId64, walk_code_name(WALK_OK), counts->walks[WALK_OK]);
    for (int i = 0; i < WALK_CODE_COUNT; i++) {
        if (i != WALK_OK && counts->walks[i] != 0)
            fprintf(out, ",\"%s\":%" PRId64, walk_code_name((enum walk_code)i), counts->walks[i]);
    }
    fprintf(out, "},");
}

static void put_methods(const struct recording_counts *counts, FILE *out)
{
    const struct seen_methods_counts *seen = &counts->seen;
    fprintf(out, "\"methods\":{");
    put_member(out, "known", counts->methods.methods, false);
    put_member(out, "unknown", counts->methods.unknown, false);
    put_member(out, "over_budget", counts->methods.over_budget + seen->over_budget,
               seen->seen == 0);
    if (seen->seen > 0) {
        put_member(out, "seen", seen->seen, false);
        put_member(out, "forgotten", seen->forgotten, false);
        put_member(out, "reused_addresses", seen->reused, false);
        put_member(out, "compared", seen->compared, false);
        put_member(out, "unreadable", seen->unreadable, false);
        put_member(out, "held_bytes", seen->held_bytes, true);
    }
    fprintf(out, "},");
}

static void put_counts(const struct recording_counts *counts, FILE *out)
{
    fprintf(out, "\"engine\":\"%s\",", counts->engine);
    put_member(out, "samples", counts->samples, false);
    put_member(out, "stored", counts->stored, false);
    fprintf(out, "\"dropped\":{");
    put_member(out, "slots", counts->dropped_slots, false);
    put_member(out, "buffers", counts->dropped_buffers, true);
    fprintf(out, "},");
    put_member(out, "without_trace", counts->without_trace, false);
    put_member(out, "torn_contexts", counts->torn_contexts, false);
    put_walks(counts, out);
    put_methods(counts, out);
    put_member(out, "traces", counts->traces, false);
    put_member(out, "trace_capacity", counts->trace_capacity, false);
    put_member(out, "chunks", counts->chunks, false);
    put_member(out, "file_bytes", counts->file_bytes, false);
    fprintf(out, "\"recording_error\":");
    if (counts->error[0] != '\0')
        put_text(out, counts->error);
    else
        fprintf(out, "null");
    fprintf(out, ",");
}

static void put_alloc(const struct profiler_view *view, FILE *out)
{
    struct alloc_counts counts;
    alloc_profile_counts(view->allocs, &counts);
    fprintf(out, "\"alloc\":{");
    put_member(out, "interval_bytes", counts.interval_bytes, false);
    put_member(out, "samples", counts.samples, false);
    put_member(out, "without_stack", counts.without_stack, false);
    put_member(out, "lost", counts.lost, false);
    put_member(out, "threads_refused", counts.threads_refused, false);
    if (counts.total_bytes >= 0)
        put_member(out, "total_bytes", counts.total_bytes, false);
    else
        fprintf(out, "\"total_bytes\":null,");
    fprintf(out, "\"stacks\":%s},",
            view->recording->sampler.engine->walk_here != NULL ? "true" : "false");
}

void profiler_json_status(const struct profiler_view *view, FILE *out)
{
    struct threads_counts threads;
    threads_counts(view->threads, &threads);
    fprintf(out, "{\"running\":%s,", view->running ? "true" : "false");
    put_member(out, "pid", getpid(), false);
    put_member(out, "jdk_major", view->jdk_major, false);
    fprintf(out, "\"timer\":\"%s\",", timer_kind_name(threads_timer(view->threads)));
    limits_json(view->ids, view->counts->unnamed_frames, out);
    if (view->counts->engine != NULL) {
        put_counts(view->counts, out);
        if (view->engine_fallback[0] != '\0') {
            fprintf(out, "\"engine_fallback\":");
            put_text(out, view->engine_fallback);
            fputc(',', out);
        }
        put_member(out, "faults", faults_caught(), false);
        fprintf(out, "\"file\":");
        put_text(out, view->file);
        fprintf(out, ",\"native\":%s,", view->native_missing[0] == '\0' ? "true" : "false");
        if (view->native_missing[0] != '\0') {
            fprintf(out, "\"native_missing\":");
            put_text(out, view->native_missing);
            fputc(',', out);
        }
    }
    if (view->allocs != NULL)
        put_alloc(view, out);
    put_member(out, "threads", threads.threads, false);
    put_member(out, "timers", threads.timers, false);
    put_member(out, "failed_timers", threads.failed_timers, false);
    put_member(out, "signals", threads.signals, false);
    put_member(out, "foreign_signals", threads.foreign_signals, false);
    put_member(out, "late_signals", threads.late_signals, false);
    put_member(out, "nested_signals", threads.nested_signals, false);
    if (view->classes != NULL) {
        fprintf(out, "\"classes\":");
        class_definitions_json(view->classes, out);
        fputc(',', out);
    }
    if (view->live != NULL) {
        fprintf(out, "\"live\":");
        live_objects_json(view->live, out);
        fputc(',', out);
    }
    fprintf(out, "\"handler_replaced\":%s", threads.handler_replaced ? "true" : "false");
    fprintf(out, "}\n");
}

static void put_usage(FILE *out, const struct component_usage *usage)
{
    put_member(out, "requested_bytes", usage->requested_bytes, false);
    put_member(out, "reserved_bytes", usage->reserved_bytes, false);
    put_member(out, "resident_bytes", usage->resident_bytes, false);
    put_member(out, "peak_bytes", usage->peak_bytes, false);
    put_member(out, "allocations", usage->allocations, false);
    put_member(out, "frees", usage->frees, true);
}

int64_t profiler_json_rss(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm == NULL)
        return 0;
    if (fscanf(statm, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(statm);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

void profiler_json_memory(const struct profiler_view *view, FILE *out)
{
    struct mem_snapshot snapshot;
    struct jmethod_ids_bill bill = {0};
    struct method_map_counts methods = {0};
    struct live_counts live = {0};
    if (view->live != NULL)
        live_objects_counts(view->live, &live);
    mem_snapshot(&snapshot);
    if (view->ids != NULL)
        jmethod_ids_bill(view->ids, &bill);
    if (view->recording != NULL)
        method_map_counts(view->recording->methods, &methods);

    fprintf(out, "{\"components\":[");
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        int64_t documented = component_documented_bytes((enum component)i);
        fprintf(out, "%s{\"name\":\"%s\",\"documented_bytes\":", i == 0 ? "" : ",",
                component_name((enum component)i));
        if (documented >= 0)
            fprintf(out, "%" PRId64 ",", documented);
        else
            fprintf(out, "null,");
        put_usage(out, &snapshot.component[i]);
        fprintf(out, "}");
    }
    fprintf(out, "],\"total\":{");
    put_usage(out, &snapshot.total);
    fprintf(out, "},\"consistent\":%s,", snapshot.consistent ? "true" : "false");
    put_member(out, "damaged_blocks", mem_damaged(), false);

    fprintf(out, "\"jvm\":{\"jmethod_ids\":{");
    put_member(out, "classes", bill.classes, false);
    put_member(out, "methods", bill.methods, false);
    put_member(out, "loaded_bytes", bill.loaded_bytes, false);
    put_member(out, "unloaded_classes", bill.unloaded_classes, false);
    put_member(out, "kept_after_unload_bytes", bill.kept_after_unload_bytes, false);
    put_member(out, "present_bytes", bill.present_bytes, true);
    fprintf(out, "},\"weak_references\":{");
    put_member(out, "count", live.held, false);
    put_member(out, "bytes", live.jvm_bytes, true);
    fprintf(out, "},");
    put_member(out, "jvmti_bytes", bill.jvmti_bytes + methods.jvmti_bytes, true);

    int64_t rss = profiler_json_rss();
    int64_t explained = snapshot.total.resident_bytes + bill.present_bytes + live.jvm_bytes;
    fprintf(out, "},\"rss\":{");
    put_member(out, "process_bytes", rss, false);
    put_member(out, "before_agent_bytes", view->rss_before_bytes, false);
    put_member(out, "explained_bytes", explained, false);
    put_member(out, "unexplained_growth_bytes", rss - view->rss_before_bytes - explained, true);
    fprintf(out, "}}\n");
}
