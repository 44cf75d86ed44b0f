/* message: one change of one alert (it went up, it is over) on its way to a receiver, and the
 * bodies it is sent as.
 *
 * The same alert is known by its identity: target, finding, and the family or the type of class
 * loader it is about. Alertmanager gets what its
 * API v2 takes (labels, annotations, startsAt, endsAt), a webhook one JSON object
 * (docs/alerting.md, docs/schema/webhook.json).
 *
 * Plain data; the texts of the finding belong to the caller. Any thread.
 */
#pragma once

#include "analyzers/judge/judge.h"
#include "reports/json/json_out.h"

#define TARGET_LABEL_MAX 96 /* of the name of a target, bytes with NUL */

struct message {
    char target[TARGET_LABEL_MAX];
    enum alert_state state;
    int64_t started_wall_ms; /* of the episode, since the epoch */
    int64_t wall_ms;         /* of this change */
    struct finding finding;
    /* Of a profile for a store of profiles, which is a message without an alert (ALERT_CLEARED); else NULL. */
    const char *query; /* what stands behind the ? of the address, encoded */
    const char *body;
    size_t body_length;
};

uint64_t message_identity(const char *target, const struct finding *finding);

uint64_t message_identity_of(const struct message *message);

/* As it is kept on disk, one line, behind which the body of a profile follows; NULL when memory ran out. */
const char *message_write(struct json_out *out, const struct message *message, size_t *length);
/* False: not such a line (damaged, of another version). texts: for those of its finding; of a
 * profile for its query and a copy of its body. */
bool message_read(const char *text, size_t length, struct texts *texts, struct message *message);

struct message_context {
    const char *host;         /* of nmtwatch: the label instance */
    const char *runbook_base; /* in front of class-explosion.md; "": FINDING_RUNBOOKS */
    const char *external_url; /* "": none */
};

/* One element of Alertmanager's array. expires_wall_ms: when it forgets a raised alert that is not
 * sent again. */
void message_alertmanager(struct json_out *out, const struct message *message,
                          const struct message_context *context, int64_t expires_wall_ms);
void message_webhook(struct json_out *out, const struct message *message,
                     const struct message_context *context);
