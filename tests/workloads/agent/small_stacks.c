/*
 * The native half of SmallStacks.java.
 */
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define PAINT 0xa5
#define PAGE  4096

struct small_stack {
    JavaVM *vm;
    jclass class;
    size_t bytes;
    long used; /* -1: refused */
};

static void call(struct small_stack *small)
{
    JNIEnv *env;
    if ((*small->vm)->AttachCurrentThread(small->vm, (void **)&env, NULL) != JNI_OK)
        return;
    jmethodID method = (*env)->GetStaticMethodID(env, small->class, "called", "()V");
    (*env)->CallStaticVoidMethod(env, small->class, method);
    (*small->vm)->DetachCurrentThread(small->vm);
}

/* The stack begins right above the page that nobody may touch. */
static void *on_thread(void *argument)
{
    struct small_stack *small = argument;
    size_t mapped = PAGE + (small->bytes + PAGE - 1) / PAGE * PAGE;
    unsigned char *memory =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    mprotect(memory, PAGE, PROT_NONE);
    unsigned char *low = memory + PAGE;
    memset(low, PAINT, small->bytes);
    stack_t stack = {.ss_sp = low, .ss_size = small->bytes}, none = {.ss_flags = SS_DISABLE};
    if (sigaltstack(&stack, NULL) == 0) {
        call(small);
        sigaltstack(&none, NULL);
        size_t clean = 0;
        while (clean < small->bytes && low[clean] == PAINT)
            clean++;
        small->used = (long)(small->bytes - clean);
    }
    munmap(memory, mapped);
    return NULL;
}

JNIEXPORT jlong JNICALL Java_SmallStacks_runOnStack(JNIEnv *env, jclass self, jclass class,
                                                    jlong bytes)
{
    struct small_stack small = {
        .class = (*env)->NewGlobalRef(env, class), .bytes = (size_t)bytes, .used = -1};
    pthread_t thread;
    (void)self;
    (*env)->GetJavaVM(env, &small.vm);
    if (pthread_create(&thread, NULL, on_thread, &small) == 0)
        pthread_join(thread, NULL);
    (*env)->DeleteGlobalRef(env, small.class);
    return small.used;
}
