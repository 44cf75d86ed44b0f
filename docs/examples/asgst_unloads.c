/*
 * asgst_unloads: prints which classes are unloaded or redefined, and how many methods each had. To be built
 * as asgst_sampler.c.
 *
 * The class of an unloaded one cannot be asked for its name any more, so names are kept here by the class's
 * address, as a profiler keeps those of methods; the handler takes out what is gone.
 */
#include <jvmti.h>
#include <nmtwatch/asgst.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known {
    struct known *next;
    ASGST_Class class;
    char name[256];
};

static JavaVM *vm;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *classes[4096];

static struct known **find(ASGST_Class class)
{
    struct known **at = &classes[(uintptr_t) class / 64 % 4096];
    while (*at != NULL && (*at)->class != class)
        at = &(*at)->next;
    return at;
}

static void on_gone(ASGST_Class class, ASGST_Method *methods, int count, bool redefined,
                    void *argument)
{
    (void)methods, (void)argument;
    pthread_mutex_lock(&lock);
    struct known **at = find(class), *known = *at;
    fprintf(stderr, "%s: %s, %d methods\n", redefined ? "redefined" : "unloaded",
            known != NULL ? known->name : "a class from before", count);
    if (known != NULL && !redefined) {
        *at = known->next;
        free(known);
    }
    pthread_mutex_unlock(&lock);
}

static void JNICALL on_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass mirror)
{
    ASGST_Class class = ASGST_JClassToClass(mirror);
    struct known *known = class != NULL ? calloc(1, sizeof *known) : NULL;
    ASGST_ClassInfo info = {0};
    (void)jvmti, (void)env, (void)thread;
    if (known == NULL)
        return;
    known->class = class;
    info.class_name = known->name;
    info.class_name_length = sizeof known->name;
    ASGST_GetClassInfo(class, &info);
    pthread_mutex_lock(&lock);
    struct known **at = find(class);
    if (*at == NULL)
        *at = known;
    else
        free(known);
    pthread_mutex_unlock(&lock);
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    char error[256] = "no handler";
    (void)env, (void)thread;
    if (!ASGST_Init(vm, error, sizeof error) || !ASGST_RegisterClassUnloadHandler(on_gone, NULL))
        fprintf(stderr, "asgst_unloads: %s\n", error);
    else /* after the handler: its own look at a class comes first */
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *java, char *options, void *reserved)
{
    static const jvmtiEventCallbacks CALLBACKS = {.VMInit = on_init, .ClassPrepare = on_prepare};
    jvmtiEnv *jvmti;
    (void)options, (void)reserved;
    vm = java;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK)
        return JNI_ERR;
    (*jvmti)->SetEventCallbacks(jvmti, &CALLBACKS, sizeof CALLBACKS);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
    return JNI_OK;
}
