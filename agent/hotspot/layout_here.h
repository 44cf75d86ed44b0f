/*
 * layout_here: the layout of the JVM in this process, for the agent.
 */
#pragma once

#include "floor/hotspot/layout.h"

#include <jvmti.h>

/* Fills `layout`. env: of the calling thread, a Java thread and no virtual one: shows where JNIEnv
 * lies in JavaThread. False with one sentence. Setup context; idempotent. */
bool layout_read(jvmtiEnv *jvmti, JNIEnv *env, char *error, size_t error_size);
