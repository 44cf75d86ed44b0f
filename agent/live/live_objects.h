/*
 * live_objects: sampled objects that are still there after garbage collections: leak candidates.
 *
 * Each sampled allocation is held by a weak reference until it is collected; what has survived is
 * told by class and by the stack that allocated it, with the number of collections it survived.
 * Bounded (10 000 by default): what finds no room is counted. Weak references cost the JVM memory
 * of its own, which is in the account.
 *
 * Callback context: any Java thread; the others: drain thread. GarbageCollectionFinish is a
 * callback in which JNI may not be used: it only counts.
 */
#ifndef AGENT_LIVE_LIVE_OBJECTS_H
#define AGENT_LIVE_LIVE_OBJECTS_H

#include "agent/jfr/jfr_writer.h"

#include <jvmti.h>
#include <stdio.h>

struct live_objects;

struct live_objects *live_objects_create(jvmtiEnv *jvmti, int64_t max);
/* A sampled allocation with the stack's frames (copied). */
void live_objects_add(struct live_objects *live, JNIEnv *env, jobject object, jclass class,
                      jlong size, const struct frame *frames, int depth);
void live_objects_gc_finished(struct live_objects *live);
/* Drops what was collected; writes what is left as jdk.OldObjectSample-like events
 * (nmtagent.LiveObject) into the chunk. */
void live_objects_end_chunk(struct live_objects *live, JNIEnv *env, struct jfr_writer *writer);
void live_objects_json(const struct live_objects *live, FILE *out);
void live_objects_destroy(struct live_objects *live, JNIEnv *env);

#endif
