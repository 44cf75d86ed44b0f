/*
 * commands: one command at a time, from the option string to the answer.
 *
 *   commands_setup (once)  ->  commands_run ...  ->  commands_vm_death
 *
 * One lock keeps commands apart. The end of the JVM waits for a command in progress, for a bounded
 * time: a JVM that wants to exit does exit. Any Java thread; blocking.
 */
#pragma once

#include <jvmti.h>

/* Once. */
void commands_setup(JavaVM *vm, jvmtiEnv *jvmti);
enum commands_answered {
    COMMANDS_ANSWERED_IN_FILE, /* the asker has the answer in the file of the option `answer` */
    COMMANDS_ANSWERED,         /* it has no file, and it was done as asked */
    COMMANDS_ANSWERED_NOWHERE, /* not done, or the answer is lost: the caller's code says it */
};
enum commands_answered commands_run(const char *text, JNIEnv *env);
/* Refuses whatever is asked. */
enum commands_answered commands_refuse(const char *text, const char *sentence);
void commands_vm_death(JNIEnv *env);
