/*
 * reader: a recording, event by event, as the live run saw it.
 *
 *   recording_open -> recording_next ... -> recording_damage -> recording_close
 *
 * Reads gzip members or plain JSON lines, from a file or a pipe, in bounded memory whatever the
 * length. What is damaged is read up to the damage: recording_next then ends as at the end of the
 * file, and recording_damage names the line and the byte of the file. A recording without an "end"
 * line (its writer was killed) is not damaged. One thread.
 */
#ifndef NMTWATCH_RECORD_READER_H
#define NMTWATCH_RECORD_READER_H

#include "reports/json/event_json.h"

#define RECORDING_LINE_MAX (4 << 20) /* a longer line is damage */

struct recording;

/* path "-": stdin. NULL with one sentence in error: unreadable, no recording of ours, or of a newer
 * schema. */
struct recording *recording_open(const char *path, char *error, size_t error_size);
const struct recording_header *recording_header(const struct recording *recording);

/* The next event. Its rows are valid until the next call. False at the end, or at damage. */
bool recording_next(struct recording *recording, struct event *event);

typedef void recording_alert_fn(void *context, const struct alert *alert);
/* Alerts that the live run raised are passed by; whoever wants to compare them with those of a
 * replay sets this before the first recording_next. Called from inside recording_next. */
void recording_on_alert(struct recording *recording, recording_alert_fn *on_alert, void *context);

/* Of the "end" line; NULL when there was none (so far). */
const struct watch_cost *recording_cost(const struct recording *recording);
/* One sentence that names file, line and byte; NULL when everything read so far was whole. */
const char *recording_damage(const struct recording *recording);
/* Lines of types this version does not know. */
int64_t recording_unknown_lines(const struct recording *recording);
void recording_close(struct recording *recording);

#endif
