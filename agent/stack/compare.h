/*
 * compare: a test build (make build/compare/libnmtagent.so): engine agct walks with both engines in
 * the same handler and counts where they agree. What it found is written at the end to the file
 * that the environment names, NMTAGENT_COMPARE: lines of `name number`, and the first stacks that
 * differ. Not in the agent that is installed.
 */
#ifndef AGENT_STACK_COMPARE_H
#define AGENT_STACK_COMPARE_H

#ifdef NMTAGENT_COMPARE

#include "agent/stack/engine.h"

bool compare_setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size);
int compare_walk(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code);
void compare_end(void);

#endif
#endif
