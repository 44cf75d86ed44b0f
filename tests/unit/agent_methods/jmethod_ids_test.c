/* jmethod_ids: the formula against what NMT showed, and the bill of classes that are prepared. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/methods/jmethod_ids.h"

#include <stdlib.h>
#include <string.h>

/* --- the formula, on measured figures ----------------------------------------------------------
 */

static void formula_is_what_nmt_showed(void **state)
{
    static const struct {
        int jdk, methods;
        bool first;
        int64_t loaded, kept;
    } MEASURED[] = {
        {17, 1, true, 120, 104},   {17, 5, true, 152, 104},   {17, 15, true, 288, 160},
        {17, 40, true, 688, 360},  {17, 15, false, 272, 144}, {25, 15, true, 288, 160},
        {25, 15, false, 272, 144}, {11, 15, true, 288, 160},  {8, 15, true, 288, 160},
    };
    (void)state;
    for (size_t i = 0; i < sizeof MEASURED / sizeof *MEASURED; i++) {
        assert_int_equal(
            jmethod_ids_class_bytes(MEASURED[i].jdk, MEASURED[i].methods, MEASURED[i].first),
            MEASURED[i].loaded);
        assert_int_equal(
            jmethod_ids_kept_bytes(MEASURED[i].jdk, MEASURED[i].methods, MEASURED[i].first),
            MEASURED[i].kept);
    }
    assert_int_equal(jmethod_ids_class_bytes(17, 0, true), 0);
}

static void jdk_26_frees_them(void **state)
{
    (void)state;
    assert_int_equal(jmethod_ids_kept_bytes(26, 15, true), 0);
    /* NMT: 387 to 402 JNI with the table's buckets, 409 Class. */
    assert_int_equal(jmethod_ids_class_bytes(26, 15, true), 360 + 128 + 24 + 256);
    assert_in_range(jmethod_ids_class_bytes(26, 15, false), 625, 770); /* 698 +- 10 % */
}

/* --- a JVM of sixteen classes ------------------------------------------------------------------
 */

static struct {
    int methods[16]; /* -1: not prepared */
    int loader[16];  /* 0: the boot loader; else its hash */
    int classes;
    int64_t held_blocks, local_refs, frames;
    jvmtiError refuse;
} jvm;

static int number_of(const void *reference)
{
    return (int)((intptr_t)reference >> 4) - 1;
}

static jclass class_of(int number)
{
    return (jclass)(((intptr_t)number + 1) << 4);
}

static void *result(size_t bytes)
{
    jvm.held_blocks++;
    return malloc(bytes == 0 ? 1 : bytes);
}

static jvmtiError JNICALL get_class_methods(jvmtiEnv *env, jclass class, jint *count,
                                            jmethodID **methods)
{
    (void)env;
    int number = number_of(class);
    if (jvm.refuse != JVMTI_ERROR_NONE)
        return jvm.refuse;
    if (jvm.methods[number] < 0)
        return JVMTI_ERROR_CLASS_NOT_PREPARED;
    *count = jvm.methods[number];
    *methods = result((size_t)*count * sizeof **methods);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_class_loader(jvmtiEnv *env, jclass class, jobject *loader)
{
    (void)env;
    int hash = jvm.loader[number_of(class)];
    *loader = (jobject)(intptr_t)hash;
    jvm.local_refs += hash != 0;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_object_hash_code(jvmtiEnv *env, jobject object, jint *hash)
{
    (void)env;
    *hash = (jint)(intptr_t)object;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_loaded_classes(jvmtiEnv *env, jint *count, jclass **classes)
{
    (void)env;
    *count = jvm.classes;
    *classes = result((size_t)jvm.classes * sizeof **classes);
    for (int i = 0; i < jvm.classes; i++)
        (*classes)[i] = class_of(i);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL is_array_class(jvmtiEnv *env, jclass class, jboolean *array)
{
    (void)env;
    *array = number_of(class) == 2;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL deallocate(jvmtiEnv *env, unsigned char *block)
{
    (void)env;
    free(block);
    jvm.held_blocks--;
    return JVMTI_ERROR_NONE;
}

static void JNICALL delete_local_ref(JNIEnv *env, jobject reference)
{
    (void)env, (void)reference;
    jvm.local_refs--;
}

static jint JNICALL push_local_frame(JNIEnv *env, jint capacity)
{
    (void)env, (void)capacity;
    jvm.frames++;
    return JNI_OK;
}

static jobject JNICALL pop_local_frame(JNIEnv *env, jobject kept)
{
    (void)env;
    jvm.frames--;
    return kept;
}

static const struct jvmtiInterface_1_ JVMTI = {
    .GetClassMethods = get_class_methods,
    .GetClassLoader = get_class_loader,
    .GetObjectHashCode = get_object_hash_code,
    .GetLoadedClasses = get_loaded_classes,
    .IsArrayClass = is_array_class,
    .Deallocate = deallocate,
};
static const struct JNINativeInterface_ JNI = {
    .DeleteLocalRef = delete_local_ref,
    .PushLocalFrame = push_local_frame,
    .PopLocalFrame = pop_local_frame,
};
static jvmtiEnv jvmti = &JVMTI;
static JNIEnv env = &JNI;

static struct jmethod_ids_bill bill_of(const struct jmethod_ids *ids)
{
    struct jmethod_ids_bill bill;
    jmethod_ids_bill(ids, &bill);
    assert_int_equal(bill.jvmti_bytes, 0);
    assert_int_equal(jvm.held_blocks, 0);
    assert_int_equal(jvm.local_refs, 0);
    assert_int_equal(jvm.frames, 0);
    return bill;
}

static int new_jvm(void **state)
{
    (void)state;
    memset(&jvm, 0, sizeof jvm);
    return 0;
}

static void loaders_are_told_apart(void **state)
{
    (void)state;
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    jvm.loader[0] = jvm.loader[1] = 77;
    jvm.loader[2] = 78;
    for (int i = 0; i < 4; i++) {
        jvm.methods[i] = 15;
        jmethod_ids_prepare(ids, &env, class_of(i));
    }
    struct jmethod_ids_bill bill = bill_of(ids);
    assert_int_equal(bill.classes, 4);
    assert_int_equal(bill.methods, 60);
    assert_int_equal(bill.loaded_bytes, 288 + 272 + 288 + 288);
    assert_int_equal(bill.kept_if_all_unload_bytes, 160 + 144 + 160 + 160);
    assert_int_equal(bill.kept_after_unload_bytes, 0);
    jmethod_ids_destroy(ids);
}

static void small_classes_share_a_block(void **state)
{
    (void)state;
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    for (int i = 0; i < 9; i++) { /* eight of the boot loader's share one block */
        jvm.methods[i] = 1;
        jmethod_ids_prepare(ids, &env, class_of(i));
    }
    assert_int_equal(bill_of(ids).loaded_bytes, 9 * 16 + 2 * (64 + 24) + 16);
    jvm.methods[9] = 10; /* seven slots are left; the block holds eight at least */
    jmethod_ids_prepare(ids, &env, class_of(9));
    assert_int_equal(bill_of(ids).loaded_bytes, 9 * 16 + 2 * (64 + 24) + 16 + 88 + 64 + 24);
    jmethod_ids_destroy(ids);
}

static void all_loaded_classes(void **state)
{
    (void)state;
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 25);
    jvm.classes = 5;
    jvm.methods[0] = 15;
    jvm.methods[1] = -1; /* its ClassPrepare comes later */
    jvm.methods[2] = 0;  /* an array */
    jvm.methods[3] = 0;  /* a marker interface */
    jvm.methods[4] = 15;
    assert_int_equal(jmethod_ids_prepare_all(ids, &env), 3);
    struct jmethod_ids_bill bill = bill_of(ids);
    assert_int_equal(bill.failed, 0);
    assert_int_equal(bill.loaded_bytes, 288 + 272);
    jmethod_ids_destroy(ids);
}

static void what_stays_after_unloading(void **state)
{
    (void)state;
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    for (int i = 0; i < 4; i++) {
        jvm.methods[i] = 15;
        jvm.loader[i] = i + 1;
        jmethod_ids_prepare(ids, &env, class_of(i));
    }
    jmethod_ids_unloaded(ids);
    jmethod_ids_unloaded(ids);
    assert_int_equal(bill_of(ids).kept_after_unload_bytes, 2 * 160);
    assert_int_equal(bill_of(ids).present_bytes, 2 * 288 + 2 * 160);
    for (int i = 0; i < 9; i++)
        jmethod_ids_unloaded(ids); /* classes that were gone before we came */
    assert_int_equal(bill_of(ids).kept_after_unload_bytes, 4 * 160);
    assert_int_equal(bill_of(ids).unloaded_classes, 11);
    assert_int_equal(bill_of(ids).present_bytes, 4 * 160);
    jmethod_ids_destroy(ids);
}

static void a_refusal_is_counted(void **state)
{
    (void)state;
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    jvm.refuse = JVMTI_ERROR_OUT_OF_MEMORY;
    jmethod_ids_prepare(ids, &env, class_of(0));
    assert_int_equal(bill_of(ids).failed, 1);
    assert_int_equal(bill_of(ids).classes, 0);
    jmethod_ids_destroy(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formula_is_what_nmt_showed),
        cmocka_unit_test(jdk_26_frees_them),
        cmocka_unit_test_setup(loaders_are_told_apart, new_jvm),
        cmocka_unit_test_setup(small_classes_share_a_block, new_jvm),
        cmocka_unit_test_setup(all_loaded_classes, new_jvm),
        cmocka_unit_test_setup(what_stays_after_unloading, new_jvm),
        cmocka_unit_test_setup(a_refusal_is_counted, new_jvm),
    };
    return cmocka_run_group_tests_name("agent_methods/jmethod_ids", tests, NULL, NULL);
}
