#include "nmtwatch/serve/saved_json.h"

#include "reports/finding_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* --- writing ---------------------------------------------------------------------------------- */

static void write_judge(struct json_out *out, const struct judge_memory *judge)
{
    json_out_begin(out, "judge", '{');
    json_out_bool(out, "warm", judge->warm);
    json_out_int(out, "baseline_ms", judge->baseline_ms);
    json_out_text(out, "warmup_reason", judge->warmup_reason);
    if (judge->have_internal_baseline)
        json_out_int(out, "internal_baseline_bytes", judge->internal_baseline_bytes);
    if (judge->have_class_metaspace_baseline)
        json_out_int(out, "class_metaspace_baseline_bytes", judge->class_metaspace_baseline_bytes);
    json_out_bool(out, "internal_growing", judge->internal_growing);
    json_out_int(out, "worst_ever", judge->worst_ever);
    if (judge->loaders_have_baseline) {
        json_out_begin(out, "loaders", '[');
        for (int i = 0; i < judge->loader_count; i++) {
            json_out_begin(out, NULL, '{');
            json_out_field(out, "type", judge->loaders[i].type, sizeof judge->loaders[i].type);
            json_out_int(out, "baseline", judge->loaders[i].baseline);
            json_out_end(out, '}');
        }
        json_out_end(out, ']');
    }
    json_out_begin(out, "episodes", '[');
    for (int i = 0; i < judge->episode_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_field(out, "subject", judge->episodes[i].subject,
                       sizeof judge->episodes[i].subject);
        json_out_int(out, "raised_ms", judge->episodes[i].raised_ms);
        finding_json(out, "finding", &judge->episodes[i].finding);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
}

const char *saved_json_write(struct json_out *out, const char *boot,
                             const struct saved_target *target)
{
    size_t length;
    json_out_reset(out);
    json_out_begin(out, NULL, '{');
    json_out_int(out, "schema", SAVED_SCHEMA);
    json_out_text(out, "boot", boot);
    json_out_int(out, "pid", target->pid);
    json_out_int(out, "start_time_ticks", target->start_time_ticks);
    json_out_field(out, "label", target->label, sizeof target->label);
    json_out_int(out, "wall_start_ms", target->wall_start_ms);
    json_out_int(out, "pause_us", target->pause_us);
    write_judge(out, &target->judge);
    json_out_begin(out, "pending", '[');
    for (int i = 0; i < target->pending_count; i++) {
        const struct alert *alert = &target->pending[i];
        json_out_begin(out, NULL, '{');
        json_out_bool(out, "raised", alert->state == ALERT_RAISED);
        json_out_int(out, "ms", alert->ms);
        json_out_int(out, "started_ms", alert->started_ms);
        finding_json(out, "finding", &alert->finding);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    char *error;
    size_t error_size;
    bool good;
};

static void wrong(struct reading *reading, const char *key)
{
    if (reading->good)
        snprintf(reading->error, reading->error_size, "'%s' is missing or no such value", key);
    reading->good = false;
}

static int64_t take_int(struct reading *reading, const json_t *object, const char *key,
                        int64_t least)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < least) {
        wrong(reading, key);
        return 0;
    }
    return json_integer_value(value);
}

static bool take_bool(struct reading *reading, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        wrong(reading, key);
    return json_is_true(value);
}

static void take_text(struct reading *reading, const json_t *object, const char *key, char *out,
                      size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || strlen(text) >= size)
        wrong(reading, key);
    snprintf(out, size, "%s", text != NULL ? text : "");
}

static bool take_optional(const json_t *object, const char *key, int64_t *value)
{
    const json_t *found = json_object_get(object, key);
    if (json_is_integer(found))
        *value = json_integer_value(found);
    return json_is_integer(found);
}

static void take_finding(struct reading *reading, const json_t *object, struct finding *finding)
{
    char why[160] = "";
    const json_t *value = json_object_get(object, "finding");
    if (finding_json_read(value, finding, why, sizeof why) != FINDING_JSON_OK)
        wrong(reading, "finding");
}

static size_t take_list(struct reading *reading, const json_t *object, const char *key, size_t max,
                        const json_t **list)
{
    *list = json_object_get(object, key);
    if (!json_is_array(*list) || json_array_size(*list) > max) {
        wrong(reading, key);
        return 0;
    }
    return json_array_size(*list);
}

static void read_judge(struct reading *reading, const json_t *object, struct judge_memory *judge)
{
    const json_t *list;
    if (!json_is_object(object)) {
        wrong(reading, "judge");
        return;
    }
    judge->warm = take_bool(reading, object, "warm");
    judge->baseline_ms = take_int(reading, object, "baseline_ms", -1);
    take_text(reading, object, "warmup_reason", judge->warmup_reason, sizeof judge->warmup_reason);
    judge->have_internal_baseline =
        take_optional(object, "internal_baseline_bytes", &judge->internal_baseline_bytes);
    judge->have_class_metaspace_baseline = take_optional(object, "class_metaspace_baseline_bytes",
                                                         &judge->class_metaspace_baseline_bytes);
    judge->internal_growing = take_bool(reading, object, "internal_growing");
    int64_t worst = take_int(reading, object, "worst_ever", 0);
    judge->worst_ever = worst > SEVERITY_CRITICAL ? SEVERITY_CRITICAL : (enum severity)worst;
    judge->loaders_have_baseline = json_object_get(object, "loaders") != NULL;
    size_t count = judge->loaders_have_baseline
                       ? take_list(reading, object, "loaders", JUDGE_MEMORY_LOADERS, &list)
                       : 0;
    judge->loader_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list, i);
        take_text(reading, row, "type", judge->loaders[i].type, sizeof judge->loaders[i].type);
        judge->loaders[i].baseline = take_int(reading, row, "baseline", 0);
    }
    count = take_list(reading, object, "episodes", JUDGE_MEMORY_EPISODES, &list);
    judge->episode_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list, i);
        take_text(reading, row, "subject", judge->episodes[i].subject,
                  sizeof judge->episodes[i].subject);
        judge->episodes[i].raised_ms = take_int(reading, row, "raised_ms", INT64_MIN);
        take_finding(reading, row, &judge->episodes[i].finding);
    }
}

static void read_pending(struct reading *reading, const json_t *root, struct saved_target *target)
{
    const json_t *list;
    size_t count = take_list(reading, root, "pending", SAVED_PENDING_MAX, &list);
    target->pending_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list, i);
        struct alert *alert = &target->pending[i];
        alert->state = take_bool(reading, row, "raised") ? ALERT_RAISED : ALERT_CLEARED;
        alert->ms = take_int(reading, row, "ms", INT64_MIN);
        alert->started_ms = take_int(reading, row, "started_ms", INT64_MIN);
        take_finding(reading, row, &alert->finding);
    }
}

bool saved_json_read(const char *text, size_t length, const char *boot, struct saved_target *target,
                     char *error, size_t error_size)
{
    struct reading reading = {error, error_size, true};
    char its_boot[64];
    json_error_t why;
    memset(target, 0, sizeof *target);
    json_t *root = json_loadb(text, length, 0, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        snprintf(error, error_size, "it is not JSON of ours");
        return false;
    }
    if (take_int(&reading, root, "schema", 1) != SAVED_SCHEMA)
        wrong(&reading, "schema");
    take_text(&reading, root, "boot", its_boot, sizeof its_boot);
    if (strcmp(its_boot, boot) != 0)
        wrong(&reading, "boot");
    target->pid = take_int(&reading, root, "pid", 1);
    target->start_time_ticks = take_int(&reading, root, "start_time_ticks", 0);
    take_text(&reading, root, "label", target->label, sizeof target->label);
    target->wall_start_ms = take_int(&reading, root, "wall_start_ms", 0);
    target->pause_us = take_int(&reading, root, "pause_us", 0);
    read_judge(&reading, json_object_get(root, "judge"), &target->judge);
    read_pending(&reading, root, target);
    json_decref(root);
    return reading.good;
}
