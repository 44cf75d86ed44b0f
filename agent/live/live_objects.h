/*
 * live_objects: sampled objects that are still there after garbage collections: leak candidates.
 *
 *   create -> see, sample, gc_finished ..., turn, put_stacks, end_chunk ... -> json -> destroy
 *
 * Each sampled allocation is held by a weak reference until it is collected. Objects that survived a
 * collection are reported by class and by the stack that allocated them (a site, live_sites.h): how many
 * sampled objects, how many bytes these stand for (alloc/alloc_threads.h), how many collections they
 * have survived, how old the oldest is. Garbage goes after each collection, so that room is for what
 * stays. An unreachable object in an old generation is there until that generation is collected.
 *
 * Bounded: max objects; LIVE_SITES_MAX sites, those beyond share their class's site without a
 * stack, or "[other]". Objects without room are counted. Weak references are not kept by us but by the
 * JVM: some LIVE_JWEAK_BYTES each.
 *
 * An engine that cannot walk a stack outside of signals gives sites without stacks.
 *
 * see, sample: callback, on the Java thread that allocates. gc_finished: a callback in which JNI
 * may not be used; it counts. The others: drain thread, or commands while it waits. The lock is
 * held over JNI calls by the drain thread alone; callbacks wait for it in native code, for which no
 * safepoint waits.
 */
#pragma once

#include "agent/calltrace/calltrace.h"
#include "agent/sampling/sampler.h"
#include "agent/jfr/jfr_writer.h"
#include "agent/json/json.h"
#include "agent/live/live_sites.h"

#include <jvmti.h>

/* Of allocation sampling, where only live objects are asked for. */
#define LIVE_INTERVAL_BYTES (512 << 10)
/* OopStorage: blocks of 64 words and some 88 bytes. */
#define LIVE_JWEAK_BYTES    10

struct live_objects;

/* interval_bytes: of the allocation sampling that feeds it. NULL with a sentence. */
struct live_objects *live_objects_create(jvmtiEnv *jvmti, int64_t max, int64_t interval_bytes,
                                         char *error, size_t error_size);
/* A sampled allocation before its stack: asks the JVM. */
struct live_seen {
    jweak reference; /* NULL: there is no room for it */
    int64_t size_bytes;
    char class_name[LIVE_CLASS_MAX];
};
void live_objects_see(struct live_objects *live, JNIEnv *env, jobject object, jclass class,
                      jlong size, struct live_seen *seen);
/* here: its stack, between sampler_here_begin and _end, copied; NULL: none. Takes the reference.
 * False: others took the last places meanwhile; live_objects_forget after sampler_here_end, because
 * the JVM may hold the thread there. */
bool live_objects_sample(struct live_objects *live, const struct live_seen *seen,
                         const struct sampler_here *here);
void live_objects_forget(JNIEnv *env, const struct live_seen *seen);
void live_objects_gc_finished(struct live_objects *live);

/* A few times a second: drops what was collected, if there was a collection. */
void live_objects_turn(struct live_objects *live, JNIEnv *env);
/* Before calltrace_rotate: puts the stacks of all sites, so that they and their names are in this
 * chunk. */
void live_objects_put_stacks(struct live_objects *live, struct calltrace_storage *traces);
/* After it: an event nmtagent.LiveObject for each site with survivors. */
void live_objects_end_chunk(struct live_objects *live, JNIEnv *env, struct jfr_writer *writer);

struct live_counts {
    int64_t max;
    int64_t sampled; /* = held + collected + refused */
    int64_t held, collected;
    int64_t refused;       /* found no room, or the JVM gave no weak reference */
    int64_t sites;         /* now */
    int64_t without_stack; /* of sampled: the site has none */
    int64_t collections;   /* of garbage, since the start */
    int64_t jvm_bytes;     /* of the weak references that are held */
};
void live_objects_counts(struct live_objects *live, struct live_counts *counts);
void live_objects_json(struct live_objects *live, struct json *json, const char *name);
/* Gives all references back. */
void live_objects_destroy(struct live_objects *live, JNIEnv *env);
