#include "agent/hotspot/layout_here.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* java.lang.Thread keeps the address of its JavaThread in a field of its own. */
static bool find_thread(struct layout *now, jvmtiEnv *jvmti, JNIEnv *env, char *error,
                        size_t error_size)
{
    jthread thread = NULL;
    uintptr_t java_thread = 0, here = (uintptr_t)&java_thread;
    if ((*jvmti)->GetCurrentThread(jvmti, &thread) == JVMTI_ERROR_NONE && thread != NULL) {
        jclass class = (*env)->FindClass(env, "java/lang/Thread");
        jfieldID field = class != NULL ? (*env)->GetFieldID(env, class, "eetop", "J") : NULL;
        if (field != NULL)
            java_thread = (uintptr_t)(*env)->GetLongField(env, thread, field);
        else
            (*env)->ExceptionClear(env);
        if (class != NULL)
            (*env)->DeleteLocalRef(env, class);
        (*env)->DeleteLocalRef(env, thread);
    }
    if (java_thread != 0) {
        uintptr_t base = *(uintptr_t *)(java_thread + (uintptr_t)now->thread_stack_base);
        uintptr_t size = *(uintptr_t *)(java_thread + (uintptr_t)now->thread_stack_size);
        now->env_offset = (intptr_t)((uintptr_t)env - java_thread);
        if (here < base && base - here < size)
            return true;
    }
    snprintf(error, error_size, "the JVM's own thread is not to be found from this Java thread");
    return false;
}

static bool read_layout(jvmtiEnv *jvmti, JNIEnv *env, char *error, size_t error_size)
{
    struct layout now = {0};
    if (layout.env_offset != 0)
        return true;
    if (!layout_fill(&now, error, error_size) || !find_thread(&now, jvmti, env, error, error_size))
        return false;
    layout = now;
    return true;
}

bool layout_read(jvmtiEnv *jvmti, JNIEnv *env, char *error, size_t error_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool good = read_layout(jvmti, env, error, error_size);
    pthread_mutex_unlock(&lock);
    return good;
}

uintptr_t libjvm_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol != NULL)
        return (uintptr_t)symbol;
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return 0;
    symbol = dlsym(library, name);
    dlclose(library); /* it stays: a JVM does not unload itself */
    return (uintptr_t)symbol;
}
