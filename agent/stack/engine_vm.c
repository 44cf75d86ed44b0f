#include "agent/stack/engine_vm.h"

#include "agent/hotspot/faults.h"
#include "agent/hotspot/layout.h"
#include "agent/hotspot/safepoints.h"
#include "agent/stack/native.h"

#include <stdio.h>

static bool setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    JNIEnv *env = NULL;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK) {
        snprintf(error, error_size, "not set up on a Java thread");
        return false;
    }
    if (!layout_read(jvmti, env, error, error_size) || !faults_install(error, error_size))
        return false;
    safepoints_find();    /* without: names are compared at each frame */
    native_setup_rules(); /* without: stacks of native code that left no anchor are not found */
    return true;
}

static void use_seen(struct seen_methods *seen)
{
    /* Release: pairs with the handler's acquire, which goes on to read what seen points to. */
    atomic_store_explicit(&engine_vm_seen, seen, memory_order_release);
}

const struct stack_engine engine_vm = {
    .name = "vm",
    .stack_bytes = 4096, /* measured: 2 360 (x86-64, JDK 17 and 25) */
    .setup = setup,
    .end = faults_remove,
    .use_seen = use_seen,
    .walk = engine_vm_walk,
    .walk_here = engine_vm_walk_here,
};
