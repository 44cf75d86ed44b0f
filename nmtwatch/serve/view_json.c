#include "nmtwatch/serve/views.h"

#include "reports/json/event_json.h"

#include <math.h>

static void verdict_json(struct json_out *out, const char *key, const struct verdict_view *verdict)
{
    json_out_begin(out, key, '{');
    if (verdict->have_level) {
        json_out_int(out, "level_bytes", verdict->level_bytes);
        json_out_int(out, "growth_bytes", verdict->growth_bytes);
    }
    if (verdict->known) {
        json_out_text(out, "state", verdict_state_name(verdict->state));
        json_out_text(out, "growing",
                      verdict->answer == VERDICT_GROWING       ? "yes"
                      : verdict->answer == VERDICT_NOT_GROWING ? "no"
                                                               : "undecided");
        json_out_text(out, "sentence", verdict->sentence);
    }
    if (verdict->known && verdict->have_slope && isfinite(verdict->slope_bytes_per_h.value)) {
        json_out_int(out, "slope_bytes_per_h", (int64_t)verdict->slope_bytes_per_h.value);
        if (isfinite(verdict->slope_bytes_per_h.low))
            json_out_int(out, "slope_low_bytes_per_h", (int64_t)verdict->slope_bytes_per_h.low);
        if (isfinite(verdict->slope_bytes_per_h.high))
            json_out_int(out, "slope_high_bytes_per_h", (int64_t)verdict->slope_bytes_per_h.high);
    }
    json_out_end(out, '}');
}

static void target_json(struct json_out *out, const struct target_view *target)
{
    json_out_begin(out, NULL, '{');
    json_out_text(out, "target", target->label);
    json_out_bool(out, "up", target->up);
    json_out_text(out, "reason",
                  target->counts.failing != FAILURE_NONE ? failure_reason(target->counts.failing)
                                                         : NULL);
    json_out_int(out, "pid", target->pid);
    json_out_text(out, "main", target->main);
    json_out_text(out, "jdk", target->jdk);
    json_out_text(out, "nmt", target->nmt_level);
    json_out_text(out, "user", target->user);
    json_out_text(out, "cgroup", target->cgroup);
    json_out_int(out, "start_ms", target->start_unix_ms);
    json_out_int(out, "watched_since_ms", target->since_unix_ms);
    json_out_bool(out, "warm", target->warm);
    json_out_int(out, "active_alerts", target->active_alerts);
    json_out_text(out, "worst",
                  target->active_alerts > 0 ? severity_name(target->worst_active) : NULL);
    json_out_int(out, "pause_us", target->counts.pause_us);
    json_out_text_if(out, "recording", target->recording);
    json_out_text_if(out, "note", target->note);
    verdict_json(out, "internal", &target->internal);
    verdict_json(out, "class_metaspace", &target->class_metaspace);
    json_out_begin(out, "values", '{');
    fields_write(out, &tick_record, &target->latest, false);
    json_out_end(out, '}');
    json_out_end(out, '}');
}

static void begin(struct json_out *out, const struct snapshot *snapshot, const char *list)
{
    json_out_open(out);
    json_out_int(out, "schema", 1);
    json_out_int(out, "wall_ms", snapshot->unix_ms);
    json_out_begin(out, list, '[');
}

static const char *end(struct json_out *out)
{
    size_t length;
    json_out_end(out, ']');
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

const char *view_targets_json(const struct snapshot *snapshot, struct json_out *out)
{
    begin(out, snapshot, "targets");
    for (int i = 0; i < snapshot->target_count; i++)
        target_json(out, &snapshot->targets[i]);
    return end(out);
}

const char *view_findings_json(const struct snapshot *snapshot, struct json_out *out)
{
    begin(out, snapshot, "findings");
    for (int i = 0; i < snapshot->finding_count; i++) {
        const struct finding_view *view = &snapshot->findings[i];
        const struct target_view *target = &snapshot->targets[view->target];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "target", target->label);
        json_out_int(out, "pid", target->pid);
        json_out_int(out, "started_ms", view->started_unix_ms);
        finding_json(out, "finding", &view->finding);
        json_out_end(out, '}');
    }
    return end(out);
}
