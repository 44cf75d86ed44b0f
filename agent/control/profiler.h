/*
 * profiler: the agent's one object: start, samples, chunks, stop. Everything else is a part of it.
 *
 *   profiler_start -> (handlers sample, the drain thread writes chunks) -> profiler_stop
 *
 * Commands come one at a time (control/commands.h holds the lock). Nothing here ever ends or aborts
 * the host: what fails is told in the answer, counted, and the profiler stays stopped or goes on
 * with less.
 */
#ifndef AGENT_CONTROL_PROFILER_H
#define AGENT_CONTROL_PROFILER_H

#include "agent/control/agent_options.h"

#include <jvmti.h>
#include <stdbool.h>
#include <stdio.h>

/* Once per process, before the first start; vm and jvmti stay valid for the process's life. */
bool profiler_setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size);
bool profiler_start(const struct agent_options *options, JNIEnv *env, char *error,
                    size_t error_size);
bool profiler_is_running(void);
/* It runs, and longer than it was told to. */
bool profiler_is_overdue(void);
/* Ends the chunk; the file holds everything up to now. */
bool profiler_dump(JNIEnv *env, char *error, size_t error_size);
/* Back to quiet. notes: what cannot be given back, in sentences. */
bool profiler_stop(JNIEnv *env, char *notes, size_t notes_size);
/* The same; tables of what was collected go to out as members of an object, each with a comma. */
bool profiler_stop_telling(JNIEnv *env, FILE *out, char *notes, size_t notes_size);
/* One JSON object each (docs/json.md). */
void profiler_status_json(FILE *out);
void profiler_memory_json(FILE *out);
bool profiler_has_alloc(void);
/* Of whole chunks: dump first. */
void profiler_alloc_json(FILE *out);

/* JVMTI callbacks, as long as profiling runs. */
void profiler_class_load(JNIEnv *env, jclass class);
void profiler_class_prepare(JNIEnv *env, jclass class);
/* NULL: this JVM does not tell the name. */
void profiler_class_unload(const char *name);
void profiler_object_sampled(JNIEnv *env, jobject object, jclass class, jlong size);
void profiler_gc_finished(void);
void profiler_thread_start(JNIEnv *env, jthread thread);
void profiler_thread_end(JNIEnv *env);
void profiler_vm_death(JNIEnv *env);

#endif
