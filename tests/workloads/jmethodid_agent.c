/*
 * jmethodid_agent: what every JVMTI profiler does and pays for: it asks for the methods of each
 * class that is prepared, so that each method gets a jmethodID. JDK 9 to 25 book those in Internal
 * and do not give them back when the class is unloaded.
 *
 *   -agentpath:.../jmethodid_agent.so[=keep|lines]
 *
 * keep: forgets to give the arrays of methods back; lines: asks for the line table of each method
 * and forgets to give those back, too.
 */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

static int keep;
static int lines;

static void JNICALL class_prepared(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jclass class)
{
    jint count;
    jmethodID *methods;
    (void)jni;
    (void)thread;
    if ((*jvmti)->GetClassMethods(jvmti, class, &count, &methods) == JVMTI_ERROR_NONE) {
        for (jint i = 0; lines && i < count; i++) {
            jint entries;
            jvmtiLineNumberEntry *table;
            (*jvmti)->GetLineNumberTable(jvmti, methods[i], &entries, &table);
        }
        if (!keep) {
            (*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
        }
    }
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    jvmtiEnv *jvmti;
    jvmtiEventCallbacks callbacks;
    (void)reserved;
    keep = options != NULL && strcmp(options, "keep") == 0;
    lines = options != NULL && strcmp(options, "lines") == 0;
    jvmtiCapabilities capabilities;
    memset(&callbacks, 0, sizeof callbacks);
    memset(&capabilities, 0, sizeof capabilities);
    capabilities.can_get_line_numbers = 1;
    callbacks.ClassPrepare = class_prepared;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, NULL) !=
            JVMTI_ERROR_NONE) {
        fprintf(stderr, "jmethodid_agent: cannot start\n");
        return JNI_ERR;
    }
    return JNI_OK;
}
