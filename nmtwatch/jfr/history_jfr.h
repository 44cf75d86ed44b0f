/* history_jfr: a recording as JFR, with the JDK's own event types where it has them, for JVMs of every version.
 *
 *   history_jfr_create -> history_jfr_event, history_jfr_alert ... -> history_jfr_end
 *
 * A sample becomes NativeMemoryUsage (each category), NativeMemoryUsageTotal, ResidentSetSize,
 * ClassLoadingStatistics, MetaspaceSummary and GCHeapMemoryUsage, as far as it has their values; a value that
 * it does not have is "not available". Chunks of a few MB; time is wall-clock time. One thread. */
#pragma once

#include "analyzers/judge/judge.h"

struct history_jfr;

/* fd stays the caller's. profile_follows: the caller appends the chunks of a profile, whose types are then known from
 * the first chunk on, as `jfr view` wants it. NULL: out of memory. */
struct history_jfr *history_jfr_create(int fd, const struct target_identity *target,
                                       int64_t wall_start_ms, bool profile_follows);
/* False when the file cannot be written (errno), and from then on. */
bool history_jfr_event(struct history_jfr *history, const struct event *event);
bool history_jfr_alert(struct history_jfr *history, const struct alert *alert);
/* Writes the last chunk, and frees. False likewise. */
bool history_jfr_end(struct history_jfr *history);
