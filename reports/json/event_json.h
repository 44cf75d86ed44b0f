/* event_json: events and findings <-> one line of JSON each. This is the schema of recordings and
 * of `watch --json`; the fields are rows of records.def, writer and reader are made of them.
 * docs/json.md shows every line, docs/schema/recording-line.json checks it.
 *
 * Values that are missing in a sample are missing in the line: missing is not zero. Integers come
 * back exactly. Texts come back as they were written, which is valid UTF-8 (a bad byte is U+FFFD).
 * Written on the 1 Hz path: no allocation once the buffer has its size.
 *
 * Reading ignores keys it does not know, reports types it does not know, and refuses a value of the
 * wrong type with a sentence that names the key. One thread per line and buffer. */
#pragma once

#include "analyzers/judge/judge.h"
#include "reports/json/json_fields.h"

#define EVENT_JSON_SCHEMA       1
#define WATCH_COST_COMMANDS_MAX 16

/* First line of a recording. */
struct recording_header {
    int64_t schema;        /* written as EVENT_JSON_SCHEMA, whatever stands here */
    char nmtwatch[32];     /* version of the writer; likewise NMTWATCH_VERSION */
    int64_t wall_start_ms; /* Unix epoch, of ms 0 */
    int64_t warmup_s;      /* < 0: automatic */
    struct target_identity target;
    struct thresholds thresholds;
};

/* Last line: what the watching itself cost. */
struct watch_cost {
    int64_t cpu_ms;    /* of the watcher */
    int64_t rss_bytes; /* of the watcher */
    int64_t polls;
    int64_t pause_us; /* pause spent in targets, an upper bound */
    int command_count;
    struct watch_command_cost {
        char command[64];
        int64_t runs, skipped;
        int64_t measured_us; /* sum over runs */
    } commands[WATCH_COST_COMMANDS_MAX];
};

/* Each empties out, writes one whole line into it, '\n' included, and returns it (out->length
 * bytes, NUL-terminated, valid until out is used again), or NULL when memory ran out. */
const char *event_json_header(struct json_out *out, const struct recording_header *header);
/* view (may be NULL) adds what the judge derives to a tick; it is ignored when read back. */
const char *event_json_event(struct json_out *out, int64_t pid, const struct event *event,
                             const struct judge_view *view);
const char *event_json_alert(struct json_out *out, int64_t pid, const struct alert *alert);
const char *event_json_end(struct json_out *out, int64_t ms, const struct watch_cost *cost);

/* A finding: {"id","severity","family","title","advice","runbook","evidence":{key: number or
 * text}}. "family" is left out when the finding is about none; in members of an open object it is
 * null. */
void finding_json(struct json_out *out, const char *key, const struct finding *finding);
void finding_json_members(struct json_out *out, const struct finding *finding);

/* The records of records.def, for others that show the same, and for the schemas' test. */
extern const struct record target_record, header_record, tick_record, loader_record, loaders_record,
    family_texts_record, family_counts_record, family_record, names_record, histogram_class_record,
    histogram_record, method_family_record, methods_record, caller_record, callers_record,
    cost_record, words_record, finding_record, alert_record, command_cost_record, watch_cost_record,
    end_record;

enum event_line_kind {
    EVENT_LINE_MALFORMED, /* error says why */
    EVENT_LINE_UNKNOWN, /* an object whose "type" (or an alert's "id") this version does not know */
    EVENT_LINE_HEADER,
    EVENT_LINE_EVENT,
    EVENT_LINE_ALERT,
    EVENT_LINE_END,
};

struct event_line {
    enum event_line_kind kind;
    int64_t pid; /* 0: the line has none */
    int64_t ms;
    union {
        struct recording_header header;
        struct event event; /* its rows point into the arrays below */
        struct alert alert;
        struct watch_cost cost;
    };
    union {
        struct family_row families[EVENT_ROWS_MAX];
        struct loader_row loaders[EVENT_ROWS_MAX];
        struct histogram_class histogram[HISTOGRAM_ROWS_MAX];
        struct caller_row callers[EVENT_ROWS_MAX];
        struct method_family methods[EVENT_ROWS_MAX];
    };
    struct texts texts; /* of the alert's finding */
};

/* Reads one line (without or with its '\n'). line is large: all zero at first, keep one and use it
 * again; at the end texts_free(&line->texts). */
enum event_line_kind event_json_read(const char *text, size_t length, struct event_line *line,
                                     char *error, size_t error_size);

enum finding_json_result { FINDING_JSON_OK, FINDING_JSON_UNKNOWN_ID, FINDING_JSON_MALFORMED };
/* MALFORMED: a sentence that names the key is in error. */
enum finding_json_result finding_json_read(const json_t *object, struct texts *texts,
                                           struct finding *finding, char *error, size_t error_size);
