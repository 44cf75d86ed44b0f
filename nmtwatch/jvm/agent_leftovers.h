/*
 * agent_leftovers: removes files that the agent left in /tmp when its JVM was killed
 * (agent/control/leftovers.h: which those are).
 *
 * In a target's /tmp: its user's only. In the host's /tmp (target_host_root): this user's; with the
 * capabilities for it everybody's, each with the rights of its owner (as_target.h), so that nothing
 * else can be reached or removed. A bounded
 * number of names and files a look. Returns how many were removed. Any thread.
 */
#ifndef NMTWATCH_JVM_AGENT_LEFTOVERS_H
#define NMTWATCH_JVM_AGENT_LEFTOVERS_H

struct target;

int agent_leftovers_remove(const struct target *target);
int agent_leftovers_remove_here(void);

#endif
