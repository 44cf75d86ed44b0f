/*
 * Which classes go, and when: handlers of asgst.h for unloading and redefinition.
 *
 * HotSpot reports an unloaded class afterwards, and by name only. So each class that is loaded while
 * there is a handler is written down with its methods, and held by a weak reference: one that is empty is a
 * class that is gone. They are looked through
 *
 *   - when a class is loaded and the JVM's own count of unloaded classes has moved since the last time:
 *     what lies at the addresses of those that are gone has not run yet;
 *   - when the JVM reports an unloaded one, so that handlers hear of it though nothing is loaded.
 *
 * A class that is about to be redefined is known by the ClassFileLoadHook. Its new methods are read at the
 * next event, when it has them; until then it is held.
 *
 * Callbacks and setup, on Java threads; the lock is held over handlers and JNI, never at a safepoint.
 */
#include "agent/asgst/asgst_parts.h"

#include "agent/classdef/class_definitions.h"
#include "floor/hotspot/layout.h"
#include "floor/hotspot/load.h"
#include "agent/hotspot/safepoints.h"
#include "floor/base/fold_hash.h"
#include "agent/mem/mem.h"

#define HANDLERS_MAX   16
#define METHODS_MAX    65535 /* of a class file */
#define BUCKETS_FIRST  1024
#define KLASS_TRIES    100  /* the mirror may be moved while it is read */
#define REDEFINE_TRIES 1000 /* events until a redefinition counts as failed */

struct watched {
    struct watched *next;      /* of its bucket */
    struct watched *redefined; /* next one whose new methods are not read yet */
    uintptr_t klass;
    jweak mirror;
    jobject held; /* while it is in that list */
    int tries;
    int count;
    uintptr_t array; /* where the JVM keeps the list of its methods */
    ASGST_Method *methods;
};

static struct {
    pthread_mutex_t lock;
    struct {
        ASGST_ClassUnloadHandler function;
        void *argument;
    } handlers[HANDLERS_MAX];
    int handler_count;
    bool listening;
    bool by_name;          /* the ClassUnload event comes on a Java thread */
    uintptr_t counters[2]; /* of the JVM: classes unloaded, and shared ones */
    uint64_t unloaded;     /* their sum when all were looked through */
    struct watched **buckets;
    size_t bucket_count, watched_count;
    struct watched *redefined;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the table ---------------------------------------------------------------------------------- */

static struct watched **bucket_of(uintptr_t klass)
{
    return &watch.buckets[fold_word(klass) & (watch.bucket_count - 1)];
}

static struct watched *find(uintptr_t klass)
{
    struct watched *class = *bucket_of(klass);
    while (class != NULL && class->klass != klass)
        class = class->next;
    return class;
}

/* Without more room chains grow. */
static void grow(void)
{
    size_t before = watch.bucket_count;
    struct watched **old = watch.buckets;
    struct watched **more = mem_alloc(COMPONENT_ASGST, 2 * before * sizeof *more);
    if (more == NULL)
        return;
    watch.buckets = more;
    watch.bucket_count = 2 * before;
    for (size_t i = 0; i < before; i++) {
        while (old[i] != NULL) {
            struct watched *class = old[i];
            struct watched **bucket = bucket_of(class->klass);
            old[i] = class->next;
            class->next = *bucket;
            *bucket = class;
        }
    }
    mem_free(old);
}

static uintptr_t methods_array(uintptr_t klass)
{
    return load_pointer(klass + (uintptr_t)layout.instance_methods);
}

/* Those it has now; none when there is no room. */
static void read_methods(struct watched *class)
{
    mem_free(class->methods);
    class->methods = NULL;
    class->count = 0;
    class->array = methods_array(class->klass);
    uint32_t count = load_u32(class->array + (uintptr_t)layout.any_array_length, 0);
    if (class->array == 0 || count == 0 || count > METHODS_MAX)
        return;
    class->methods = mem_alloc_raw(COMPONENT_ASGST, count * sizeof *class->methods);
    if (class->methods == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        class->methods[i] = (ASGST_Method)load_pointer(
            class->array + (uintptr_t)layout.method_array_data + i * sizeof(uintptr_t));
    class->count = (int)count;
}

static void free_class(JNIEnv *env, struct watched *class)
{
    (*env)->DeleteWeakGlobalRef(env, class->mirror);
    if (class->held != NULL)
        (*env)->DeleteGlobalRef(env, class->held);
    mem_free(class->methods);
    mem_free(class);
    watch.watched_count--;
}

static void report_event(const struct watched *class, bool redefined)
{
    for (int i = 0; i < watch.handler_count; i++)
        watch.handlers[i].function((ASGST_Class) class->klass, class->methods, class->count,
                                   redefined, watch.handlers[i].argument);
}

/* --- what is gone ------------------------------------------------------------------------------- */

static bool is_gone(JNIEnv *env, const struct watched *class)
{
    return (*env)->IsSameObject(env, class->mirror, NULL);
}

/* A JVM that does not count them (-XX:-UsePerfData) is looked through each time it reports one. */
static bool counts(void)
{
    return watch.counters[0] != 0;
}

static uint64_t count_unloaded(void)
{
    uint64_t count = load_u64(watch.counters[0], 0);
    return watch.counters[1] != 0 ? count + load_u64(watch.counters[1], 0) : count;
}

static void look_through(JNIEnv *env)
{
    for (size_t i = 0; i < watch.bucket_count; i++) {
        for (struct watched **at = &watch.buckets[i]; *at != NULL;) {
            struct watched *class = *at;
            if (class->held != NULL || !is_gone(env, class)) {
                at = &class->next;
                continue;
            }
            *at = class->next;
            report_event(class, false);
            free_class(env, class);
        }
    }
}

/* The count is read first: what is unloaded meanwhile is looked for once more. */
static void look_when_unloaded(JNIEnv *env, bool unloaded_event)
{
    uint64_t unloaded = counts() ? count_unloaded() : 0;
    if (counts() ? unloaded == watch.unloaded : !unloaded_event)
        return;
    watch.unloaded = unloaded;
    look_through(env);
}

/* Classes that were to be redefined, and have been. */
static void settle(JNIEnv *env)
{
    for (struct watched **at = &watch.redefined; *at != NULL;) {
        struct watched *class = *at;
        bool done = methods_array(class->klass) != class->array;
        if (!done && ++class->tries < REDEFINE_TRIES) {
            at = &class->redefined;
            continue;
        }
        if (done)
            read_methods(class);
        *at = class->redefined;
        (*env)->DeleteGlobalRef(env, class->held);
        class->held = NULL;
    }
}

/* --- what comes --------------------------------------------------------------------------------- */

/* 0: no class with methods, or not to be read. */
static uintptr_t klass_of(JNIEnv *env, jclass mirror)
{
    char *signature = NULL;
    uintptr_t klass = 0;
    if ((*asgst.jvmti)->GetClassSignature(asgst.jvmti, mirror, &signature, NULL) !=
        JVMTI_ERROR_NONE)
        return 0;
    for (int i = 0; signature[0] == 'L' && klass == 0 && i < KLASS_TRIES; i++) {
        if (i > 0) /* returns when the safepoint is over that may move it */
            (*env)->IsSameObject(env, mirror, NULL);
        klass = class_klass(mirror, signature);
    }
    (*asgst.jvmti)->Deallocate(asgst.jvmti, (unsigned char *)signature);
    return klass;
}

static struct watched *add(JNIEnv *env, uintptr_t klass, jclass mirror)
{
    if (watch.watched_count >= watch.bucket_count)
        grow();
    struct watched *class = mem_alloc(COMPONENT_ASGST, sizeof *class);
    jweak weak = class != NULL ? (*env)->NewWeakGlobalRef(env, mirror) : NULL;
    if (weak == NULL) {
        mem_free(class);
        return NULL;
    }
    class->klass = klass;
    class->mirror = weak;
    read_methods(class);
    class->next = *bucket_of(klass);
    *bucket_of(klass) = class;
    watch.watched_count++;
    return class;
}

static struct watched *find_or_add(JNIEnv *env, jclass mirror)
{
    uintptr_t klass = klass_of(env, mirror);
    struct watched *class = klass != 0 ? find(klass) : NULL;
    if (class != NULL && is_gone(env, class)) { /* and nobody has counted it */
        look_through(env);
        class = NULL;
    }
    return class != NULL || klass == 0 ? class : add(env, klass, mirror);
}

static bool enter(void)
{
    pthread_mutex_lock(&watch.lock);
    if (watch.listening)
        return true;
    pthread_mutex_unlock(&watch.lock);
    return false;
}

static void leave(void)
{
    pthread_mutex_unlock(&watch.lock);
}

static void JNICALL on_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass mirror)
{
    (void)jvmti, (void)thread, (void)mirror;
    if (!enter())
        return;
    settle(env);
    look_when_unloaded(env, false);
    leave();
}

static void JNICALL on_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass mirror)
{
    (void)jvmti, (void)thread;
    if (!enter())
        return;
    settle(env);
    look_when_unloaded(env, false);
    find_or_add(env, mirror);
    leave();
}

/* Also of each class that is loaded: mirror is NULL then. */
static void JNICALL on_file(jvmtiEnv *jvmti, JNIEnv *env, jclass mirror, jobject loader,
                            const char *name, jobject domain, jint bytes, const unsigned char *data,
                            jint *new_bytes, unsigned char **new_data)
{
    (void)jvmti, (void)loader, (void)name, (void)domain, (void)bytes, (void)data, (void)new_bytes;
    (void)new_data;
    if (mirror == NULL || !enter())
        return;
    settle(env);
    struct watched *class = find_or_add(env, mirror);
    if (class != NULL) {
        report_event(class, true);
        if (class->held == NULL && (class->held = (*env)->NewGlobalRef(env, mirror)) != NULL) {
            class->redefined = watch.redefined;
            watch.redefined = class;
        }
        class->tries = 0;
    }
    leave();
}

/* (jvmtiEnv *, JNIEnv *, name); other things, at a safepoint, where by_name is not set: then the next
 * class that is loaded will do. */
static void JNICALL on_unload(jvmtiEnv *jvmti, ...)
{
    if (!watch.by_name)
        return;
    va_list arguments;
    va_start(arguments, jvmti);
    JNIEnv *env = va_arg(arguments, JNIEnv *);
    va_end(arguments);
    if (!enter())
        return;
    settle(env);
    look_when_unloaded(env, true);
    leave();
}

/* --- handlers ----------------------------------------------------------------------------------- */

static bool is_possible(void)
{
    return layout.mirror_klass != 0 && layout.klass_name >= 0 && layout.instance_methods >= 0 &&
           layout.any_array_length >= 0 && layout.method_array_data >= 0;
}

static void switch_events(jvmtiEventMode mode)
{
    static const jvmtiEvent EVENTS[] = {JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE,
                                        JVMTI_EVENT_CLASS_FILE_LOAD_HOOK};
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        (*asgst.jvmti)->SetEventNotificationMode(asgst.jvmti, mode, EVENTS[i], NULL);
}

static void add_loaded(JNIEnv *env)
{
    jint count = 0;
    jclass *mirrors = NULL;
    if ((*asgst.jvmti)->GetLoadedClasses(asgst.jvmti, &count, &mirrors) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        find_or_add(env, mirrors[i]);
        (*env)->DeleteLocalRef(env, mirrors[i]);
    }
    (*asgst.jvmti)->Deallocate(asgst.jvmti, (unsigned char *)mirrors);
}

static bool listen(JNIEnv *env)
{
    static bool prepared;
    /* Without it, retransformation is not seen; redefinition is. */
    static const jvmtiCapabilities WANTED = {.can_retransform_classes = 1};
    static const jvmtiEventCallbacks CALLBACKS = {
        .ClassLoad = on_load,
        .ClassPrepare = on_prepare,
        .ClassFileLoadHook = on_file,
    };
    watch.buckets = mem_alloc(COMPONENT_ASGST, BUCKETS_FIRST * sizeof *watch.buckets);
    if (watch.buckets == NULL)
        return false;
    watch.bucket_count = BUCKETS_FIRST;
    if (!prepared) {
        prepared = true;
        (*asgst.jvmti)->AddCapabilities(asgst.jvmti, &WANTED);
        (*asgst.jvmti)->SetEventCallbacks(asgst.jvmti, &CALLBACKS, sizeof CALLBACKS);
        watch.counters[0] = jvm_counter_find("java.cls.unloadedClasses");
        watch.counters[1] = jvm_counter_find("java.cls.sharedUnloadedClasses");
        watch.by_name = class_unload_listen(asgst.jvmti, on_unload);
    }
    watch.unloaded = counts() ? count_unloaded() : 0;
    watch.listening = true;
    switch_events(JVMTI_ENABLE); /* before: no class falls between the two */
    add_loaded(env);
    return true;
}

static void stop_listening(JNIEnv *env)
{
    switch_events(JVMTI_DISABLE);
    watch.listening = false;
    watch.redefined = NULL;
    for (size_t i = 0; i < watch.bucket_count; i++) {
        while (watch.buckets[i] != NULL) {
            struct watched *class = watch.buckets[i];
            watch.buckets[i] = class->next;
            free_class(env, class);
        }
    }
    mem_free(watch.buckets);
    watch.buckets = NULL;
    watch.bucket_count = 0;
}

static JNIEnv *own_env(void)
{
    JNIEnv *env = NULL;
    if (!asgst_is_ready() ||
        (*asgst.vm)->GetEnv(asgst.vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return NULL;
    return env;
}

bool ASGST_RegisterClassUnloadHandler(ASGST_ClassUnloadHandler handler, void *argument)
{
    JNIEnv *env = own_env();
    if (env == NULL || !is_possible())
        return false;
    pthread_mutex_lock(&watch.lock);
    bool good = watch.handler_count < HANDLERS_MAX && (watch.listening || listen(env));
    if (good) {
        watch.handlers[watch.handler_count].function = handler;
        watch.handlers[watch.handler_count++].argument = argument;
    }
    pthread_mutex_unlock(&watch.lock);
    return good;
}

bool ASGST_DeregisterClassUnloadHandler(ASGST_ClassUnloadHandler handler, void *argument)
{
    JNIEnv *env = own_env();
    int at = 0;
    if (env == NULL)
        return false;
    pthread_mutex_lock(&watch.lock);
    while (at < watch.handler_count &&
           (watch.handlers[at].function != handler || watch.handlers[at].argument != argument))
        at++;
    bool good = at < watch.handler_count;
    if (good) {
        watch.handler_count--;
        for (; at < watch.handler_count; at++)
            watch.handlers[at] = watch.handlers[at + 1];
        if (watch.handler_count == 0)
            stop_listening(env);
    }
    pthread_mutex_unlock(&watch.lock);
    return good;
}

ASGST_Class ASGST_JClassToClass(jclass klass)
{
    JNIEnv *env = klass != NULL ? own_env() : NULL;
    jclass local =
        env != NULL ? (*env)->NewLocalRef(env, klass) : NULL; /* as class_klass wants it */
    if (local == NULL)
        return NULL;
    ASGST_Class found = (ASGST_Class)klass_of(env, local);
    (*env)->DeleteLocalRef(env, local);
    return found;
}
