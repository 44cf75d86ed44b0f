/*
 * identify: completes who a target is before it is watched: the recording's first line and the
 * judge need the JDK's version.
 *
 * A JVM in its first second has no hsperfdata yet: waited for, up to a second. One without
 * hsperfdata at all (-XX:-UsePerfData, PerfDisableSharedMem) is asked VM.version unless it is
 * stopped. What stays unknown stays unknown. Setup context; blocks for at most about two seconds.
 */
#ifndef NMTWATCH_WATCH_IDENTIFY_H
#define NMTWATCH_WATCH_IDENTIFY_H

#include "nmtwatch/jvm/target.h"

void identify_target(struct target *target, int timeout_ms);

#endif
