/* lazy_ids: only who is met is asked for, once, and only while something is missing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/methods/jmethod_ids.h"
#include "tests/unit/fake_jvm.h"

#include <stdlib.h>
#include <string.h>

/* A JVM of eight threads; thread t has a stack of methods of the classes t and t + 1. Class c has
 * three methods: c * 4 + 4, + 5, + 6. */
#define THREADS 8
#define METHODS 3

static struct {
    int running; /* threads below are */
    int stacks, classes_asked, declaring_asked;
    jvmtiError refuse;
} jvm;

static jmethodID method_of(int class, int number)
{
    return (jmethodID)(intptr_t)(class * 4 + 4 + number);
}

static jvmtiError JNICALL get_all_threads(jvmtiEnv *env, jint *count, jthread **threads)
{
    (void)env;
    *count = THREADS;
    *threads = fake_block(THREADS * sizeof **threads);
    for (int i = 0; i < THREADS; i++)
        (*threads)[i] = (jthread)(intptr_t)(i + 1);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_thread_state(jvmtiEnv *env, jthread thread, jint *state)
{
    (void)env;
    *state =
        (intptr_t)thread <= jvm.running ? JVMTI_THREAD_STATE_RUNNABLE : JVMTI_THREAD_STATE_WAITING;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_stack_trace(jvmtiEnv *env, jthread thread, jint start, jint max,
                                          jvmtiFrameInfo *frames, jint *count)
{
    (void)env, (void)start;
    int first = (int)(intptr_t)thread - 1;
    assert_true(max >= 3);
    jvm.stacks++;
    frames[0].method = method_of(first, 0);
    frames[1].method = method_of(first + 1, 2);
    frames[2].method = method_of(first, 1);
    *count = 3;
    return jvm.refuse;
}

static jvmtiError JNICALL get_declaring_class(jvmtiEnv *env, jmethodID method, jclass *class)
{
    (void)env;
    jvm.declaring_asked++;
    held.local_refs++;
    *class = (jclass)(((intptr_t)method - 4) / 4 + 1);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_class_methods(jvmtiEnv *env, jclass class, jint *count,
                                            jmethodID **methods)
{
    (void)env;
    jvm.classes_asked++;
    *count = METHODS;
    *methods = fake_block(METHODS * sizeof **methods);
    for (int i = 0; i < METHODS; i++)
        (*methods)[i] = method_of((int)(intptr_t) class - 1, i);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_class_loader(jvmtiEnv *env, jclass class, jobject *loader)
{
    (void)env, (void)class;
    *loader = NULL;
    return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ JVMTI = {
    .GetAllThreads = get_all_threads,
    .GetThreadState = get_thread_state,
    .GetStackTrace = get_stack_trace,
    .GetMethodDeclaringClass = get_declaring_class,
    .GetClassMethods = get_class_methods,
    .GetClassLoader = get_class_loader,
    .Deallocate = fake_deallocate,
};
static const struct JNINativeInterface_ JNI = {
    .DeleteLocalRef = fake_delete_local_ref,
    .PushLocalFrame = fake_push_local_frame,
    .PopLocalFrame = fake_pop_local_frame,
};
static jvmtiEnv jvmti = &JVMTI;
static JNIEnv env = &JNI;

static struct jmethod_ids *ids;
static struct lazy_ids *lazy;

static int set_up(void **state)
{
    (void)state;
    memset(&jvm, 0, sizeof jvm);
    fake_hold_nothing();
    jvm.running = THREADS;
    ids = jmethod_ids_create(&jvmti, 17);
    jmethod_ids_set_policy(ids, IDS_LAZY, 0);
    lazy = lazy_ids_create(&jvmti, ids);
    return ids == NULL || lazy == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    lazy_ids_destroy(lazy);
    jmethod_ids_destroy(ids);
    return !fake_holds_nothing();
}

static int64_t prepared(void)
{
    struct jmethod_ids_bill bill;
    jmethod_ids_bill(ids, &bill);
    assert_int_equal(bill.methods, bill.classes * METHODS);
    return bill.classes;
}

static void nobody_is_asked_while_nothing_is_missing(void **state)
{
    (void)state;
    lazy_ids_turn(lazy, &env, 0);
    lazy_ids_turn(lazy, NULL, 1);
    assert_int_equal(jvm.stacks, 0);
    lazy_ids_turn(lazy, &env, 2);
    assert_int_equal(jvm.stacks, 4);
    lazy_ids_turn(lazy, &env, 2);
    assert_int_equal(jvm.stacks, 4);
}

static void each_class_is_asked_for_once(void **state)
{
    (void)state;
    for (int i = 1; i <= 10; i++)
        lazy_ids_turn(lazy, &env, i);
    assert_int_equal(jvm.stacks, 40); /* round robin: all of them */
    assert_int_equal(prepared(), THREADS + 1);
    assert_int_equal(jvm.classes_asked, THREADS + 1);
    assert_int_equal(jvm.declaring_asked, THREADS + 1);
}

static void waiting_threads_are_left_alone(void **state)
{
    (void)state;
    jvm.running = 1;
    for (int i = 1; i <= 3; i++)
        lazy_ids_turn(lazy, &env, i);
    assert_in_range(jvm.stacks, 3, 3 * 4);
    assert_int_equal(prepared(), 2);
}

static void another_policy_ends_it(void **state)
{
    (void)state;
    jmethod_ids_set_policy(ids, IDS_NONE, 0);
    lazy_ids_turn(lazy, &env, 1);
    assert_int_equal(jvm.stacks, 0);
}

static void a_thread_that_ended_is_no_harm(void **state)
{
    (void)state;
    jvm.refuse = JVMTI_ERROR_THREAD_NOT_ALIVE;
    lazy_ids_turn(lazy, &env, 1);
    assert_int_equal(prepared(), 0);
}

static void old_jvms_are_asked_once_a_second(void **state)
{
    (void)state;
    lazy_ids_destroy(lazy);
    jmethod_ids_destroy(ids);
    ids = jmethod_ids_create(&jvmti, 11);
    jmethod_ids_set_policy(ids, IDS_LAZY, 0);
    lazy = lazy_ids_create(&jvmti, ids);
    for (int i = 1; i <= 30; i++)
        lazy_ids_turn(lazy, &env, i);
    assert_int_equal(jvm.stacks, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_is_asked_while_nothing_is_missing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_class_is_asked_for_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_threads_are_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_jvms_are_asked_once_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_policy_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_ended_is_no_harm, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("agent_methods/lazy_ids", tests, NULL, NULL);
}
