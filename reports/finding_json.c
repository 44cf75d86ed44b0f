#include "reports/finding_json.h"

#include "reports/escape.h"

#include <stdio.h>
#include <string.h>

static void evidence_json(struct json_out *out, const struct finding *finding)
{
    json_out_begin(out, "evidence", '{');
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
            json_out_field(out, one->key, one->text, sizeof one->text);
            break;
        }
    }
    json_out_end(out, '}');
}

static void members(struct json_out *out, const struct finding *finding, bool family_or_null)
{
    const struct finding_row *row = finding_row(finding->kind);

    json_out_text(out, "id", row->id);
    json_out_text(out, "severity", severity_name(finding->severity));
    if (finding->family[0] != '\0')
        json_out_field(out, "family", finding->family, sizeof finding->family);
    else if (family_or_null)
        json_out_null(out, "family");
    json_out_field(out, "title", finding->title, sizeof finding->title);
    json_out_field(out, "advice", finding->advice, sizeof finding->advice);
    json_out_text(out, "runbook", row->runbook);
    evidence_json(out, finding);
}

void finding_json_members(struct json_out *out, const struct finding *finding)
{
    members(out, finding, true);
}

void finding_json(struct json_out *out, const char *key, const struct finding *finding)
{
    json_out_begin(out, key, '{');
    members(out, finding, false);
    json_out_end(out, '}');
}

/* --- the way back --------------------------------------------------------------------------- */

static bool read_text(const json_t *object, const char *key, bool may_be_null, char *field,
                      size_t size, char *error, size_t error_size)
{
    const json_t *value = json_object_get(object, key);
    if (may_be_null && (!value || json_is_null(value))) {
        field[0] = '\0';
        return true;
    }
    if (!json_is_string(value)) {
        snprintf(error, error_size, "\"%s\" is %s", key, value ? "not a text" : "missing");
        return false;
    }
    escape(ESCAPE_UTF8, json_string_value(value), field, size);
    return true;
}

static bool kind_from_id(const char *id, enum finding_kind *kind)
{
    for (int i = 0; i < FINDING_KIND_COUNT; i++) {
        if (strcmp(finding_row((enum finding_kind)i)->id, id) == 0) {
            *kind = (enum finding_kind)i;
            return true;
        }
    }
    return false;
}

static bool severity_from_name(const char *name, enum severity *severity)
{
    for (int i = SEVERITY_INFO; i <= SEVERITY_CRITICAL; i++) {
        if (strcmp(severity_name((enum severity)i), name) == 0) {
            *severity = (enum severity)i;
            return true;
        }
    }
    return false;
}

static bool read_evidence(const json_t *object, struct finding *finding, char *error,
                          size_t error_size)
{
    json_t *evidence = json_object_get(object, "evidence");
    const char *key;
    json_t *value;
    if (!json_is_object(evidence) || json_object_size(evidence) > EVIDENCE_MAX) {
        snprintf(error, error_size, "\"evidence\" is not an object of at most %d figures",
                 EVIDENCE_MAX);
        return false;
    }
    json_object_foreach(evidence, key, value)
    {
        struct evidence *one = &finding->evidence[finding->evidence_count++];
        escape(ESCAPE_UTF8, key, one->key, sizeof(one->key));
        if (json_is_integer(value)) {
            one->type = EVIDENCE_INT;
            one->number = json_integer_value(value);
        } else if (json_is_real(value)) {
            one->type = EVIDENCE_REAL;
            one->real = json_real_value(value);
        } else if (json_is_string(value)) {
            one->type = EVIDENCE_TEXT;
            escape(ESCAPE_UTF8, json_string_value(value), one->text, sizeof(one->text));
        } else {
            snprintf(error, error_size, "evidence \"%s\" is neither a number nor a text", one->key);
            return false;
        }
    }
    return true;
}

enum finding_json_result finding_json_read(const json_t *object, struct finding *finding,
                                           char *error, size_t error_size)
{
    char id[64], severity[16];
    memset(finding, 0, sizeof(*finding));
    if (!read_text(object, "id", false, id, sizeof(id), error, error_size)) {
        return FINDING_JSON_MALFORMED;
    }
    if (!kind_from_id(id, &finding->kind)) {
        return FINDING_JSON_UNKNOWN_ID;
    }
    if (!read_text(object, "severity", false, severity, sizeof(severity), error, error_size) ||
        !read_text(object, "family", true, finding->family, sizeof(finding->family), error,
                   error_size) ||
        !read_text(object, "title", false, finding->title, sizeof(finding->title), error,
                   error_size) ||
        !read_text(object, "advice", false, finding->advice, sizeof(finding->advice), error,
                   error_size)) {
        return FINDING_JSON_MALFORMED;
    }
    if (!severity_from_name(severity, &finding->severity)) {
        snprintf(error, error_size, "\"severity\" is none of INFO, WARNING, CRITICAL");
        return FINDING_JSON_MALFORMED;
    }
    return read_evidence(object, finding, error, error_size) ? FINDING_JSON_OK
                                                             : FINDING_JSON_MALFORMED;
}
