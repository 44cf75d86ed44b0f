/* soak_json: the outcome of a soak as one object, for `soak --json`; docs/json.md shows it. Any
 * thread. */
#ifndef REPORTS_SOAK_JSON_H
#define REPORTS_SOAK_JSON_H

#include "reports/json_out.h"
#include "reports/soak_words.h"

/* '\n' at its end; the text is out's. NULL when memory ran out. */
const char *soak_json(struct json_out *out, const struct soak_summary *summary);
/* {"value","low","high"}, or null. */
void soak_json_estimate(struct json_out *out, const char *key, struct estimate estimate);

#endif
