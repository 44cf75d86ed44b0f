/* jmethod_ids: the formula against what NMT showed, and the bill of classes that are prepared. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "floor/hotspot/layout.h"
#include "agent/methods/jmethod_ids.h"
#include "tests/unit/fake_jvm.h"

#include <stdlib.h>
#include <string.h>

/* --- the formula, on measured figures --------------------------------------------------------- */

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

/* --- a JVM of sixteen classes ----------------------------------------------------------------- */

static struct {
    int methods[16]; /* -1: not prepared */
    int loader[16];  /* 0: the boot loader; else its hash */
    int classes;
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
    *methods = fake_block((size_t)*count * sizeof **methods);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_class_loader(jvmtiEnv *env, jclass class, jobject *loader)
{
    (void)env;
    int hash = jvm.loader[number_of(class)];
    *loader = (jobject)(intptr_t)hash;
    held.local_refs += hash != 0;
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
    *classes = fake_block((size_t)jvm.classes * sizeof **classes);
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

static const struct jvmtiInterface_1_ JVMTI = {
    .GetClassMethods = get_class_methods,
    .GetClassLoader = get_class_loader,
    .GetObjectHashCode = get_object_hash_code,
    .GetLoadedClasses = get_loaded_classes,
    .IsArrayClass = is_array_class,
    .Deallocate = fake_deallocate,
};
static const struct JNINativeInterface_ JNI = {
    .DeleteLocalRef = fake_delete_local_ref,
    .PushLocalFrame = fake_push_local_frame,
    .PopLocalFrame = fake_pop_local_frame,
};
static jvmtiEnv jvmti = &JVMTI;
static JNIEnv env = &JNI;

static struct jmethod_ids_bill bill_of(const struct jmethod_ids *ids)
{
    struct jmethod_ids_bill bill;
    jmethod_ids_bill(ids, &bill);
    assert_int_equal(bill.jvmti_bytes, 0);
    assert_true(fake_holds_nothing());
    return bill;
}

static int new_jvm(void **state)
{
    (void)state;
    memset(&jvm, 0, sizeof jvm);
    fake_hold_nothing();
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

static void hidden_classes_share_with_nobody(void **state)
{
    static uintptr_t jvms_own[3]; /* all of its structures, and the flag */
    (void)state;
    jvms_own[0] = jvms_own[1] = (uintptr_t)jvms_own;
    jvms_own[2] = 1;
    layout = (struct layout){.jdk_major = 17, .klass_loader_data = 8, .loader_data_own = 16};
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    for (int i = 0; i < 2; i++)
        jmethod_ids_charge(ids, &env, class_of(i), (jmethodID)jvms_own, 15);
    assert_int_equal(bill_of(ids).loaded_bytes, 288 + 288);
    assert_int_equal(bill_of(ids).kept_if_all_unload_bytes, 160 + 160);
    jvms_own[2] = 0; /* strong: with the others of their loader */
    for (int i = 2; i < 4; i++)
        jmethod_ids_charge(ids, &env, class_of(i), (jmethodID)jvms_own, 15);
    assert_int_equal(bill_of(ids).loaded_bytes, 3 * 288 + 272);
    jmethod_ids_destroy(ids);
    layout = (struct layout){0};
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

static int64_t methods_of(int class)
{
    return 3 + class * 2 % 11; /* ids do not depend on the order they come in */
}

static void policies_by_name(void **state)
{
    (void)state;
    assert_int_equal(id_policy_of("", true), IDS_ALL);
    assert_int_equal(id_policy_of("", false), IDS_NONE);
    assert_int_equal(id_policy_of("none", true), IDS_NONE);
    assert_int_equal(id_policy_of("all", false), IDS_ALL);
    assert_int_equal(id_policy_of("lazy", true), IDS_LAZY);
    assert_int_equal(id_policy_of("budget=64M", true), IDS_BUDGET);
    assert_string_equal(id_policy_name(IDS_BUDGET), "budget");
}

static void nobody_is_asked_without_a_reason(void **state)
{
    static const enum id_policy POLICIES[] = {IDS_NONE, IDS_LAZY};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
        jmethod_ids_set_policy(ids, POLICIES[i], 0);
        jvm.classes = 16;
        jvm.methods[0] = 15;
        assert_int_equal(jmethod_ids_prepare_all(ids, &env), 0);
        jmethod_ids_prepare(ids, &env, class_of(0));
        assert_int_equal(bill_of(ids).loaded_bytes, 0);
        assert_int_equal(bill_of(ids).predicted_bytes, -1);
        jmethod_ids_charge(ids, &env, class_of(0), NULL, 15); /* somebody else did */
        assert_int_equal(bill_of(ids).loaded_bytes, 288);
        jmethod_ids_destroy(ids);
    }
}

static void a_budget_is_kept_and_the_whole_predicted(void **state)
{
    (void)state;
    int64_t all_bytes = 0, most_bytes = 0;
    jvm.classes = 16;
    for (int i = 0; i < 16; i++) {
        jvm.methods[i] = (int)methods_of(i);
        jvm.loader[i] = i + 1;
        int64_t bytes = i == 2 ? 0 : jmethod_ids_class_bytes(17, methods_of(i), true);
        all_bytes += bytes;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    jmethod_ids_set_policy(ids, IDS_BUDGET, all_bytes / 2);
    int64_t prepared = jmethod_ids_prepare_all(ids, &env);
    struct jmethod_ids_bill bill = bill_of(ids);
    assert_in_range(bill.loaded_bytes, all_bytes / 2, all_bytes / 2 + most_bytes);
    assert_int_equal(bill.skipped_classes + prepared, 15);
    assert_in_range(bill.predicted_bytes, all_bytes * 85 / 100, all_bytes * 115 / 100);
    int64_t loaded_bytes = bill.loaded_bytes;
    for (int i = 0; i < 100; i++) { /* what unloads makes no room: half of it is kept */
        jmethod_ids_prepare(ids, &env, class_of(0));
        jmethod_ids_unloaded(ids);
    }
    bill = bill_of(ids);
    assert_int_equal(bill.loaded_bytes, loaded_bytes);
    assert_int_equal(bill.skipped_classes + prepared, 115);
    assert_int_equal(bill.policy, IDS_BUDGET);

    assert_in_range(bill.present_bytes, bill.kept_if_all_unload_bytes, loaded_bytes);

    jmethod_ids_set_policy(ids, IDS_NONE, 0); /* the breaker */
    jmethod_ids_prepare(ids, &env, class_of(0));
    assert_int_equal(bill_of(ids).skipped_classes, bill.skipped_classes);
    jmethod_ids_destroy(ids);
}

static void what_fits_is_predicted_as_it_is(void **state)
{
    (void)state;
    jvm.classes = 1;
    jvm.methods[0] = 15;
    struct jmethod_ids *ids = jmethod_ids_create(&jvmti, 17);
    jmethod_ids_set_policy(ids, IDS_BUDGET, 65536);
    assert_int_equal(jmethod_ids_prepare_all(ids, &env), 1);
    assert_int_equal(bill_of(ids).predicted_bytes, 288);
    assert_int_equal(bill_of(ids).skipped_classes, 0);
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
        cmocka_unit_test_setup(hidden_classes_share_with_nobody, new_jvm),
        cmocka_unit_test_setup(all_loaded_classes, new_jvm),
        cmocka_unit_test_setup(what_stays_after_unloading, new_jvm),
        cmocka_unit_test(policies_by_name),
        cmocka_unit_test_setup(nobody_is_asked_without_a_reason, new_jvm),
        cmocka_unit_test_setup(a_budget_is_kept_and_the_whole_predicted, new_jvm),
        cmocka_unit_test_setup(what_fits_is_predicted_as_it_is, new_jvm),
        cmocka_unit_test_setup(a_refusal_is_counted, new_jvm),
    };
    return cmocka_run_group_tests_name("agent_methods/jmethod_ids", tests, NULL, NULL);
}
