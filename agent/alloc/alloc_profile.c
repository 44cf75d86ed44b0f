#include "agent/alloc/alloc_profile.h"

#include "agent/alloc/alloc_classes.h"
#include "agent/alloc/alloc_threads.h"
#include "agent/mem/mem.h"
#include "agent/sampling/thread_names.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define FIRST_SAMPLES      256
#define JVM_INTERVAL_BYTES (512 << 10) /* what it is when nobody has set it */

struct alloc_sample {
    int64_t ticks, size;
    int64_t interval; /* by which it was drawn */
    double weight;    /* at the end of the chunk */
    uint32_t class, trace;
    int32_t tid;
    int32_t thread; /* of alloc_threads; -1: none */
};

struct sample_list {
    struct alloc_sample *at;
    int64_t count;
    size_t capacity;
};

struct alloc_profile {
    jvmtiEnv *jvmti;
    struct thread_names names; /* finds threads, their ids and their JNIEnv */
    int64_t interval_bytes;    /* the largest there was */
    bool exact;
    /* Callbacks and the drain thread meet in what follows. Java threads wait for it in native code:
     * a safepoint does not wait for them. */
    pthread_mutex_t lock;
    struct alloc_threads *threads;
    struct alloc_classes *classes;
    struct sample_list samples, spare; /* of this chunk; of the one being written */
    double pool_exact;                 /* bytes of the threads that are calibrated together ... */
    struct weight_sums pool;           /* ... and their samples, over all chunks */
    struct alloc_counts counts;
    bool stopped_early, closed; /* closed: the chunk that was going on then has ended, too */
};

/* --- life ------------------------------------------------------------------------------------- */

static bool take_capability(jvmtiEnv *jvmti, char *error, size_t error_size)
{
    jvmtiCapabilities potential, wanted = {.can_generate_sampled_object_alloc_events = 1};
    memset(&potential, 0, sizeof potential);
    (*jvmti)->GetPotentialCapabilities(jvmti, &potential);
    /* JDK 8 to 10 know nothing of it; and only one agent may have it at a time. */
    if (potential.can_generate_sampled_object_alloc_events &&
        (*jvmti)->AddCapabilities(jvmti, &wanted) == JVMTI_ERROR_NONE)
        return true;
    snprintf(
        error, error_size,
        "this JVM does not sample allocations: it is older than JDK 11, or another agent does");
    return false;
}

struct alloc_profile *alloc_profile_create(JavaVM *vm, jvmtiEnv *jvmti, JNIEnv *env,
                                           int64_t interval_bytes, char *error, size_t error_size)
{
    if (!take_capability(jvmti, error, error_size))
        return NULL;
    struct alloc_profile *profile = mem_alloc(COMPONENT_ALLOC_PROFILE, sizeof *profile);
    if (profile != NULL) {
        profile->jvmti = jvmti;
        profile->interval_bytes = profile->counts.interval_bytes = interval_bytes;
        profile->exact = exact_bytes_setup(env);
        thread_names_open(&profile->names, vm, jvmti);
        profile->threads = alloc_threads_create();
        profile->classes = alloc_classes_create();
        pthread_mutex_init(&profile->lock, NULL);
        if (profile->threads != NULL && profile->classes != NULL)
            return profile;
    }
    snprintf(error, error_size, "out of memory");
    alloc_profile_destroy(profile);
    return NULL;
}

/* Known from now on, if it was not: its next gap is drawn by the present interval. -1: no room. */
static int32_t know(struct alloc_profile *profile, const void *env, int64_t java_id, int64_t bytes)
{
    int32_t number = alloc_threads_add(profile->threads, env, java_id, bytes);
    struct alloc_thread *thread = number >= 0 ? alloc_threads_at(profile->threads, number) : NULL;
    if (thread != NULL && thread->gap_bytes == 0)
        thread->gap_bytes = profile->counts.interval_bytes;
    return number;
}

static void add_thread(void *context, JNIEnv *jni, jthread thread, const void *env)
{
    struct alloc_profile *profile = context;
    int64_t java_id = thread_names_java_id(&profile->names, jni, thread);
    int64_t bytes = exact_bytes_of(jni, java_id);
    if (bytes >= 0)
        know(profile, env, java_id, bytes);
}

bool alloc_profile_begin(struct alloc_profile *profile, char *error, size_t error_size)
{
    jvmtiEnv *jvmti = profile->jvmti;
    pthread_mutex_lock(&profile->lock);
    if (profile->exact)
        thread_names_each(&profile->names, add_thread, profile);
    pthread_mutex_unlock(&profile->lock);
    jvmtiError code = (*jvmti)->SetHeapSamplingInterval(jvmti, (jint)profile->interval_bytes);
    if (code == JVMTI_ERROR_NONE)
        code = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE,
                                                  JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
    if (code == JVMTI_ERROR_NONE)
        return true;
    snprintf(error, error_size, "this JVM refuses to sample allocations: JVMTI error %d",
             (int)code);
    return false;
}

bool alloc_profile_set_interval(struct alloc_profile *profile, int64_t interval_bytes, char *error,
                                size_t error_size)
{
    jvmtiEnv *jvmti = profile->jvmti;
    pthread_mutex_lock(&profile->lock);
    jvmtiError code = (*jvmti)->SetHeapSamplingInterval(jvmti, (jint)interval_bytes);
    if (code == JVMTI_ERROR_NONE && interval_bytes != profile->counts.interval_bytes) {
        profile->counts.interval_bytes = interval_bytes;
        profile->counts.interval_changes++;
        if (interval_bytes > profile->interval_bytes)
            profile->interval_bytes = interval_bytes;
    }
    pthread_mutex_unlock(&profile->lock);
    if (code == JVMTI_ERROR_NONE)
        return true;
    snprintf(error, error_size, "this JVM refuses the interval: JVMTI error %d", (int)code);
    return false;
}

void alloc_profile_quiet(struct alloc_profile *profile)
{
    (*profile->jvmti)
        ->SetEventNotificationMode(profile->jvmti, JVMTI_DISABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
                                   NULL);
}

void alloc_profile_give_way(struct alloc_profile *profile)
{
    alloc_profile_quiet(profile);
    pthread_mutex_lock(&profile->lock);
    profile->stopped_early = true;
    pthread_mutex_unlock(&profile->lock);
}

void alloc_profile_destroy(struct alloc_profile *profile)
{
    if (profile == NULL)
        return;
    const jvmtiCapabilities ours = {.can_generate_sampled_object_alloc_events = 1};
    alloc_profile_quiet(profile);
    (*profile->jvmti)->SetHeapSamplingInterval(profile->jvmti, JVM_INTERVAL_BYTES);
    (*profile->jvmti)->RelinquishCapabilities(profile->jvmti, &ours);
    alloc_threads_destroy(profile->threads);
    alloc_classes_destroy(profile->classes);
    mem_free(profile->samples.at);
    mem_free(profile->spare.at);
    pthread_mutex_destroy(&profile->lock);
    mem_free(profile);
}

/* --- callbacks -------------------------------------------------------------------------------- */

void alloc_profile_see(struct alloc_profile *profile, JNIEnv *env, jclass class, jlong size,
                       struct alloc_seen *seen)
{
    jvmtiEnv *jvmti = profile->jvmti;
    char *signature = NULL;
    seen->ticks = clock_now_ns();
    seen->size = size;
    seen->thread_bytes = exact_bytes_own(env);
    seen->class = 0;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
        return;
    pthread_mutex_lock(&profile->lock);
    seen->class = alloc_classes_put(profile->classes, signature);
    pthread_mutex_unlock(&profile->lock);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static struct alloc_sample *new_sample(struct sample_list *list)
{
    static const struct mem_array SAMPLES = {COMPONENT_ALLOC_PROFILE, sizeof *list->at,
                                             FIRST_SAMPLES, ALLOC_SAMPLES_MAX};
    return mem_grow(&SAMPLES, &list->at, &list->capacity, (size_t)list->count + 1)
               ? &list->at[list->count++]
               : NULL;
}

void alloc_profile_sample(struct alloc_profile *profile, JNIEnv *env, const struct alloc_seen *seen,
                          int tid, uint32_t trace)
{
    pthread_mutex_lock(&profile->lock);
    struct alloc_sample *sample = new_sample(&profile->samples);
    /* A thread that nothing has reported: a carrier of virtual threads, or one on its way out.
     * Its earlier allocations may be older than the profile. */
    int32_t number =
        seen->thread_bytes < 0 ? -1 : know(profile, env, 0, seen->thread_bytes - seen->size);
    int64_t interval = profile->counts.interval_bytes;
    if (number >= 0) {
        struct alloc_thread *thread = alloc_threads_at(profile->threads, number);
        alloc_threads_read(thread, seen->thread_bytes);
        interval = thread->gap_bytes;
        thread->gap_bytes = profile->counts.interval_bytes; /* the JVM has drawn the next one */
    }
    if (sample != NULL) {
        *sample = (struct alloc_sample){.ticks = seen->ticks,
                                        .size = seen->size,
                                        .interval = interval,
                                        .class = seen->class,
                                        .trace = trace,
                                        .tid = tid,
                                        .thread = number};
        if (number >= 0)
            alloc_threads_at(profile->threads, number)->sums.samples++;
    } else {
        profile->counts.lost++;
    }
    pthread_mutex_unlock(&profile->lock);
}

/* Of a thread without samples only the bytes are of interest: thousands may end in a chunk. */
static void end_thread(struct alloc_profile *profile, int32_t number, int64_t bytes)
{
    alloc_threads_ended(profile->threads, number, bytes);
    const struct alloc_thread *thread = alloc_threads_at(profile->threads, number);
    int64_t all = thread->latest_bytes - thread->first_bytes;
    if (all < ALLOC_SHORT_INTERVALS * profile->interval_bytes && !profile->closed)
        profile->counts.short_bytes += all;
    if (thread->sums.samples > 0)
        return;
    int64_t taken = alloc_threads_take(profile->threads, number);
    if (profile->closed)
        return;
    profile->pool_exact += (double)taken;
    profile->counts.total_bytes += taken;
}

void alloc_profile_thread_started(struct alloc_profile *profile, JNIEnv *env, jthread thread)
{
    if (!profile->exact)
        return;
    int64_t java_id = thread_names_java_id(&profile->names, env, thread);
    pthread_mutex_lock(&profile->lock);
    int32_t before = alloc_threads_find(profile->threads, env);
    if (before >= 0 && alloc_threads_at(profile->threads, before)->java_id != java_id)
        end_thread(profile, before, -1); /* its JNIEnv is ours now, so it is gone */
    /* All it has allocated up to now is of our time, but for the first threads of a recording that
     * is just beginning: those have been added by then. */
    know(profile, env, java_id, 0);
    pthread_mutex_unlock(&profile->lock);
}

void alloc_profile_thread_ended(struct alloc_profile *profile, JNIEnv *env)
{
    int64_t bytes = exact_bytes_own(env);
    pthread_mutex_lock(&profile->lock);
    int32_t number = alloc_threads_find(profile->threads, env);
    if (number >= 0)
        end_thread(profile, number, bytes);
    pthread_mutex_unlock(&profile->lock);
}

/* --- the end of a chunk ----------------------------------------------------------------------- */

/* The pool's calibration, once it is worth it. */
static double pool_calibration(const struct alloc_profile *profile)
{
    if (!profile->exact || profile->pool.samples == 0 ||
        profile->pool_exact < ALLOC_OWN_INTERVALS * (double)profile->interval_bytes)
        return 1;
    return weight_calibration(profile->pool_exact, profile->pool.sizes, profile->pool.unscaled);
}

static void sum_up_threads(struct alloc_profile *profile, JNIEnv *env,
                           const struct sample_list *samples)
{
    struct alloc_threads *threads = profile->threads;
    int32_t count = alloc_threads_count(threads);
    double own = ALLOC_OWN_INTERVALS * (double)profile->interval_bytes;
    for (int32_t i = 0; i < count; i++)
        alloc_threads_at(threads, i)->sums = (struct weight_sums){0};
    for (int64_t i = 0; i < samples->count; i++) {
        const struct alloc_sample *sample = &samples->at[i];
        struct weight_sums *sums =
            sample->thread >= 0 ? &alloc_threads_at(threads, sample->thread)->sums : &profile->pool;
        weight_sums_add(sums, sample->size, sample->interval);
    }
    for (int32_t i = 0; i < count; i++) {
        struct alloc_thread *thread = alloc_threads_at(threads, i);
        if (thread->env == NULL)
            continue;
        if (!thread->ended)
            alloc_threads_read(thread, exact_bytes_of(env, thread->java_id));
        int64_t bytes = alloc_threads_take(threads, i);
        if (profile->closed)
            bytes = 0;
        profile->counts.total_bytes += bytes;
        thread->pooled = (double)bytes < own || thread->sums.samples == 0;
        if (thread->pooled) {
            profile->pool_exact += (double)bytes;
            weight_sums_merge(&profile->pool, &thread->sums);
        } else {
            thread->calibration =
                weight_calibration((double)bytes, thread->sums.sizes, thread->sums.unscaled);
        }
    }
}

static void weigh(struct alloc_profile *profile, struct alloc_sample *sample, double pool)
{
    const struct alloc_thread *thread =
        sample->thread >= 0 ? alloc_threads_at(profile->threads, sample->thread) : NULL;
    struct alloc_class *class = alloc_classes_at(profile->classes, sample->class);
    double unscaled = weight_unscaled(sample->size, sample->interval);
    bool pooled = thread == NULL || thread->pooled;
    sample->weight = weight_of(sample->size, unscaled, pooled ? pool : thread->calibration);
    class->samples++;
    class->counted_bytes +=
        (double)(sample->size > sample->interval ? sample->size : sample->interval);
    if (pooled) {
        weight_sums_add(&class->pool, sample->size, sample->interval);
        return;
    }
    class->settled_bytes += sample->weight;
    class->settled_variance += weight_variance(sample->size, sample->interval, sample->weight);
}

/* Names of classes may be added to meanwhile: the lock. */
static uint32_t class_in_chunk(struct alloc_profile *profile, uint32_t number,
                               struct dictionary *classes)
{
    pthread_mutex_lock(&profile->lock);
    struct alloc_class *class = alloc_classes_at(profile->classes, number);
    if (class->pool_id == 0)
        class->pool_id = dictionary_put(classes, class->name, strlen(class->name));
    uint32_t id = class->pool_id;
    pthread_mutex_unlock(&profile->lock);
    return id;
}

static void write_samples(struct alloc_profile *profile, const struct sample_list *samples,
                          struct jfr_writer *writer, struct dictionary *classes)
{
    for (int64_t i = 0; i < samples->count; i++) {
        const struct alloc_sample *sample = &samples->at[i];
        jfr_allocation_sample(writer, sample->ticks, sample->tid, sample->trace,
                              class_in_chunk(profile, sample->class, classes),
                              llround(sample->weight), sample->size);
    }
}

void alloc_profile_end_chunk(struct alloc_profile *profile, JNIEnv *env, struct jfr_writer *writer,
                             struct dictionary *classes)
{
    pthread_mutex_lock(&profile->lock);
    struct sample_list samples = profile->samples;
    profile->samples = profile->spare;
    profile->samples.count = 0;
    profile->spare = samples;
    if (profile->closed) { /* of callbacks that were under way */
        profile->counts.lost += samples.count;
        samples.count = 0;
    }
    sum_up_threads(profile, env, &samples);
    double pool = pool_calibration(profile);
    for (int64_t i = 0; i < samples.count; i++) {
        weigh(profile, &samples.at[i], pool);
        profile->counts.samples++;
        profile->counts.without_stack += samples.at[i].trace == 0;
    }
    /* The chunk before had its own numbers, perhaps of another dictionary. */
    for (uint32_t i = 0; i < alloc_classes_count(profile->classes); i++)
        alloc_classes_at(profile->classes, i)->pool_id = 0;
    for (int32_t i = 0; i < alloc_threads_count(profile->threads); i++)
        alloc_threads_at(profile->threads, i)->sums = (struct weight_sums){0};
    profile->closed = profile->stopped_early;
    pthread_mutex_unlock(&profile->lock);
    write_samples(profile, &samples, writer, classes);
}

/* --- what people ask -------------------------------------------------------------------------- */

void alloc_profile_counts(struct alloc_profile *profile, struct alloc_counts *counts)
{
    pthread_mutex_lock(&profile->lock);
    *counts = profile->counts;
    counts->threads_refused = alloc_threads_refused(profile->threads);
    pthread_mutex_unlock(&profile->lock);
    if (!profile->exact)
        counts->total_bytes = -1;
}

void alloc_counts_json(const struct alloc_counts *counts, struct json *json)
{
    static const struct json_field FIELDS[] = {
        JSON_FIELD(struct alloc_counts, interval_bytes),
        JSON_FIELD(struct alloc_counts, interval_changes),
        JSON_FIELD(struct alloc_counts, samples),
        JSON_FIELD(struct alloc_counts, without_stack),
        JSON_FIELD(struct alloc_counts, lost),
        JSON_FIELD(struct alloc_counts, threads_refused),
    };
    json_ints(json, FIELDS, JSON_COUNT(FIELDS), counts);
}

void alloc_profile_json(struct alloc_profile *profile, struct json *json, const char *name)
{
    struct alloc_counts counts;
    alloc_profile_counts(profile, &counts);
    pthread_mutex_lock(&profile->lock);
    json_begin(json, name, '{');
    alloc_counts_json(&counts, json);
    json_int(json, "short_threads_bytes", counts.short_bytes);
    json_bool(json, "stopped_early", profile->stopped_early);
    json_int_if(json, "total_bytes", counts.total_bytes, counts.total_bytes >= 0);
    alloc_classes_json(profile->classes, pool_calibration(profile), json);
    json_end(json, '}');
    pthread_mutex_unlock(&profile->lock);
}
