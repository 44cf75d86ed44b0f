#include "nmtwatch/alert/message.h"

#include "reports/text/units.h"
#include "reports/text/escape.h"
#include "reports/json/event_json.h"
#include "reports/metrics/prometheus_rules.h"

#include <ctype.h>
#include <inttypes.h>

#define FNV_OFFSET UINT64_C(14695981039346656037)
#define FNV_PRIME  UINT64_C(1099511628211)
#define WALL_MAX   INT64_C(253402300799999) /* the end of the year 9999 */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
    return (hash ^ 0xff) * FNV_PRIME; /* "ab", "c" is not "a", "bc" */
}

/* What a judge has one alert of a kind for: a family, or a type of class loader. */
static const char *subject(const struct finding *finding, const char **label)
{
    const struct evidence *type = finding_evidence(finding, "loader_type");
    bool of_loader = finding->family[0] == '\0' && type != NULL && type->type == EVIDENCE_TEXT;
    *label = of_loader ? "loader_type" : "family";
    return of_loader ? type->text : finding->family;
}

uint64_t message_identity(const char *target, const struct finding *finding)
{
    const char *label;
    uint64_t hash = hash_text(hash_text(FNV_OFFSET, target), finding_row(finding->kind)->id);
    return hash_text(hash, subject(finding, &label));
}

uint64_t message_identity_of(const struct message *message)
{
    return message->query != NULL ? hash_text(FNV_OFFSET, message->query)
                                  : message_identity(message->target, &message->finding);
}

/* --- on disk ---------------------------------------------------------------------------------- */

static const char *state_name(enum alert_state state)
{
    return state == ALERT_RAISED ? "raised" : "cleared";
}

const char *message_write(struct json_out *out, const struct message *message, size_t *length)
{
    json_out_open(out);
    if (message->query != NULL) {
        json_out_text(out, "query", message->query);
        json_out_int(out, "bytes", (int64_t)message->body_length);
        json_out_end(out, '}');
        return json_out_line(out, length);
    }
    json_out_int(out, "format", 1);
    json_out_field(out, "target", message->target, sizeof message->target);
    json_out_text(out, "state", state_name(message->state));
    json_out_int(out, "started_ms", message->started_wall_ms);
    json_out_int(out, "ms", message->wall_ms);
    finding_json(out, "finding", &message->finding);
    json_out_end(out, '}');
    return json_out_line(out, length);
}

/* A line, and its number of bytes. */
static bool read_profile(const char *text, size_t length, struct texts *texts,
                         struct message *message)
{
    const char *end = memchr(text, '\n', length), *query;
    json_int_t bytes;
    json_t *line = end != NULL ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
    size_t body = end != NULL ? length - (size_t)(end + 1 - text) : 0;
    char *copy = NULL;
    bool good = line != NULL &&
                json_unpack(line, "{s:s, s:I}", "query", &query, "bytes", &bytes) == 0 &&
                bytes > 0 && (size_t)bytes == body && (copy = texts_take(texts, body)) != NULL;
    if (good) {
        memcpy(copy, end + 1, body);
        message->state = ALERT_CLEARED; /* when it was sent, it is over */
        message->query = texts_copy(texts, query);
        message->body = copy;
        message->body_length = body;
    }
    json_decref(line);
    return good && message->query[0] != '\0';
}

bool message_read(const char *text, size_t length, struct texts *texts, struct message *message)
{
    static const char profile[] = "{\"query\":";
    char why[160];
    json_error_t error;
    json_int_t format, started_ms, ms;
    const char *target, *state;
    json_t *finding;
    memset(message, 0, sizeof *message);
    if (length >= sizeof profile - 1 && memcmp(text, profile, sizeof profile - 1) == 0)
        return read_profile(text, length, texts, message);
    json_t *line = json_loadb(text, length, 0, &error);
    bool good =
        line != NULL &&
        json_unpack(line, "{s:I, s:s, s:s, s:I, s:I, s:o}", "format", &format, "target", &target,
                    "state", &state, "started_ms", &started_ms, "ms", &ms, "finding",
                    &finding) == 0 &&
        format == 1 && started_ms >= 0 && started_ms <= WALL_MAX && ms >= 0 && ms <= WALL_MAX &&
        finding_json_read(finding, texts, &message->finding, why, sizeof why) == FINDING_JSON_OK;
    if (good) {
        escape(ESCAPE_UTF8, target, message->target, sizeof message->target);
        message->state =
            strcmp(state, state_name(ALERT_RAISED)) == 0 ? ALERT_RAISED : ALERT_CLEARED;
        message->started_wall_ms = started_ms;
        message->wall_ms = ms;
    }
    json_decref(line);
    return good;
}

/* --- what receivers get ----------------------------------------------------------------------- */

static struct units_text rfc3339(int64_t unix_ms)
{
    struct units_text out = units_utc(unix_ms, UNITS_ISO);
    text_add(out.text, sizeof out.text, ".%03dZ", (int)(unix_ms % 1000));
    return out;
}

static const char *alert_name(enum finding_kind kind)
{
    const struct prometheus_rule *rule;
    for (size_t i = 0; (rule = prometheus_rule_at(i)) != NULL; i++)
        if (rule->finding == kind)
            return rule->alert;
    return finding_row(kind)->id;
}

static void runbook(struct json_out *out, const char *key, const struct message *message,
                    const struct message_context *context)
{
    char url[640];
    finding_runbook_url(message->finding.kind, context->runbook_base, url, sizeof url);
    json_out_text(out, key, url);
    char explain[64];
    snprintf(explain, sizeof explain, "nmtwatch explain %s",
             finding_row(message->finding.kind)->id);
    json_out_text(out, "explain", explain);
}

static void severity(struct json_out *out, const struct message *message)
{
    char lower[16];
    snprintf(lower, sizeof lower, "%s", severity_name(message->finding.severity));
    for (char *at = lower; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    json_out_text(out, "severity", lower);
}

void message_alertmanager(struct json_out *out, const struct message *message,
                          const struct message_context *context, int64_t expires_wall_ms)
{
    const struct finding *finding = &message->finding;
    bool over = message->state == ALERT_CLEARED;
    json_out_begin(out, NULL, '{');
    json_out_begin(out, "labels", '{');
    json_out_text(out, "alertname", alert_name(finding->kind));
    json_out_text(out, "finding", finding_row(finding->kind)->id);
    severity(out, message);
    json_out_field(out, "target", message->target, sizeof message->target);
    const char *label, *about = subject(finding, &label);
    if (about[0] != '\0')
        json_out_text(out, label, about);
    json_out_text(out, "instance", context->host);
    json_out_end(out, '}');
    json_out_begin(out, "annotations", '{');
    json_out_field(out, "summary", finding->title, FINDING_TITLE_MAX);
    json_out_field(out, "description", finding->advice, FINDING_ADVICE_MAX);
    runbook(out, "runbook_url", message, context);
    json_out_end(out, '}');
    json_out_text(out, "startsAt", rfc3339(message->started_wall_ms).text);
    json_out_text(out, "endsAt", rfc3339(over ? message->wall_ms : expires_wall_ms).text);
    if (context->external_url[0] != '\0')
        json_out_text(out, "generatorURL", context->external_url);
    json_out_end(out, '}');
}

void message_webhook(struct json_out *out, const struct message *message,
                     const struct message_context *context)
{
    char key[64];
    snprintf(key, sizeof key, "%016" PRIx64 "-%" PRId64 "-%s",
             message_identity(message->target, &message->finding), message->started_wall_ms,
             state_name(message->state));
    json_out_begin(out, NULL, '{');
    json_out_int(out, "version", 1);
    json_out_text(out, "key", key);
    json_out_text(out, "state", state_name(message->state));
    json_out_text(out, "host", context->host);
    json_out_field(out, "target", message->target, sizeof message->target);
    json_out_text(out, "alert", alert_name(message->finding.kind));
    json_out_int(out, "started_ms", message->started_wall_ms);
    json_out_int(out, "ms", message->wall_ms);
    finding_json(out, "finding", &message->finding);
    runbook(out, "runbook_url", message, context);
    if (context->external_url[0] != '\0')
        json_out_text(out, "url", context->external_url);
    json_out_end(out, '}');
}
