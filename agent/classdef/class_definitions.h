/*
 * class_definitions: which code makes classes, by family of names, with bytes and stacks.
 *
 * The answer to "who defines them": at ClassLoad the name is reduced to its family (digits, hex and
 * addresses at its end cut off), counted, and at a bounded rate the stack of the defining thread is
 * taken (walk_here: no jmethodID) and stored with the chunk. The same counters are the churn
 * detector of the circuit breaker.
 *
 * Bounded: families (further ones share the family "[other]") and stacks a second; cheap at 1 000
 * classes a second.
 *
 * Callbacks: any thread. The others: drain thread.
 */
#ifndef AGENT_CLASSDEF_CLASS_DEFINITIONS_H
#define AGENT_CLASSDEF_CLASS_DEFINITIONS_H

#include "agent/control/sampler.h"
#include "agent/jfr/jfr_writer.h"

#include <jvmti.h>
#include <stdio.h>

struct class_definitions;

/* stacks: false: families are counted, no stack is taken (the churn detector alone). */
struct class_definitions *class_definitions_create(jvmtiEnv *jvmti, bool stacks);
/* ClassLoad (the name is known, nothing else may be asked). */
void class_definitions_loaded(struct class_definitions *definitions, struct sampler *stacks,
                              JNIEnv *env, jclass class);
/* The ClassUnload extension event, with the class's name as the JVM passes it. */
void class_definitions_unloaded(struct class_definitions *definitions, const char *name);
void class_definitions_end_chunk(struct class_definitions *definitions, JNIEnv *env,
                                 struct jfr_writer *writer, struct dictionary *classes);
void class_definitions_json(const struct class_definitions *definitions, FILE *out);

struct class_churn {
    int64_t loaded, unloaded; /* since the start */
    char family[128];         /* that which grew most since the last call */
    int64_t family_loaded, family_net;
};
/* For the breaker; drain thread. */
void class_definitions_churn(struct class_definitions *definitions, struct class_churn *churn);
void class_definitions_destroy(struct class_definitions *definitions);

#endif
