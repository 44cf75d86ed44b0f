#include "agent/methods/jmethod_ids.h"

#include "agent/hotspot/layout_here.h"
#include "floor/hotspot/load.h"
#include "agent/mem/mem.h"

#include <stdatomic.h>
#include <string.h>

#define LAST_JDK_OF_BLOCKS 25 /* from 26 on ids are entries of a table, and freed */
#define BLOCK_SLOTS_MIN    8
#define BLOCK_NODE_BYTES   24
#define FIRST_BLOCK_BYTES  16
#define ID_BYTES           24 /* of the table, JDK 26 */
#define ID_LIST_FIRST      32
#define ID_LIST_BYTES      12 /* per id: a list that doubles holds 8 to 16 bytes for each */

/* Remembered loaders: [ hash with the top bit set | free slots of its last block ], 0: nobody.
 * 128 KB that are touched as loaders come. */
#define LOADERS     16384
#define BOOT_LOADER UINT32_C(1)

struct jmethod_ids {
    jvmtiEnv *jvmti;
    int jdk_major;
    _Atomic int policy; /* enum id_policy */
    _Atomic int64_t budget_bytes;
    _Atomic int64_t classes, methods, loaded_bytes, kept_bytes, unloaded_classes, failed,
        jvmti_bytes, skipped_classes, unprepared, predicted_bytes;
    _Atomic uint64_t *loaders; /* NULL when there was no memory: every class counts as the first */
};

/* --- policies --------------------------------------------------------------------------------- */

static const char *const POLICIES[] = {"none", "lazy", "budget", "all"};

const char *id_policy_name(enum id_policy policy)
{
    return POLICIES[policy];
}

enum id_policy id_policy_of(const char *text, bool needs_ids)
{
    size_t length = strcspn(text, "=");
    for (int i = IDS_NONE; i <= IDS_ALL; i++)
        if (strlen(POLICIES[i]) == length && memcmp(POLICIES[i], text, length) == 0)
            return (enum id_policy)i;
    return needs_ids ? IDS_ALL : IDS_NONE;
}

void jmethod_ids_set_policy(struct jmethod_ids *ids, enum id_policy policy, int64_t budget_bytes)
{
    atomic_store(&ids->budget_bytes, budget_bytes);
    atomic_store(&ids->policy, (int)policy);
}

enum id_policy jmethod_ids_policy(const struct jmethod_ids *ids)
{
    return (enum id_policy)atomic_load(&ids->policy);
}

int jmethod_ids_jdk_major(const struct jmethod_ids *ids)
{
    return ids->jdk_major;
}

/* --- the formula ------------------------------------------------------------------------------ */

static int64_t cache_bytes(int64_t methods)
{
    return 8 * (methods + 1);
}

static int64_t first_bytes(bool first_in_loader)
{
    return first_in_loader ? FIRST_BLOCK_BYTES : 0;
}

/* Slots for so many methods, when *free are left over in the loader's last block. */
static int64_t block_bytes(int64_t methods, int64_t *free)
{
    if (methods <= *free) {
        *free -= methods;
        return 0;
    }
    int64_t more = methods - *free;
    int64_t slots = more > BLOCK_SLOTS_MIN ? more : BLOCK_SLOTS_MIN;
    *free = slots - more;
    return 8 * slots + BLOCK_NODE_BYTES;
}

int64_t jmethod_ids_kept_bytes(int jdk_major, int64_t methods, bool first_in_loader)
{
    int64_t free = 0;
    if (methods <= 0 || jdk_major > LAST_JDK_OF_BLOCKS)
        return 0;
    return block_bytes(methods, &free) + first_bytes(first_in_loader);
}

int64_t jmethod_ids_class_bytes(int jdk_major, int64_t methods, bool first_in_loader)
{
    if (methods <= 0)
        return 0;
    if (jdk_major <= LAST_JDK_OF_BLOCKS)
        return cache_bytes(methods) + jmethod_ids_kept_bytes(jdk_major, methods, first_in_loader);
    int64_t list_bytes = ID_LIST_BYTES * methods;
    if (first_in_loader)
        list_bytes =
            BLOCK_NODE_BYTES + 8 * (methods > ID_LIST_FIRST ? 2 * methods : (int64_t)ID_LIST_FIRST);
    return ID_BYTES * methods + cache_bytes(methods) + list_bytes;
}

/* --- the bill --------------------------------------------------------------------------------- */

static void count(_Atomic int64_t *counter, int64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static int64_t read_count(const _Atomic int64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

struct jmethod_ids *jmethod_ids_create(jvmtiEnv *jvmti, int jdk_major)
{
    struct jmethod_ids *ids = mem_alloc(COMPONENT_JMETHOD_IDS, sizeof *ids);
    if (ids == NULL)
        return NULL;
    ids->jvmti = jvmti;
    ids->jdk_major = jdk_major;
    atomic_store(&ids->policy, IDS_ALL);
    atomic_store(&ids->predicted_bytes, -1);
    ids->loaders = mem_map(COMPONENT_JMETHOD_IDS, LOADERS * sizeof *ids->loaders);
    return ids;
}

void jmethod_ids_destroy(struct jmethod_ids *ids)
{
    if (ids->loaders != NULL)
        mem_unmap(COMPONENT_JMETHOD_IDS, ids->loaders, LOADERS * sizeof *ids->loaders);
    mem_free(ids);
}

/* A number that stays with the class's loader; 0 when it cannot be had. */
static uint32_t loader_number(struct jmethod_ids *ids, JNIEnv *env, jclass class)
{
    jobject loader = NULL;
    jint hash = 0;
    if ((*ids->jvmti)->GetClassLoader(ids->jvmti, class, &loader) != JVMTI_ERROR_NONE)
        return 0;
    if (loader == NULL)
        return BOOT_LOADER;
    jvmtiError code = (*ids->jvmti)->GetObjectHashCode(ids->jvmti, loader, &hash);
    (*env)->DeleteLocalRef(env, loader);
    return code == JVMTI_ERROR_NONE ? (uint32_t)hash | UINT32_C(1) << 31 : 0;
}

/* What the class's slots cost, shared with its loader's classes before it; loader 0: with none. */
static int64_t slots_bytes(struct jmethod_ids *ids, uint32_t loader, int64_t methods, bool *first)
{
    *first = true;
    if (loader == 0 || ids->loaders == NULL)
        return jmethod_ids_kept_bytes(ids->jdk_major, methods, true);
    _Atomic uint64_t *place = &ids->loaders[loader % LOADERS];
    uint64_t seen = atomic_load_explicit(place, memory_order_relaxed), now;
    int64_t bytes;
    do { /* classes of one loader may be prepared by many threads at once */
        *first = seen >> 32 != loader;
        int64_t free = *first ? 0 : (int64_t)(seen & UINT32_MAX);
        bytes = block_bytes(methods, &free) + first_bytes(*first);
        now = (uint64_t)loader << 32 | (uint64_t)free;
    } while (!atomic_compare_exchange_weak_explicit(place, &seen, now, memory_order_relaxed,
                                                    memory_order_relaxed));
    return ids->jdk_major <= LAST_JDK_OF_BLOCKS ? bytes : 0;
}

void jmethod_ids_charge(struct jmethod_ids *ids, JNIEnv *env, jclass class, jmethodID any,
                        int64_t methods)
{
    bool first;
    count(&ids->classes, 1);
    if (methods == 0)
        return;
    uint32_t loader = class_data_is_own(any) ? 0 : loader_number(ids, env, class);
    int64_t kept = slots_bytes(ids, loader, methods, &first);
    count(&ids->methods, methods);
    count(&ids->kept_bytes, kept);
    count(&ids->loaded_bytes, ids->jdk_major <= LAST_JDK_OF_BLOCKS
                                  ? cache_bytes(methods) + kept
                                  : jmethod_ids_class_bytes(ids->jdk_major, methods, first));
}

/* A class more than fits is paid for: what it costs is known when it has been asked. */
static bool wanted(struct jmethod_ids *ids)
{
    switch (jmethod_ids_policy(ids)) {
    case IDS_ALL:
        return true;
    case IDS_BUDGET:
        if (read_count(&ids->loaded_bytes) < atomic_load(&ids->budget_bytes))
            return true;
        count(&ids->skipped_classes, 1);
        return false;
    case IDS_NONE:
    case IDS_LAZY:
        break;
    }
    return false;
}

void jmethod_ids_prepare(struct jmethod_ids *ids, JNIEnv *env, jclass class)
{
    if (!wanted(ids)) {
        count(&ids->unprepared, 1);
        return;
    }
    jint number = 0;
    jmethodID *methods = NULL;
    jvmtiError code = (*ids->jvmti)->GetClassMethods(ids->jvmti, class, &number, &methods);
    if (code == JVMTI_ERROR_CLASS_NOT_PREPARED)
        return; /* its ClassPrepare is still to come */
    if (code != JVMTI_ERROR_NONE) {
        count(&ids->failed, 1);
        return;
    }
    int64_t held_bytes = number * (int64_t)sizeof *methods;
    jmethodID any = number > 0 ? methods[0] : NULL;
    count(&ids->jvmti_bytes, held_bytes);
    if ((*ids->jvmti)->Deallocate(ids->jvmti, (unsigned char *)methods) == JVMTI_ERROR_NONE)
        count(&ids->jvmti_bytes, -held_bytes);
    jmethod_ids_charge(ids, env, class, any, number);
}

/* A step that has no divisor in common with number, and is not close to a simple part of it. */
static int64_t mixing_step(int64_t number)
{
    int64_t step = number * 618 / 1000;
    for (; step > 1; step--) {
        int64_t a = number, b = step;
        while (b != 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
    return 1;
}

static void prepare_each(struct jmethod_ids *ids, JNIEnv *env, const jclass *classes, jint number)
{
    int64_t before = read_count(&ids->loaded_bytes), prepared = read_count(&ids->classes);
    int64_t step = jmethod_ids_policy(ids) == IDS_BUDGET ? mixing_step(number) : 1;
    int64_t skipped = read_count(&ids->skipped_classes), at = 0;
    for (jint i = 0; i < number; i++, at = (at + step) % number) {
        jboolean array = JNI_FALSE;
        (*ids->jvmti)->IsArrayClass(ids->jvmti, classes[at], &array);
        if (!array)
            jmethod_ids_prepare(ids, env, classes[at]);
    }
    prepared = read_count(&ids->classes) - prepared;
    skipped = read_count(&ids->skipped_classes) - skipped;
    if (prepared == 0)
        return;
    int64_t bytes = read_count(&ids->loaded_bytes) - before;
    if (skipped > 0)
        bytes = (int64_t)((double)bytes / (double)prepared * (double)(prepared + skipped));
    atomic_store(&ids->predicted_bytes, bytes);
}

int64_t jmethod_ids_prepare_all(struct jmethod_ids *ids, JNIEnv *env)
{
    jint number = 0;
    jclass *classes = NULL;
    int64_t before = read_count(&ids->classes);
    enum id_policy policy = jmethod_ids_policy(ids);
    if (policy == IDS_NONE || policy == IDS_LAZY)
        return 0;
    /* A local reference for each class; the frame takes them all back. */
    if ((*env)->PushLocalFrame(env, 16) != JNI_OK) {
        (*env)->ExceptionClear(env);
        count(&ids->failed, 1);
        return 0;
    }
    if ((*ids->jvmti)->GetLoadedClasses(ids->jvmti, &number, &classes) == JVMTI_ERROR_NONE) {
        int64_t held_bytes = number * (int64_t)sizeof *classes;
        count(&ids->jvmti_bytes, held_bytes);
        prepare_each(ids, env, classes, number);
        if ((*ids->jvmti)->Deallocate(ids->jvmti, (unsigned char *)classes) == JVMTI_ERROR_NONE)
            count(&ids->jvmti_bytes, -held_bytes);
    } else {
        count(&ids->failed, 1);
    }
    (*env)->PopLocalFrame(env, NULL);
    return read_count(&ids->classes) - before;
}

void jmethod_ids_unloaded(struct jmethod_ids *ids)
{
    count(&ids->unloaded_classes, 1);
}

void jmethod_ids_bill(const struct jmethod_ids *ids, struct jmethod_ids_bill *bill)
{
    *bill = (struct jmethod_ids_bill){
        .classes = read_count(&ids->classes),
        .methods = read_count(&ids->methods),
        .loaded_bytes = read_count(&ids->loaded_bytes),
        .unloaded_classes = read_count(&ids->unloaded_classes),
        .kept_if_all_unload_bytes = read_count(&ids->kept_bytes),
        .failed = read_count(&ids->failed),
        .jvmti_bytes = read_count(&ids->jvmti_bytes),
        .policy = jmethod_ids_policy(ids),
        .budget_bytes = atomic_load(&ids->budget_bytes),
        .skipped_classes = read_count(&ids->skipped_classes),
        .predicted_bytes = read_count(&ids->predicted_bytes),
    };
    /* Classes that were never prepared are unloaded too: of the others their share. */
    int64_t unprepared = read_count(&ids->unprepared);
    double share =
        unprepared == 0 ? 1 : (double)bill->classes / (double)(bill->classes + unprepared);
    int64_t unloaded = (int64_t)((double)bill->unloaded_classes * share);
    if (unloaded > bill->classes)
        unloaded = bill->classes;
    bill->present_bytes = bill->loaded_bytes;
    if (unloaded > 0) {
        double gone = (double)unloaded / (double)bill->classes;
        bill->kept_after_unload_bytes = (int64_t)((double)bill->kept_if_all_unload_bytes * gone);
        bill->present_bytes -= (int64_t)((double)bill->loaded_bytes * gone);
        bill->present_bytes += bill->kept_after_unload_bytes;
    }
}

#define LAST_JDK_OF_SLOTS 25 /* a jmethodID is the address of a slot that holds a Method * */

bool class_data_setup(jvmtiEnv *jvmti, JNIEnv *env)
{
    char unheard[256];
    return layout_read(jvmti, env, unheard, sizeof unheard) && layout.klass_loader_data >= 0 &&
           layout.loader_data_own >= 0 && layout.jdk_major <= LAST_JDK_OF_SLOTS;
}

/* The pointer in a field; 0 of what is 0. */
static uintptr_t field(uintptr_t object, int32_t offset)
{
    return object == 0 ? 0 : load_pointer(object + (uintptr_t)offset);
}

bool class_data_is_own(jmethodID method)
{
    if (layout.klass_loader_data <= 0 || layout.loader_data_own <= 0 ||
        layout.jdk_major > LAST_JDK_OF_SLOTS)
        return false;
    uintptr_t constants =
        field(field(field((uintptr_t)method, 0), layout.method_const), layout.const_constants);
    uintptr_t data = field(field(constants, layout.pool_holder), layout.klass_loader_data);
    return data != 0 && load_u8(data + (uintptr_t)layout.loader_data_own, 0) == 1;
}
