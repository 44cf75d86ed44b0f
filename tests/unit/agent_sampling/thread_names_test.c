// Java names of threads, asked of a made-up JVM: who is who when a JNIEnv is used again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/sampling/threads.h"
#include "tests/unit/fake_jvm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A java.lang.Thread. Its JNIEnv lies DISTANCE behind the JVM's structure, as everybody's does.
struct fake_thread {
    const char *name;
    int64_t id, address;
};
#define DISTANCE 64

enum fake_field { FIELD_ID = 1, FIELD_NAME, FIELD_ADDRESS };

// The calling thread's, and all that live.
static _Thread_local struct fake_thread *current;
static _Thread_local JNIEnv *own_env;
static struct fake_thread *living[4];
static int living_count;

static jclass JNICALL find_class(JNIEnv *env, const char *name)
{
    (void)env, (void)name;
    return (jclass)living;
}

static jfieldID JNICALL get_field(JNIEnv *env, jclass class, const char *name, const char *type)
{
    (void)env, (void)class, (void)type;
    return (jfieldID)(uintptr_t)(strcmp(name, "tid") == 0    ? FIELD_ID
                                 : strcmp(name, "name") == 0 ? FIELD_NAME
                                                             : FIELD_ADDRESS);
}

static jlong JNICALL get_long(JNIEnv *env, jobject object, jfieldID field)
{
    const struct fake_thread *thread = (const void *)object;
    (void)env;
    return (uintptr_t)field == FIELD_ID ? thread->id : thread->address;
}

static jobject JNICALL get_object(JNIEnv *env, jobject object, jfieldID field)
{
    (void)env, (void)field;
    return object; // the string of a thread is found by the thread
}

static jsize JNICALL string_length(JNIEnv *env, jstring text)
{
    (void)env;
    return (jsize)strlen(((const struct fake_thread *)(const void *)text)->name);
}

static void JNICALL string_region(JNIEnv *env, jstring text, jsize from, jsize count, char *out)
{
    (void)env;
    memcpy(out, ((const struct fake_thread *)(const void *)text)->name + from, (size_t)count);
}

static jboolean JNICALL exception_check(JNIEnv *env)
{
    (void)env;
    return JNI_FALSE;
}

static const struct JNINativeInterface_ jni_functions = {
    .FindClass = find_class,
    .GetFieldID = get_field,
    .GetLongField = get_long,
    .GetObjectField = get_object,
    .GetStringLength = string_length,
    .GetStringUTFRegion = string_region,
    .ExceptionCheck = exception_check,
    .DeleteLocalRef = fake_delete_local_ref,
    .PushLocalFrame = fake_push_local_frame,
    .PopLocalFrame = fake_pop_local_frame,
};

static jvmtiError JNICALL get_current(jvmtiEnv *jvmti, jthread *thread)
{
    (void)jvmti;
    *thread = (jthread)current;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_all(jvmtiEnv *jvmti, jint *count, jthread **threads)
{
    (void)jvmti;
    *count = living_count;
    *threads = fake_block(sizeof living);
    memcpy(*threads, living, sizeof living);
    return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ jvmti_functions = {
    .GetCurrentThread = get_current,
    .GetAllThreads = get_all,
    .Deallocate = fake_deallocate,
};

static jint JNICALL get_env(JavaVM *vm, void **env, jint version)
{
    (void)vm, (void)version;
    *env = own_env;
    return own_env != NULL ? JNI_OK : JNI_EDETACHED;
}

static const struct JNIInvokeInterface_ vm_functions = {.GetEnv = get_env};

// What the JVM keeps of a thread; the JNIEnv lies in it.
struct structure {
    char before[DISTANCE];
    JNIEnv env;
};

static void attach(struct fake_thread *thread, struct structure *structure)
{
    structure->env = &jni_functions;
    thread->address = (int64_t)(intptr_t)structure;
    current = thread;
    own_env = &structure->env;
}

static void no_sample(void *context, int tid, JNIEnv *env, void *ucontext)
{
    (void)context, (void)tid, (void)env, (void)ucontext;
}

struct leaver {
    struct threads *threads;
    struct fake_thread thread;
    struct structure *structure;
    pthread_barrier_t left, over;
    int tid;
};

// Leaves the JVM long before the kernel is done with it.
static void *leaves(void *argument)
{
    struct leaver *leaver = argument;
    attach(&leaver->thread, leaver->structure);
    leaver->tid = gettid();
    threads_started(leaver->threads, own_env, (jthread)&leaver->thread);
    threads_mark_self(own_env);
    threads_ended(leaver->threads);
    pthread_barrier_wait(&leaver->left);
    pthread_barrier_wait(&leaver->over);
    return NULL;
}

static void a_thread_that_left_keeps_its_name(void **state)
{
    (void)state;
    JavaVM vm = &vm_functions;
    jvmtiEnv jvmti = &jvmti_functions;
    struct structure own_structure, shared;
    struct fake_thread own = {.name = "main", .id = 1}, later = {.name = "later", .id = 3};
    struct leaver leaver = {.thread = {.name = "first", .id = 2}, .structure = &shared};
    char name[THREAD_NAME_BYTES] = "", error[200] = "";
    int64_t java_id = 0;
    pthread_t thread;

    attach(&own, &own_structure);
    living[living_count++] = &own;
    struct threads *threads = threads_create(&vm, &jvmti);
    threads_on_sample(threads, no_sample, NULL);
    assert_true(threads_start(threads, TIMER_NONE, 1000000000, error, sizeof error));
    leaver.threads = threads;
    pthread_barrier_init(&leaver.left, NULL, 2);
    pthread_barrier_init(&leaver.over, NULL, 2);
    pthread_create(&thread, NULL, leaves, &leaver);
    pthread_barrier_wait(&leaver.left);

    // A scan finds it still there, and a thread that started meanwhile has its structure.
    threads_scan(threads);
    later.address = (int64_t)(intptr_t)&shared;
    living[living_count++] = &later;
    threads_learn_names(threads, &leaver.tid, 1);
    assert_true(threads_describe(threads, leaver.tid, name, sizeof name, &java_id));
    assert_string_equal(name, "first");
    assert_int_equal(java_id, 2);

    pthread_barrier_wait(&leaver.over);
    pthread_join(thread, NULL);
    threads_destroy(threads);
    pthread_barrier_destroy(&leaver.left);
    pthread_barrier_destroy(&leaver.over);
}

// Local references end with their frame here: only blocks and frames are counted.
static int blocks_and_frames_are_given_back(void **state)
{
    held.local_refs = 0;
    return fake_nothing_is_left(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_left_keeps_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, blocks_and_frames_are_given_back);
}
