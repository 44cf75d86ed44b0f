/*
 * beside_nmt: what the JVM's own Native Memory Tracking says, printed beneath the agent's account.
 *
 * NMT does not see what the agent allocates; it does see what the JVM allocates because of the
 * agent: jmethodIDs, in categories that depend on the JDK. Costs no safepoint. Blocking, one
 * thread.
 */
#ifndef NMTWATCH_PROFILE_BESIDE_NMT_H
#define NMTWATCH_PROFILE_BESIDE_NMT_H

#include "nmtwatch/jvm/attach.h"

#include <stdio.h>

/* One or two lines; says so when NMT is off or could not be asked. */
void beside_nmt_print(struct attach *attach, int jdk_major, FILE *out);

#endif
