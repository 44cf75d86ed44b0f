/*
 * commands: one command at a time, from the option string to the answer.
 *
 *   commands_setup (once)  ->  commands_run ...  ->  commands_vm_death
 *
 * One lock keeps commands apart. The end of the JVM waits for a command in progress, but not for
 * ever: a JVM that wants to exit does exit. Any Java thread; blocking.
 */
#ifndef AGENT_CONTROL_COMMANDS_H
#define AGENT_CONTROL_COMMANDS_H

#include <jvmti.h>
#include <stdbool.h>

/* What the agent can do in this JVM; NULL: all of it, else why it can do nothing (kept). Calls
 * after the first have no effect. */
void commands_setup(JavaVM *vm, jvmtiEnv *jvmti, const char *broken);
/* True: the asker has the answer in the file of the option `answer`, or it was done as asked.
 * False: it was not, and the asker has no file: the code of the caller is all that can be given. */
bool commands_run(const char *text, JNIEnv *env);
/* Refuses whatever is asked. */
bool commands_refuse(const char *text, const char *sentence);
/* The circuit breaker: stops the profiler from a thread of its own, if it is still that recording
 * when its turn comes. Drain thread; returns at once. False: there can be no such thread. */
bool commands_stop_itself(void);
void commands_vm_death(JNIEnv *env);

#endif
