#include "reports/event_json.h"

#include "reports/escape.h"
#include "reports/finding_json.h"

static void open_line(struct json_out *out, const char *type)
{
    json_out_reset(out);
    json_out_begin(out, NULL, '{');
    json_out_text(out, "type", type);
}

static const char *close_line(struct json_out *out)
{
    size_t length;

    json_out_end(out, '}');
    return json_out_line(out, &length);
}

/* A text of a struct, as long as it may be there. */
#define FIELD_TEXT(out, key, field) json_out_field(out, key, field, sizeof(field))

void event_json_target(struct json_out *out, const struct target_identity *target)
{
    json_out_int(out, "pid", target->pid);
    json_out_int(out, "nspid", target->nspid);
    json_out_int(out, "start_time_ticks", target->start_time_ticks);
    json_out_int(out, "uptime_ms", target->uptime_ms);
    json_out_int(out, "jdk_major", target->jdk_major);
    FIELD_TEXT(out, "jdk", target->jdk);
    FIELD_TEXT(out, "main", target->main);
    FIELD_TEXT(out, "nmt", target->nmt_level);
}

void event_json_loader(struct json_out *out, const struct loader_row *row)
{
    FIELD_TEXT(out, "type", row->type);
    json_out_int(out, "loaders", row->loaders);
    json_out_int(out, "classes", row->classes);
    json_out_int(out, "chunk_bytes", row->chunk_bytes);
}

void event_json_family_texts(struct json_out *out, const struct family_row *row)
{
    FIELD_TEXT(out, "family", row->family);
    FIELD_TEXT(out, "stem", row->stem);
    FIELD_TEXT(out, "example", row->example);
    FIELD_TEXT(out, "source", row->source);
    FIELD_TEXT(out, "invokes", row->invokes);
}

const char *event_json_header(struct json_out *out, const struct recording_header *header)
{
    open_line(out, "header");
    json_out_int(out, "schema", EVENT_JSON_SCHEMA);
    json_out_text(out, "nmtwatch", NMTWATCH_VERSION);
    json_out_int(out, "wall_start_ms", header->wall_start_ms);
    json_out_int(out, "warmup_s", header->warmup_s);
    json_out_begin(out, "target", '{');
    event_json_target(out, &header->target);
    json_out_end(out, '}');
    json_out_begin(out, "thresholds", '{');
    for (int i = 0; i < THRESHOLD_COUNT; i++)
        json_out_int(out, threshold_row((enum threshold)i)->key, header->thresholds.value[i]);
    json_out_end(out, '}');
    return close_line(out);
}

static void amount_json(struct json_out *out, const char *name, struct nmt_amount amount)
{
    json_out_begin(out, name, '{');
    json_out_int(out, "reserved_bytes", amount.reserved_bytes);
    json_out_int(out, "committed_bytes", amount.committed_bytes);
    json_out_end(out, '}');
}

void event_json_sample(struct json_out *out, const struct sample *sample)
{
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        int64_t value;
        if (sample_get(sample, (enum sample_field)i, &value))
            json_out_int(out, sample_field_key((enum sample_field)i), value);
    }
    if (!sample_has_nmt(sample) && sample->extra_count == 0)
        return;
    json_out_begin(out, "nmt", '{');
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct nmt_amount amount;
        if (sample_get_nmt(sample, (enum nmt_category)i, &amount))
            amount_json(out, nmt_category_name((enum nmt_category)i), amount);
    }
    for (int i = 0; i < sample->extra_count; i++) {
        char name[sizeof sample->extra[i].name];
        escape(ESCAPE_UTF8, sample->extra[i].name, name, sizeof name);
        amount_json(out, name, sample->extra[i].amount);
    }
    json_out_end(out, '}');
}

static void view_json(struct json_out *out, const struct judge_view *view)
{
    json_out_bool(out, "warm", view->warm);
    if (view->have_rates) {
        json_out_real(out, "load_per_s", view->load_per_s);
        json_out_real(out, "unload_per_s", view->unload_per_s);
        json_out_real(out, "net_per_s", view->net_per_s);
    }
    if (view->have_internal && view->baseline_ms >= 0)
        json_out_int(out, "internal_growth_bytes", view->internal_growth_bytes);
    if (view->have_class_metaspace && view->baseline_ms >= 0)
        json_out_int(out, "class_metaspace_growth_bytes", view->class_metaspace_growth_bytes);
}

static void loaders_json(struct json_out *out, const struct loaders_event *loaders)
{
    json_out_int(out, "loaders", loaders->loaders);
    json_out_int(out, "classes", loaders->classes);
    json_out_int(out, "chunk_bytes", loaders->chunk_bytes);
    json_out_begin(out, "types", '[');
    for (int i = 0; i < loaders->row_count; i++) {
        json_out_begin(out, NULL, '{');
        event_json_loader(out, &loaders->rows[i]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void names_json(struct json_out *out, const struct names_event *names)
{
    json_out_text(out, "method", census_method_name(names->method));
    json_out_int(out, "tap", names->tap);
    json_out_bool(out, "last", names->last);
    json_out_int(out, "from_ms", names->from_ms);
    json_out_int(out, "loads", names->loads);
    json_out_int(out, "unloads", names->unloads);
    json_out_int(out, "lost_bytes", names->lost_bytes);
    json_out_begin(out, "families", '[');
    for (int i = 0; i < names->row_count; i++) {
        const struct family_row *row = &names->rows[i];
        json_out_begin(out, NULL, '{');
        event_json_family_texts(out, row);
        json_out_int(out, "loads", row->loads);
        json_out_int(out, "unloads", row->unloads);
        json_out_int(out, "names", row->names);
        json_out_int(out, "max_same_name", row->max_same_name);
        json_out_int(out, "repeating", row->repeating);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static const char *const EVENT_TYPES[EVENT_KIND_COUNT] = {
    [EVENT_SAMPLE] = "tick", [EVENT_LOADERS] = "loaders", [EVENT_NAMES] = "names",
    [EVENT_COST] = "cost",   [EVENT_NOTE] = "note",       [EVENT_GONE] = "gone",
};

const char *event_json_event(struct json_out *out, int64_t pid, const struct event *event,
                             const struct judge_view *view)
{
    open_line(out, EVENT_TYPES[event->kind]);
    json_out_int(out, "ms", event->ms);
    json_out_int(out, "pid", pid);
    switch (event->kind) {
    case EVENT_SAMPLE:
        event_json_sample(out, &event->sample);
        if (view != NULL)
            view_json(out, view);
        break;
    case EVENT_LOADERS:
        loaders_json(out, &event->loaders);
        break;
    case EVENT_NAMES:
        names_json(out, &event->names);
        break;
    case EVENT_COST:
        FIELD_TEXT(out, "command", event->cost.command);
        json_out_int(out, "predicted_us", event->cost.predicted_us);
        json_out_int(out, "measured_us", event->cost.measured_us);
        FIELD_TEXT(out, "skipped", event->cost.skipped);
        break;
    case EVENT_NOTE:
    case EVENT_GONE:
        FIELD_TEXT(out, "text", event->text);
        break;
    case EVENT_KIND_COUNT:
        break;
    }
    return close_line(out);
}

const char *event_json_alert(struct json_out *out, int64_t pid, const struct alert *alert)
{
    open_line(out, "alert");
    json_out_int(out, "ms", alert->ms);
    json_out_int(out, "pid", pid);
    json_out_text(out, "state", alert->state == ALERT_RAISED ? "raised" : "cleared");
    json_out_int(out, "started_ms", alert->started_ms);
    finding_json_members(out, &alert->finding);
    return close_line(out);
}

const char *event_json_end(struct json_out *out, int64_t ms, const struct watch_cost *cost)
{
    open_line(out, "end");
    json_out_int(out, "ms", ms);
    json_out_begin(out, "cost", '{');
    json_out_int(out, "cpu_ms", cost->cpu_ms);
    json_out_int(out, "rss_bytes", cost->rss_bytes);
    json_out_int(out, "polls", cost->polls);
    json_out_int(out, "pause_us", cost->pause_us);
    json_out_begin(out, "commands", '[');
    for (int i = 0; i < cost->command_count; i++) {
        json_out_begin(out, NULL, '{');
        FIELD_TEXT(out, "command", cost->commands[i].command);
        json_out_int(out, "runs", cost->commands[i].runs);
        json_out_int(out, "skipped", cost->commands[i].skipped);
        json_out_int(out, "measured_us", cost->commands[i].measured_us);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
    return close_line(out);
}
