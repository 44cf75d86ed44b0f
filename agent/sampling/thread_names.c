#include "agent/sampling/thread_names.h"

#include "agent/mem/mem.h"

#include <string.h>

bool thread_names_open(struct thread_names *names, JavaVM *vm)
{
    *names = (struct thread_names){.vm = vm};
    return vm != NULL && (*vm)->GetEnv(vm, (void **)&names->jvmti, JVMTI_VERSION_1_1) == JNI_OK;
}

void thread_names_close(struct thread_names *names)
{
    if (names->jvmti != NULL)
        (*names->jvmti)->DisposeEnvironment(names->jvmti);
    names->jvmti = NULL;
}

static jfieldID long_field(JNIEnv *env, jclass class, const char *name)
{
    jfieldID field = (*env)->GetFieldID(env, class, name, "J");
    if (field == NULL)
        (*env)->ExceptionClear(env);
    return field;
}

/* Two threads that come here at once find the same. */
static void find_fields(struct thread_names *names, JNIEnv *env)
{
    if (names->address != NULL || (*env)->ExceptionCheck(env))
        return;
    jclass class = (*env)->FindClass(env, "java/lang/Thread");
    if (class == NULL) {
        (*env)->ExceptionClear(env);
        return;
    }
    names->java_id = long_field(env, class, "tid");
    names->address = long_field(env, class, "eetop");
    (*env)->DeleteLocalRef(env, class);
}

static char *name_of(struct thread_names *names, JNIEnv *env, jthread thread)
{
    jvmtiThreadInfo info;
    memset(&info, 0, sizeof info);
    if ((*names->jvmti)->GetThreadInfo(names->jvmti, thread, &info) != JVMTI_ERROR_NONE)
        return NULL;
    char *copy = NULL;
    if (info.name != NULL) {
        copy = mem_copy_text(COMPONENT_THREADS, info.name, strlen(info.name));
        (*names->jvmti)->Deallocate(names->jvmti, (unsigned char *)info.name);
    }
    (*env)->DeleteLocalRef(env, info.thread_group);
    (*env)->DeleteLocalRef(env, info.context_class_loader);
    return copy;
}

void thread_names_of(struct thread_names *names, JNIEnv *env, jthread thread, char **name,
                     int64_t *java_id)
{
    jthread own = NULL;
    *name = NULL;
    *java_id = 0;
    if (names->jvmti == NULL || env == NULL)
        return;
    find_fields(names, env);
    if (thread == NULL) {
        (*names->jvmti)->GetCurrentThread(names->jvmti, &own);
        thread = own;
    }
    if (thread == NULL)
        return;
    *name = name_of(names, env, thread);
    if (names->java_id != NULL)
        *java_id = (*env)->GetLongField(env, thread, names->java_id);
    if (own != NULL)
        (*env)->DeleteLocalRef(env, own);
}

static int64_t own_address(struct thread_names *names, JNIEnv *env)
{
    jthread own = NULL;
    find_fields(names, env);
    if (names->address == NULL ||
        (*names->jvmti)->GetCurrentThread(names->jvmti, &own) != JVMTI_ERROR_NONE || own == NULL)
        return 0;
    int64_t address = (*env)->GetLongField(env, own, names->address);
    (*env)->DeleteLocalRef(env, own);
    return address;
}

int64_t thread_names_own_address(struct thread_names *names)
{
    JNIEnv *env = NULL;
    if (names->jvmti == NULL ||
        (*names->vm)->GetEnv(names->vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return 0;
    return own_address(names, env);
}

void thread_names_each(struct thread_names *names, thread_names_visit_fn *visit, void *context)
{
    JNIEnv *env = NULL;
    jthread *threads = NULL;
    jint count = 0;
    if (names->jvmti == NULL ||
        (*names->vm)->GetEnv(names->vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return;
    int64_t own = own_address(names, env);
    if (own == 0)
        return;
    intptr_t distance = (intptr_t)env - (intptr_t)own;
    if ((*names->jvmti)->GetAllThreads(names->jvmti, &count, &threads) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        jlong address = (*env)->GetLongField(env, threads[i], names->address);
        char *name = NULL;
        int64_t java_id = 0;
        if (address != 0) {
            thread_names_of(names, env, threads[i], &name, &java_id);
            visit(context, (void *)((intptr_t)address + distance), &name, java_id);
            mem_free(name);
        }
        (*env)->DeleteLocalRef(env, threads[i]);
    }
    (*names->jvmti)->Deallocate(names->jvmti, (unsigned char *)threads);
}
