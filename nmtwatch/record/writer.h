/*
 * writer: a recording on disk: gzip members of JSON lines (reports/json/event_json.h).
 *
 *   recorder_create -> recorder_event / recorder_alert ... -> recorder_end -> recorder_destroy
 *
 * After every line the file is a whole gzip file: each line is flushed by deflate, and the member's
 * trailer is written behind it, to be overwritten by the next line. So `zcat | jq` works while the
 * recording goes on and after kill -9, which loses at most the last line. When the disk is full the
 * file is put back to its last whole line, and recording stops: the watch goes on.
 *
 * Written with pwrite: no buffer in this process, no fsync (a power cut may cost the last seconds).
 * Memory: about 100 KB. Calling context: event loop, one thread; a write to a slow pipe ("-")
 * waits.
 */
#ifndef NMTWATCH_RECORD_WRITER_H
#define NMTWATCH_RECORD_WRITER_H

#include "reports/json/event_json.h"

struct recorder;

/* path "-": the recording takes standard output over, and what else is printed goes to standard
 * error. Refuses to overwrite a file unless force, and never follows a symbolic link.
 * A new file has mode 0600: class names may be nobody else's business.
 * NULL with one sentence (names the path) in error. */
struct recorder *recorder_create(const char *path, bool force,
                                 const struct recording_header *header, char *error,
                                 size_t error_size);
/* False once recording has stopped; then recorder_error tells why, and further calls do nothing. */
bool recorder_event(struct recorder *recorder, const struct event *event);
bool recorder_alert(struct recorder *recorder, const struct alert *alert);
bool recorder_end(struct recorder *recorder, int64_t ms, const struct watch_cost *cost);
/* One sentence; NULL while all is well. */
const char *recorder_error(const struct recorder *recorder);
int64_t recorder_lines(const struct recorder *recorder);
void recorder_destroy(struct recorder *recorder);

#endif
