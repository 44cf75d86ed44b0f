#include "reports/diagnosis/triage_report.h"

#include "reports/text/units.h"

#include <inttypes.h>
#include <math.h>

#define MB (INT64_C(1) << 20)

static const struct units_text DASH = {"-"};

static struct units_text bytes_or_dash(int64_t bytes)
{
    return bytes < 0 ? DASH : units_bytes(bytes);
}

static struct units_text growth_or_dash(int64_t bytes)
{
    return bytes == 0 ? DASH : units_growth(bytes);
}

static struct units_text seconds(double s)
{
    return units_duration(s >= 9e15 ? INT64_MAX : llround(s * 1000.0));
}

/* --- the profiler ----------------------------------------------------------------------------- */

static void component_rows(const struct plan *plan, struct page *page, bool measured)
{
    const char *const heads[] = {
        "component", "#documented", "#by its formula", "#expected", measured ? "#measured" : NULL,
        NULL};
    page_table_of(page, heads);
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
        const struct plan_component_row *row = plan_component_row((enum plan_component)i);
        const struct plan_figures *figures = &plan->figures[i];
        page_row(page, row->title, plan_documented((enum plan_component)i, plan->load).text,
                 bytes_or_dash(figures->documented_bytes).text,
                 bytes_or_dash(figures->expected_bytes).text,
                 bytes_or_dash(figures->measured_bytes).text);
    }
    static const char *const titles[] = {"total without jmethodIDs", "total with jmethodIDs"};
    for (int s = 0; s < PLAN_SUM_COUNT; s++)
        page_row(page, titles[s], plan_documented_sum((enum plan_sum)s, plan->load).text,
                 bytes_or_dash(plan->sums[s].documented_bytes).text,
                 bytes_or_dash(plan->sums[s].expected_bytes).text,
                 bytes_or_dash(plan->sums[s].measured_bytes).text);
}

#define AGENT_BOUND_BYTES (64 << 20) /* option memory of libnmtagent.so, unless given */

static void profiler(const struct plan *plan, struct page *page)
{
    const struct jmethodid_cost *ids = &plan->ids;
    page_heading(page, "A profiler's memory");
    component_rows(plan, page, plan->sums[PLAN_SUM_WITH_IDS].measured_bytes >= 0);
    page_text(page,
              "Documented: the range for %s, and the documented formula at these numbers. "
              "Expected: what is resident, by formulas measured on JDK 17 and 25.",
              suitability_load_row(plan->load)->classes);
    if (plan->sums[PLAN_SUM_WITHOUT_IDS].expected_bytes > AGENT_BOUND_BYTES)
        page_text(page,
                  "libnmtagent.so keeps within its option memory (64 MB unless given), which is "
                  "split among its tables: what finds no room there is counted as lost.");
    if (ids->jni_bytes > 0)
        page_text(page, "jmethodIDs are in NMT's JNI (%s) and Class (%s); unloading frees them.",
                  units_bytes(ids->jni_bytes).text, units_bytes(ids->class_bytes).text);
    else if (ids->internal_bytes > 0)
        page_text(page,
                  "jmethodIDs are in NMT's Internal (%s) and Class (%s); of a class that is "
                  "unloaded half of them is never freed%s%s.",
                  units_bytes(ids->internal_bytes).text, units_bytes(ids->class_bytes).text,
                  plan->ids_kept_bytes > 0 ? ": " : "",
                  plan->ids_kept_bytes > 0 ? units_bytes(plan->ids_kept_bytes).text : "");
    else
        page_text(page,
                  "jmethodIDs are in NMT's Class; of a class that is unloaded half of them is "
                  "never freed%s%s.",
                  plan->ids_kept_bytes > 0 ? ": " : "",
                  plan->ids_kept_bytes > 0 ? units_bytes(plan->ids_kept_bytes).text : "");
}

/* --- classes ---------------------------------------------------------------------------------- */

static void classes(const struct plan *plan, struct page *page)
{
    const struct plan_measured *measured = &plan->measured;
    page_heading(page, "Classes");
    if (measured->basis == PLAN_BASIS_GROWTH)
        page_text(
            page,
            "One more class takes %s: measured, %s classes came in %s. %s classes come to %s.",
            units_bytes(llround(plan->bytes_per_class)).text,
            units_count(measured->basis_classes).text, seconds(measured->span_s).text,
            units_count(plan->classes).text, units_bytes(plan->classes_bytes).text);
    else if (measured->basis == PLAN_BASIS_MEAN)
        page_text(page,
                  "A class takes %s: the mean of the %s that are there and not in the class "
                  "archive; too few came in to measure one more. %s classes come to %s.",
                  units_bytes(llround(plan->bytes_per_class)).text,
                  units_count(measured->basis_classes).text, units_count(plan->classes).text,
                  units_bytes(plan->classes_bytes).text);
    else
        page_text(page,
                  "%s classes come to %s, %s each: Metaspace %s, class space %s, malloc %s, "
                  "symbols %s, NMT's own %s.",
                  units_count(plan->classes).text, units_bytes(plan->classes_bytes).text,
                  units_bytes(llround(plan->bytes_per_class)).text,
                  units_bytes(plan->formula.metaspace_bytes).text,
                  units_bytes(plan->formula.class_space_bytes).text,
                  units_bytes(plan->formula.malloc_bytes).text,
                  units_bytes(plan->formula.symbol_bytes).text,
                  units_bytes(plan->formula.nmt_bytes).text);
}

/* --- the container ---------------------------------------------------------------------------- */

static void container(const struct plan *plan, struct page *page)
{
    const struct sizing *sizing = &plan->sizing;
    page_heading(page, "The container");
    page_table(page, "part", "#resident", "how");
    for (int i = 0; i < sizing->part_count; i++) {
        const struct sizing_part *part = &sizing->parts[i];
        page_row(page, part->title, units_bytes(part->bytes).text, part->basis);
    }
    page_row(page, "total", units_bytes(sizing->total_bytes).text,
             sizing->heap_known ? "" : "without the heap: give --heap");
    page_row(page, "reserve", units_bytes(sizing->reserve_bytes).text,
             "a tenth of all but the heap");
    if (plan->measured.rss_bytes >= 0 && plan->measured.nmt_bytes >= 0)
        page_text(page, "Resident now: %s; committed by NMT: %s.",
                  units_bytes(plan->measured.rss_bytes).text,
                  units_bytes(plan->measured.nmt_bytes).text);
    page_text(page, "Proposed limit: %" PRId64 " MB%s",
              sizing->proposal_bytes / MB, /* to be pasted */
              sizing->heap_known ? "." : " and the heap.");
    if (sizing->limit_bytes >= 0)
        page_text(page, "The limit that there is: %s, %s.", units_bytes(sizing->limit_bytes).text,
                  !sizing->fits                                  ? "which is too small"
                  : sizing->proposal_bytes > sizing->limit_bytes ? "which leaves less reserve"
                                                                 : "which is enough");
    page_text(page, "Flags:");
    page_code(page, "%s", sizing->flags);
    page_text(
        page,
        "%s of address space for stacks (-Xss x threads) is reserved, and counts as far as it "
        "is touched.",
        units_bytes(sizing->stacks_reserved_bytes).text);
}

/* --- more and sooner -------------------------------------------------------------------------- */

static void sensitivity(const struct plan *plan, struct page *page)
{
    page_heading(page, "If there were more");
    page_table(page, "what more means", "#classes", "#jmethodIDs", "#profiler", "#stacks");
    for (int i = 0; i < plan->change_count; i++) {
        const struct plan_change *change = &plan->changes[i];
        page_row(page, change->what, growth_or_dash(change->classes_bytes).text,
                 growth_or_dash(change->jmethod_ids_bytes).text,
                 growth_or_dash(change->profiler_bytes).text,
                 growth_or_dash(change->stacks_bytes).text);
    }
}

static void ahead(const struct plan *plan, struct page *page)
{
    page_heading(page, "How long it lasts");
    if (plan->bytes_per_s <= 0.0) {
        page_text(page, "Nothing grows at the %s rate.", plan->measured.have ? "present" : "given");
        return;
    }
    page_text(page, "At the %s rate it grows by %s an hour.",
              plan->measured.have ? "present" : "given",
              units_bytes(llround(fmin(plan->bytes_per_s * 3600.0, 9e18))).text);
    if (plan->measured.judged)
        page_text(page, "%s", plan->measured.growth_sentence);
    if (plan->have_limit_time)
        page_text(page, "The limit of %s is reached in %s.",
                  units_bytes(plan->sizing.limit_bytes).text, seconds(plan->limit_s).text);
    if (plan->have_metaspace_time)
        page_text(page, "MaxMetaspaceSize of %s is reached in %s.",
                  units_bytes(plan->measured.metaspace_max_bytes).text,
                  seconds(plan->metaspace_s).text);
    if (!plan->have_limit_time && !plan->have_metaspace_time)
        page_text(page, "No limit is known that it would reach: give --limit.");
}

/* --- what it rests on ------------------------------------------------------------------------- */

static struct units_text number(enum plan_number which, double value)
{
    const struct plan_number_row *row = plan_number_row(which);
    struct units_text out;
    switch (row->kind) {
    case PLAN_KIND_BYTES:
        return units_bytes(llround(value));
    case PLAN_KIND_SECONDS:
        return seconds(value);
    case PLAN_KIND_COUNT:
        return units_count(llround(value));
    case PLAN_KIND_RATE:
        return units_rate(value);
    case PLAN_KIND_REAL:
        break;
    }
    snprintf(out.text, sizeof out.text, "%.10g", value);
    return out;
}

static const char *where_from(bool given, bool measured)
{
    return given ? "given" : measured ? "measured" : "assumed";
}

static void numbers(const struct plan *plan, struct page *page)
{
    const struct plan_input *input = &plan->input;
    bool measured = plan->measured.have;
    char jdk[16];
    page_heading(page, "Numbers it rests on");
    page_table(page, "number", "#value", "where from");
    snprintf(jdk, sizeof jdk, "%d", input->jdk_major);
    page_row(page, "jdk", jdk, where_from(input->jdk_given, measured));
    if (plan->measured.gc_bytes < 0)
        page_row(page, "gc", plan_gc_name(input->gc), where_from(input->gc_given, false));
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++) {
        const struct plan_slot *slot = &input->slot[i];
        const struct plan_number_row *row = plan_number_row((enum plan_number)i);
        if (!plan_input_known(input, (enum plan_number)i))
            continue;
        page_row(page, row->option, number((enum plan_number)i, slot->number).text,
                 where_from(slot->given, measured && slot->number != row->initial));
    }
}

void plan_page(const struct plan *plan, const char *source, struct page *page)
{
    static const enum severity severities[] = {SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL};
    char title[256];
    snprintf(title, sizeof title,
             "limit %" PRId64 " MB%s; a profiler on %s classes of %.3g methods, JDK %d%s%s",
             plan->sizing.proposal_bytes / MB, plan->sizing.heap_known ? "" : " and the heap",
             units_count(plan->classes).text, plan_input_get(&plan->input, PLAN_METHODS_PER_CLASS),
             plan->input.jdk_major, source != NULL ? ", from " : "", source != NULL ? source : "");
    page_begin(page, title, suitability_name(plan->verdict), severities[plan->verdict]);
    page_text(page, "%s.", plan->reason);
    if (plan->costs_reason[0] != '\0')
        page_text(page, "By measured costs %s: %s.", suitability_name(plan->by_costs),
                  plan->costs_reason);
    if (plan->input.jdk_major == 8)
        page_text(page, "JDK 8 looks for the place of each method id from the beginning of a list "
                        "(JDK-8062116): a profiler that asks for all ids takes 85 s to start with "
                        "20 000 classes of 15 methods in one loader, and hours with millions of "
                        "methods.");
    profiler(plan, page);
    classes(plan, page);
    container(plan, page);
    sensitivity(plan, page);
    ahead(plan, page);
    numbers(plan, page);
}

/* --- JSON; docs/json.md is its description -------------------------------------------------- */

static void put_rate(struct json_out *out, const char *key, double number)
{
    json_out_real(out, key, number < 0.0 ? NAN : number);
}

static void put_seconds(struct json_out *out, const char *key, bool there, double number)
{
    json_out_int_if(out, key, there && number < 9e15, llround(number));
}

static void input_json(struct json_out *out, const struct plan_input *input)
{
    char key[40];
    json_out_begin(out, "input", '{');
    json_out_int(out, "jdk", input->jdk_major);
    json_out_text(out, "gc", plan_gc_name(input->gc));
    json_out_bool(out, "generated", input->generated);
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++) {
        const struct plan_number_row *row = plan_number_row((enum plan_number)i);
        static const char *const units[] = {
            [PLAN_KIND_COUNT] = "",           [PLAN_KIND_REAL] = "",
            [PLAN_KIND_RATE] = "_per_s",      [PLAN_KIND_BYTES] = "_bytes",
            [PLAN_KIND_SECONDS] = "_seconds",
        };
        snprintf(key, sizeof key, "%s%s", row->option, units[row->kind]);
        for (char *at = key; *at != '\0'; at++)
            *at = *at == '-' ? '_' : *at;
        if (!plan_input_known(input, (enum plan_number)i))
            json_out_null(out, key);
        else if (row->kind == PLAN_KIND_REAL || row->kind == PLAN_KIND_RATE)
            json_out_real(out, key, input->slot[i].number);
        else
            json_out_int(out, key, llround(input->slot[i].number));
    }
    json_out_end(out, '}');
    json_out_begin(out, "given", '[');
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++)
        if (input->slot[i].given)
            json_out_text(out, NULL, plan_number_row((enum plan_number)i)->option);
    json_out_end(out, ']');
}

static void range_json(struct json_out *out, const struct plan_range *range)
{
    json_out_begin(out, "documented", '{');
    json_out_text(out, "text", range->text);
    json_out_int_if(out, "low_bytes", range->low_bytes >= 0, range->low_bytes);
    json_out_int_if(out, "high_bytes", range->high_bytes >= 0, range->high_bytes);
    json_out_end(out, '}');
}

static void figures_json(struct json_out *out, const struct plan_figures *figures)
{
    json_out_int_if(out, "formula_bytes", figures->documented_bytes >= 0,
                    figures->documented_bytes);
    json_out_int_if(out, "expected_bytes", figures->expected_bytes >= 0, figures->expected_bytes);
    json_out_int_if(out, "measured_bytes", figures->measured_bytes >= 0, figures->measured_bytes);
}

static void components_json(struct json_out *out, const struct plan *plan)
{
    static const char *const keys[] = {"without_jmethod_ids", "with_jmethod_ids"};
    json_out_text(out, "documented_for", suitability_load_row(plan->load)->key);
    json_out_begin(out, "components", '[');
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
        const struct plan_component_row *row = plan_component_row((enum plan_component)i);
        json_out_begin(out, NULL, '{');
        json_out_text(out, "key", row->key);
        json_out_text(out, "title", row->title);
        struct plan_range range = plan_documented((enum plan_component)i, plan->load);
        range_json(out, &range);
        figures_json(out, &plan->figures[i]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_begin(out, "totals", '{');
    for (int s = 0; s < PLAN_SUM_COUNT; s++) {
        struct plan_range range = plan_documented_sum((enum plan_sum)s, plan->load);
        json_out_begin(out, keys[s], '{');
        range_json(out, &range);
        figures_json(out, &plan->sums[s]);
        json_out_end(out, '}');
    }
    json_out_end(out, '}');
    json_out_begin(out, "jmethod_ids", '{');
    json_out_int(out, "class_bytes", plan->ids.class_bytes);
    json_out_int(out, "internal_bytes", plan->ids.internal_bytes);
    json_out_int(out, "jni_bytes", plan->ids.jni_bytes);
    json_out_int(out, "nmt_header_bytes", plan->ids.nmt_header_bytes);
    json_out_int(out, "kept_by_churn_bytes", plan->ids_kept_bytes);
    json_out_end(out, '}');
}

static void classes_json(struct json_out *out, const struct plan *plan)
{
    json_out_begin(out, "classes", '{');
    json_out_int(out, "count", plan->classes);
    json_out_text(out, "basis", plan_basis_name(plan->measured.basis));
    json_out_real(out, "bytes_per_class", plan->bytes_per_class);
    json_out_int(out, "total_bytes", plan->classes_bytes);
    json_out_int(out, "metaspace_bytes", plan->metaspace_bytes);
    json_out_end(out, '}');
}

static void measured_json(struct json_out *out, const struct plan_measured *measured,
                          const char *source)
{
    if (!measured->have) {
        json_out_null(out, "measured");
        return;
    }
    json_out_begin(out, "measured", '{');
    json_out_text(out, "source", source);
    json_out_real(out, "span_seconds", measured->span_s);
    json_out_int_if(out, "classes", measured->classes >= 0, measured->classes);
    json_out_int_if(out, "classes_loaded", measured->loaded >= 0, measured->loaded);
    json_out_int_if(out, "classes_unloaded", measured->unloaded >= 0, measured->unloaded);
    json_out_int_if(out, "loaders", measured->loaders >= 0, measured->loaders);
    json_out_int_if(out, "threads", measured->threads >= 0, measured->threads);
    put_rate(out, "loads_per_s", measured->loads_per_s);
    put_rate(out, "unloads_per_s", measured->unloads_per_s);
    json_out_int_if(out, "rss_bytes", measured->rss_bytes >= 0, measured->rss_bytes);
    json_out_int_if(out, "nmt_bytes", measured->nmt_bytes >= 0, measured->nmt_bytes);
    json_out_int_if(out, "classes_bytes", measured->class_bytes >= 0, measured->class_bytes);
    json_out_int_if(out, "metaspace_bytes", measured->metaspace_bytes >= 0,
                    measured->metaspace_bytes);
    json_out_int_if(out, "metaspace_max_bytes", measured->metaspace_max_bytes >= 0,
                    measured->metaspace_max_bytes);
    json_out_int_if(out, "limit_bytes", measured->limit_bytes >= 0, measured->limit_bytes);
    json_out_text(out, "growth", measured->judged ? measured->growth_sentence : NULL);
    json_out_end(out, '}');
}

static void container_json(struct json_out *out, const struct sizing *sizing)
{
    json_out_begin(out, "container", '{');
    json_out_bool(out, "heap_known", sizing->heap_known);
    json_out_begin(out, "parts", '[');
    for (int i = 0; i < sizing->part_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "key", sizing->parts[i].key);
        json_out_text(out, "title", sizing->parts[i].title);
        json_out_int(out, "bytes", sizing->parts[i].bytes);
        json_out_text(out, "basis", sizing->parts[i].basis);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "total_bytes", sizing->total_bytes);
    json_out_int(out, "reserve_bytes", sizing->reserve_bytes);
    json_out_int(out, "proposal_bytes", sizing->proposal_bytes);
    json_out_int_if(out, "limit_bytes", sizing->limit_bytes >= 0, sizing->limit_bytes);
    json_out_bool(out, "fits", sizing->fits);
    json_out_int(out, "max_metaspace_bytes", sizing->max_metaspace_bytes);
    json_out_int(out, "code_cache_bytes", sizing->code_cache_bytes);
    json_out_int(out, "stacks_reserved_bytes", sizing->stacks_reserved_bytes);
    json_out_text(out, "flags", sizing->flags);
    json_out_end(out, '}');
}

static void changes_json(struct json_out *out, const struct plan *plan)
{
    json_out_begin(out, "sensitivity", '[');
    for (int i = 0; i < plan->change_count; i++) {
        const struct plan_change *change = &plan->changes[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "key", change->key);
        json_out_text(out, "what", change->what);
        json_out_int(out, "classes_bytes", change->classes_bytes);
        json_out_int(out, "jmethod_ids_bytes", change->jmethod_ids_bytes);
        json_out_int(out, "profiler_bytes", change->profiler_bytes);
        json_out_int(out, "stacks_bytes", change->stacks_bytes);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

void plan_json(const struct plan *plan, const char *source, struct json_out *out)
{
    json_out_begin(out, NULL, '{');
    json_out_text(out, "verdict", suitability_name(plan->verdict));
    json_out_int(out, "exit_code", plan->verdict);
    json_out_text(out, "reason", plan->reason);
    if (plan->costs_reason[0] != '\0') {
        json_out_text(out, "verdict_by_costs", suitability_name(plan->by_costs));
        json_out_text(out, "costs_reason", plan->costs_reason);
    }
    input_json(out, &plan->input);
    components_json(out, plan);
    classes_json(out, plan);
    measured_json(out, &plan->measured, source);
    container_json(out, &plan->sizing);
    changes_json(out, plan);
    json_out_begin(out, "ahead", '{');
    json_out_real(out, "bytes_per_s", plan->bytes_per_s);
    put_seconds(out, "limit_seconds", plan->have_limit_time, plan->limit_s);
    put_seconds(out, "metaspace_limit_seconds", plan->have_metaspace_time, plan->metaspace_s);
    json_out_end(out, '}');
    json_out_end(out, '}');
}
