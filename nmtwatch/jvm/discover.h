/*
 * discover: every HotSpot JVM this user may see.
 *
 * Walks /proc for processes that map libjvm.so (containers and chroots included: the map is the
 * kernel's), reads the rest through /proc/PID/root. A process that cannot be read (another user's)
 * is counted, not hidden. Setup context.
 */
#ifndef NMTWATCH_JVM_DISCOVER_H
#define NMTWATCH_JVM_DISCOVER_H

#include "nmtwatch/jvm/target.h"

struct discovery {
    int count;
    struct target *targets; /* by pid */
    int unreadable;         /* processes whose maps we may not read */
};

/* 0, or -1 with errno (no /proc, out of memory). */
int discover_jvms(struct discovery *discovery);
void discovery_free(struct discovery *discovery);

#endif
