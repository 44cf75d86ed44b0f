/* agent_figures: what libnmtagent.so costs a target, as the agent publishes it in the target's /tmp
 * (floor/wire/wire_formats.h). The JVM is not asked: no safepoint, no signal, no lock.
 *
 * The file is the target's word, trusted as its hsperfdata is: opened O_NOFOLLOW, a regular file of
 * the target's uid and of the right size, about this very process, whole by its checksum. Opened at
 * each poll: an agent may come at any time, and where there is none a poll is one failing open.
 * Any thread. */
#pragma once

#include "analyzers/model/event.h"
#include "nmtwatch/jvm/target.h"

/* Sets AGENT_RESERVED_BYTES, AGENT_RESIDENT_BYTES, AGENT_JMETHOD_ID_BYTES, AGENT_BREAKER; none of
 * them when there is no agent, or its figures cannot be read or believed. */
/* The file itself, for reading; -1 with errno. */
int agent_figures_file(const struct target *target);
void agent_figures_sample(const struct target *target, struct sample *sample);
/* Where the library begins that answers in this target, as in its maps; 0: there is none, or it
 * does not report it. */
uint64_t agent_figures_library(const struct target *target);
/* Methods of all loaded classes as the agent has counted them, and the families that have most. False:
 * it has not. Names are the target's: to be escaped. */
bool agent_figures_methods(const struct target *target, struct kept_methods *methods);
/* Why its circuit breaker left the normal state, in its own words: to be escaped. False: it has
 * not, or it cannot be read. */
bool agent_figures_reason(const struct target *target, char *out, size_t size);

/* agent_leftovers: removes files that the agent left in /tmp when its JVM was killed
 * (floor/wire/leftovers.h: which those are).
 *
 * In a target's /tmp: its user's only. In the host's /tmp (target_host_root): this user's; with the
 * capabilities for it everybody's, each with the rights of its owner (as_target.h), so that nothing
 * else can be reached or removed. A bounded
 * number of names and files a call. Returns how many were removed. Any thread. */

int agent_leftovers_remove(const struct target *target);
int agent_leftovers_remove_here(void);
