/* The way back of event_json. The take_ functions go on after a mistake, with 0 or an empty text;
 * the first mistake is the one that is told. */
#include "reports/event_json.h"

#include "reports/escape.h"
#include "reports/finding_json.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct taker {
    char *error;
    size_t error_size;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void complain(struct taker *taker, const char *format,
                                                           ...)
{
    va_list arguments;

    if (taker->failed)
        return;
    taker->failed = true;
    va_start(arguments, format);
    vsnprintf(taker->error, taker->error_size, format, arguments);
    va_end(arguments);
}

static int64_t integer_of(struct taker *taker, const json_t *value, const char *key)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    complain(taker, "\"%s\" is %s", escape_name(key).text, value ? "not an integer" : "missing");
    return 0;
}

static int64_t take_int(struct taker *taker, const json_t *object, const char *key)
{
    return integer_of(taker, json_object_get(object, key), key);
}

static int take_small_int(struct taker *taker, const json_t *object, const char *key)
{
    int64_t number = take_int(taker, object, key);

    if (number < 0 || number > INT_MAX) {
        complain(taker, "\"%s\" is out of range", key);
        return 0;
    }
    return (int)number;
}

static bool take_bool(struct taker *taker, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_boolean(value))
        complain(taker, "\"%s\" is %s", key, value ? "not true or false" : "missing");
    return json_is_true(value);
}

static void take_text(struct taker *taker, const json_t *object, const char *key, char *field,
                      size_t size)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value)) {
        complain(taker, "\"%s\" is %s", key, value ? "not a text" : "missing");
        field[0] = '\0';
        return;
    }
    escape(ESCAPE_UTF8, json_string_value(value), field, size);
}
#define TAKE_TEXT(taker, object, key, field) take_text(taker, object, key, field, sizeof(field))

/* An array of at most max objects; NULL when it is something else. */
static const json_t *take_rows(struct taker *taker, const json_t *object, const char *key,
                               size_t max, int *count)
{
    const json_t *rows = json_object_get(object, key);

    *count = 0;
    if (!json_is_array(rows) || json_array_size(rows) > max) {
        complain(taker, "\"%s\" is not an array of at most %zu objects", key, max);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (!json_is_object(json_array_get(rows, i))) {
            complain(taker, "\"%s\" holds something that is not an object", key);
            return NULL;
        }
    }
    *count = (int)json_array_size(rows);
    return rows;
}

static const json_t *take_object(struct taker *taker, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_object(value))
        return value;
    complain(taker, "\"%s\" is %s", key, value ? "not an object" : "missing");
    return NULL;
}

static void read_header(struct taker *taker, const json_t *object, struct event_line *line)
{
    struct recording_header *header = &line->header;
    struct target_identity *target = &header->target;
    const json_t *thresholds, *identity;

    header->schema = take_int(taker, object, "schema");
    if (header->schema > EVENT_JSON_SCHEMA)
        return; /* nothing else is known of it: the reader tells the user */
    TAKE_TEXT(taker, object, "nmtwatch", header->nmtwatch);
    header->wall_start_ms = take_int(taker, object, "wall_start_ms");
    header->warmup_s = take_int(taker, object, "warmup_s");

    identity = take_object(taker, object, "target");
    thresholds = take_object(taker, object, "thresholds");
    if (identity == NULL || thresholds == NULL)
        return;
    target->pid = take_int(taker, identity, "pid");
    target->nspid = take_int(taker, identity, "nspid");
    target->start_time_ticks = take_int(taker, identity, "start_time_ticks");
    target->uptime_ms = take_int(taker, identity, "uptime_ms");
    target->jdk_major = take_small_int(taker, identity, "jdk_major");
    TAKE_TEXT(taker, identity, "jdk", target->jdk);
    TAKE_TEXT(taker, identity, "main", target->main);
    TAKE_TEXT(taker, identity, "nmt", target->nmt_level);

    /* A threshold that came after this recording was made has its default. */
    thresholds_default(&header->thresholds);
    for (int i = 0; i < THRESHOLD_COUNT; i++) {
        const char *key = threshold_row((enum threshold)i)->key;
        if (json_object_get(thresholds, key) != NULL)
            header->thresholds.value[i] = take_int(taker, thresholds, key);
    }
}

static void read_nmt(struct taker *taker, json_t *nmt, struct sample *sample)
{
    const char *name;
    json_t *value;

    json_object_foreach(nmt, name, value)
    {
        enum nmt_category category = nmt_category_from_name(span_from_cstr(name));
        struct nmt_amount amount = {take_int(taker, value, "reserved_bytes"),
                                    take_int(taker, value, "committed_bytes")};
        if (category != NMT_NOT_IN_TABLE) {
            sample_set_nmt(sample, category, amount);
        } else if (sample->extra_count < SAMPLE_EXTRA_CATEGORIES) {
            escape(ESCAPE_UTF8, name, sample->extra[sample->extra_count].name,
                   sizeof sample->extra[0].name);
            sample->extra[sample->extra_count++].amount = amount;
        } else {
            complain(taker, "\"nmt\" holds more than %d categories that are not known",
                     SAMPLE_EXTRA_CATEGORIES);
        }
    }
}

static void read_sample(struct taker *taker, const json_t *object, struct event_line *line)
{
    struct sample *sample = &line->event.sample;
    json_t *nmt = json_object_get(object, "nmt");

    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        const char *key = sample_field_key((enum sample_field)i);
        const json_t *value = json_object_get(object, key);
        if (value != NULL)
            sample_set(sample, (enum sample_field)i, integer_of(taker, value, key));
    }
    if (nmt == NULL)
        return;
    if (!json_is_object(nmt))
        complain(taker, "\"nmt\" is not an object");
    read_nmt(taker, nmt, sample);
}

static void read_loaders(struct taker *taker, const json_t *object, struct event_line *line)
{
    struct loaders_event *loaders = &line->event.loaders;
    const json_t *types;

    loaders->loaders = take_int(taker, object, "loaders");
    loaders->classes = take_int(taker, object, "classes");
    loaders->chunk_bytes = take_int(taker, object, "chunk_bytes");
    types = take_rows(taker, object, "types", EVENT_ROWS_MAX, &loaders->row_count);
    loaders->rows = line->loaders;
    for (int i = 0; i < loaders->row_count; i++) {
        const json_t *one = json_array_get(types, (size_t)i);
        struct loader_row *row = &line->loaders[i];
        TAKE_TEXT(taker, one, "type", row->type);
        row->loaders = take_int(taker, one, "loaders");
        row->classes = take_int(taker, one, "classes");
        row->chunk_bytes = take_int(taker, one, "chunk_bytes");
    }
}

static enum census_method take_method(struct taker *taker, const json_t *object)
{
    char name[32];

    TAKE_TEXT(taker, object, "method", name);
    for (int i = 0; i < CENSUS_METHOD_COUNT; i++) {
        if (strcmp(census_method_name((enum census_method)i), name) == 0)
            return (enum census_method)i;
    }
    complain(taker, "\"method\" is none that is known");
    return CENSUS_TAP;
}

static void read_names(struct taker *taker, const json_t *object, struct event_line *line)
{
    struct names_event *names = &line->event.names;
    const json_t *families;

    names->method = take_method(taker, object);
    names->tap = take_small_int(taker, object, "tap");
    names->last = take_bool(taker, object, "last");
    names->from_ms = take_int(taker, object, "from_ms");
    names->loads = take_int(taker, object, "loads");
    names->unloads = take_int(taker, object, "unloads");
    names->lost_bytes = take_int(taker, object, "lost_bytes");
    families = take_rows(taker, object, "families", EVENT_ROWS_MAX, &names->row_count);
    names->rows = line->families;
    for (int i = 0; i < names->row_count; i++) {
        const json_t *one = json_array_get(families, (size_t)i);
        struct family_row *row = &line->families[i];
        TAKE_TEXT(taker, one, "family", row->family);
        TAKE_TEXT(taker, one, "stem", row->stem);
        TAKE_TEXT(taker, one, "example", row->example);
        TAKE_TEXT(taker, one, "source", row->source);
        TAKE_TEXT(taker, one, "invokes", row->invokes);
        row->loads = take_int(taker, one, "loads");
        row->unloads = take_int(taker, one, "unloads");
        row->names = take_int(taker, one, "names");
        row->max_same_name = take_int(taker, one, "max_same_name");
        row->repeating = take_int(taker, one, "repeating");
    }
}

static void read_cost(struct taker *taker, const json_t *object, struct event_line *line)
{
    struct cost_event *cost = &line->event.cost;

    TAKE_TEXT(taker, object, "command", cost->command);
    cost->predicted_us = take_int(taker, object, "predicted_us");
    cost->measured_us = take_int(taker, object, "measured_us");
    TAKE_TEXT(taker, object, "skipped", cost->skipped);
}

static void read_words(struct taker *taker, const json_t *object, struct event_line *line)
{
    TAKE_TEXT(taker, object, "text", line->event.text);
}

static void read_alert(struct taker *taker, const json_t *object, struct event_line *line)
{
    struct alert *alert = &line->alert;
    char state[16], reason[160];

    alert->ms = line->ms;
    alert->started_ms = take_int(taker, object, "started_ms");
    TAKE_TEXT(taker, object, "state", state);
    if (strcmp(state, "raised") != 0 && strcmp(state, "cleared") != 0)
        complain(taker, "\"state\" is neither raised nor cleared");
    alert->state = strcmp(state, "cleared") == 0 ? ALERT_CLEARED : ALERT_RAISED;
    switch (finding_json_read(object, &alert->finding, reason, sizeof reason)) {
    case FINDING_JSON_OK:
        break;
    case FINDING_JSON_UNKNOWN_ID:
        line->kind = EVENT_LINE_UNKNOWN;
        break;
    case FINDING_JSON_MALFORMED:
        complain(taker, "%s", reason);
    }
}

static void read_end(struct taker *taker, const json_t *object, struct event_line *line)
{
    const json_t *own = take_object(taker, object, "cost"), *commands;
    struct watch_cost *cost = &line->cost;

    if (own == NULL)
        return;
    cost->cpu_ms = take_int(taker, own, "cpu_ms");
    cost->rss_bytes = take_int(taker, own, "rss_bytes");
    cost->polls = take_int(taker, own, "polls");
    cost->pause_us = take_int(taker, own, "pause_us");
    commands = take_rows(taker, own, "commands", WATCH_COST_COMMANDS_MAX, &cost->command_count);
    for (int i = 0; i < cost->command_count; i++) {
        const json_t *one = json_array_get(commands, (size_t)i);
        TAKE_TEXT(taker, one, "command", cost->commands[i].command);
        cost->commands[i].runs = take_int(taker, one, "runs");
        cost->commands[i].skipped = take_int(taker, one, "skipped");
        cost->commands[i].measured_us = take_int(taker, one, "measured_us");
    }
}

static const struct {
    const char *type;
    enum event_line_kind kind;
    enum event_kind event; /* when kind is EVENT_LINE_EVENT */
    void (*read)(struct taker *taker, const json_t *object, struct event_line *line);
} LINES[] = {
    {"tick", EVENT_LINE_EVENT, EVENT_SAMPLE, read_sample},
    {"loaders", EVENT_LINE_EVENT, EVENT_LOADERS, read_loaders},
    {"names", EVENT_LINE_EVENT, EVENT_NAMES, read_names},
    {"cost", EVENT_LINE_EVENT, EVENT_COST, read_cost},
    {"note", EVENT_LINE_EVENT, EVENT_NOTE, read_words},
    {"gone", EVENT_LINE_EVENT, EVENT_GONE, read_words},
    {"alert", EVENT_LINE_ALERT, EVENT_KIND_COUNT, read_alert},
    {"end", EVENT_LINE_END, EVENT_KIND_COUNT, read_end},
    {"header", EVENT_LINE_HEADER, EVENT_KIND_COUNT, read_header},
};

static void read_object(struct taker *taker, const json_t *object, struct event_line *line)
{
    const char *type = json_string_value(json_object_get(object, "type"));

    if (type == NULL) {
        complain(taker, "\"type\" is missing or not a text");
        return;
    }
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        if (strcmp(LINES[i].type, type) != 0)
            continue;
        line->kind = LINES[i].kind;
        if (line->kind == EVENT_LINE_EVENT)
            line->event.kind = LINES[i].event;
        if (line->kind != EVENT_LINE_HEADER) {
            line->ms = take_int(taker, object, "ms");
            if (json_object_get(object, "pid") != NULL)
                line->pid = take_int(taker, object, "pid");
        }
        if (line->kind == EVENT_LINE_EVENT)
            line->event.ms = line->ms;
        LINES[i].read(taker, object, line);
        return;
    }
}

enum event_line_kind event_json_read(const char *text, size_t length, struct event_line *line,
                                     char *error, size_t error_size)
{
    struct taker taker = {error, error_size, false};
    json_error_t where;
    json_t *object = json_loadb(text, length, 0, &where);

    memset(line, 0, sizeof *line);
    line->kind = EVENT_LINE_UNKNOWN;
    if (object == NULL)
        complain(&taker, "not JSON at byte %d: %s", where.position, escape_name(where.text).text);
    else if (!json_is_object(object))
        complain(&taker, "not a JSON object");
    else
        read_object(&taker, object, line);
    json_decref(object);
    if (taker.failed)
        line->kind = EVENT_LINE_MALFORMED;
    return line->kind;
}
