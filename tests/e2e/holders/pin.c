/* A native library that keeps what it is given: JNI global references. */
#include <jni.h>

JNIEXPORT jlong JNICALL Java_Host_pin(JNIEnv *env, jclass host, jobject object)
{
    (void)host;
    return (jlong)(*env)->NewGlobalRef(env, object);
}

JNIEXPORT void JNICALL Java_Host_unpin(JNIEnv *env, jclass host, jlong reference)
{
    (void)host;
    (*env)->DeleteGlobalRef(env, (jobject)reference);
}
