/* recording: what a watch saw, on disk; read (recording, replay) and written (recorder).
 *
 * A recording, event by event, as the live run saw it:
 *
 *   recording_open -> recording_next ... -> recording_damage -> recording_close
 *
 * Reads gzip members or plain JSON lines, from a file or a pipe, in bounded memory whatever the
 * length. A damaged file is read up to the damage: recording_next then ends as at the end of the
 * file, and recording_damage names the line and the byte of the file. A recording without an "end"
 * line (its writer was killed) is not damaged. One thread. */
#pragma once

#include "reports/json/event_json.h"

#define RECORDING_LINE_MAX (4 << 20) /* a longer line is damage */

struct recording;

/* path "-": stdin. NULL with one sentence in error: unreadable, no recording of ours, or of a newer
 * schema. */
struct recording *recording_open(const char *path, char *error, size_t error_size);
const struct recording_header *recording_header(const struct recording *recording);

/* The next event; alerts that the live run raised are passed by. Its rows are valid until the next call.
 * False at the end, or at damage. */
bool recording_next(struct recording *recording, struct event *event);

/* Of the "end" line; NULL when there was none (so far). */
const struct watch_cost *recording_cost(const struct recording *recording);
/* One sentence that names file, line and byte; NULL when everything read so far was whole. */
const char *recording_damage(const struct recording *recording);
/* Lines of types this version does not know. */
int64_t recording_unknown_lines(const struct recording *recording);
void recording_close(struct recording *recording);

/* replay: a recording through a judge, as it was judged live: the one loop for all who read one.
 *
 *   replay_open -> replay_next ... (event, alerts, judge) -> replay_close
 *
 * Setup context, one thread. */
struct replay {
    struct recording *recording;
    const struct recording_header *header;
    struct judge *judge;  /* at the thresholds of the recording */
    int64_t until_ms;     /* events after it are not fed; INT64_MAX: all */
    struct event event;   /* the one of the last replay_next; its rows are valid until the next */
    struct alerts alerts; /* that it raised and cleared; texts likewise */
};

/* False with one sentence in error. */
bool replay_open(struct replay *replay, const char *path, char *error, size_t error_size);
/* Another judge, before the first replay_next. False when out of memory. */
bool replay_judge_with(struct replay *replay, const struct thresholds *thresholds,
                       int64_t warmup_s);
/* False at the end, or at damage (recording_damage). */
bool replay_next(struct replay *replay);
void replay_close(struct replay *replay);

/* recorder: a recording on disk: gzip members of JSON lines (reports/json/event_json.h).
 *
 *   recorder_create -> recorder_event / recorder_alert ... -> recorder_end -> recorder_destroy
 *
 * After every line the file is a whole gzip file: each line is flushed by deflate, and the member's
 * trailer is written behind it, to be overwritten by the next line. So `zcat | jq` works while the
 * recording continues and after kill -9, which loses at most the last line. When the disk is full the
 * file is put back to its last whole line, and recording stops: the watch continues.
 *
 * Written with pwrite: no buffer in this process, no fsync (a power cut may cost the last seconds).
 * Memory: about 100 KB. Calling context: event loop, one thread; a write to a slow pipe ("-")
 * waits. */

struct recorder;

/* path "-": the recording takes standard output over, and what else is printed goes to standard
 * error. Refuses to overwrite a file unless force, and never follows a symbolic link.
 * A new file has mode 0600: class names may be confidential.
 * NULL with one sentence (names the path) in error. */
struct recorder *recorder_create(const char *path, bool force,
                                 const struct recording_header *header, char *error,
                                 size_t error_size);
/* False once recording has stopped; then recorder_error says why, and further calls do nothing. */
bool recorder_event(struct recorder *recorder, const struct event *event);
bool recorder_alert(struct recorder *recorder, const struct alert *alert);
bool recorder_end(struct recorder *recorder, int64_t ms, const struct watch_cost *cost);
/* One sentence; NULL while all is well. */
const char *recorder_error(const struct recorder *recorder);
void recorder_destroy(struct recorder *recorder);
