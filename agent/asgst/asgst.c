#include "agent/asgst/asgst_parts.h"

#include "floor/hotspot/layout.h"
#include "agent/sampling/sigprof.h"
#include "agent/stack/engine.h"
#include "agent/stack/native.h"

#include <stdio.h>

struct asgst asgst;

static bool is_live(jvmtiEnv *jvmti)
{
    jvmtiPhase phase;
    return (*jvmti)->GetPhase(jvmti, &phase) == JVMTI_ERROR_NONE && phase == JVMTI_PHASE_LIVE;
}

static bool prepare(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    JNIEnv *env;
    uintptr_t low, high;
    char unheard[200];
    if (!is_live(jvmti) || (*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK) {
        snprintf(error, error_size, "to be called on a Java thread, in VMInit or later");
        return false;
    }
    if (!engine_vm.setup(vm, jvmti, error, error_size))
        return false;
    if (!jvm_key_find((int64_t)((intptr_t)env - layout.env_offset), &asgst.jvm_key)) {
        snprintf(error, error_size, "where this JVM keeps a thread's own data is not to be found");
        engine_vm.end();
        return false;
    }
    if (layout_code_cache(&low, &high))
        native_set_code_cache(low, high);
    asgst.native = native_setup(unheard, sizeof unheard);
    return true;
}

bool ASGST_Init(JavaVM *vm, char *error, size_t error_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    jvmtiEnv *jvmti = NULL;
    if (error_size > 0)
        error[0] = '\0';
    pthread_mutex_lock(&lock);
    bool good = asgst_is_ready();
    if (!good && (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK)
        snprintf(error, error_size, "this JVM has no JVMTI 1.2, or is not live yet");
    else if (!good && prepare(vm, jvmti, error, error_size)) {
        asgst.vm = vm;
        asgst.jvmti = jvmti;
        /* Release: asgst_is_ready. */
        atomic_store_explicit(&asgst.ready, true, memory_order_release);
        good = true;
    } else if (jvmti != NULL) {
        (*jvmti)->DisposeEnvironment(jvmti);
    }
    pthread_mutex_unlock(&lock);
    return good;
}
