/*
 * class_data: whether a class has class loader data of its own.
 *
 * What HotSpot keeps for a loader (ClassLoaderData: metaspace, and the blocks in which jmethodIDs
 * lie) it keeps once more for each hidden class that is not strong, and for each anonymous class of
 * JDK 8 to 14: such a class is unloaded alone. JVMTI knows their loader only, and their name does
 * not tell: of two hidden classes of the same name the one defined with ClassOption.STRONG lies
 * with its loader. The JVM's own flag does, and is found by its tables (agent/hotspot).
 *
 * Calling context: where the class is kept alive; JVMTI callbacks, drain thread.
 */
#ifndef AGENT_METHODS_CLASS_DATA_H
#define AGENT_METHODS_CLASS_DATA_H

#include <jvmti.h>
#include <stdbool.h>

/* Setup context. False: this JVM's tables do not say, and no class counts as having its own. From
 * JDK 26 on a jmethodID leads nowhere, so that the answer is the same. */
bool class_data_setup(jvmtiEnv *jvmti, JNIEnv *env);
/* method: any of the class's. */
bool class_data_is_own(jmethodID method);

#endif
