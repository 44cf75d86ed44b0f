/*
 * jmethod_ids: preallocation, what it costs the JVM, and what the JVM keeps of it.
 *
 * AsyncGetCallTrace meets methods without a jmethodID in 92 to 95 % of its frames unless somebody
 * has asked for the ids before: so at ClassPrepare, and once for all loaded classes,
 * GetClassMethods is called and its result given back at once. The ids live in the JVM; this module
 * keeps the bill.
 *
 * Whose ids are asked for is the policy:
 *
 *   none     of no class
 *   lazy     of classes that are found on the stacks of running threads (lazy_ids.h)
 *   budget   of all classes until the predicted bytes reach the budget; those that come later are
 *            counted. What has been asked for counts, whether the class is unloaded or not.
 *   all      of all classes
 *
 * Formula, M methods of a class (checked against NMT on 17 and 25; docs/internals/memory-budget.md):
 *
 *   JDK 9..25  loaded = 8(M+1) + 8 max(M,8) + 24, + 16 for the first class of its loader
 *              kept after unload = loaded - 8(M+1)
 *   JDK 8      the same bytes, all in category Class
 *   JDK 26..   loaded = 24 M [JNI] + 8(M+1) + 24 + 8 * 32 in a loader of its own [Class]; kept 0
 *              in a loader that has others: 24 M + 8(M+1) + 12 M (a list that doubles)
 *
 * In 8..25 a loader's classes share what is left of its last block of slots: the bill follows that
 * block by block. For that it remembers loaders by identity hash, in a table of fixed size: one
 * that was pushed out counts as new, 16 bytes and a shared block too much. A hidden class that is
 * not strong shares with nobody (class_data.h): it is the first of a loader. A class without
 * methods costs nothing.
 *
 * Calling context: JVMTI callbacks and drain thread; the counters are atomic.
 */
#ifndef AGENT_METHODS_JMETHOD_IDS_H
#define AGENT_METHODS_JMETHOD_IDS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

struct jmethod_ids;

enum id_policy { IDS_NONE, IDS_LAZY, IDS_BUDGET, IDS_ALL };
const char *id_policy_name(enum id_policy policy);
/* By the text of the option, "budget=64M" too; "": the default of an engine that needs ids or not.
 */
enum id_policy id_policy_of(const char *text, bool needs_ids);

/* Policy `all` until another one is set. */
struct jmethod_ids *jmethod_ids_create(jvmtiEnv *jvmti, int jdk_major);
/* Any thread, at any time. */
void jmethod_ids_set_policy(struct jmethod_ids *ids, enum id_policy policy, int64_t budget_bytes);
enum id_policy jmethod_ids_policy(const struct jmethod_ids *ids);
int jmethod_ids_jdk_major(const struct jmethod_ids *ids);
/* ClassPrepare: if the policy says so. */
void jmethod_ids_prepare(struct jmethod_ids *ids, JNIEnv *env, jclass class);
/* Every class that is loaded now, if the policy says so. Returns how many were prepared. With a
 * budget they come in an order that mixes loaders: what fits is a fair sample of all. */
int64_t jmethod_ids_prepare_all(struct jmethod_ids *ids, JNIEnv *env);
/* Somebody else has asked for a class's methods: so many. any: one of them. */
void jmethod_ids_charge(struct jmethod_ids *ids, JNIEnv *env, jclass class, jmethodID any,
                        int64_t methods);
/* ClassUnload extension event, for any class. */
void jmethod_ids_unloaded(struct jmethod_ids *ids);

struct jmethod_ids_bill {
    int64_t classes; /* prepared by us */
    int64_t methods;
    int64_t loaded_bytes; /* predicted, as if all were still loaded */
    int64_t unloaded_classes;
    int64_t kept_after_unload_bytes;  /* predicted, of the unloaded ones (mean class) */
    int64_t kept_if_all_unload_bytes; /* predicted, of all */
    int64_t present_bytes;            /* predicted, now: of the loaded ones, and what is kept */
    int64_t failed;                   /* GetClassMethods refused */
    enum id_policy policy;
    int64_t budget_bytes;    /* 0: none */
    int64_t skipped_classes; /* beyond the budget */
    int64_t predicted_bytes; /* of all classes that were loaded at the start; -1: not known */
    int64_t jvmti_bytes;     /* results of JVMTI not given back at this moment */
};
void jmethod_ids_bill(const struct jmethod_ids *ids, struct jmethod_ids_bill *bill);
/* The formula alone, with a block of its own: for predictions. first_in_loader: its first class. */
int64_t jmethod_ids_class_bytes(int jdk_major, int64_t methods, bool first_in_loader);
int64_t jmethod_ids_kept_bytes(int jdk_major, int64_t methods, bool first_in_loader);
void jmethod_ids_destroy(struct jmethod_ids *ids);

#endif
