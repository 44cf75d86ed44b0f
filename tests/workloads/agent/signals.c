/*
 * The native half of Signals.java.
 */
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static _Atomic long prof_signals, alarm_signals;

/* Our own SIGPROF comes by raise, the profiler's by a timer: an application that has no timer
 * knows which is its own. */
static void on_prof(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_code == SI_TKILL)
        atomic_fetch_add(&prof_signals, 1);
}

static void on_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&alarm_signals, 1);
}

JNIEXPORT void JNICALL Java_Signals_install(JNIEnv *env, jclass self)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    (void)env, (void)self;
    action.sa_sigaction = on_prof;
    sigaction(SIGPROF, &action, NULL);
}

JNIEXPORT void JNICALL Java_Signals_tick(JNIEnv *env, jclass self, jboolean on)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, on ? 500 : 0}, {0, on ? 500 : 0}};
    (void)env, (void)self;
    if (on)
        sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

JNIEXPORT jlong JNICALL Java_Signals_raise(JNIEnv *env, jclass self)
{
    (void)env, (void)self;
    for (int i = 0; i < 100; i++)
        raise(SIGPROF);
    return 100;
}

static long burn(long value, int depth)
{
    unsigned long mixed = (unsigned long)value;
    for (int i = 0; i < 20000; i++)
        mixed = mixed * 6364136223846793005UL + 1442695040888963407UL;
    return depth > 0 ? burn((long)mixed, depth - 1) + 1 : (long)mixed;
}

static void call(JNIEnv *env, jclass class)
{
    jmethodID method = (*env)->GetStaticMethodID(env, class, "called", "()V");
    (*env)->CallStaticVoidMethod(env, class, method);
}

JNIEXPORT jlong JNICALL Java_Signals_burnInC(JNIEnv *env, jclass self, jclass class, jlong value)
{
    (void)self;
    long result = burn(value, 20);
    call(env, class);
    return result;
}

/* Under the allocator's lock most of the time, in a thread that has not met the JVM yet. */
static void allocate(void)
{
    for (int i = 0; i < 30000; i++) {
        void *volatile block = malloc(2000 + (size_t)i % 1000 * 16);
        free(block);
    }
}

struct new_thread {
    JavaVM *vm;
    jclass class;
};

static void *on_new_thread(void *argument)
{
    struct new_thread *new_thread = argument;
    JNIEnv *env;
    allocate(); /* before it is a Java thread, */
    if ((*new_thread->vm)->AttachCurrentThread(new_thread->vm, (void **)&env, NULL) == JNI_OK) {
        call(env, new_thread->class);
        (*new_thread->vm)->DetachCurrentThread(new_thread->vm);
    }
    allocate(); /* and after it was one */
    return NULL;
}

JNIEXPORT void JNICALL Java_Signals_callBackFromNewThread(JNIEnv *env, jclass self, jclass class)
{
    struct new_thread new_thread = {.class = (*env)->NewGlobalRef(env, class)};
    pthread_t thread;
    (void)self;
    (*env)->GetJavaVM(env, &new_thread.vm);
    if (pthread_create(&thread, NULL, on_new_thread, &new_thread) == 0)
        pthread_join(thread, NULL);
    (*env)->DeleteGlobalRef(env, new_thread.class);
}

JNIEXPORT jlong JNICALL Java_Signals_seen(JNIEnv *env, jclass self)
{
    (void)env, (void)self;
    return atomic_load(&prof_signals);
}

/* Of Observed.java: another program in the same process. */
JNIEXPORT void JNICALL Java_Observed_exec(JNIEnv *env, jclass self)
{
    (void)env, (void)self;
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
}
