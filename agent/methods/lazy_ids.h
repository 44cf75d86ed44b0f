/*
 * lazy_ids: jmethodIDs only of classes that are met, for engine agct.
 *
 * AsyncGetCallTrace does not say which method it could not name, so who is met has to be found out
 * from outside: when samples had frames without a name since the last turn, the stacks of a few
 * running threads are asked of JVMTI (round robin, each a handshake with that thread; before JDK
 * 17, where it may be a safepoint, one a second). GetStackTrace makes ids of what stands on them;
 * the rest of those classes' methods is asked for with them, so that the next sample that meets one
 * has its name. Code that runs again is named after a second or two; what runs once is not, nor
 * are methods that are always inlined (no thread can be stopped in them) and virtual threads, which
 * nobody lists. Frames without a name are counted (unnamed_frames).
 *
 * The ids that are known are remembered in a table of fixed size; when it is full no more are asked
 * for. Drain thread.
 */
#ifndef AGENT_METHODS_LAZY_IDS_H
#define AGENT_METHODS_LAZY_IDS_H

#include "agent/methods/jmethod_ids.h"

struct lazy_ids;

/* ids is charged for what is asked, as long as its policy is lazy. NULL when out of memory. */
struct lazy_ids *lazy_ids_create(jvmtiEnv *jvmti, struct jmethod_ids *ids);
/* unnamed_frames: met so far. A few times a second. */
void lazy_ids_turn(struct lazy_ids *lazy, JNIEnv *env, int64_t unnamed_frames);
/* Stacks that were asked for. */
int64_t lazy_ids_stacks(const struct lazy_ids *lazy);
void lazy_ids_destroy(struct lazy_ids *lazy);

#endif
