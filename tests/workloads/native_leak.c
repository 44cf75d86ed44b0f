/*
 * native_leak: a JNI library that allocates and never frees: memory that NMT does not know. From
 * two seconds after it was loaded, 256 KB blocks, touched, 2 MB a second.
 *
 *   java -cp ... workloads.LoadLibrary /path/native_leak.so
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
