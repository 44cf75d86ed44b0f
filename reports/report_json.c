#include "reports/report_json.h"

#include "analyzers/classes/family.h"
#include "analyzers/native/internal.h"
#include "reports/event_json.h"
#include "reports/finding_json.h"

#include <string.h>

/* A count that may be unknown: null then. */
static void put_known(struct json_out *out, const char *key, bool known, int64_t value)
{
    if (known)
        json_out_int(out, key, value);
    else
        json_out_null(out, key);
}

static void put_summary(struct json_out *out, const struct story *story)
{
    const struct judge_view *view = &story->view;
    bool baseline = view->baseline_ms >= 0;
    json_out_begin(out, "growth", '{');
    put_known(out, "baseline_ms", baseline, view->baseline_ms);
    json_out_text(out, "warmup_ended", view->warm ? view->warmup_reason : NULL);
    json_out_text(out, "internal_means", internal_meaning(story->identity.jdk_major));
    put_known(out, "internal_bytes", view->have_internal, view->internal_bytes);
    put_known(out, "internal_growth_bytes", baseline && view->have_internal,
              view->internal_growth_bytes);
    put_known(out, "class_metaspace_bytes", view->have_class_metaspace,
              view->class_metaspace_bytes);
    put_known(out, "class_metaspace_growth_bytes", baseline && view->have_class_metaspace,
              view->class_metaspace_growth_bytes);
    if (view->have_rates) {
        json_out_real(out, "load_per_s", view->load_per_s);
        json_out_real(out, "unload_per_s", view->unload_per_s);
        json_out_real(out, "net_per_s", view->net_per_s);
    }
    json_out_end(out, '}');
}

/* What the profiler in the JVM came to; null when there was none. */
static void put_agent(struct json_out *out, const struct story *story)
{
    static const enum sample_field FIELDS[] = {
        SAMPLE_AGENT_RESERVED_BYTES, SAMPLE_AGENT_RESIDENT_BYTES, SAMPLE_AGENT_JMETHOD_ID_BYTES};
    int64_t first, last;
    if (!story_first_last(story, SAMPLE_AGENT_RESIDENT_BYTES, &first, &last)) {
        json_out_null(out, "agent");
        return;
    }
    json_out_begin(out, "agent", '{');
    for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++) {
        bool seen = story_first_last(story, FIELDS[i], &first, &last);
        put_known(out, sample_field_key(FIELDS[i]) + strlen("agent_"), seen, last);
    }
    json_out_end(out, '}');
}

static void put_alerts(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "alerts", '[');
    for (int i = 0; i < story->alert_count; i++) {
        const struct alert *alert = &story->alerts[i];
        if (alert->state != ALERT_RAISED)
            continue;
        int64_t cleared_ms = story_cleared_ms(story, i);
        json_out_begin(out, NULL, '{');
        json_out_int(out, "ms", alert->ms);
        json_out_int(out, "started_ms", alert->started_ms);
        put_known(out, "cleared_ms", cleared_ms >= 0, cleared_ms);
        finding_json_members(out, &alert->finding);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "alerts_dropped", story->alerts_dropped);
}

static void put_families(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "families", '[');
    for (int i = 0; i < story->family_count; i++) {
        const struct story_family *seen = &story->families[i];
        const struct family *family = family_by_id(seen->row.family);
        bool flow = seen->method == CENSUS_TAP;
        double per_s;
        json_out_begin(out, NULL, '{');
        event_json_family_texts(out, &seen->row);
        json_out_text(out, "method",
                      seen->method < CENSUS_METHOD_COUNT ? census_method_name(seen->method) : NULL);
        if (story_family_rate(seen, &per_s))
            json_out_real(out, "rate_per_s", per_s);
        else
            json_out_null(out, "rate_per_s");
        put_known(out, "loads", flow, seen->row.loads);
        put_known(out, "unloads", flow, seen->row.unloads);
        put_known(out, "alive", seen->alive >= 0, seen->alive);
        json_out_int(out, "names", seen->row.names);
        json_out_int(out, "max_same_name", seen->row.max_same_name);
        json_out_int(out, "observed_ms", seen->observed_ms);
        json_out_text(out, "producer", family != NULL ? family->producer : NULL);
        json_out_text(out, "cause", family != NULL ? family->cause : NULL);
        json_out_text(out, "fix", family != NULL ? family->fix : NULL);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "families_dropped", story->families_dropped);
}

static void put_loaders(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "loaders", '[');
    for (int i = 0; i < story->loader_count; i++) {
        json_out_begin(out, NULL, '{');
        event_json_loader(out, &story->loaders[i]);
        put_known(out, "loaders_at_first", story->loaders_at_first[i] >= 0,
                  story->loaders_at_first[i]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void put_cost(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "cost", '{');
    json_out_text(out, "watcher", story->watch_cost[0] != '\0' ? story->watch_cost : NULL);
    json_out_begin(out, "commands", '[');
    for (int i = 0; i < story->cost_count; i++) {
        const struct story_cost *cost = &story->costs[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "command", cost->command);
        json_out_int(out, "runs", cost->runs);
        json_out_int(out, "skipped", cost->skipped);
        json_out_int(out, "measured_us", cost->measured_us);
        json_out_int(out, "worst_us", cost->worst_us);
        json_out_text(out, "last_skip_reason",
                      cost->last_skip_reason[0] != '\0' ? cost->last_skip_reason : NULL);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void put_notes(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "notes", '[');
    for (int i = 0; i < story->note_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_int(out, "ms", story->notes[i].ms);
        json_out_text(out, "text", story->notes[i].text);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "notes_dropped", story->notes_dropped);
}

const char *report_json(struct json_out *out, const struct story *story)
{
    char verdict[2048];
    story_verdict(story, verdict, sizeof verdict);
    json_out_reset(out);
    json_out_begin(out, NULL, '{');
    json_out_text(out, "verdict", verdict);
    json_out_text(out, "status", story_status_name(story_status(story)));
    json_out_text(out, "nmtwatch", NMTWATCH_VERSION);
    json_out_int(out, "wall_start_ms", story->wall_start_ms);
    json_out_int(out, "span_ms", story_span_ms(story));
    json_out_begin(out, "target", '{');
    event_json_target(out, &story->identity);
    json_out_end(out, '}');
    put_summary(out, story);
    put_agent(out, story);
    put_alerts(out, story);
    put_families(out, story);
    put_loaders(out, story);
    put_cost(out, story);
    json_out_begin(out, "thresholds", '{');
    for (int t = 0; t < THRESHOLD_COUNT; t++)
        json_out_int(out, threshold_row((enum threshold)t)->key, story->thresholds.value[t]);
    json_out_end(out, '}');
    put_notes(out, story);
    json_out_text(out, "damage", story->damage[0] != '\0' ? story->damage : NULL);
    json_out_end(out, '}');
    size_t length;
    return json_out_line(out, &length);
}
