/*
 * drain: the agent's one thread: empties the buffers once a second, or up to ten times when handlers
 * ask (agent/buffer/wakeup.h), maps ahead what handlers will need, looks for new threads, ends
 * chunks. While none can be written it pauses the timers.
 *
 * A daemon thread of the JVM (it asks JVMTI for names). drain_lock keeps it from the recording
 * while a command works on it.
 */
#pragma once

#include "agent/control/recording.h"

struct drain;

struct drain *drain_start(JavaVM *vm, struct recording *recording, int64_t chunk_ns, char *error,
                          size_t error_size);
void drain_lock(struct drain *drain);
void drain_unlock(struct drain *drain);
/* Returns when the thread has ended. */
void drain_stop(struct drain *drain);
