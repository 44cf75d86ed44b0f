/*
 * thread_names: from a JNIEnv that a handler met to the thread's Java name and id.
 *
 * A thread that was there before the agent never told its kernel id. But its handler finds its
 * JNIEnv, which lies at a fixed distance in the JVM's thread structure, and java.lang.Thread keeps
 * that structure's address in a field. The distance is learnt from the calling thread, so only Java
 * fields are read and nothing of the JVM's memory.
 *
 * On a Java thread in the live phase; not under a lock that callbacks take.
 */
#ifndef AGENT_SAMPLING_THREAD_NAMES_H
#define AGENT_SAMPLING_THREAD_NAMES_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_names {
    JavaVM *vm;
    jvmtiEnv *jvmti;
    jfieldID java_id; /* java.lang.Thread.tid */
    jfieldID address; /* java.lang.Thread.eetop */
};

/* False: there is no JVM to ask (a test); names are the kernel's then. */
bool thread_names_open(struct thread_names *names, JavaVM *vm);
void thread_names_close(struct thread_names *names);

/* A copy of the name in *name (component THREADS, the caller's), NULL when it cannot be had.
 * thread: NULL for the calling one. */
void thread_names_of(struct thread_names *names, JNIEnv *env, jthread thread, char **name,
                     int64_t *java_id);

/* Of the JVM's structure for the calling thread; 0 when it cannot be had. */
int64_t thread_names_own_address(struct thread_names *names);

/* Visits every Java thread with its JNIEnv; the visitor may take the name and leaves NULL. */
typedef void thread_names_visit_fn(void *context, const void *env, char **name, int64_t java_id);
void thread_names_each(struct thread_names *names, thread_names_visit_fn *visit, void *context);

#endif
