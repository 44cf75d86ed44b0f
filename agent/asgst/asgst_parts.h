/*
 * asgst_parts: what the setup (asgst.c), the signal part (asgst_signal.c) and the watch over classes
 * (asgst_classes.c) share. Internal to agent/asgst.
 */
#pragma once

#include "agent/asgst/asgst.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>

/* Written once, before ready. */
struct asgst {
    _Atomic bool ready;
    JavaVM *vm;
    jvmtiEnv *jvmti;       /* its own: an agent's recording may come and go */
    pthread_key_t jvm_key; /* sampling/sigprof.h */
    bool native;           /* callers of native frames are found */
};
extern struct asgst asgst;

/* Acquire; partner: the release in ASGST_Init. Forbidden: ready is seen, and not what it is about. */
static inline bool asgst_is_ready(void)
{
    return atomic_load_explicit(&asgst.ready, memory_order_acquire);
}
