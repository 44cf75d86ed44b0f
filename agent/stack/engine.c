#include "agent/stack/engine.h"

#include "agent/hotspot/faults.h"
#include "floor/hotspot/frame_cache.h"
#include "agent/hotspot/layout_here.h"
#include "agent/hotspot/safepoints.h"
#include "agent/mem/mem.h"
#include "agent/stack/engine_parts.h"
#include "agent/stack/native.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The recording, and whoever uses the walker by asgst.h: what it needs stays as long as one of them does. */
static pthread_mutex_t vm_lock = PTHREAD_MUTEX_INITIALIZER;
static int vm_users;
static void *known_frames; /* frame_cache's memory, for good; NULL: none, which costs time alone */

static bool vm_setup_locked(JNIEnv *env, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    if (!layout_read(jvmti, env, error, error_size) || !faults_install(error, error_size))
        return false;
    safepoints_find();    /* without: names are compared at each frame */
    native_setup_rules(); /* without: stacks of native code that left no anchor are not found */
    if (vm_users++ == 0) {
        if (known_frames == NULL)
            known_frames = mem_map(COMPONENT_SEEN_METHODS, FRAME_CACHE_BYTES);
        frame_cache_use(known_frames);
    }
    return true;
}

static bool vm_setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    JNIEnv *env = NULL;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK) {
        snprintf(error, error_size, "not set up on a Java thread");
        return false;
    }
    pthread_mutex_lock(&vm_lock);
    bool good = vm_setup_locked(env, jvmti, error, error_size);
    pthread_mutex_unlock(&vm_lock);
    return good;
}

static void vm_end(void)
{
    pthread_mutex_lock(&vm_lock);
    if (--vm_users == 0) {
        /* A handler of an asgst.h user may still be walking: it finds nothing, and no hole. */
        frame_cache_use(NULL);
        if (known_frames != NULL)
            madvise(known_frames, FRAME_CACHE_BYTES, MADV_DONTNEED);
        faults_remove();
    }
    pthread_mutex_unlock(&vm_lock);
}

static void use_seen(struct seen_methods *seen)
{
    /* Release: pairs with the handler's acquire, which goes on to read what seen points to. */
    atomic_store_explicit(&engine_vm_seen, seen, memory_order_release);
}

const struct stack_engine engine_vm = {
    .name = "vm",
    .stack_bytes = 4096, /* measured: 2 360 (x86-64, JDK 17 and 25) */
    .setup = vm_setup,
    .end = vm_end,
    .use_seen = use_seen,
    .walk = engine_vm_walk,
    .state = engine_vm_state,
    .walk_here = engine_vm_walk_here,
};

static bool agct_setup(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size)
{
    (void)vm, (void)jvmti;
    uintptr_t function = libjvm_symbol("AsyncGetCallTrace");
    if (function == 0) {
        snprintf(error, error_size, "this JVM has no AsyncGetCallTrace");
        return false;
    }
    agct_function = (agct_fn *)function;
    atomic_store(&agct_unnamed_frames, 0);
    return true;
}

const struct stack_engine engine_agct = {
    .name = "agct",
    .stack_bytes = 8192, /* measured: 6 008 (JDK 17), 6 344 (25), most of it HotSpot's */
    .needs_method_ids = true,
    .unnamed_frames = &agct_unnamed_frames,
    .setup = agct_setup,
    .walk = agct_walk,
};

const struct stack_engine *engine_choose(const char *wanted, JavaVM *vm, jvmtiEnv *jvmti,
                                         char *fallback, size_t fallback_size, char *error,
                                         size_t error_size)
{
    static const struct stack_engine *const ENGINES[] = {&engine_vm, &engine_agct};
    bool any = strcmp(wanted, "auto") == 0;
    fallback[0] = '\0';
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++) {
        const struct stack_engine *engine = ENGINES[i];
        char why[200];
        if (!any && strcmp(wanted, engine->name) != 0)
            continue;
        if (engine->setup(vm, jvmti, why, sizeof why))
            return engine;
        snprintf(error, error_size, "engine=%s: %s", engine->name, why);
        if (fallback[0] == '\0') /* of the better one */
            snprintf(fallback, fallback_size, "engine %s: %s", engine->name, why);
    }
    return NULL;
}
