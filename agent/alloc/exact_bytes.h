/*
 * exact_bytes: what a thread has allocated since it began, as java.lang.management tells it.
 *
 * From the JVM's management interface (JVM_GetManagement): a table of functions in libjvm that
 * belongs to the JDK's own libmanagement. It grew by version; the function wanted here,
 * GetOneThreadAllocatedMemory, is the tenth of version 3 (JDK 14) and the eleventh of versions 4
 * (JDK 17 or 21) and 5 (JDK 26). The JVM hands out its own version only, and what is found is tried
 * before it is believed. Costs 20 to 220 ns for the calling thread.
 *
 * exact_bytes_setup: setup. The others: Java threads, not in a signal handler.
 */
#ifndef AGENT_ALLOC_EXACT_BYTES_H
#define AGENT_ALLOC_EXACT_BYTES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* False: this JVM cannot be asked; the functions below return -1 then. */
bool exact_bytes_setup(JNIEnv *env);
int64_t exact_bytes_own(JNIEnv *env);
/* java_id: java.lang.Thread's. -1 when there is no such thread (any more). */
int64_t exact_bytes_of(JNIEnv *env, int64_t java_id);

#endif
