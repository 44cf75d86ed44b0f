/*
 * class_definitions: which code makes classes: by family of names, with bytes and stacks.
 *
 * The answer to "who defines them". At ClassLoad the name is reduced to its family (class_family)
 * and counted in a bounded table (family_table.h), with the bytes of its metadata where they can be
 * read (class_size below). The first class of a family, and then one each STACK_EVERY_MS at most, gives
 * the stack of the thread that defined it: an event nmtagent.ClassDefinition, which stands for all
 * classes of the family that were loaded since the one before. At the end of a chunk each family
 * that has changed is reported as nmtagent.ClassFamily.
 *
 * Every class is counted; stacks are bounded, too, over all families (STACKS_PER_S), so that a
 * thousand classes a second cost two hundred walks a second at most. A definition without a free buffer is
 * counted as a lost stack. The same counters are the churn detector of the circuit breaker.
 *
 * The lock is held for the counting alone, never over a call into the JVM: the unload event of JDK
 * 8 and 11 comes at a safepoint.
 *
 * Callbacks: any thread. The others: drain thread, or commands while it waits.
 */
#pragma once

#include "agent/classdef/family_table.h"
#include "agent/sampling/sampler.h"
#include "agent/jfr/jfr_writer.h"
#include "agent/json/json.h"

#include <jni.h>
#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#define CLASS_STACK_EVERY_MS 100
#define CLASS_STACKS_PER_S   200

struct class_definitions;

/* stacks: false: families are counted, no stack is taken (the churn detector alone). sizes: guarded
 * loads work in this process. NULL: out of memory. */
struct class_definitions *class_definitions_create(jvmtiEnv *jvmti, bool stacks, bool sizes);
/* From now on families are counted alone. Any thread. */
void class_definitions_no_stacks(struct class_definitions *definitions);
/* ClassLoad (the name is known, nothing else may be asked). stacks: where the stack goes. */
void class_definitions_loaded(struct class_definitions *definitions, struct sampler *stacks,
                              JNIEnv *env, jclass class);
/* The ClassUnload extension event, with the class's name as the JVM passes it; NULL: it does not
 * pass it (JDK 11 and before), the class is one of "[other]" then. */
void class_definitions_unloaded(struct class_definitions *definitions, const char *name);
void class_definitions_end_chunk(struct class_definitions *definitions, struct jfr_writer *writer);
/* A JSON object: the sums and the families that loaded most (docs/json.md). */
void class_definitions_json(struct class_definitions *definitions, struct json *json,
                            const char *name);

struct class_churn {
    int64_t loaded, unloaded; /* since the start */
    /* that which gained most classes since the last call; "": none */
    char family[CLASS_FAMILY_MAX];
    int64_t family_loaded, family_net; /* since the last call */
};
/* For the breaker; drain thread. */
void class_definitions_churn(struct class_definitions *definitions, struct class_churn *churn);
void class_definitions_destroy(struct class_definitions *definitions);

/* HotSpot's own event of a class that was unloaded, from now on; without it what stays after unloading is
 * not counted. True: called with (jvmtiEnv *, JNIEnv *, const char *name) on a Java thread of the JVM, soon
 * after; else with other things, at a safepoint. Setup context. */
bool class_unload_listen(jvmtiEnv *jvmti, jvmtiExtensionEvent callback);

/* The Klass * of a class by a local reference; 0: not known, now. Any thread; after layout_read. */
uintptr_t class_klass(jclass class, const char *signature);
