/*
 * finding_json: a finding as JSON members, in alerts, `check --json` and reports:
 *
 *   {"id","severity","family","title","advice","runbook","evidence":{key: number or text, ...}}
 *
 * Any thread.
 */
#ifndef REPORTS_FINDING_JSON_H
#define REPORTS_FINDING_JSON_H

#include "analyzers/judge/finding.h"
#include "reports/json_out.h"

#include <jansson.h>

/* One object, {...}. "family" is left out when the finding is about no family. */
void finding_json(struct json_out *out, const char *key, const struct finding *finding);
/* The members alone, into an open object (alerts); "family" is null when there is none. */
void finding_json_members(struct json_out *out, const struct finding *finding);

enum finding_json_result { FINDING_JSON_OK, FINDING_JSON_UNKNOWN_ID, FINDING_JSON_MALFORMED };
/* The way back. MALFORMED: a sentence that names the key is in error. */
enum finding_json_result finding_json_read(const json_t *object, struct finding *finding,
                                           char *error, size_t error_size);

#endif
