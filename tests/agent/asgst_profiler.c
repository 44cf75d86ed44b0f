/*
 * A small profiler, for the test of <nmtwatch/asgst.h>: built against what `make install` installs.
 *
 * -agentpath:PROFILER=SIGNAL,FILE[,compare]   samples each Java thread once a millisecond of its CPU time,
 * keeps what it learns by ASGST_Method, and writes "name value" lines to FILE when the JVM ends. compare:
 * walks by AsyncGetCallTrace in the same handler, which needs jmethodIDs.
 */
#define _GNU_SOURCE
#include <jvmti.h>
#include <nmtwatch/asgst.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define DEPTH      64
#define NAMES      65536
#define IDNUMS     4096
#define ANY_THREAD (ASGST_INCLUDE_C_FRAMES | ASGST_INCLUDE_NON_JAVA_THREADS)

typedef struct {
    jint bci;
    jmethodID id;
} agct_frame;
typedef struct {
    JNIEnv *env;
    jint count;
    agct_frame *frames;
} agct_trace;

/* clang-format off */
#define COUNTERS(X)                                                                                \
    X(samples) X(failed) X(java) X(inlined) X(native) X(stub) X(cpp)                               \
    X(level0) X(level1) X(level2) X(level3) X(level4) X(unnamed)                                   \
    X(iterator_differs) X(same) X(differs) X(agct_failed) X(stale) X(idnum_kept)                   \
    X(idnum_changed) X(unloaded) X(unloaded_methods) X(unloaded_twice) X(redefined)                \
    X(redefined_methods) X(first_line) X(last_line) X(lines) X(states)                             \
    X(kind_of_pthread) X(frames_of_pthread) X(refused_pthread) X(here)                             \
    X(runnable_refused) X(running)
/* clang-format on */
#define ENUM(name) COUNT_##name,
#define TEXT(name) #name,
enum { COUNTERS(ENUM) COUNTER_COUNT };
static const char *const names[] = {COUNTERS(TEXT)};
static atomic_long counts[COUNTER_COUNT];
#define ADD(name, by) atomic_fetch_add(&counts[COUNT_##name], (by))

static JavaVM *vm;
static int signal_number;
static char file[4096], generic_method[256], generic_class[256];
static jboolean compare;
static void (*agct)(agct_trace *, jint, void *);

/* What a profiler keeps: the name of a method by its address, until it is told that it is gone. */
static struct {
    _Atomic(ASGST_Method) method;
    atomic_uint name;
} known[NAMES];
/* And for a user of idnums. */
static struct {
    atomic_llong class_idnum;
    atomic_int idnum;
    atomic_uint name;
    _Atomic(ASGST_Method) method;
} by_idnum[IDNUMS];

static unsigned hash(const char *text, unsigned start)
{
    for (; *text != '\0'; text++)
        start = (start ^ (unsigned char)*text) * 16777619u;
    return start;
}

static void check_names(ASGST_Method method, const ASGST_MethodInfo *info, unsigned name)
{
    unsigned at = (unsigned)((uintptr_t)method >> 3) * 2654435761u >> 16;
    if (atomic_load(&known[at].method) == method && atomic_load(&known[at].name) != name)
        ADD(stale, 1);
    atomic_store(&known[at].name, name);
    atomic_store(&known[at].method, method);
    if (info->idnum < 0)
        return;
    at = (unsigned)(info->class_idnum / 8 * 31 + info->idnum) % IDNUMS;
    if (atomic_load(&by_idnum[at].class_idnum) == info->class_idnum &&
        atomic_load(&by_idnum[at].idnum) == info->idnum) {
        if (atomic_load(&by_idnum[at].name) != name)
            ADD(idnum_changed, 1);
        else if (atomic_load(&by_idnum[at].method) != method)
            ADD(idnum_kept, 1);
    }
    atomic_store(&by_idnum[at].name, name);
    atomic_store(&by_idnum[at].idnum, info->idnum);
    atomic_store(&by_idnum[at].class_idnum, info->class_idnum);
    atomic_store(&by_idnum[at].method, method);
}

static void see_java(const ASGST_JavaFrame *frame)
{
    char name[128], signature[256], generic[256], class_name[256], class_generic[256];
    ASGST_MethodInfo info = {NULL,    name,           sizeof name, signature, sizeof signature,
                             generic, sizeof generic, 0,           0,         0};
    ASGST_ClassInfo class = {class_name, sizeof class_name, class_generic, sizeof class_generic, 0,
                             0};
    ASGST_GetMethodInfo(frame->method, &info);
    ASGST_GetClassInfo(info.klass, &class);
    if (info.klass == NULL || name[0] == '\0' || signature[0] != '(' || class_name[0] == '\0' ||
        class.idnum != info.class_idnum || ASGST_GetClass(frame->method) != info.klass ||
        ASGST_GetMethodIdNum(frame->method) != info.idnum) {
        ADD(unnamed, 1);
        return;
    }
    check_names(frame->method, &info, hash(signature, hash(name, hash(class_name, 2166136261u))));
    if (strcmp(class_name, "AsgstLoad") == 0 && strcmp(name, "spin") == 0) {
        long line = ASGST_GetMethodLineNumber(frame->method, frame->bci);
        ASGST_MethodLineNumberEntry entries[64];
        if (counts[COUNT_first_line] == 0 || line < counts[COUNT_first_line])
            counts[COUNT_first_line] = line;
        if (line > counts[COUNT_last_line])
            counts[COUNT_last_line] = line;
        counts[COUNT_lines] = ASGST_GetMethodLineNumberTable(frame->method, entries, 64);
        if (generic_method[0] == '\0') {
            memcpy(generic_class, class_generic, sizeof class_generic);
            memcpy(generic_method, generic, sizeof generic);
        }
    }
}

static void see(const ASGST_CallFrame *frame)
{
    static const int TYPES[] = {0, COUNT_java, COUNT_inlined, COUNT_native, COUNT_stub, COUNT_cpp};
    ADD(samples, 0);
    atomic_fetch_add(&counts[TYPES[frame->type]], 1);
    if (frame->type > ASGST_FRAME_JAVA_NATIVE)
        return;
    if (frame->java_frame.comp_level >= 0 && frame->java_frame.comp_level <= 4)
        atomic_fetch_add(&counts[COUNT_level0 + frame->java_frame.comp_level], 1);
    see_java(&frame->java_frame);
}

static void count_frames(ASGST_Iterator *iterator, void *argument)
{
    ASGST_Frame frame;
    for (int pass = 0; pass < 2; pass++, ASGST_RewindIterator(iterator)) {
        *(int *)argument = 0;
        while (ASGST_NextFrame(iterator, &frame) == 1)
            ++*(int *)argument;
    }
}

static void compare_with_agct(const ASGST_CallTrace *trace, void *ucontext)
{
    agct_frame frames[DEPTH];
    agct_trace other = {NULL, 0, frames};
    if ((*vm)->GetEnv(vm, (void **)&other.env, JNI_VERSION_1_6) != JNI_OK)
        return;
    agct(&other, DEPTH, ucontext);
    if (other.count <= 0 || trace->num_frames <= 0) {
        if (other.count <= 0)
            ADD(agct_failed, 1);
        return;
    }
    jboolean same = other.count == trace->num_frames;
    for (int i = 0; same && i < other.count; i++) {
        ASGST_Method method = trace->frames[i].java_frame.method;
        same = ASGST_JMethodIDToMethod(frames[i].id) == method &&
               ASGST_MethodToJMethodID(method) == frames[i].id;
    }
    if (same)
        ADD(same, 1);
    else
        ADD(differs, 1);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    ASGST_CallFrame frames[DEPTH];
    ASGST_CallTrace trace = {0, 0, 0, frames, NULL};
    int count = 0;
    (void)number, (void)info;
    AsyncGetStackTrace(&trace, DEPTH, ucontext, ASGST_WALK_SAME_THREAD);
    ADD(samples, 1);
    if (trace.num_frames < 0)
        ADD(failed, 1);
    for (int i = 0; i < trace.num_frames; i++)
        see(&frames[i]);
    atomic_fetch_or(&counts[COUNT_states], trace.state);
    if (trace.state & JVMTI_THREAD_STATE_RUNNABLE)
        ADD(running, 1);
    if (trace.num_frames > 0 && trace.num_frames < DEPTH) {
        ASGST_RunWithIterator(ucontext, 0, count_frames, &count);
        if (count != trace.num_frames)
            ADD(iterator_differs, 1);
    }
    if (compare && trace.kind == ASGST_JAVA_TRACE)
        compare_with_agct(&trace, ucontext);
    trace = (ASGST_CallTrace){0, 0, JVMTI_THREAD_STATE_SUSPENDED, frames, NULL};
    AsyncGetStackTrace(&trace, DEPTH, ucontext, ASGST_INCLUDE_C_FRAMES);
    if (trace.num_frames == ASGST_WRONG_STATE)
        ADD(runnable_refused, 1);
    trace = (ASGST_CallTrace){0, ASGST_JAVA_TRACE, 0, frames, NULL};
    AsyncGetStackTrace(&trace, DEPTH, ucontext, ASGST_INCLUDE_C_FRAMES);
    for (int i = 0; i < trace.num_frames && frames[i].type > ASGST_FRAME_JAVA_NATIVE; i++)
        see(&frames[i]);
}

/* --- what goes ---------------------------------------------------------------------------------- */

static void on_gone(ASGST_Class klass, ASGST_Method *methods, int count, bool redefined, void *arg)
{
    if (arg != NULL) { /* the second user */
        if (!redefined)
            ADD(unloaded_twice, 1);
        return;
    }
    if (redefined)
        ADD(redefined, 1);
    else
        ADD(unloaded, 1);
    atomic_fetch_add(&counts[redefined ? COUNT_redefined_methods : COUNT_unloaded_methods], count);
    for (int i = 0; i < count; i++) {
        unsigned at = (unsigned)((uintptr_t)methods[i] >> 3) * 2654435761u >> 16;
        if (!redefined && atomic_load(&known[at].method) == methods[i])
            atomic_store(&known[at].method, NULL);
    }
    for (int i = 0; i < IDNUMS && !redefined; i++)
        if (atomic_load(&by_idnum[i].class_idnum) == (long long)(uintptr_t)klass)
            atomic_store(&by_idnum[i].class_idnum, 0);
}

/* --- the agent ---------------------------------------------------------------------------------- */

static void start_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number};
    struct itimerspec each = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0)
        timer_settime(timer, 0, &each, NULL);
}

static void *walk_pthread(void *unused)
{
    ASGST_CallFrame frames[DEPTH];
    ASGST_CallTrace trace = {0, 0, 0, frames, NULL};
    ucontext_t here;
    getcontext(&here);
    AsyncGetStackTrace(&trace, DEPTH, &here, ANY_THREAD);
    counts[COUNT_kind_of_pthread] = trace.kind;
    counts[COUNT_frames_of_pthread] = trace.num_frames;
    trace.kind = 0;
    AsyncGetStackTrace(&trace, DEPTH, &here, 0);
    counts[COUNT_refused_pthread] = trace.num_frames;
    return unused;
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    char error[256];
    pthread_t other;
    (void)jvmti, (void)env, (void)thread;
    if (!ASGST_Init(vm, error, sizeof error) || !ASGST_Init(vm, error, sizeof error) ||
        !ASGST_RegisterClassUnloadHandler(on_gone, NULL) ||
        !ASGST_RegisterClassUnloadHandler(on_gone, &vm)) {
        fprintf(stderr, "asgst_profiler: %s\n", error);
        exit(3);
    }
    if (pthread_create(&other, NULL, walk_pthread, NULL) == 0)
        pthread_join(other, NULL);
    sigaction(signal_number, &action, NULL);
    start_timer();
}

static void JNICALL on_thread(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
    (void)jvmti, (void)env, (void)thread;
    start_timer();
}

static void JNICALL on_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
    ASGST_CallFrame frames[DEPTH];
    ASGST_CallTrace trace = {0, 0, 0, frames, NULL};
    jmethodID *ids;
    jint count;
    (void)env, (void)thread;
    AsyncGetStackTrace(&trace, DEPTH, NULL, 0);
    if (trace.num_frames > 0)
        ADD(here, 1);
    if (compare && (*jvmti)->GetClassMethods(jvmti, class, &count, &ids) == 0)
        (*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
}

static void JNICALL on_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
    (void)jvmti, (void)env, (void)thread, (void)class; /* AsyncGetCallTrace wants it on */
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
    FILE *out = fopen(file, "w");
    (void)jvmti, (void)env;
    signal(signal_number, SIG_IGN);
    bool gone = ASGST_DeregisterClassUnloadHandler(on_gone, NULL) &&
                ASGST_DeregisterClassUnloadHandler(on_gone, &vm) &&
                !ASGST_DeregisterClassUnloadHandler(on_gone, NULL);
    for (int i = 0; out != NULL && i < COUNTER_COUNT; i++)
        fprintf(out, "%s %ld\n", names[i], atomic_load(&counts[i]));
    if (out == NULL)
        return;
    fprintf(out, "generic_method %s\ngeneric_class %s\nderegistered %d\n", generic_method,
            generic_class, gone);
    fclose(out);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *java, char *options, void *reserved)
{
    jvmtiEnv *jvmti;
    const jvmtiEventCallbacks callbacks = {.VMInit = on_init,
                                           .VMDeath = on_death,
                                           .ThreadStart = on_thread,
                                           .ClassLoad = on_load,
                                           .ClassPrepare = on_prepare};
    char error[256] = "", mode[16] = "";
    (void)reserved;
    vm = java;
    if (options == NULL || sscanf(options, "%d,%4095[^,],%15s", &signal_number, file, mode) < 2 ||
        (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK)
        return JNI_ERR;
    if (ASGST_Init(vm, error, sizeof error) || error[0] == '\0') {
        fprintf(stderr, "asgst_profiler: it is too early, and ASGST_Init does not say so\n");
        return JNI_ERR;
    }
    *(void **)&agct = dlsym(RTLD_DEFAULT, "AsyncGetCallTrace");
    compare = strcmp(mode, "compare") == 0 && agct != NULL;
    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    static const jvmtiEvent EVENTS[] = {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH,
                                        JVMTI_EVENT_THREAD_START, JVMTI_EVENT_CLASS_LOAD,
                                        JVMTI_EVENT_CLASS_PREPARE};
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, EVENTS[i], NULL);
    return JNI_OK;
}
