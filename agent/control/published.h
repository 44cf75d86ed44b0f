/*
 * published: the agent's totals in a small file (wire_formats.h), for programs that watch the JVM:
 * reading it costs the JVM nothing, where a command would have to attach.
 *
 *   published_begin -> published_figures ... -> published_end (removes the file)
 *
 * published_begin first removes what killed JVMs of this user left in /tmp (leftovers.h). The file
 * is made again after it was removed. Written only when a figure has changed. Without the file,
 * /tmp full or read-only, the agent works as before. Setup, drain thread and commands, one at a
 * time.
 */
#pragma once

#include "floor/hotspot/class_graph.h"
#include "agent/control/breaker.h"
#include "agent/methods/jmethod_ids.h"

void published_begin(void);
/* ids: NULL when nothing is profiled; what the JVM holds because of earlier profiles stays
 * reported. */
void published_figures(const struct jmethod_ids *ids);
/* Published at once, and until a next one. */
void published_breaker(enum breaker_state state, const char *reason);
/* NULL: not counted. Families where there are some. */
void published_methods(const struct loaded_methods *methods);
void published_end(void);
