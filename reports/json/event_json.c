#define JSON_FIELD_ROWS
#include "reports/json/event_json.h"

#include "reports/text/escape.h"

/* --- names of values -------------------------------------------------------------------------- */

static const char *method_name(int value)
{
    return census_method_name((enum census_method)value);
}

static const char *finding_id(int value)
{
    return finding_row((enum finding_kind)value)->id;
}

static const char *severity_word(int value)
{
    return severity_name((enum severity)value);
}

static const char *state_name(int value)
{
    return value == ALERT_CLEARED ? "cleared" : "raised";
}

static const struct field_names CENSUS_METHODS = {CENSUS_METHOD_COUNT, method_name, false};
static const struct field_names FINDING_IDS = {FINDING_KIND_COUNT, finding_id, true};
static const struct field_names SEVERITIES = {SEVERITY_CRITICAL + 1, severity_word, false};
static const struct field_names ALERT_STATES = {2, state_name, false};

/* --- what is a table itself ------------------------------------------------------------------- */

static void write_thresholds(struct json_out *out, const char *key, const void *data)
{
    const struct recording_header *header = data;
    json_out_begin(out, key, '{');
    for (int i = 0; i < THRESHOLD_COUNT; i++)
        json_out_int(out, threshold_row((enum threshold)i)->key, header->thresholds.value[i]);
    json_out_end(out, '}');
}

/* A threshold that came after this recording was made has its default. */
static void read_thresholds(struct json_reading *reading, const json_t *object, const char *key,
                            void *data)
{
    struct recording_header *header = data;
    const json_t *thresholds = json_object_get(object, key);
    thresholds_default(&header->thresholds);
    if (!json_is_object(thresholds))
        reading_complain(reading, "\"%s\" is %s", key, thresholds ? "not an object" : "missing");
    for (int i = 0; i < THRESHOLD_COUNT && json_is_object(thresholds); i++) {
        const char *name = threshold_row((enum threshold)i)->key;
        if (json_object_get(thresholds, name) != NULL)
            header->thresholds.value[i] = reading_int(reading, thresholds, name);
    }
}

static void write_values(struct json_out *out, const char *key, const void *data)
{
    (void)key;
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        int64_t value;
        if (sample_get(data, (enum sample_field)i, &value))
            json_out_int(out, sample_field_key((enum sample_field)i), value);
    }
}

static void read_values(struct json_reading *reading, const json_t *object, const char *key,
                        void *data)
{
    (void)key;
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        const char *name = sample_field_key((enum sample_field)i);
        if (json_object_get(object, name) != NULL)
            sample_set(data, (enum sample_field)i, reading_int(reading, object, name));
    }
}

static void write_amount(struct json_out *out, const char *name, struct nmt_amount amount)
{
    json_out_begin(out, name, '{');
    json_out_int(out, "reserved_bytes", amount.reserved_bytes);
    json_out_int(out, "committed_bytes", amount.committed_bytes);
    json_out_end(out, '}');
}

static void write_nmt(struct json_out *out, const char *key, const void *data)
{
    const struct sample *sample = data;
    if (!sample_has_nmt(sample))
        return;
    json_out_begin(out, key, '{');
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct nmt_amount amount;
        if (sample_get_nmt(sample, (enum nmt_category)i, &amount))
            write_amount(out, nmt_category_name((enum nmt_category)i), amount);
    }
    for (int i = 0; i < sample->extra_count; i++) {
        char name[sizeof sample->extra[i].name];
        escape(ESCAPE_UTF8, sample->extra[i].name, name, sizeof name);
        write_amount(out, name, sample->extra[i].amount);
    }
    json_out_end(out, '}');
}

static void read_nmt(struct json_reading *reading, const json_t *object, const char *key,
                     void *data)
{
    struct sample *sample = data;
    json_t *nmt = json_object_get(object, key), *value;
    const char *name;
    if (nmt != NULL && !json_is_object(nmt))
        reading_complain(reading, "\"%s\" is not an object", key);
    json_object_foreach (nmt, name, value) {
        enum nmt_category category = nmt_category_from_name(span_from_cstr(name));
        struct nmt_amount amount = {reading_int(reading, value, "reserved_bytes"),
                                    reading_int(reading, value, "committed_bytes")};
        if (category != NMT_NOT_IN_TABLE) {
            sample_set_nmt(sample, category, amount);
        } else if (sample->extra_count < SAMPLE_EXTRA_CATEGORIES) {
            escape(ESCAPE_UTF8, name, sample->extra[sample->extra_count].name,
                   sizeof sample->extra[0].name);
            sample->extra[sample->extra_count++].amount = amount;
        } else {
            reading_complain(reading, "\"nmt\" holds more than %d categories that are not known",
                             SAMPLE_EXTRA_CATEGORIES);
        }
    }
}

static void write_runbook(struct json_out *out, const char *key, const void *data)
{
    json_out_text(out, key, finding_row(((const struct finding *)data)->kind)->runbook);
}

static void write_evidence(struct json_out *out, const char *key, const void *data)
{
    const struct finding *finding = data;
    json_out_begin(out, key, '{');
    for (int i = 0; i < finding->evidence_count; i++) {
        const struct evidence *one = &finding->evidence[i];
        switch (one->type) {
        case EVIDENCE_INT:
            json_out_int(out, one->key, one->number);
            break;
        case EVIDENCE_REAL:
            json_out_real(out, one->key, one->real);
            break;
        case EVIDENCE_TEXT:
            json_out_field(out, one->key, one->text, EVENT_NAME_MAX);
            break;
        }
    }
    json_out_end(out, '}');
}

static void read_evidence(struct json_reading *reading, const json_t *object, const char *key,
                          void *data)
{
    struct finding *finding = data;
    json_t *evidence = json_object_get(object, key), *value;
    const char *name;
    if (!json_is_object(evidence) || json_object_size(evidence) > EVIDENCE_MAX) {
        reading_complain(reading, "\"%s\" is not an object of at most %d figures", key,
                         EVIDENCE_MAX);
        return;
    }
    finding->texts = reading->texts;
    finding->evidence_count = finding->evidence_room = 0;
    finding->evidence =
        texts_take(reading->texts, (json_object_size(evidence) + 1) * sizeof *finding->evidence);
    if (finding->evidence == NULL)
        return;
    finding->evidence_room = (int)json_object_size(evidence);
    json_object_foreach (evidence, name, value) {
        struct evidence *one = &finding->evidence[finding->evidence_count++];
        one->key = reading_keep(reading, name, EVIDENCE_KEY_MAX);
        one->text = "";
        if (json_is_integer(value)) {
            one->type = EVIDENCE_INT;
            one->number = json_integer_value(value);
        } else if (json_is_real(value)) {
            one->type = EVIDENCE_REAL;
            one->real = json_real_value(value);
        } else if (json_is_string(value)) {
            one->type = EVIDENCE_TEXT;
            one->text = reading_keep(reading, json_string_value(value), EVENT_NAME_MAX);
        } else {
            reading_complain(reading, "evidence \"%s\" is neither a number nor a text", one->key);
        }
    }
}

/* clang-format off */
#include "reports/json/records.def"
/* clang-format on */

/* --- lines ------------------------------------------------------------------------------------ */

/* The types of lines. Of an event the record's struct is a member of struct event. */
static const struct line {
    const char *type;
    enum event_line_kind kind;
    enum event_kind event; /* when kind is EVENT_LINE_EVENT */
    const struct record *record;
    size_t offset; /* in struct event */
} LINES[] = {
    {"tick", EVENT_LINE_EVENT, EVENT_SAMPLE, &tick_record, offsetof(struct event, sample)},
    {"loaders", EVENT_LINE_EVENT, EVENT_LOADERS, &loaders_record, offsetof(struct event, loaders)},
    {"names", EVENT_LINE_EVENT, EVENT_NAMES, &names_record, offsetof(struct event, names)},
    {"histogram", EVENT_LINE_EVENT, EVENT_HISTOGRAM, &histogram_record,
     offsetof(struct event, histogram)},
    {"callers", EVENT_LINE_EVENT, EVENT_CALLERS, &callers_record, offsetof(struct event, callers)},
    {"methods", EVENT_LINE_EVENT, EVENT_METHODS, &methods_record, offsetof(struct event, methods)},
    {"cost", EVENT_LINE_EVENT, EVENT_COST, &cost_record, offsetof(struct event, cost)},
    {"note", EVENT_LINE_EVENT, EVENT_NOTE, &words_record, 0},
    {"baseline", EVENT_LINE_EVENT, EVENT_BASELINE, &words_record, 0},
    {"gone", EVENT_LINE_EVENT, EVENT_GONE, &words_record, 0},
    {"alert", EVENT_LINE_ALERT, EVENT_KIND_COUNT, &alert_record, 0},
    {"end", EVENT_LINE_END, EVENT_KIND_COUNT, &end_record, 0},
    {"header", EVENT_LINE_HEADER, EVENT_KIND_COUNT, &header_record, 0},
};

static void open_line(struct json_out *out, const char *type)
{
    json_out_open(out);
    json_out_text(out, "type", type);
}

static const char *close_line(struct json_out *out)
{
    size_t length;
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

const char *event_json_header(struct json_out *out, const struct recording_header *header)
{
    struct recording_header own = *header;
    own.schema = EVENT_JSON_SCHEMA;
    snprintf(own.nmtwatch, sizeof own.nmtwatch, "%s", NMTWATCH_VERSION);
    open_line(out, "header");
    fields_write(out, &header_record, &own, false);
    return close_line(out);
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

const char *event_json_event(struct json_out *out, int64_t pid, const struct event *event,
                             const struct judge_view *view)
{
    const struct line *line = LINES;
    while (line->event != event->kind)
        line++;
    open_line(out, line->type);
    json_out_int(out, "ms", event->ms);
    json_out_int(out, "pid", pid);
    fields_write(out, line->record, (const char *)event + line->offset, false);
    if (event->kind == EVENT_SAMPLE && view != NULL)
        view_json(out, view);
    return close_line(out);
}

const char *event_json_alert(struct json_out *out, int64_t pid, const struct alert *alert)
{
    open_line(out, "alert");
    json_out_int(out, "ms", alert->ms);
    json_out_int(out, "pid", pid);
    fields_write(out, &alert_record, alert, true);
    return close_line(out);
}

const char *event_json_end(struct json_out *out, int64_t ms, const struct watch_cost *cost)
{
    open_line(out, "end");
    json_out_int(out, "ms", ms);
    fields_write(out, &end_record, cost, false);
    return close_line(out);
}

void finding_json_members(struct json_out *out, const struct finding *finding)
{
    fields_write(out, &finding_record, finding, true);
}

void finding_json(struct json_out *out, const char *key, const struct finding *finding)
{
    fields_write_object(out, key, &finding_record, finding);
}

/* --- the way back ----------------------------------------------------------------------------- */

/* Where a line's fields go; rows of a census get their room. */
static void *data_of(const struct line *kind, struct event_line *line)
{
    if (kind->kind == EVENT_LINE_HEADER)
        return &line->header;
    if (kind->kind == EVENT_LINE_ALERT)
        return &line->alert;
    if (kind->kind == EVENT_LINE_END)
        return &line->cost;
    line->event.kind = kind->event;
    line->event.ms = line->ms;
    switch (kind->event) {
    case EVENT_LOADERS:
        line->event.loaders.rows = memset(line->loaders, 0, sizeof line->loaders);
        break;
    case EVENT_NAMES:
        line->event.names.rows = memset(line->families, 0, sizeof line->families);
        break;
    case EVENT_HISTOGRAM:
        line->event.histogram.rows = memset(line->histogram, 0, sizeof line->histogram);
        break;
    case EVENT_CALLERS:
        line->event.callers.rows = memset(line->callers, 0, sizeof line->callers);
        break;
    case EVENT_METHODS:
        line->event.methods.rows = memset(line->methods, 0, sizeof line->methods);
        break;
    default:
        break;
    }
    return (char *)&line->event + kind->offset;
}

static void read_line(struct json_reading *reading, const struct line *kind, const json_t *object,
                      struct event_line *line)
{
    line->kind = kind->kind;
    if (kind->kind != EVENT_LINE_HEADER) {
        line->ms = reading_int(reading, object, "ms");
        if (json_object_get(object, "pid") != NULL)
            line->pid = reading_int(reading, object, "pid");
    } else if (reading_int(reading, object, "schema") > EVENT_JSON_SCHEMA) {
        line->header.schema = json_integer_value(json_object_get(object, "schema"));
        return; /* nothing else is known of it: the reader reports it */
    }
    fields_read(reading, kind->record, object, data_of(kind, line));
    if (kind->kind == EVENT_LINE_ALERT)
        line->alert.ms = line->ms;
    if (kind->event == EVENT_NOTE && strcmp(line->event.text, EVENT_BASELINE_TEXT) == 0)
        line->event.kind = EVENT_BASELINE; /* a recording from before this type of line */
    if (reading->unknown)
        line->kind = EVENT_LINE_UNKNOWN;
}

static void read_object(struct json_reading *reading, const json_t *object, struct event_line *line)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    if (type == NULL)
        reading_complain(reading, "\"type\" is missing or not a text");
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES && type != NULL; i++)
        if (strcmp(LINES[i].type, type) == 0)
            read_line(reading, &LINES[i], object, line);
}

enum event_line_kind event_json_read(const char *text, size_t length, struct event_line *line,
                                     char *error, size_t error_size)
{
    struct json_reading reading = {.error = error, .error_size = error_size, .texts = &line->texts};
    json_error_t where;
    json_t *object = json_loadb(text, length, 0, &where);
    texts_free(&line->texts);
    memset(line, 0, offsetof(struct event_line, families)); /* the rows: data_of, where needed */
    line->kind = EVENT_LINE_UNKNOWN;
    if (object == NULL)
        reading_complain(&reading, "not JSON at byte %d: %s", where.position,
                         escape_name(where.text).text);
    else if (!json_is_object(object))
        reading_complain(&reading, "not a JSON object");
    else
        read_object(&reading, object, line);
    json_decref(object);
    if (reading.failed)
        line->kind = EVENT_LINE_MALFORMED;
    return line->kind;
}

enum finding_json_result finding_json_read(const json_t *object, struct texts *texts,
                                           struct finding *finding, char *error, size_t error_size)
{
    struct json_reading reading = {.error = error, .error_size = error_size, .texts = texts};
    memset(finding, 0, sizeof *finding);
    fields_read(&reading, &finding_record, object, finding);
    return reading.failed    ? FINDING_JSON_MALFORMED
           : reading.unknown ? FINDING_JSON_UNKNOWN_ID
                             : FINDING_JSON_OK;
}
