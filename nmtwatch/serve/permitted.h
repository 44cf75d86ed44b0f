/*
 * permitted: which requests the root helper of serve sends to a JVM: those that a watch asks, byte
 * for byte, and nothing else. Pure; any thread.
 */
#ifndef NMTWATCH_SERVE_PERMITTED_H
#define NMTWATCH_SERVE_PERMITTED_H

#include "nmtwatch/jvm/target.h"

/* request: as it goes over the attach socket, protocol 1 or 2. */
bool permitted_request(const struct target *target, const char *request, size_t length);

#endif
