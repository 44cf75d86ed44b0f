/*
 * thread_names: from a JNIEnv that a handler saw to the thread's Java name and id.
 *
 * A thread that was there before the agent never reported its kernel id. But its handler finds its
 * JNIEnv, which lies at a fixed distance in the JVM's thread structure, and java.lang.Thread keeps
 * that structure's address in a field. The distance is learnt from the calling thread, so only Java
 * fields are read and nothing of the JVM's memory.
 *
 * Names are read from the field of java.lang.Thread: JVMTI's GetThreadInfo takes the lock under
 * which threads start and end, once a thread.
 *
 * On a Java thread in the live phase; not under a lock that callbacks take.
 */
#pragma once

#include "agent/sampling/threads.h" /* THREAD_NAME_BYTES */

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_names {
    JavaVM *vm;
    jvmtiEnv *jvmti;
    jfieldID java_id; /* java.lang.Thread.tid */
    jfieldID address; /* java.lang.Thread.eetop */
    jfieldID name;    /* java.lang.Thread.name */
};

/* jvmti: of the agent, not of these names: each environment costs the JVM memory that it does not
 * give back. NULL: there is no JVM to ask (a test); names are the kernel's then. */
void thread_names_open(struct thread_names *names, JavaVM *vm, jvmtiEnv *jvmti);

/* Modified UTF-8 into name (THREAD_NAME_BYTES). thread: NULL for the calling one. False: it cannot
 * be had. */
bool thread_names_of(struct thread_names *names, JNIEnv *env, jthread thread, char *name,
                     int64_t *java_id);

/* Thread.getId; 0 when it cannot be had. */
int64_t thread_names_java_id(struct thread_names *names, JNIEnv *env, jthread thread);

/* Of the JVM's structure for the calling thread; 0 when it cannot be had. */
int64_t thread_names_own_address(struct thread_names *names);

/* Visits every Java thread with its JNIEnv; thread_names_of has its name. jni is the
 * calling thread's. */
typedef void thread_names_visit_fn(void *context, JNIEnv *jni, jthread thread, const void *env);
void thread_names_each(struct thread_names *names, thread_names_visit_fn *visit, void *context);
