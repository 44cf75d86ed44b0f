/*
 * asgst_sampler: a CPU profiler without jmethodIDs, as short as it can be.
 *
 *   gcc -shared -fPIC -O2 -I"$JAVA_HOME/include" -I"$JAVA_HOME/include/linux" -o asgst_sampler.so \
 *       asgst_sampler.c -L/usr/lib/nmtwatch -lnmtagent -Wl,-rpath,/usr/lib/nmtwatch
 *   java -agentpath:./asgst_sampler.so=stacks.txt ...
 *
 * Each Java thread is sampled after 10 ms of its CPU time. Names are asked for in the handler, where each
 * method is on the stack and cannot be unloaded. At the end there is a line for each sample, outermost frame
 * first, as flame graph tools read them: "java/lang/Thread.run;Main.work;[00007f0c...]".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <jvmti.h>
#include <nmtwatch/asgst.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEPTH       128
#define TEXT_BYTES  (64 << 20) /* not touched until it is needed */
#define INTERVAL_NS 10000000

static JavaVM *vm;
static const char *file;
static char text[TEXT_BYTES];
static _Atomic size_t used;
static atomic_long lost;

/* Signal safe: copies text, returns its end. */
static char *put(char *at, char *end, const char *word)
{
    size_t length = strlen(word);
    if (length > (size_t)(end - at))
        length = (size_t)(end - at);
    memcpy(at, word, length);
    return at + length;
}

static char *put_address(char *at, char *end, uintptr_t address)
{
    char digits[2 * sizeof address + 3] = "[";
    for (size_t i = 0; i < 2 * sizeof address; i++)
        digits[1 + i] = "0123456789abcdef"[address >> (8 * sizeof address - 4 - 4 * i) & 15];
    return put(put(at, end, digits), end, "]");
}

static char *put_frame(char *at, char *end, const ASGST_CallFrame *frame)
{
    char name[256], class_name[256];
    ASGST_MethodInfo method = {.method_name = name, .method_name_length = sizeof name};
    ASGST_ClassInfo class = {.class_name = class_name, .class_name_length = sizeof class_name};
    if (frame->type >
        ASGST_FRAME_JAVA_NATIVE) /* its name: afterwards, by dladdr and symbol tables */
        return put_address(at, end, (uintptr_t)frame->non_java_frame.pc);
    ASGST_GetMethodInfo(frame->java_frame.method, &method);
    ASGST_GetClassInfo(method.klass, &class);
    at = put(at, end, class_name);
    at = put(at, end, ".");
    return put(at, end, name);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    ASGST_CallFrame frames[DEPTH];
    ASGST_CallTrace trace = {.frames = frames};
    char line[8192], *at = line, *end = line + sizeof line - 1;
    (void)number, (void)info;
    AsyncGetStackTrace(&trace, DEPTH, ucontext, ASGST_INCLUDE_C_FRAMES | ASGST_WALK_SAME_THREAD);
    if (trace.num_frames <= 0)
        return;
    for (int i = trace.num_frames - 1; i >= 0; i--) {
        at = put_frame(at, end, &frames[i]);
        at = put(at, end, i > 0 ? ";" : "");
    }
    *at++ = '\n';
    size_t length = (size_t)(at - line), begin = atomic_fetch_add(&used, length);
    if (begin + length <= sizeof text)
        memcpy(text + begin, line, length);
    else
        atomic_fetch_add(&lost, 1);
}

static void JNICALL on_thread(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    const struct itimerspec each = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
    timer_t timer;
    (void)jvmti, (void)env, (void)thread;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0)
        timer_settime(timer, 0, &each, NULL);
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    char error[256];
    if (!ASGST_Init(vm, error, sizeof error)) {
        fprintf(stderr, "asgst_sampler: %s\n", error);
        return;
    }
    sigaction(SIGPROF, &action, NULL);
    on_thread(jvmti, env, thread);
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
    FILE *out = fopen(file, "w");
    size_t length = used < sizeof text ? used : sizeof text;
    (void)jvmti, (void)env;
    signal(SIGPROF, SIG_IGN);
    if (out == NULL)
        return;
    fwrite(text, 1, length, out);
    if (lost > 0)
        fprintf(stderr, "asgst_sampler: %ld samples had no room\n", (long)lost);
    fclose(out);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *java, char *options, void *reserved)
{
    static const jvmtiEventCallbacks CALLBACKS = {
        .VMInit = on_init, .VMDeath = on_death, .ThreadStart = on_thread};
    static const jvmtiEvent EVENTS[] = {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH,
                                        JVMTI_EVENT_THREAD_START};
    jvmtiEnv *jvmti;
    (void)reserved;
    vm = java;
    file = strdup(options != NULL && options[0] != '\0' ? options : "stacks.txt");
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK)
        return JNI_ERR;
    (*jvmti)->SetEventCallbacks(jvmti, &CALLBACKS, sizeof CALLBACKS);
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, EVENTS[i], NULL);
    return JNI_OK;
}
