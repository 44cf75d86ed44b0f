/*
 * jmethod_ids: preallocation, what it costs the JVM, and what the JVM keeps of it.
 *
 * AsyncGetCallTrace meets methods without a jmethodID in 92 to 95 % of its frames unless the ids
 * were requested before: so at ClassPrepare, and once for all loaded classes, GetClassMethods is
 * called and its result given back at once. The ids live in the JVM; this module keeps the bill.
 *
 * The policy decides for which classes ids are requested:
 *
 *   none     of no class
 *   lazy     of classes that are found on the stacks of running threads (lazy_ids.c)
 *   budget   of all classes until the predicted bytes reach the budget; those that come later are
 *            counted. Requested ids count, whether the class is unloaded or not.
 *   all      of all classes
 *
 * Formula, M methods of a class (checked against NMT on 17 and 25;
 * docs/internals/memory-budget.md):
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
 * not strong shares nothing (class_data_is_own): it is the first of a loader. A class without
 * methods costs nothing.
 *
 * Calling context: JVMTI callbacks and drain thread; the counters are atomic.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

struct jmethod_ids;

enum id_policy { IDS_NONE, IDS_LAZY, IDS_BUDGET, IDS_ALL };
const char *id_policy_name(enum id_policy policy);
/* By the text of the option, "budget=64M" too; "": the default of an engine that needs ids or
 * not. */
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
/* Other code has asked for a class's methods: so many. any: one of them. */
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

/*
 * class_data: whether a class has class loader data of its own.
 *
 * What HotSpot keeps for a loader (ClassLoaderData: metaspace, and the blocks in which jmethodIDs
 * lie) it keeps once more for each hidden class that is not strong, and for each anonymous class of
 * JDK 8 to 14: such a class is unloaded alone. JVMTI knows their loader only, and their name does
 * not say: of two hidden classes of the same name the one defined with ClassOption.STRONG lies
 * with its loader. The JVM's own flag does, and is found by its tables (agent/hotspot).
 *
 * Calling context: where the class is kept alive; JVMTI callbacks, drain thread.
 */
/* Setup context. False: this JVM's tables do not say, and no class counts as having its own. From
 * JDK 26 on a jmethodID leads nowhere, so that the answer is the same. */
bool class_data_setup(jvmtiEnv *jvmti, JNIEnv *env);
/* method: any of the class's. */
bool class_data_is_own(jmethodID method);

/*
 * lazy_ids: jmethodIDs only of sampled classes, for engine agct.
 *
 * AsyncGetCallTrace does not say which method it could not name, so the methods on stacks have to
 * be found in another way: when samples had frames without a name since the last turn, the stacks
 * of a few running threads are asked of JVMTI (round robin, each a handshake with that thread;
 * before JDK 17, where it may be a safepoint, one a second). GetStackTrace makes ids of what
 * stands on them; the rest of those classes' methods is asked for with them, so that the next
 * sample with one has its name. Code that runs again is named after a second or two; what runs
 * once is not, nor are methods that are always inlined (no thread can be stopped in them) and
 * virtual threads, which no interface lists. Frames without a name are counted (unnamed_frames).
 *
 * The ids that are known are remembered in a table of fixed size; when it is full no more are asked
 * for. Drain thread.
 */
struct lazy_ids;

/* ids is charged for what is asked, as long as its policy is lazy. NULL when out of memory. */
struct lazy_ids *lazy_ids_create(jvmtiEnv *jvmti, struct jmethod_ids *ids);
/* unnamed_frames: met so far. A few times a second. */
void lazy_ids_turn(struct lazy_ids *lazy, JNIEnv *env, int64_t unnamed_frames);
void lazy_ids_destroy(struct lazy_ids *lazy);
