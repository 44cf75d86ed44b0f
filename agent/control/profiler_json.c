/* What people ask: status and memory as JSON objects (docs/json.md). Commands' thread; the counters
 * are read while handlers count. */
#include "floor/hotspot/class_graph.h"
#include "agent/control/breaker_apply.h"
#include "agent/control/profiler_parts.h"
#include "agent/hotspot/faults.h"
#include "agent/calltrace/calltrace.h"
#include "agent/methods/native_symbols.h"
#include "agent/mem/mem.h"

#include <unistd.h>

/* --- status ----------------------------------------------------------------------------------- */

static void put_ids(const struct jmethod_ids *ids, struct json *json)
{
    struct jmethod_ids_bill bill;
    if (ids == NULL) {
        json_null(json, "jmethodid");
        return;
    }
    jmethod_ids_bill(ids, &bill);
    json_begin(json, "jmethodid", '{');
    json_text(json, "policy", id_policy_name(bill.policy));
    json_int_if(json, "budget_bytes", bill.budget_bytes, bill.policy == IDS_BUDGET);
    json_int_if(json, "predicted_bytes", bill.predicted_bytes, bill.predicted_bytes >= 0);
    json_int(json, "asked_bytes", bill.loaded_bytes);
    json_int(json, "prepared_classes", bill.classes);
    json_int(json, "skipped_classes", bill.skipped_classes);
    json_end(json, '}');
}

/* What the agent may cost, and what it has stopped collecting because of that. */
static void put_breaker(struct json *json)
{
    static const struct json_field FIELDS[] = {
        JSON_FIELD(struct breaker_view, own_bytes),
        JSON_FIELD(struct breaker_view, jvm_bytes),
        {"memory_bytes", offsetof(struct breaker_view, limits.memory_bytes)},
        {"warn_bytes", offsetof(struct breaker_view, limits.warn_bytes)},
        {"shed_bytes", offsetof(struct breaker_view, limits.shed_bytes)},
        {"stop_at_bytes", offsetof(struct breaker_view, limits.stop_bytes)},
    };
    struct breaker_view view;
    breaker_apply_view(&view);
    json_begin(json, "breaker", '{');
    json_text(json, "state", breaker_state_name(view.state));
    json_text_or_null(json, "reason", view.reason);
    json_ints(json, FIELDS, JSON_COUNT(FIELDS), &view);
    json_end(json, '}');
}

static void put_walks(const struct recording_counts *counts, struct json *json)
{
    json_begin(json, "walks", '{');
    json_int(json, walk_code_name(WALK_OK), counts->walks[WALK_OK]);
    for (int i = 0; i < WALK_CODE_COUNT; i++) {
        if (i != WALK_OK && counts->walks[i] != 0)
            json_int(json, walk_code_name((enum walk_code)i), counts->walks[i]);
    }
    json_end(json, '}');
}

static void put_methods(const struct recording_counts *counts, struct json *json)
{
    static const struct json_field FIELDS[] = {
        JSON_FIELD(struct seen_methods_counts, seen),
        JSON_FIELD(struct seen_methods_counts, forgotten),
        {"reused_addresses", offsetof(struct seen_methods_counts, reused)},
        JSON_FIELD(struct seen_methods_counts, compared),
        JSON_FIELD(struct seen_methods_counts, unreadable),
        JSON_FIELD(struct seen_methods_counts, held_bytes),
    };
    const struct seen_methods_counts *seen = &counts->seen;
    json_begin(json, "methods", '{');
    json_int(json, "known", counts->methods.methods);
    json_int(json, "unknown", counts->methods.unknown);
    json_int(json, "over_budget", counts->methods.over_budget + seen->over_budget);
    if (seen->seen > 0)
        json_ints(json, FIELDS, JSON_COUNT(FIELDS), seen);
    json_end(json, '}');
}

static void put_counts(const struct recording_counts *counts, struct json *json)
{
    json_text(json, "engine", counts->engine);
    json_int(json, "samples", counts->samples);
    json_int(json, "stored", counts->stored);
    json_begin(json, "dropped", '{');
    json_int(json, "slots", counts->dropped_slots);
    json_int(json, "buffers", counts->dropped_buffers);
    json_end(json, '}');
    json_int(json, "without_trace", counts->without_trace);
    json_int(json, "torn_contexts", counts->torn_contexts);
    put_walks(counts, json);
    put_methods(counts, json);
    json_int(json, "traces", counts->traces);
    json_int(json, "trace_capacity", counts->trace_capacity);
    json_begin(json, "lost_stacks", '{');
    json_int(json, "bound_bytes", counts->traces_bound_bytes);
    json_int(json, "over_budget", counts->traces_over_budget);
    json_int(json, "late", counts->traces_late);
    json_end(json, '}');
    json_int(json, "chunks", counts->chunks);
    json_int(json, "file_bytes", counts->file_bytes);
    json_text_or_null(json, "recording_error", counts->error);
    json_begin(json, "lost", '{');
    json_int(json, "chunks", counts->lost_chunks);
    json_int(json, "events", counts->lost_events);
    json_text_or_null(json, "reason", counts->last_error);
    json_end(json, '}');
}

static void put_alloc(struct json *json)
{
    struct alloc_counts counts;
    alloc_profile_counts(profiler.allocs, &counts);
    json_begin(json, "alloc", '{');
    alloc_counts_json(&counts, json);
    json_int_if(json, "total_bytes", counts.total_bytes, counts.total_bytes >= 0);
    json_bool(json, "stacks", profiler.recording->sampler.engine->walk_here != NULL);
    json_end(json, '}');
}

#define METHOD_ROWS 20

/* Methods of all loaded classes: where they can be read, that is with engine vm. */
static void put_loaded_methods(struct json *json)
{
    struct loaded_methods methods;
    char error[160] = "";
    struct loaded_families *families = NULL;
    if (profiler.recording == NULL || profiler.engine->walk_here == NULL ||
        (families = mem_map(COMPONENT_CLASS_DEFINITIONS, sizeof *families)) == NULL ||
        !class_graph_walk(&methods, families, error, sizeof error)) {
        json_null(json, "loaded_methods");
    } else {
        json_begin(json, "loaded_methods", '{');
        json_int(json, "classes", methods.classes);
        json_int(json, "methods", methods.methods);
        json_begin(json, "families", '[');
        for (size_t i = 0; i < methods.family_count && i < METHOD_ROWS; i++) {
            const struct loaded_family *family = &families->family[i];
            json_begin(json, NULL, '{');
            json_text(json, "family", family->name);
            json_int(json, "classes", family->classes);
            json_int(json, "methods", family->methods);
            json_end(json, '}');
        }
        json_end(json, ']');
        json_end(json, '}');
    }
    if (families != NULL)
        mem_unmap(COMPONENT_CLASS_DEFINITIONS, families, sizeof *families);
}

void profiler_status_json(struct json *json, const char *name)
{
    static const struct json_field THREADS[] = {
        JSON_FIELD(struct threads_counts, threads),
        JSON_FIELD(struct threads_counts, timers),
        JSON_FIELD(struct threads_counts, failed_timers),
        JSON_FIELD(struct threads_counts, revived_timers),
        JSON_FIELD(struct threads_counts, signals),
        JSON_FIELD(struct threads_counts, foreign_signals),
        JSON_FIELD(struct threads_counts, late_signals),
        JSON_FIELD(struct threads_counts, nested_signals),
        JSON_FIELD(struct threads_counts, small_stacks),
    };
    struct recording_counts counts = profiler.last;
    struct threads_counts threads;
    if (profiler.recording != NULL)
        recording_counts(profiler.recording, &counts);
    threads_counts(profiler.threads, &threads);
    json_begin(json, name, '{');
    json_bool(json, "running", profiler.running);
    json_int(json, "pid", getpid());
    json_int(json, "jdk_major", profiler.jdk_major);
    json_text(json, "timer", timer_kind_name(threads_timer(profiler.threads)));
    if (profiler.running) {
        json_int(json, "cpu_interval_ns", threads_interval_ns(profiler.threads));
        json_int(json, "wall_interval_ns", threads_wall_interval_ns(profiler.threads));
        json_int(json, "interval_changes", profiler.interval_changes);
    }
    put_ids(profiler.ids, json);
    json_int(json, "unnamed_frames", counts.unnamed_frames);
    put_breaker(json);
    if (counts.engine != NULL) {
        put_counts(&counts, json);
        if (profiler.engine_fallback[0] != '\0')
            json_text(json, "engine_fallback", profiler.engine_fallback);
        json_int(json, "faults", faults_caught());
        json_text(json, "file", profiler.file);
        json_bool(json, "native", profiler.native_missing[0] == '\0');
        if (profiler.native_missing[0] != '\0')
            json_text(json, "native_missing", profiler.native_missing);
    }
    if (profiler.allocs != NULL)
        put_alloc(json);
    json_ints(json, THREADS, JSON_COUNT(THREADS), &threads);
    if (profiler.classes != NULL)
        class_definitions_json(profiler.classes, json, "classes");
    put_loaded_methods(json);
    if (profiler.live != NULL)
        live_objects_json(profiler.live, json, "live");
    json_bool(json, "handler_replaced", threads.handler_replaced);
    json_end(json, '}');
}

/* --- memory ----------------------------------------------------------------------------------- */

static const struct json_field USAGE[] = {
    JSON_FIELD(struct component_usage, requested_bytes),
    JSON_FIELD(struct component_usage, reserved_bytes),
    JSON_FIELD(struct component_usage, resident_bytes),
    JSON_FIELD(struct component_usage, peak_bytes),
    JSON_FIELD(struct component_usage, allocations),
    JSON_FIELD(struct component_usage, frees),
};
enum { USAGE_FIELDS = JSON_COUNT(USAGE), USAGE_PEAK = 3 };

int64_t profiler_rss(void)
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

static void put_components(const struct mem_snapshot *snapshot, struct json *json)
{
    json_begin(json, "components", '[');
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        int64_t documented = component_documented_bytes((enum component)i);
        json_begin(json, NULL, '{');
        json_text(json, "name", component_name((enum component)i));
        json_int_if(json, "documented_bytes", documented, documented >= 0);
        json_ints(json, USAGE, USAGE_FIELDS, &snapshot->component[i]);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_begin(json, "total", '{');
    json_ints(json, USAGE, USAGE_FIELDS, &snapshot->total);
    json_end(json, '}');
    json_int(json, "damaged_blocks", mem_damaged());
}

#define SITES_SHOWN 200 /* a recording of an ordinary program has about 100 */

/* As the walk in site_table.c found them: what called mem_alloc or mem_map comes first. */
static void put_site(const struct mem_site *site, struct native_symbols *symbols, struct json *json)
{
    json_begin(json, NULL, '{');
    json_text(json, "component", component_name(site->component));
    json_int(json, "bytes", site->bytes);
    json_int(json, "blocks", site->blocks);
    json_begin(json, "frames", '[');
    for (int i = 0; i < 4 && site->frame[i] != NULL; i++) {
        struct native_place place;
        struct native_symbol symbol;
        char text[sizeof symbol.library + sizeof symbol.function + 24];
        uintptr_t pc = (uintptr_t)site->frame[i] - 1; /* the call, not what comes after it */
        if (symbols == NULL || !native_symbols_place(symbols, pc, &place))
            break;
        native_symbols_name(symbols, &place, &symbol);
        if (symbol.function[0] != '\0')
            snprintf(text, sizeof text, "%s", symbol.function);
        else
            snprintf(text, sizeof text, "%s+0x%zx", symbol.library, (size_t)(pc - place.start));
        json_text(json, NULL, text);
    }
    json_end(json, ']');
    json_end(json, '}');
}

struct sites {
    int count;
    struct mem_site site[SITES_SHOWN];
};

static void put_sites(const struct sites *sites, struct native_symbols *symbols, struct json *json)
{
    json_begin(json, "sites", '[');
    for (int i = 0; i < sites->count; i++)
        put_site(&sites->site[i], symbols, json);
    json_end(json, ']');
}

static void put_growth(const char *name, const struct component_usage *growth, struct json *json)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", name);
    json_ints(json, USAGE, USAGE_PEAK, growth); /* a peak does not grow */
    json_ints(json, USAGE + USAGE_PEAK + 1, USAGE_FIELDS - USAGE_PEAK - 1, growth);
    json_end(json, '}');
}

/* Components of which something has changed, and their sum. sites: NULL where nobody asks for them. */
static void put_since_baseline(const struct mem_snapshot *growth, const struct sites *sites,
                               struct native_symbols *symbols, struct json *json)
{
    if (profiler.baseline_ns == 0) {
        json_null(json, "since_baseline");
        return;
    }
    json_begin(json, "since_baseline", '{');
    json_int(json, "age_ms", (clock_now_ns() - profiler.baseline_ns) / 1000000);
    json_begin(json, "components", '[');
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        const struct component_usage *usage = &growth->component[i];
        if (usage->allocations != 0 || usage->frees != 0 || usage->reserved_bytes != 0)
            put_growth(component_name((enum component)i), usage, json);
    }
    put_growth("total", &growth->total, json);
    json_end(json, ']');
    if (sites != NULL)
        put_sites(sites, symbols, json);
    json_end(json, '}');
}

/* All is read before anything is made to answer with: what an answer takes is nobody's growth. */
static void put_detail(bool sites, struct json *json)
{
    static const char *const LEVELS[] = {
        [MEM_OFF] = "off", [MEM_SUMMARY] = "summary", [MEM_DETAIL] = "detail"};
    static struct sites now, grown; /* commands come one at a time */
    struct mem_snapshot growth;
    mem_diff(&growth);
    if (sites) {
        now.count = mem_sites(now.site, SITES_SHOWN);
        grown.count = mem_diff_sites(grown.site, SITES_SHOWN);
    }
    struct native_symbols *symbols = sites ? native_symbols_create() : NULL;
    json_text(json, "level", LEVELS[mem_get_level()]);
    if (sites)
        put_sites(&now, symbols, json);
    put_since_baseline(&growth, sites ? &grown : NULL, symbols, json);
    if (symbols != NULL) {
        native_symbols_rest(symbols);
        native_symbols_destroy(symbols);
    }
}

void profiler_memory_baseline(void)
{
    mem_baseline();
    profiler.baseline_ns = clock_now_ns();
}

void profiler_memory_json(struct json *json, bool sites)
{
    static const struct json_field IDS[] = {
        JSON_FIELD(struct jmethod_ids_bill, classes),
        JSON_FIELD(struct jmethod_ids_bill, methods),
        JSON_FIELD(struct jmethod_ids_bill, loaded_bytes),
        JSON_FIELD(struct jmethod_ids_bill, unloaded_classes),
        JSON_FIELD(struct jmethod_ids_bill, kept_after_unload_bytes),
        JSON_FIELD(struct jmethod_ids_bill, present_bytes),
    };
    struct mem_snapshot snapshot;
    struct jmethod_ids_bill bill = {0};
    struct method_map_counts methods = {0};
    struct live_counts live = {0};
    if (profiler.live != NULL)
        live_objects_counts(profiler.live, &live);
    mem_snapshot(&snapshot);
    if (profiler.ids != NULL)
        jmethod_ids_bill(profiler.ids, &bill);
    if (profiler.recording != NULL)
        method_map_counts(profiler.recording->methods, &methods);

    json_begin(json, NULL, '{');
    put_components(&snapshot, json);
    put_detail(sites, json);

    json_begin(json, "jvm", '{');
    json_begin(json, "jmethod_ids", '{');
    json_ints(json, IDS, JSON_COUNT(IDS), &bill);
    json_end(json, '}');
    json_begin(json, "weak_references", '{');
    json_int(json, "count", live.held);
    json_int(json, "bytes", live.jvm_bytes);
    json_end(json, '}');
    json_int(json, "jvmti_bytes", bill.jvmti_bytes + methods.jvmti_bytes);
    json_end(json, '}');

    int64_t rss = profiler_rss();
    int64_t explained = snapshot.total.resident_bytes + bill.present_bytes + live.jvm_bytes;
    json_begin(json, "rss", '{');
    json_int(json, "process_bytes", rss);
    json_int(json, "before_agent_bytes", profiler.rss_before_bytes);
    json_int(json, "explained_bytes", explained);
    json_int(json, "unexplained_growth_bytes", rss - profiler.rss_before_bytes - explained);
    json_end(json, '}');
    json_end(json, '}');
}
