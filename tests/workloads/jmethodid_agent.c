/*
 * jmethodid_agent: what every JVMTI profiler does and pays for: it asks for the methods of each class
 * that is prepared, so that each method gets a jmethodID. JDK 9 to 25 book those in Internal and do
 * not give them back when the class is unloaded.
 *
 *   -agentpath:.../jmethodid_agent.so
 */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

static void JNICALL class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass class)
{
    jint count;
    jmethodID *methods;
    (void)jni;
    (void)thread;
    if ((*jvmti)->GetClassMethods(jvmti, class, &count, &methods) == JVMTI_ERROR_NONE) {
        (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
    }
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiEnv *jvmti;
    jvmtiEventCallbacks callbacks;
    (void)options;
    (void)reserved;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.ClassPrepare = class_prepared;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, NULL) !=
            JVMTI_ERROR_NONE) {
        fprintf(stderr, "jmethodid_agent: cannot start\n");
        return JNI_ERR;
    }
    return JNI_OK;
}
