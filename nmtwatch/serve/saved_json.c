#define JSON_FIELD_ROWS
#include "nmtwatch/serve/saved_json.h"

#include "reports/json/event_json.h"

#include <stdio.h>
#include <string.h>

typedef __typeof__(((struct judge_memory *)0)->loaders[0]) memory_loader;
typedef __typeof__(((struct judge_memory *)0)->episodes[0]) memory_episode;

extern const struct record memory_loader_record, memory_loaders_record, memory_episode_record,
    judge_memory_record, pending_record, saved_record;

/* The list is there when a baseline is, even if it is empty. */
static void write_loaders(struct json_out *out, const char *key, const void *data)
{
    (void)key;
    if (((const struct judge_memory *)data)->loaders_have_baseline)
        fields_write(out, &memory_loaders_record, data, false);
}

static void read_loaders(struct json_reading *reading, const json_t *object, const char *key,
                         void *data)
{
    struct judge_memory *memory = data;
    memory->loaders_have_baseline = json_object_get(object, key) != NULL;
    if (memory->loaders_have_baseline)
        fields_read(reading, &memory_loaders_record, object, data);
}

static void write_raised(struct json_out *out, const char *key, const void *data)
{
    json_out_bool(out, key, ((const struct alert *)data)->state == ALERT_RAISED);
}

static void read_raised(struct json_reading *reading, const json_t *object, const char *key,
                        void *data)
{
    struct alert *alert = data;
    alert->state = reading_bool(reading, object, key) ? ALERT_RAISED : ALERT_CLEARED;
}

/* clang-format off */
#include "nmtwatch/serve/saved.def"
/* clang-format on */

const char *saved_json_write(struct json_out *out, const char *boot,
                             const struct saved_target *target)
{
    size_t length;
    json_out_open(out);
    json_out_int(out, "schema", SAVED_SCHEMA);
    json_out_text(out, "boot", boot);
    fields_write(out, &saved_record, target, false);
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

bool saved_json_read(const char *text, size_t length, const char *boot, struct saved_target *target,
                     char *error, size_t error_size)
{
    struct json_reading reading = {.error = error, .error_size = error_size, .strict = true};
    json_error_t why;
    texts_free(&target->texts);
    reading.texts = &target->texts;
    memset(target, 0, sizeof *target);
    json_t *root = json_loadb(text, length, 0, &why);
    const char *its_boot = json_string_value(json_object_get(root, "boot"));
    if (!json_is_object(root))
        reading_complain(&reading, "it is not JSON of ours");
    else if (reading_int(&reading, root, "schema") != SAVED_SCHEMA)
        reading_complain(&reading, "\"schema\" is another version's");
    else if (its_boot == NULL || strcmp(its_boot, boot) != 0)
        reading_complain(&reading, "\"boot\" is another boot's");
    else
        fields_read(&reading, &saved_record, root, target);
    json_decref(root);
    if (reading.unknown)
        reading_complain(&reading, "a finding's \"id\" is none that is known");
    if (target->judge.worst_ever > SEVERITY_CRITICAL)
        target->judge.worst_ever = SEVERITY_CRITICAL;
    return !reading.failed;
}
