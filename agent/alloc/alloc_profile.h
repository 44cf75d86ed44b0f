/*
 * alloc_profile: who allocates what, from JVMTI's SampledObjectAlloc.
 *
 * The callback notes a sample (thread, class, size, stack); weights (weights.h) are known when the
 * thread's exact bytes are, at the end of a chunk: then each sample is written as a
 * jdk.ObjectAllocationSample, and what each class came to is added up. Threads that end, and the
 * bytes after a thread's last sample, are in the totals.
 *
 * Bounded: samples of a chunk and classes; what finds no room is counted and its bytes stay in the
 * totals of its thread.
 *
 * Callback: any Java thread. The others: drain thread.
 */
#ifndef AGENT_ALLOC_ALLOC_PROFILE_H
#define AGENT_ALLOC_ALLOC_PROFILE_H

#include "agent/control/sampler.h"
#include "agent/jfr/jfr_writer.h"
#include "agent/methods/method_map.h"

#include <stdio.h>

struct alloc_profile;

/* Reads exact bytes of threads by the JVM's management interface. NULL with a sentence (JDK 8 has
 * no such sampling). The event is not on yet. */
struct alloc_profile *alloc_profile_create(JavaVM *vm, jvmtiEnv *jvmti, JNIEnv *env,
                                           int64_t interval_bytes, char *error, size_t error_size);
/* SampledObjectAlloc. stacks: where the stack goes. */
void alloc_profile_sample(struct alloc_profile *profile, struct sampler *stacks, JNIEnv *env,
                          jclass class, jlong size);
/* ThreadEnd of the calling thread: its last bytes. */
void alloc_profile_thread_ended(struct alloc_profile *profile, JNIEnv *env);
/* The end of a chunk: weights, events, totals. classes: the dictionary class names go to. */
void alloc_profile_end_chunk(struct alloc_profile *profile, JNIEnv *env, struct jfr_writer *writer,
                             struct dictionary *classes);
/* {"interval_bytes","samples","total_bytes","classes":[{"class","bytes","se_bytes","samples"}...],
 * ...} (docs/json.md); whole chunks only. */
void alloc_profile_json(const struct alloc_profile *profile, FILE *out);
void alloc_profile_destroy(struct alloc_profile *profile);

#endif
