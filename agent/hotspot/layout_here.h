/*
 * layout_here: the layout of the JVM in this process, for the agent.
 */
#ifndef AGENT_HOTSPOT_LAYOUT_HERE_H
#define AGENT_HOTSPOT_LAYOUT_HERE_H

#include "agent/hotspot/layout.h"

#include <jvmti.h>

/* Fills `layout`. env: of the calling thread, a Java thread and no virtual one: shows where JNIEnv
 * lies in JavaThread. False with one sentence. Setup context; idempotent. */
bool layout_read(jvmtiEnv *jvmti, JNIEnv *env, char *error, size_t error_size);

#endif
