/*
 * jvm_key: may a signal handler ask the JVM whether this thread is one of its own?
 *
 * GetEnv reads a thread-local variable of libjvm.so. In a thread that has never touched one, the C
 * library allocates it at the first read; a handler that interrupted malloc would wait for itself
 * for ever. HotSpot keeps the same pointer under a pthread key too, set after the variable was; and
 * a key is read without allocation. So: no value under the key, no question.
 *
 * The key is found by looking on a Java thread, whose value is known: Java keeps it in
 * java.lang.Thread. Setup context, on a Java thread in the live phase.
 */
#ifndef AGENT_SAMPLING_JVM_KEY_H
#define AGENT_SAMPLING_JVM_KEY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* thread_address: what the calling thread has under the key. False: there is no such key; only
 * threads that told their JNIEnv themselves are known as Java threads then. */
bool jvm_key_find(int64_t thread_address, pthread_key_t *key);

#endif
