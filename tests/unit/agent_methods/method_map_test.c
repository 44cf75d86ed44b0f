/* method_map: names under protection, ages, fresh dictionaries; nothing of JVMTI is left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/methods/method_map.h"
#include "agent/stack/engine.h"
#include "tests/unit/fake_jvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METHODS 2000
#define UNKNOWN "[method of an unloaded class]"

/* --- a JVM in which method n is pkg.ClassN.mN, and class n is its class ----------------------- */

static struct {
    bool unloaded[METHODS];
    bool native[METHODS];
    bool refuse_class_signature;
    int lines_moved;             /* by a redefinition, all methods */
    const char *class_signature; /* for all, in place of their own */
    int64_t questions, unprotected;
} jvm;

static int number_of(const void *id)
{
    return (int)((intptr_t)id >> 4) - 1;
}

static intptr_t id_of(int number)
{
    return ((intptr_t)number + 1) << 4;
}

static char *text_result(const char *text)
{
    return strcpy(fake_block(strlen(text) + 1), text);
}

/* Every question about a method but the first must be asked while its class is held. */
static jvmtiError question(jmethodID method)
{
    jvm.questions++;
    jvm.unprotected += held.local_refs != 1;
    return jvm.unloaded[number_of(method)] ? JVMTI_ERROR_INVALID_METHODID : JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_declaring_class(jvmtiEnv *env, jmethodID method, jclass *class)
{
    (void)env;
    jvm.questions++;
    if (jvm.unloaded[number_of(method)])
        return JVMTI_ERROR_INVALID_METHODID;
    *class = (jclass)method;
    held.local_refs++;
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_method_name(jvmtiEnv *env, jmethodID method, char **name,
                                          char **signature, char **generic)
{
    char text[32];
    (void)env;
    assert_null(generic);
    jvmtiError code = question(method);
    if (code != JVMTI_ERROR_NONE)
        return code;
    snprintf(text, sizeof text, "m%d", number_of(method));
    *name = text_result(text);
    *signature = text_result("()V");
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_class_signature(jvmtiEnv *env, jclass class, char **signature,
                                              char **generic)
{
    char text[64];
    (void)env;
    assert_null(generic);
    if (jvm.refuse_class_signature)
        return JVMTI_ERROR_OUT_OF_MEMORY;
    snprintf(text, sizeof text, "Lorg/pkg%d/Class%d;", number_of(class) % 3, number_of(class));
    *signature = text_result(jvm.class_signature != NULL ? jvm.class_signature : text);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL get_method_modifiers(jvmtiEnv *env, jmethodID method, jint *modifiers)
{
    (void)env;
    *modifiers = jvm.native[number_of(method)] ? 0x101 : 1;
    return question(method);
}

static jvmtiError JNICALL get_line_number_table(jvmtiEnv *env, jmethodID method, jint *count,
                                                jvmtiLineNumberEntry **entries)
{
    static const jvmtiLineNumberEntry LINES[] = {{0, 10}, {20, 12}, {8, 11}};
    (void)env;
    jvmtiError code = question(method);
    if (code != JVMTI_ERROR_NONE)
        return code;
    if (jvm.native[number_of(method)])
        return JVMTI_ERROR_NATIVE_METHOD;
    *count = 3;
    *entries = fake_block(sizeof LINES);
    memcpy(*entries, LINES, sizeof LINES);
    for (int i = 0; i < *count; i++)
        (*entries)[i].line_number += jvm.lines_moved;
    return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ JVMTI = {
    .GetMethodDeclaringClass = get_declaring_class,
    .GetMethodName = get_method_name,
    .GetClassSignature = get_class_signature,
    .GetMethodModifiers = get_method_modifiers,
    .GetLineNumberTable = get_line_number_table,
    .Deallocate = fake_deallocate,
};
static const struct JNINativeInterface_ JNI = {.DeleteLocalRef = fake_delete_local_ref};
static jvmtiEnv jvmti = &JVMTI;
static JNIEnv env = &JNI;

/* --- the map and its dictionaries ------------------------------------------------------------- */

static struct method_names names;
static struct method_map *map;
static int64_t bytes_before;

static int64_t agent_bytes(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.total.requested_bytes -
           snapshot.component[COMPONENT_ACCOUNTING].requested_bytes;
}

static struct method_names new_names(uint32_t limit)
{
    return (struct method_names){
        .classes = dictionary_create(COMPONENT_DICTIONARY_CLASS, limit),
        .labels = dictionary_create(COMPONENT_DICTIONARY_LABEL, limit),
        .packages = dictionary_create(COMPONENT_DICTIONARY_PACKAGE, limit),
    };
}

static void destroy_names(struct method_names *old)
{
    dictionary_destroy(old->classes);
    dictionary_destroy(old->labels);
    dictionary_destroy(old->packages);
}

static int set_up(void **state)
{
    (void)state;
    memset(&jvm, 0, sizeof jvm);
    fake_hold_nothing();
    bytes_before = agent_bytes();
    names = new_names(100000);
    map = method_map_create(&jvmti, &names, true);
    return map == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    method_map_destroy(map);
    destroy_names(&names);
    assert_int_equal(agent_bytes(), bytes_before);
    assert_true(fake_holds_nothing());
    assert_int_equal(jvm.unprotected, 0);
    return 0;
}

static struct frame java(int number, int bci)
{
    return (struct frame){(uintptr_t)id_of(number), bci, 0, 0};
}

static const struct method_info *get(struct frame frame)
{
    const struct method_info *info = method_map_get(map, &env, &frame);
    assert_non_null(info);
    return info;
}

static struct method_map_counts counts(void)
{
    struct method_map_counts now;
    method_map_counts(map, &now);
    assert_int_equal(now.jvmti_bytes, 0);
    return now;
}

struct wanted {
    uint32_t id;
    char text[128];
};

static void keep_text(void *context, uint32_t id, const char *text, size_t length)
{
    struct wanted *wanted = context;
    if (id == wanted->id)
        snprintf(wanted->text, sizeof wanted->text, "%.*s", (int)length, text);
}

static void is_text(const struct dictionary *dictionary, uint32_t id, const char *text)
{
    struct wanted wanted = {.id = id};
    dictionary_each(dictionary, keep_text, &wanted);
    assert_string_equal(wanted.text, text);
}

/* A chunk in which these methods are seen. */
static void chunk(int from, int to)
{
    method_map_mark(map);
    for (int i = from; i < to; i++)
        get(java(i, 0));
    method_map_sweep(map);
}

static void count_method(void *context, const struct method_info *method)
{
    (void)method;
    ++*(int *)context;
}

static int referenced(void)
{
    int number = 0;
    method_map_each_referenced(map, count_method, &number);
    return number;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_method_has_its_names(void **state)
{
    (void)state;
    const struct method_info *info = get(java(7, 8));
    is_text(names.classes, info->class_id, "org/pkg1/Class7");
    is_text(names.packages, info->package_id, "org/pkg1");
    is_text(names.labels, info->name_id, "m7");
    is_text(names.labels, info->signature_id, "()V");
    assert_int_equal(info->modifiers, 1);
    assert_false(info->unknown || info->native_frame);
    assert_true(info->id > 0);
    int64_t questions = jvm.questions;
    assert_ptr_equal(get(java(7, 20)), info);
    assert_int_equal(jvm.questions, questions);
    assert_true(get(java(8, 0))->id != info->id);
    assert_int_equal(counts().methods, 2);
}

static void class_names_of_all_shapes(void **state)
{
    static const struct {
        const char *signature, *name, *package;
    } SHAPES[] = {
        {"LMain;", "Main", ""},
        {"La/b/C$D;", "a/b/C$D", "a/b"},
        {"La/b/C$$Lambda.0x00007f01;", "a/b/C$$Lambda/0x00007f01", "a/b"},
        {"L;", "L;", ""},
        {"", "", ""},
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof SHAPES / sizeof *SHAPES); i++) {
        jvm.class_signature = SHAPES[i].signature;
        const struct method_info *info = get(java(i, 0));
        is_text(names.classes, info->class_id, SHAPES[i].name);
        is_text(names.packages, info->package_id, SHAPES[i].package);
    }
}

static void lines(void **state)
{
    static const struct {
        int bci, line;
    } CASES[] = {{0, 10}, {7, 10}, {8, 11}, {19, 11}, {20, 12}, {60000, 12}, {-3, 0}};
    (void)state;
    jvm.native[5] = true;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct frame frame = java(4, CASES[i].bci);
        get(frame);
        assert_int_equal(method_map_line(map, &frame), CASES[i].line);
    }
    struct frame native = java(5, FRAME_BCI_NATIVE_METHOD);
    assert_int_equal(get(native)->modifiers, 0x101);
    assert_int_equal(method_map_line(map, &native), 0);
    assert_int_equal(counts().line_tables, 1);
    struct frame never_seen = java(6, 0);
    assert_int_equal(method_map_line(map, &never_seen), 0);
}

static void unloaded_methods_are_counted_not_guessed(void **state)
{
    (void)state;
    uint32_t known = get(java(1, 0))->id;
    jvm.unloaded[1] = jvm.unloaded[2] = jvm.unloaded[3] = true;
    assert_int_equal(get(java(1, 0))->id, known); /* its name was asked in time */
    int64_t questions = jvm.questions;
    const struct method_info *info = get(java(2, 0));
    assert_int_equal(jvm.questions, questions + 1);
    assert_true(info->unknown);
    is_text(names.labels, info->name_id, UNKNOWN);
    assert_ptr_equal(get(java(3, 0)), info);
    assert_ptr_equal(get(java(2, 0)), info);
    assert_int_equal(counts().unknown, 2);
    assert_ptr_equal(get((struct frame){0, 0, 0, 0}), info); /* no id at all */
    assert_int_equal(counts().unknown, 3);
}

static void half_an_answer_is_given_back(void **state)
{
    (void)state;
    jvm.refuse_class_signature = true;
    assert_true(get(java(1, 0))->unknown);
    assert_int_equal(held.blocks, 0);
    assert_int_equal(counts().unknown, 1);
}

static void ages(void **state)
{
    (void)state;
    chunk(0, METHODS);
    assert_int_equal(counts().methods, METHODS);
    assert_int_equal(counts().line_tables, METHODS);
    for (int age = 1; age < METHOD_MAP_AGE_MAX; age++) {
        chunk(0, 10);
        assert_int_equal(counts().methods, METHODS);
    }
    int64_t full_bytes = agent_bytes();
    chunk(0, 10);
    assert_int_equal(counts().methods, 10);
    assert_int_equal(counts().line_tables, 10);
    assert_int_equal(counts().swept, METHODS - 10);
    assert_true(full_bytes - agent_bytes() > METHODS * 80); /* buckets too */
    jvm.unloaded[11] = true;
    method_map_mark(map);
    assert_true(get(java(11, 0))->unknown); /* it was forgotten in truth */
}

static void without_cleanup_nothing_goes(void **state)
{
    (void)state;
    struct method_map *own = map;
    map = method_map_create(&jvmti, &names, false);
    for (int i = 0; i < 3 * METHOD_MAP_AGE_MAX; i++)
        chunk(i, i + 1);
    assert_int_equal(counts().methods, 3 * METHOD_MAP_AGE_MAX);
    method_map_destroy(map);
    map = own;
}

static void each_referenced_is_of_this_chunk(void **state)
{
    (void)state;
    chunk(0, 20);
    assert_int_equal(referenced(), 20);
    method_map_mark(map);
    assert_int_equal(referenced(), 0);
    get(java(3, 0));
    get(java(3, 4));
    get((struct frame){WALK_GC_ACTIVE, FRAME_BCI_ERROR, 0, 0});
    assert_int_equal(referenced(), 2);
    jvm.unloaded[100] = jvm.unloaded[101] = true;
    get(java(100, 0));
    get(java(101, 0));
    assert_int_equal(referenced(), 3); /* two that share one */
}

static void error_frames_say_why(void **state)
{
    (void)state;
    const struct method_info *info = get((struct frame){WALK_GC_ACTIVE, FRAME_BCI_ERROR, 0, 0});
    is_text(names.labels, info->name_id, "gc_active");
    is_text(names.classes, info->class_id, "[stack not walked]");
    is_text(names.labels, get((struct frame){12345, FRAME_BCI_ERROR, 0, 0})->name_id, "other");
}

static void fresh_dictionaries_hold_what_is_needed(void **state)
{
    (void)state;
    chunk(0, METHODS);
    for (int i = 0; i < METHOD_MAP_AGE_MAX; i++)
        chunk(5, 8);
    struct method_names fresh = new_names(1000);
    uint32_t id = get(java(6, 0))->id;
    assert_true(method_map_reintern(map, &fresh));
    destroy_names(&names);
    names = fresh;
    const struct method_info *info = get(java(6, 0));
    assert_int_equal(info->id, id);
    is_text(names.classes, info->class_id, "org/pkg0/Class6");
    is_text(names.packages, info->package_id, "org/pkg0");
    is_text(names.labels, info->name_id, "m6");
    is_text(names.labels, info->signature_id, "()V");
    assert_int_equal(dictionary_size(names.classes), 3);
    assert_true(dictionary_size(names.labels) <= 10); /* m5..m7, ()V, what is shared */
    is_text(names.classes, get(java(50, 0))->class_id, "org/pkg2/Class50");
    jvm.unloaded[51] = true;
    is_text(names.labels, get(java(51, 0))->name_id, UNKNOWN);
}

static void no_room_in_fresh_dictionaries(void **state)
{
    (void)state;
    chunk(0, 20);
    struct method_names fresh = new_names(10);
    assert_false(method_map_reintern(map, &fresh));
    destroy_names(&fresh);
    is_text(names.classes, get(java(19, 0))->class_id, "org/pkg1/Class19");
}

static void full_dictionaries_are_counted(void **state)
{
    (void)state;
    struct method_names own = names;
    struct method_map *own_map = map;
    names = new_names(7);
    map = method_map_create(&jvmti, &names, true);
    for (int i = 0; i < 10; i++)
        get(java(i, 0));
    assert_in_range(counts().unknown, 5, 9);
    method_map_destroy(map);
    destroy_names(&names);
    names = own;
    map = own_map;
}

static void beyond_the_bound_all_is_one_method(void **state)
{
    (void)state;
    method_map_set_bound(map, 20 * METHOD_MAP_ENTRY_BYTES);
    for (int i = 0; i < 50; i++)
        get(java(i, 0));
    assert_int_equal(counts().methods, 20);
    assert_int_equal(counts().over_budget, 30);
    const struct method_info *over = get(java(49, 0));
    is_text(names.labels, over->name_id, "[over budget]");
    assert_true(over->unknown);
    assert_ptr_equal(get(java(48, 3)), over);
    assert_int_equal(method_map_line(map, &(struct frame){(uintptr_t)id_of(49), 5, 0, 0}), 0);
    is_text(names.classes, get(java(19, 0))->class_id, "org/pkg1/Class19");
    for (int i = 0; i < 4; i++) /* they go by age, and make room */
        chunk(0, 0);
    is_text(names.classes, get(java(30, 0))->class_id, "org/pkg0/Class30");
}

/* Of the test's own .symtab: the linker does not know it. */
static __attribute__((noinline)) void a_function_of_this_file(void)
{
    __asm__ volatile("nop; nop; nop; nop");
}

static void native_frames(void **state)
{
    (void)state;
    struct frame frame = {(uintptr_t)a_function_of_this_file, FRAME_BCI_PC, 0, 0};
    uint32_t id = get(frame)->id;
    is_text(names.labels, get(frame)->name_id, "a_function_of_this_file");
    assert_true(get(frame)->native_frame && !get(frame)->unknown);
    frame.value++; /* another place in the same function */
    assert_int_equal(get(frame)->id, id);
    method_map_mark(map);
    get(frame);
    assert_int_equal(referenced(), 1);
    method_map_sweep(map);

    struct frame other = {(uintptr_t)dictionary_create, FRAME_BCI_PC, 0, 0};
    is_text(names.labels, get(other)->name_id, "dictionary_create");
    other.value = (uintptr_t)getenv;
    const struct method_info *info = get(other);
    if (!info->unknown) /* a sanitizer may put its own in place of it */
        is_text(names.labels, info->name_id, "getenv");

    struct frame nowhere = {16, FRAME_BCI_PC, 0, 0};
    assert_true(get(nowhere)->unknown);
    is_text(names.labels, get(nowhere)->name_id, "[code of no library]");
    assert_int_equal(counts().unknown, 1);

    for (int i = 0; i < METHOD_MAP_AGE_MAX; i++)
        chunk(0, 1);
    assert_int_equal(counts().methods, 1); /* pcs and functions age like methods */
    frame.value++;
    is_text(names.labels, get(frame)->name_id, "a_function_of_this_file"); /* known extent */
}

/* As in a chunk: all stacks are shown first, then named. */
static void expected_frames(void **state)
{
    struct frame frames[] = {{(uintptr_t)a_function_of_this_file, FRAME_BCI_PC, 0, 0},
                             java(1, 0),
                             {(uintptr_t)a_function_of_this_file + 1, FRAME_BCI_PC, 0, 0},
                             {16, FRAME_BCI_PC, 0, 0},
                             {(uintptr_t)a_function_of_this_file, FRAME_BCI_PC, 0, 0},
                             {(uintptr_t)dictionary_create, FRAME_BCI_PC, 0, 0}};
    struct mem_snapshot before, after;
    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        method_map_expect(map, &frames[i]);
    assert_int_equal(jvm.questions, 0); /* Java methods are asked for when they are needed */
    method_map_expect_end(map);
    mem_snapshot(&before);
    is_text(names.labels, get(frames[0])->name_id, "a_function_of_this_file");
    assert_int_equal(get(frames[2])->id, get(frames[0])->id);
    is_text(names.labels, get(frames[5])->name_id, "dictionary_create");
    is_text(names.labels, get(frames[3])->name_id, "[code of no library]");
    mem_snapshot(&after); /* nothing was read for that, and nothing is new */
    assert_int_equal(after.total.allocations, before.total.allocations);
    assert_int_equal(counts().methods, 2);
    is_text(names.labels, get(frames[1])->name_id, "m1");

    /* More than are looked up together; all of no library. */
    for (uintptr_t i = 0; i < 10000; i++)
        method_map_expect(map, &(struct frame){100 + i, FRAME_BCI_PC, 0, 0});
    method_map_expect_end(map);
    assert_int_equal(counts().unknown, 10001);
    assert_true(get((struct frame){100 + 9999, FRAME_BCI_PC, 0, 0})->unknown);
    assert_int_equal(counts().unknown, 10001);
    method_map_expect_end(map); /* of nothing */
    method_map_expect(
        map, &(struct frame){99, FRAME_BCI_PC, 0, 0}); /* the end may come before its end */
}

/* The same jmethodID is then of a method with other lines. */
static void lines_of_a_redefined_method_are_asked_for_again(void **state)
{
    (void)state;
    const struct frame frame = java(3, 8), other = java(4, 8);
    method_map_mark(map);
    get(frame);
    get(other);
    assert_int_equal(method_map_line(map, &frame), 11);
    method_map_sweep(map);

    jvm.lines_moved = 100;
    jvm.unloaded[4] = true;
    method_map_mark(map);
    get(frame);
    get(other);
    assert_int_equal(method_map_line(map, &frame), 111);
    assert_int_equal(method_map_line(map, &other), 11); /* of an unloaded class: as it was */
    int64_t questions = jvm.questions;
    get(frame);
    assert_int_equal(jvm.questions, questions); /* once a chunk */
    assert_int_equal(counts().line_tables, 2);
}

int main(void)
{
#define WITH_MAP(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_MAP(a_method_has_its_names),
        WITH_MAP(class_names_of_all_shapes),
        WITH_MAP(lines),
        WITH_MAP(lines_of_a_redefined_method_are_asked_for_again),
        WITH_MAP(unloaded_methods_are_counted_not_guessed),
        WITH_MAP(half_an_answer_is_given_back),
        WITH_MAP(ages),
        WITH_MAP(without_cleanup_nothing_goes),
        WITH_MAP(each_referenced_is_of_this_chunk),
        WITH_MAP(error_frames_say_why),
        WITH_MAP(fresh_dictionaries_hold_what_is_needed),
        WITH_MAP(no_room_in_fresh_dictionaries),
        WITH_MAP(full_dictionaries_are_counted),
        WITH_MAP(beyond_the_bound_all_is_one_method),
        WITH_MAP(native_frames),
        WITH_MAP(expected_frames),
    };
    return cmocka_run_group_tests_name("agent_methods/method_map", tests, NULL, NULL);
}
