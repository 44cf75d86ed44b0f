/* observer: JVMs of the fleet observed from outside by the rules of sections [observe NAME]: each so often,
 * or when a finding is raised.
 *
 *   observer_create -> observer_alert, observer_turn ... -> observer_destroy
 *
 * An observation runs in a process of its own (observe_child.h; with a root helper the helper's child), one
 * at a time for each JVM. It is not started while the observations of the last hour have taken more than
 * `observations_cpu` percent of a core; what was not started is counted by reason, and said. Results are
 * files of a bounded folder (archive.h) and views of the snapshot. Event loop, one thread; never waits. */
#pragma once

#include "nmtwatch/serve/fleet.h"

struct observer;

/* options has to outlive it. NULL with one sentence. */
struct observer *observer_create(const struct serve_options *options, char *error,
                                 size_t error_size);
/* A finding was raised: sections that are for it start in the next turn. */
void observer_alert(struct observer *observer, struct fleet *fleet, int64_t pid,
                    const struct alert *alert, int64_t now_ms);
/* Takes results, starts what is due. now_ms: the fleet's; wall_ms: since the epoch. */
void observer_turn(struct observer *observer, struct fleet *fleet, int64_t now_ms, int64_t wall_ms);
/* The options have changed. */
void observer_reload(struct observer *observer);
/* Bounds of the folder; once a minute is enough. */
void observer_tidy(struct observer *observer, int64_t wall_ms);
void observer_counts(const struct observer *observer, struct own_view *own);
/* Ends what is under way. NULL is ignored. */
void observer_destroy(struct observer *observer);
