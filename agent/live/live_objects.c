#include "agent/live/live_objects.h"

#include "agent/alloc/alloc_classes.h"
#include "agent/alloc/alloc_threads.h"
#include "agent/classdef/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 256 /* references asked under one lock: some 10 us */

struct live_object {
    jweak reference;
    int64_t size_bytes;
    int64_t born_ms;
    uint32_t born_collection;
    uint16_t site;
};

struct live_objects {
    jvmtiEnv *jvmti;
    int64_t interval_bytes;
    _Atomic int64_t collections;
    int64_t swept; /* collections at the last sweep; drain thread */
    pthread_mutex_t lock;
    struct live_object *objects; /* the first counts.held of them */
    struct live_sites *sites;
    struct live_counts counts;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- life ------------------------------------------------------------------------------------- */

static bool switch_event(jvmtiEnv *jvmti, jvmtiEventMode mode)
{
    return (*jvmti)->SetEventNotificationMode(jvmti, mode, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
                                              NULL) == JVMTI_ERROR_NONE;
}

struct live_objects *live_objects_create(jvmtiEnv *jvmti, int64_t max, int64_t interval_bytes,
                                         char *error, size_t error_size)
{
    const jvmtiCapabilities wanted = {.can_generate_garbage_collection_events = 1};
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE ||
        !switch_event(jvmti, JVMTI_ENABLE)) {
        snprintf(error, error_size, "live: this JVM does not report garbage collections");
        return NULL;
    }
    struct live_objects *live = mem_alloc(COMPONENT_LIVE_OBJECTS, sizeof *live);
    if (live != NULL) {
        live->jvmti = jvmti;
        live->interval_bytes = interval_bytes;
        live->counts.max = max;
        live->sites = live_sites_create();
        live->objects = mem_map(COMPONENT_LIVE_OBJECTS, (size_t)max * sizeof *live->objects);
        pthread_mutex_init(&live->lock, NULL);
        if (live->sites != NULL && live->objects != NULL)
            return live;
    }
    snprintf(error, error_size, "live: out of memory");
    switch_event(jvmti, JVMTI_DISABLE);
    live_objects_destroy(live, NULL);
    return NULL;
}

void live_objects_destroy(struct live_objects *live, JNIEnv *env)
{
    if (live == NULL)
        return;
    switch_event(live->jvmti, JVMTI_DISABLE);
    for (int64_t i = 0; i < live->counts.held && env != NULL; i++)
        (*env)->DeleteWeakGlobalRef(env, live->objects[i].reference);
    live_sites_destroy(live->sites);
    if (live->objects != NULL)
        mem_unmap(COMPONENT_LIVE_OBJECTS, live->objects,
                  (size_t)live->counts.max * sizeof *live->objects);
    pthread_mutex_destroy(&live->lock);
    mem_free(live);
}

/* --- callbacks -------------------------------------------------------------------------------- */

void live_objects_gc_finished(struct live_objects *live)
{
    /* Relaxed: it is only compared. */
    atomic_fetch_add_explicit(&live->collections, 1, memory_order_relaxed);
}

static bool has_room(struct live_objects *live)
{
    pthread_mutex_lock(&live->lock);
    live->counts.sampled++;
    bool room = live->counts.held < live->counts.max;
    live->counts.refused += !room;
    pthread_mutex_unlock(&live->lock);
    return room;
}

static void refuse(struct live_objects *live)
{
    pthread_mutex_lock(&live->lock);
    live->counts.refused++;
    pthread_mutex_unlock(&live->lock);
}

/* "Lcom/x/Foo;" as "com.x.Foo", "[B" as "byte[]". */
static void name_of(jvmtiEnv *jvmti, jclass class, char name[LIVE_CLASS_MAX])
{
    char *signature = NULL, readable[CLASS_NAME_MAX];
    snprintf(name, LIVE_CLASS_MAX, "[no name]");
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
        return;
    if (signature[0] == '[') {
        alloc_class_java_name(signature, name, LIVE_CLASS_MAX);
    } else {
        class_name_readable(signature, readable);
        snprintf(name, LIVE_CLASS_MAX, "%.*s", LIVE_CLASS_MAX - 1, readable);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

void live_objects_see(struct live_objects *live, JNIEnv *env, jobject object, jclass class,
                      jlong size, struct live_seen *seen)
{
    seen->reference = NULL;
    seen->size_bytes = size;
    if (!has_room(live))
        return;
    name_of(live->jvmti, class, seen->class_name);
    seen->reference = (*env)->NewWeakGlobalRef(env, object);
    if (seen->reference != NULL)
        return;
    (*env)->ExceptionClear(env); /* out of memory: the allocation itself went well */
    refuse(live);
}

bool live_objects_sample(struct live_objects *live, const struct live_seen *seen,
                         const struct sampler_here *here)
{
    static const struct sampler_here NOWHERE;
    if (seen->reference == NULL)
        return true;
    if (here == NULL)
        here = &NOWHERE;
    struct live_object fresh = {
        .reference = seen->reference,
        .size_bytes = seen->size_bytes,
        .born_ms = now_ms(),
        .born_collection = (uint32_t)atomic_load_explicit(&live->collections, memory_order_relaxed),
    };
    pthread_mutex_lock(&live->lock);
    bool room = live->counts.held < live->counts.max;
    if (room) {
        fresh.site = live_sites_hold(live->sites, seen->class_name, here->frames, here->depth,
                                     here->truncated);
        live->counts.without_stack += live_sites_at(live->sites, fresh.site)->depth == 0;
        live->objects[live->counts.held++] = fresh;
    } else {
        live->counts.refused++;
    }
    pthread_mutex_unlock(&live->lock);
    return room;
}

void live_objects_forget(JNIEnv *env, const struct live_seen *seen)
{
    (*env)->DeleteWeakGlobalRef(env, seen->reference);
}

/* --- drain thread ----------------------------------------------------------------------------- */

/* Of the objects from..to: those that were collected go, and the last ones take their places.
 * Locked. */
static void sweep_some(struct live_objects *live, JNIEnv *env, int64_t from)
{
    for (int64_t i = from; i < from + AT_ONCE && i < live->counts.held;) {
        struct live_object *object = &live->objects[i];
        if (!(*env)->IsSameObject(env, object->reference, NULL)) {
            i++;
            continue;
        }
        (*env)->DeleteWeakGlobalRef(env, object->reference);
        live_sites_release(live->sites, object->site);
        *object = live->objects[--live->counts.held];
        live->counts.collected++;
    }
}

void live_objects_turn(struct live_objects *live, JNIEnv *env)
{
    int64_t collections = atomic_load_explicit(&live->collections, memory_order_relaxed);
    if (collections == live->swept)
        return;
    live->swept = collections;
    bool more = true;
    for (int64_t from = 0; more; from += AT_ONCE) {
        pthread_mutex_lock(&live->lock);
        sweep_some(live, env, from);
        more = from + AT_ONCE < live->counts.held;
        pthread_mutex_unlock(&live->lock);
    }
}

void live_objects_put_stacks(struct live_objects *live, struct calltrace_storage *traces)
{
    int slot = calltrace_enter(traces, gettid());
    pthread_mutex_lock(&live->lock);
    for (uint16_t i = 0; i < LIVE_SITES_MAX; i++) {
        struct live_site *site = live_sites_at(live->sites, i);
        if (site == NULL)
            continue;
        site->trace = slot < 0 || site->depth == 0
                          ? 0
                          : calltrace_put(traces, slot, site->frames, site->depth, site->truncated);
    }
    pthread_mutex_unlock(&live->lock);
    calltrace_leave(traces, slot);
}

/* Locked. */
static void count_survivors(struct live_objects *live)
{
    int64_t now = now_ms();
    uint32_t collections = (uint32_t)atomic_load_explicit(&live->collections, memory_order_relaxed);
    for (uint16_t i = 0; i < LIVE_SITES_MAX; i++) {
        struct live_site *site = live_sites_at(live->sites, i);
        if (site == NULL)
            continue;
        site->objects = site->own_bytes = site->most_survived = site->oldest_ms = 0;
        site->least_survived = INT64_MAX;
        site->bytes = 0;
    }
    for (int64_t i = 0; i < live->counts.held; i++) {
        const struct live_object *object = &live->objects[i];
        struct live_site *site = live_sites_at(live->sites, object->site);
        int64_t survived = (uint32_t)(collections - object->born_collection);
        if (survived == 0)
            continue;
        site->objects++;
        site->own_bytes += object->size_bytes;
        site->bytes += weight_unscaled(object->size_bytes, live->interval_bytes);
        if (survived > site->most_survived)
            site->most_survived = survived;
        if (survived < site->least_survived)
            site->least_survived = survived;
        if (now - object->born_ms > site->oldest_ms)
            site->oldest_ms = now - object->born_ms;
    }
}

void live_objects_end_chunk(struct live_objects *live, JNIEnv *env, struct jfr_writer *writer)
{
    live_objects_turn(live, env);
    pthread_mutex_lock(&live->lock);
    count_survivors(live);
    for (uint16_t i = 0; i < LIVE_SITES_MAX; i++) {
        const struct live_site *site = live_sites_at(live->sites, i);
        if (site == NULL || site->objects == 0)
            continue;
        const struct jfr_live_object event = {
            .trace_id = site->trace,
            .class_name = site->class_name,
            .objects = site->objects,
            .own_bytes = site->own_bytes,
            .bytes = llround(site->bytes),
            .least_survived = site->least_survived,
            .most_survived = site->most_survived,
            .oldest_ms = site->oldest_ms,
        };
        jfr_live_object(writer, &event);
    }
    pthread_mutex_unlock(&live->lock);
}

/* --- what people ask -------------------------------------------------------------------------- */

static void read_counts(struct live_objects *live, struct live_counts *counts)
{
    *counts = live->counts;
    counts->sites = live_sites_count(live->sites);
    counts->collections = atomic_load_explicit(&live->collections, memory_order_relaxed);
    counts->jvm_bytes = counts->held * LIVE_JWEAK_BYTES;
}

void live_objects_counts(struct live_objects *live, struct live_counts *counts)
{
    pthread_mutex_lock(&live->lock);
    read_counts(live, counts);
    pthread_mutex_unlock(&live->lock);
}

void live_objects_json(struct live_objects *live, struct json *json, const char *name)
{
    static const struct json_field FIELDS[] = {
        JSON_FIELD(struct live_counts, max),           JSON_FIELD(struct live_counts, sampled),
        JSON_FIELD(struct live_counts, held),          JSON_FIELD(struct live_counts, collected),
        JSON_FIELD(struct live_counts, refused),       JSON_FIELD(struct live_counts, sites),
        JSON_FIELD(struct live_counts, without_stack), JSON_FIELD(struct live_counts, collections),
        JSON_FIELD(struct live_counts, jvm_bytes),
    };
    struct live_counts counts;
    live_objects_counts(live, &counts);
    json_begin(json, name, '{');
    json_ints(json, FIELDS, JSON_COUNT(FIELDS), &counts);
    json_end(json, '}');
}
