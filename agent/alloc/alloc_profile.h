/*
 * alloc_profile: who allocates what, from JVMTI's SampledObjectAlloc.
 *
 *   create -> begin -> sample ..., thread_started, thread_ended, end_chunk ... -> quiet -> json
 *                   -> destroy
 *
 * The callback notes a sample (thread, class, size, stack); weights (alloc_threads.h) are known when the
 * thread's exact bytes are, at the end of a chunk: then each sample is written as a
 * jdk.ObjectAllocationSample, and what each class came to is added up. Threads that end, and the
 * bytes after a thread's last sample, are in the totals.
 *
 * A thread that allocated ALLOC_OWN_INTERVALS intervals in a chunk is calibrated by itself: its
 * total is exact. The others are calibrated together, over all chunks so far: one by one they would
 * have a sample or none, and who has none cannot be made to fit.
 *
 * Bounded: samples of a chunk and classes; what finds no room is counted and its bytes stay in the
 * totals of its thread.
 *
 * sample, thread_*: callbacks, on the Java thread that they are of. The others: drain thread, or the
 * holder of the lock of the commands.
 */
#pragma once

#include "agent/dict/dictionary.h"
#include "agent/jfr/jfr_writer.h"
#include "agent/json/json.h"

#include <jvmti.h>

#define ALLOC_OWN_INTERVALS   16
/* HotSpot's sampler begins each thread with a random number made from the address of its structure.
 * One short thread after the other gets the same address, the same gap, and is sampled at the same
 * place: classes are off then, whatever the estimator, and only the total is right. */
#define ALLOC_SHORT_INTERVALS 8
#define ALLOC_SAMPLES_MAX     65536 /* of a chunk: 2.5 MB */

struct alloc_profile;

/* NULL with a sentence: this JVM has no such sampling (JDK 8 to 10), or another agent has it. */
struct alloc_profile *alloc_profile_create(JavaVM *vm, jvmtiEnv *jvmti, JNIEnv *env,
                                           int64_t interval_bytes, char *error, size_t error_size);
/* ThreadStart and ThreadEnd are on. Looks at the threads that are there, and switches the event
 * on. False with a sentence. */
bool alloc_profile_begin(struct alloc_profile *profile, char *error, size_t error_size);

/* Another interval from now on. A thread's next sample comes after a gap that was drawn by the interval
 * before, and is weighed by that one. False with a sentence. The caller holds the lock of the
 * commands. */
bool alloc_profile_set_interval(struct alloc_profile *profile, int64_t interval_bytes, char *error,
                                size_t error_size);

/* What a sampled allocation is, before its stack: asks the JVM. */
struct alloc_seen {
    int64_t size, thread_bytes;
    int64_t ticks; /* CLOCK_MONOTONIC, ns */
    uint32_t class;
};
void alloc_profile_see(struct alloc_profile *profile, JNIEnv *env, jclass class, jlong size,
                       struct alloc_seen *seen);
/* trace: its stack, in the present chunk: between sampler_here_begin and _end; 0: none. */
void alloc_profile_sample(struct alloc_profile *profile, JNIEnv *env, const struct alloc_seen *seen,
                          int tid, uint32_t trace);
void alloc_profile_thread_started(struct alloc_profile *profile, JNIEnv *env, jthread thread);
void alloc_profile_thread_ended(struct alloc_profile *profile, JNIEnv *env);

/* No further samples; exact bytes are counted on. */
void alloc_profile_quiet(struct alloc_profile *profile);
/* The same for good: what is allocated after the chunk that ends next belongs to no class, and so
 * not to the total. */
void alloc_profile_give_way(struct alloc_profile *profile);
/* The end of a chunk, after the tables of stacks have rotated: weights, events, totals. classes:
 * the dictionary class names go to, before it is written. */
void alloc_profile_end_chunk(struct alloc_profile *profile, JNIEnv *env, struct jfr_writer *writer,
                             struct dictionary *classes);

struct alloc_counts {
    int64_t interval_bytes;   /* the present one */
    int64_t interval_changes; /* while it ran */
    int64_t samples;          /* weighted ones; = with and without a stack */
    int64_t without_stack;
    int64_t lost;        /* found no room */
    int64_t total_bytes; /* exact; -1: this JVM does not report it */
    int64_t threads_refused;
    int64_t short_bytes; /* of total_bytes, of threads that ended within ALLOC_SHORT_INTERVALS */
};
/* Whole chunks. */
void alloc_profile_counts(struct alloc_profile *profile, struct alloc_counts *counts);
/* Those counts that status and the answer about allocations share, as members. */
void alloc_counts_json(const struct alloc_counts *counts, struct json *json);
/* {"interval_bytes","samples","total_bytes","classes":[{"class","bytes","se_bytes","samples"}...],
 * ...} (docs/json.md); whole chunks only. */
void alloc_profile_json(struct alloc_profile *profile, struct json *json, const char *name);
void alloc_profile_destroy(struct alloc_profile *profile);
