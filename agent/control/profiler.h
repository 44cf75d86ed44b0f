/*
 * profiler: the agent's one object: start, samples, chunks, stop. Everything else is a part of it.
 *
 *   profiler_start -> (handlers sample, the drain thread writes chunks) -> profiler_stop
 *
 * Commands come one at a time (control/commands.h holds the lock). Nothing here ever ends or aborts
 * the host: what fails is reported in the answer, counted, and the profiler stays stopped or goes
 * on with less.
 */
#pragma once

#include "floor/wire/agent_options.h"
#include "agent/json/json.h"

#include <jvmti.h>
#include <stdbool.h>

/* Stops the profiler from a thread of its own: stopping waits for the drain thread, which is
 * the one that finds out. Returns at once; false: there can be no such thread. */
typedef bool profiler_stop_later_fn(void);

/* Once per process, before the first start; vm and jvmti stay valid for the process's life. */
bool profiler_setup(JavaVM *vm, jvmtiEnv *jvmti, profiler_stop_later_fn *stop_later, char *error,
                    size_t error_size);
bool profiler_start(const struct agent_options *options, JNIEnv *env, char *error,
                    size_t error_size);
bool profiler_is_running(void);
/* It runs, and longer than it was asked to. */
bool profiler_is_overdue(void);
/* Ends the chunk; the file holds everything up to now. */
bool profiler_dump(JNIEnv *env, char *error, size_t error_size);
/* Back to quiet. notes: what cannot be given back, in sentences. json: NULL, or an object that has begun: tables of
 * what was collected become members of it. */
bool profiler_stop(JNIEnv *env, struct json *json, char *notes, size_t notes_size);
/* One JSON object each (docs/json.md). name: as a member of another one, or NULL. */
void profiler_status_json(struct json *json, const char *name);
/* sites: the call sites as well. */
void profiler_memory_json(struct json *json, bool sites);
/* From now on the answers above report what has grown since. */
void profiler_memory_baseline(void);
bool profiler_has_alloc(void);
/* Other intervals from now on: what is given of alloc, cpu and wall. False with a sentence; those named
 * before the one that is refused, in this order, are set. */
bool profiler_set(JNIEnv *env, const struct agent_options *options, char *error, size_t error_size);
/* Of whole chunks: dump first. */
void profiler_alloc_json(struct json *json);

/* JVMTI callbacks, as long as profiling runs. */
void profiler_class_load(JNIEnv *env, jclass class);
void profiler_class_prepare(JNIEnv *env, jclass class);
/* NULL: this JVM does not report the name. */
void profiler_class_unload(const char *name);
void profiler_object_sampled(JNIEnv *env, jobject object, jclass class, jlong size);
void profiler_gc_finished(void);
void profiler_thread_start(JNIEnv *env, jthread thread);
void profiler_thread_end(JNIEnv *env);
void profiler_vm_death(JNIEnv *env);
