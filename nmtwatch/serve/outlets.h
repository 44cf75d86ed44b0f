/* outlets: where alerts go: a line on standard output (the journal), the command of `notify`, and
 * the receivers of delivery.h where the program was built with it.
 *
 *   outlets_open -> outlets_alert ... -> outlets_step (the loop) -> outlets_close
 *
 * Never blocks. Event loop, one thread. */
#pragma once

#include "analyzers/judge/judge.h"
#include "nmtwatch/serve/serve_options.h"
#include "nmtwatch/serve/snapshot.h"

struct outlets;

/* NULL with one sentence in error. */
struct outlets *outlets_open(const struct serve_options *options, char *error, size_t error_size);
/* target: its label; started_wall_ms: of the episode, since the epoch. */
void outlets_alert(struct outlets *outlets, const char *target, int64_t pid,
                   const struct alert *alert, int64_t wall_ms, int64_t now_ms);
/* A JVM has ended: what it had raised is over. alerts: those that were up. */
void outlets_ended(struct outlets *outlets, const char *target, int64_t pid,
                   const struct alert *alerts, int count, int64_t wall_ms, int64_t now_ms);
/* The active alerts, once a second: puts right what an edge has missed (alert/delivery.h). */
void outlets_see(struct outlets *outlets, const struct snapshot *snapshot, int64_t now_ms);
/* Does what is due; returns the milliseconds until it wants to be called again. */
int64_t outlets_step(struct outlets *outlets, int64_t now_ms);
int outlets_fd(const struct outlets *outlets);
void outlets_counts(const struct outlets *outlets, struct own_view *own);
void outlets_close(struct outlets *outlets);
