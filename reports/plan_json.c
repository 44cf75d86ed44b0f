/* A capacity plan as JSON; docs/json.md is its description. */
#include "reports/plan_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_bytes(struct json_out *out, const char *key, int64_t bytes)
{
    if (bytes < 0)
        json_out_null(out, key);
    else
        json_out_int(out, key, bytes);
}

static void put_rate(struct json_out *out, const char *key, double number)
{
    json_out_real(out, key, number < 0.0 ? NAN : number);
}

static void put_seconds(struct json_out *out, const char *key, bool there, double number)
{
    if (there && number < 9e15)
        json_out_int(out, key, llround(number));
    else
        json_out_null(out, key);
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
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++) {
        if (input->slot[i].given)
            json_out_text(out, NULL, plan_number_row((enum plan_number)i)->option);
    }
    json_out_end(out, ']');
}

static void range_json(struct json_out *out, const struct plan_range *range)
{
    json_out_begin(out, "documented", '{');
    json_out_text(out, "text", range->text);
    put_bytes(out, "low_bytes", range->low_bytes);
    put_bytes(out, "high_bytes", range->high_bytes);
    json_out_end(out, '}');
}

static void figures_json(struct json_out *out, const struct plan_figures *figures)
{
    put_bytes(out, "formula_bytes", figures->documented_bytes);
    put_bytes(out, "expected_bytes", figures->expected_bytes);
    put_bytes(out, "measured_bytes", figures->measured_bytes);
}

static void components_json(struct json_out *out, const struct plan *plan)
{
    static const char *const keys[] = {"without_jmethod_ids", "with_jmethod_ids"};
    json_out_text(out, "documented_for", plan->churn ? "churn" : "ordinary");
    json_out_begin(out, "components", '[');
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
        const struct plan_component_row *row = plan_component_row((enum plan_component)i);
        json_out_begin(out, NULL, '{');
        json_out_text(out, "key", row->key);
        json_out_text(out, "title", row->title);
        range_json(out, plan->churn ? &row->churn : &row->ordinary);
        figures_json(out, &plan->figures[i]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_begin(out, "totals", '{');
    for (int s = 0; s < PLAN_SUM_COUNT; s++) {
        struct plan_range range = plan_documented_sum((enum plan_sum)s, plan->churn);
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
    put_bytes(out, "classes", measured->classes);
    put_bytes(out, "classes_loaded", measured->loaded);
    put_bytes(out, "classes_unloaded", measured->unloaded);
    put_bytes(out, "loaders", measured->loaders);
    put_bytes(out, "threads", measured->threads);
    put_rate(out, "loads_per_s", measured->loads_per_s);
    put_rate(out, "unloads_per_s", measured->unloads_per_s);
    put_bytes(out, "rss_bytes", measured->rss_bytes);
    put_bytes(out, "nmt_bytes", measured->nmt_bytes);
    put_bytes(out, "classes_bytes", measured->class_bytes);
    put_bytes(out, "metaspace_bytes", measured->metaspace_bytes);
    put_bytes(out, "metaspace_max_bytes", measured->metaspace_max_bytes);
    put_bytes(out, "limit_bytes", measured->limit_bytes);
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
    put_bytes(out, "limit_bytes", sizing->limit_bytes);
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
