/* Objects that are followed, in a JVM that is none: every reference is given back once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/live/live_objects.h"
#include "agent/mem/mem.h"
#include "tests/unit/fake_jvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the JVM: objects have a mark, references point to them ----------------------------------- */

struct fake_object {
    bool collected;
    int references;
};

static bool out_of_memory;
static int exceptions;

static jweak JNICALL new_weak(JNIEnv *env, jobject object)
{
    (void)env;
    if (out_of_memory)
        return NULL;
    ((struct fake_object *)object)->references++;
    return (jweak)object;
}

static void JNICALL delete_weak(JNIEnv *env, jweak reference)
{
    (void)env;
    assert_int_equal(((struct fake_object *)reference)->references--, 1);
}

static jboolean JNICALL is_same(JNIEnv *env, jobject first, jobject second)
{
    (void)env;
    assert_null(second);
    assert_int_equal(((struct fake_object *)first)->references, 1);
    return ((struct fake_object *)first)->collected;
}

static void JNICALL clear_exception(JNIEnv *env)
{
    (void)env;
    exceptions++;
}

static jvmtiError JNICALL get_signature(jvmtiEnv *env, jclass class, char **signature,
                                        char **generic)
{
    (void)env, (void)generic;
    *signature = fake_text((const char *)class);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL add_capabilities(jvmtiEnv *env, const jvmtiCapabilities *wanted)
{
    (void)env;
    return wanted->can_generate_garbage_collection_events ? JVMTI_ERROR_NONE
                                                          : JVMTI_ERROR_NOT_AVAILABLE;
}

static jvmtiError JNICALL set_mode(jvmtiEnv *env, jvmtiEventMode mode, jvmtiEvent event,
                                   jthread thread, ...)
{
    (void)env, (void)mode, (void)event, (void)thread;
    return JVMTI_ERROR_NONE;
}

static const struct JNINativeInterface_ JNI = {
    .NewWeakGlobalRef = new_weak,
    .DeleteWeakGlobalRef = delete_weak,
    .IsSameObject = is_same,
    .ExceptionClear = clear_exception,
};
static const struct jvmtiInterface_1_ JVMTI = {
    .GetClassSignature = get_signature,
    .Deallocate = fake_deallocate,
    .AddCapabilities = add_capabilities,
    .SetEventNotificationMode = set_mode,
};
static JNIEnv jni = &JNI;
static jvmtiEnv jvm = &JVMTI;

static struct live_objects *create(int64_t max)
{
    char error[128];
    struct live_objects *live = live_objects_create(&jvm, max, 512 << 10, error, sizeof error);
    assert_non_null(live);
    return live;
}

static void allocate(struct live_objects *live, struct fake_object *object, const char *class,
                     uintptr_t frame)
{
    const struct frame frames[] = {{.value = frame, .bci = 3, .kind = FRAME_SEEN}};
    const struct sampler_here here = {.frames = frames, .depth = 1};
    struct live_seen seen;
    live_objects_see(live, &jni, (jobject)object, (jclass) class, 1016, &seen);
    if (!live_objects_sample(live, &seen, frame != 0 ? &here : NULL))
        live_objects_forget(&jni, &seen);
}

static struct live_counts counts_of(struct live_objects *live)
{
    struct live_counts counts;
    live_objects_counts(live, &counts);
    assert_int_equal(counts.sampled, counts.held + counts.collected + counts.refused);
    return counts;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void collected_ones_go_after_a_collection(void **state)
{
    struct live_objects *live = create(1000);
    static struct fake_object objects[900];
    (void)state;
    memset(objects, 0, sizeof objects);
    for (int i = 0; i < 900; i++)
        allocate(live, &objects[i], i % 3 == 0 ? "La/Leaky;" : "[B", (uintptr_t)(i % 3 + 16));
    for (int i = 0; i < 900; i++)
        objects[i].collected = i % 3 != 0;
    live_objects_turn(live, &jni); /* no collection yet: nobody is asked */
    assert_int_equal(counts_of(live).held, 900);
    assert_int_equal(counts_of(live).sites, 4);
    live_objects_gc_finished(live);
    live_objects_turn(live, &jni);
    const struct live_counts counts = counts_of(live);
    assert_int_equal(counts.held, 300);
    assert_int_equal(counts.collected, 600);
    assert_int_equal(counts.sites, 2);
    assert_int_equal(counts.jvm_bytes, 300 * LIVE_JWEAK_BYTES);
    for (int i = 0; i < 900; i++)
        assert_int_equal(objects[i].references, i % 3 == 0);
    live_objects_destroy(live, &jni);
    for (int i = 0; i < 900; i++)
        assert_int_equal(objects[i].references, 0);
}

static void beyond_the_bound_they_are_refused(void **state)
{
    struct live_objects *live = create(10);
    static struct fake_object objects[30];
    (void)state;
    memset(objects, 0, sizeof objects);
    for (int i = 0; i < 20; i++)
        allocate(live, &objects[i], "La/B;", 0);
    out_of_memory = true;
    exceptions = 0;
    assert_int_equal(counts_of(live).held, 10);
    assert_int_equal(counts_of(live).refused, 10);
    for (int i = 0; i < 10; i++)
        objects[i].collected = true;
    live_objects_gc_finished(live);
    live_objects_turn(live, &jni);
    allocate(live, &objects[20], "La/B;", 0); /* the JVM has no memory for a reference */
    out_of_memory = false;
    assert_int_equal(exceptions, 1);
    assert_int_equal(counts_of(live).refused, 11);
    allocate(live, &objects[21], "La/B;", 0);
    assert_int_equal(counts_of(live).held, 1);
    assert_int_equal(counts_of(live).without_stack, 11);
    live_objects_destroy(live, &jni);
    for (int i = 0; i < 30; i++)
        assert_int_equal(objects[i].references, 0);
}

static void all_memory_is_given_back(void **state)
{
    static struct fake_object objects[3000];
    struct mem_snapshot before, after;
    (void)state;
    memset(objects, 0, sizeof objects);
    mem_snapshot(&before);
    struct live_objects *live = create(3000);
    for (int i = 0; i < 3000; i++) /* more stacks than sites */
        allocate(live, &objects[i], "La/B;", (uintptr_t)i + 16);
    assert_int_equal(counts_of(live).held, 3000);
    assert_int_equal(counts_of(live).sites, LIVE_SITES_MAX);
    live_objects_destroy(live, &jni);
    mem_snapshot(&after);
    assert_int_equal(after.component[COMPONENT_LIVE_OBJECTS].reserved_bytes,
                     before.component[COMPONENT_LIVE_OBJECTS].reserved_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collected_ones_go_after_a_collection),
        cmocka_unit_test(beyond_the_bound_they_are_refused),
        cmocka_unit_test(all_memory_is_given_back),
    };
    return cmocka_run_group_tests_name("live_objects", tests, NULL, fake_nothing_is_left);
}
