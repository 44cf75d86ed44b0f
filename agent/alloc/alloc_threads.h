/*
 * alloc_threads: what each thread has allocated, exactly, in pieces of a chunk.
 *
 *   bytes since its start:   ---------+------------------------+----------->
 *                                  counted                   latest
 *                             (chunks before)     | this chunk |
 *
 * Readings come from the thread itself (with a sample, at its end) and from the drain thread (at
 * the end of a chunk); the latest is the largest, because a reading from outside may miss or repeat
 * the buffer that its thread is just giving back. A thread is found by its JNIEnv. One that ended
 * stays until its chunk is written.
 *
 * Bounded: who finds no place has no exact bytes; that is counted. Under the lock of the profile;
 * no JVM is asked here.
 */
#pragma once

#include "floor/base/weights.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define ALLOC_THREADS_MAX 65536

struct alloc_thread {
    const void *env; /* NULL: the place is free */
    int64_t java_id; /* 0: it can only be read by itself */
    int64_t first_bytes, counted_bytes, latest_bytes;
    int64_t
        gap_bytes; /* by which interval the gap up to its next sample was drawn; 0: not known yet */
    bool ended;
    uint32_t next; /* of the chain, or of the free places; a number + 1 */
    /* Called where a chunk ends. */
    struct weight_sums sums;
    double calibration;
    bool pooled;
};

struct alloc_threads;

struct alloc_threads *alloc_threads_create(void);
/* bytes: what it has allocated up to now, which is not ours. The number of a known one stays, and
 * so does what is known of it. -1: no room. */
int32_t alloc_threads_add(struct alloc_threads *threads, const void *env, int64_t java_id,
                          int64_t bytes);
/* -1: it was never added. */
int32_t alloc_threads_find(const struct alloc_threads *threads, const void *env);
struct alloc_thread *alloc_threads_at(struct alloc_threads *threads, int32_t number);
/* Numbers are below this. */
int32_t alloc_threads_count(const struct alloc_threads *threads);
/* bytes < 0: it could not be read, nothing is known. */
void alloc_threads_read(struct alloc_thread *thread, int64_t bytes);
/* The thread's JNIEnv may be another thread's from now on. */
void alloc_threads_ended(struct alloc_threads *threads, int32_t number, int64_t bytes);
/* What it allocated since the last call; places of threads that ended are free then. */
int64_t alloc_threads_take(struct alloc_threads *threads, int32_t number);
int64_t alloc_threads_refused(const struct alloc_threads *threads);
void alloc_threads_destroy(struct alloc_threads *threads);

/*
 * exact_bytes: what a thread has allocated since it began, as java.lang.management reports it.
 *
 * From the JVM's management interface (JVM_GetManagement): a table of functions in libjvm that
 * belongs to the JDK's own libmanagement. It grew by version; the function wanted here,
 * GetOneThreadAllocatedMemory, is the tenth of version 3 (JDK 14) and the eleventh of versions 4
 * (JDK 17 or 21) and 5 (JDK 26). The JVM hands out its own version only, and what is found is tried
 * before it is believed. Costs 20 to 220 ns for the calling thread.
 *
 * exact_bytes_setup: setup. The others: Java threads, not in a signal handler.
 */
/* False: this JVM cannot be asked; the functions below return -1 then. */
bool exact_bytes_setup(JNIEnv *env);
int64_t exact_bytes_own(JNIEnv *env);
/* java_id: java.lang.Thread's. -1 when there is no such thread (any more). */
int64_t exact_bytes_of(JNIEnv *env, int64_t java_id);
