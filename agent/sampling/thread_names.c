#include "agent/sampling/thread_names.h"

#include <string.h>

/* A UTF-16 unit takes at most three bytes. */
#define NAME_UNITS ((THREAD_NAME_BYTES - 1) / 3)

void thread_names_open(struct thread_names *names, JavaVM *vm, jvmtiEnv *jvmti)
{
    *names = (struct thread_names){.vm = vm, .jvmti = jvmti};
}

static jfieldID field(JNIEnv *env, jclass class, const char *name, const char *type)
{
    jfieldID found = (*env)->GetFieldID(env, class, name, type);
    if (found == NULL)
        (*env)->ExceptionClear(env);
    return found;
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
    names->java_id = field(env, class, "tid", "J");
    names->name = field(env, class, "name", "Ljava/lang/String;");
    names->address = field(env, class, "eetop", "J");
    (*env)->DeleteLocalRef(env, class);
}

static bool name_by_field(struct thread_names *names, JNIEnv *env, jthread thread, char *name)
{
    jstring text = (*env)->GetObjectField(env, thread, names->name);
    if (text == NULL)
        return false;
    jsize units = (*env)->GetStringLength(env, text);
    memset(name, 0, THREAD_NAME_BYTES); /* a JVM need not end it */
    (*env)->GetStringUTFRegion(env, text, 0, units < NAME_UNITS ? units : NAME_UNITS, name);
    (*env)->DeleteLocalRef(env, text);
    return true;
}

static bool name_by_jvmti(struct thread_names *names, JNIEnv *env, jthread thread, char *name)
{
    jvmtiThreadInfo info;
    memset(&info, 0, sizeof info);
    if ((*names->jvmti)->GetThreadInfo(names->jvmti, thread, &info) != JVMTI_ERROR_NONE)
        return false;
    bool good = info.name != NULL;
    if (good) {
        size_t length = strnlen(info.name, THREAD_NAME_BYTES - 1);
        memcpy(name, info.name, length);
        name[length] = '\0';
        (*names->jvmti)->Deallocate(names->jvmti, (unsigned char *)info.name);
    }
    (*env)->DeleteLocalRef(env, info.thread_group);
    (*env)->DeleteLocalRef(env, info.context_class_loader);
    return good;
}

int64_t thread_names_java_id(struct thread_names *names, JNIEnv *env, jthread thread)
{
    find_fields(names, env);
    return names->java_id != NULL && thread != NULL
               ? (*env)->GetLongField(env, thread, names->java_id)
               : 0;
}

bool thread_names_of(struct thread_names *names, JNIEnv *env, jthread thread, char *name,
                     int64_t *java_id)
{
    jthread own = NULL;
    *java_id = 0;
    if (names->jvmti == NULL || env == NULL)
        return false;
    find_fields(names, env);
    if (thread == NULL) {
        (*names->jvmti)->GetCurrentThread(names->jvmti, &own);
        thread = own;
    }
    if (thread == NULL)
        return false;
    bool good = names->name != NULL ? name_by_field(names, env, thread, name)
                                    : name_by_jvmti(names, env, thread, name);
    *java_id = thread_names_java_id(names, env, thread);
    if (own != NULL)
        (*env)->DeleteLocalRef(env, own);
    return good;
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

static void visit_all(struct thread_names *names, JNIEnv *jni, intptr_t distance,
                      thread_names_visit_fn *visit, void *context)
{
    jthread *threads = NULL;
    jint count = 0;
    if ((*names->jvmti)->GetAllThreads(names->jvmti, &count, &threads) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        jlong address = (*jni)->GetLongField(jni, threads[i], names->address);
        if (address != 0)
            visit(context, jni, threads[i], (void *)((intptr_t)address + distance));
        (*jni)->DeleteLocalRef(jni, threads[i]);
    }
    (*names->jvmti)->Deallocate(names->jvmti, (unsigned char *)threads);
}

void thread_names_each(struct thread_names *names, thread_names_visit_fn *visit, void *context)
{
    JNIEnv *jni = NULL;
    if (names->jvmti == NULL ||
        (*names->vm)->GetEnv(names->vm, (void **)&jni, JNI_VERSION_1_6) != JNI_OK)
        return;
    int64_t own = own_address(names, jni);
    /* A frame of its own: references to thousands of threads leave nothing behind. */
    if (own == 0 || (*jni)->PushLocalFrame(jni, 16) != JNI_OK)
        return;
    visit_all(names, jni, (intptr_t)jni - (intptr_t)own, visit, context);
    (*jni)->PopLocalFrame(jni, NULL);
}
