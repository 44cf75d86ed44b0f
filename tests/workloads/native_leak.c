/*
 * native_leak: a JNI library that allocates and never frees: memory that NMT does not know. From
 * two seconds after it was loaded, 256 KB blocks, touched, 2 MB a second.
 *
 *   java -cp ... workloads.LoadLibrary /path/native_leak.so
 *
 * And what Observed.java asks it for: leaks that Java code calls, and memory that is freed and that malloc keeps.
 */
#include <jni.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *leak(void *unused)
{
    (void)unused;
    sleep(2);
    for (int i = 0; i < 2000; i++) {
        void *block = malloc(256 << 10);
        if (block == NULL) {
            break;
        }
        memset(block, 1, 256 << 10);
        usleep(125000);
    }
    return NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    pthread_t thread;
    (void)vm;
    (void)reserved;
    pthread_create(&thread, NULL, leak, NULL);
    return JNI_VERSION_1_8;
}

static void *volatile leaked; /* a compiler may leave out what nobody sees */

JNIEXPORT void JNICALL Java_Observed_leak(JNIEnv *env, jclass self, jint bytes)
{
    void *block = malloc((size_t)bytes);
    (void)env, (void)self;
    if (block != NULL)
        memset(block, 1, (size_t)bytes);
    leaked = block;
}

/* Every eighth block stays: malloc cannot give back what lies between. */
JNIEXPORT void JNICALL Java_Observed_scatter(JNIEnv *env, jclass self, jint blocks)
{
    void *block[64];
    (void)env, (void)self;
    for (int i = 0; i < blocks && i < 64; i++) {
        block[i] = malloc(8192);
        if (block[i] != NULL)
            memset(block[i], 1, 8192);
    }
    for (int i = 0; i < blocks && i < 64; i++) {
        if (i % 8 != 7)
            free(block[i]);
    }
}
