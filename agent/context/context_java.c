/*
 * The native methods of nmtagent.Context (agent/context/java). HotSpot looks for native methods in
 * the libraries of agents too, for every class loader: so they are exported by their JNI names and
 * nothing has to be registered, whichever loader has the class and whenever the agent came.
 */
#include "agent/context/nmtagent_context.h"

#include <jni.h>
#include <string.h>

/* JNI's names do not follow our prototypes. */
#define NATIVE(type, name) JNIEXPORT type JNICALL Java_nmtagent_Context_##name

NATIVE(jboolean, present0)(JNIEnv *env, jclass class);
NATIVE(jint, tag0)(JNIEnv *env, jclass class, jstring name);
NATIVE(jint, value0)(JNIEnv *env, jclass class, jstring text);
NATIVE(void, set0)(JNIEnv *env, jclass class, jlong span_id, jlong root_span_id);
NATIVE(void, setTag0)(JNIEnv *env, jclass class, jint tag, jint value);
NATIVE(void, clear0)(JNIEnv *env, jclass class);

NATIVE(jboolean, present0)(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return JNI_TRUE;
}

NATIVE(jint, tag0)(JNIEnv *env, jclass class, jstring name)
{
    (void)class;
    const char *text = name != NULL ? (*env)->GetStringUTFChars(env, name, NULL) : NULL;
    if (text == NULL)
        return -1;
    jint tag = nmtagent_context_tag(text);
    (*env)->ReleaseStringUTFChars(env, name, text);
    return tag;
}

NATIVE(jint, value0)(JNIEnv *env, jclass class, jstring value)
{
    (void)class;
    const char *text = value != NULL ? (*env)->GetStringUTFChars(env, value, NULL) : NULL;
    if (text == NULL)
        return 0;
    jint number = (jint)nmtagent_context_value(text);
    (*env)->ReleaseStringUTFChars(env, value, text);
    return number;
}

NATIVE(void, set0)(JNIEnv *env, jclass class, jlong span_id, jlong root_span_id)
{
    (void)env, (void)class;
    nmtagent_context_set((uint64_t)span_id, (uint64_t)root_span_id);
}

NATIVE(void, setTag0)(JNIEnv *env, jclass class, jint tag, jint value)
{
    (void)env, (void)class;
    nmtagent_context_set_tag(tag, (uint32_t)value);
}

NATIVE(void, clear0)(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    nmtagent_context_clear();
}
