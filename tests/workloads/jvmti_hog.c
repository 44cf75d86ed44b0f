/*
 * jvmti_hog: an agent that makes NMT's Internal grow and does nothing else: JVMTI Allocate in steps
 * of one megabyte. The memory is never touched, so it costs address space and no RAM.
 *
 *   -agentpath:.../jvmti_hog.so=MB_PER_S=100,TOTAL_MB=600,DELAY_S=15
 */
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jvmtiEnv *jvmti;
static long mb_per_s = 10;
static long total_mb = 100;
static long delay_s = 0;

static void *hog(void *unused)
{
    (void)unused;
    sleep((unsigned)delay_s);
    for (long mb = 0; mb < total_mb; mb++) {
        unsigned char *memory;
        if ((*jvmti)->Allocate(jvmti, 1 << 20, &memory) != JVMTI_ERROR_NONE) {
            break;
        }
        usleep((useconds_t)(1000000 / mb_per_s));
    }
    return NULL;
}

static void option(const char *options, const char *key, long *value)
{
    const char *at = options != NULL ? strstr(options, key) : NULL;
    if (at != NULL) {
        *value = strtol(at + strlen(key), NULL, 10);
    }
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    pthread_t thread;
    (void)reserved;
    option(options, "MB_PER_S=", &mb_per_s);
    option(options, "TOTAL_MB=", &total_mb);
    option(options, "DELAY_S=", &delay_s);
    if (mb_per_s <= 0 || (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
        pthread_create(&thread, NULL, hog, NULL) != 0) {
        fprintf(stderr, "jvmti_hog: cannot start\n");
        return JNI_ERR;
    }
    pthread_detach(thread);
    return JNI_OK;
}
