/*
 * mapped_agents: the agent libraries a JVM has loaded, from its memory map: shared libraries that
 * export Agent_OnLoad or Agent_OnAttach and are no part of the JDK. Agents that came by attach are
 * on no command line. The files are the target's, read as data, no more than MAPPED_AGENT_MAX bytes
 * of each. Setup context.
 */
#ifndef NMTWATCH_TRIAGE_MAPPED_AGENTS_H
#define NMTWATCH_TRIAGE_MAPPED_AGENTS_H

#include "analyzers/triage/dossier.h"
#include "nmtwatch/jvm/target.h"

#define MAPPED_AGENT_MAX (64 << 20)

void mapped_agents(const struct target *target, struct dossier *dossier);

#endif
