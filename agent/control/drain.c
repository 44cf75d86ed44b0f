#include "agent/control/drain.h"

#include "agent/control/breaker_apply.h"
#include "floor/hotspot/class_graph.h"
#include "agent/control/published.h"
#include "floor/hotspot/load.h"
#include "agent/hotspot/safepoints.h"
#include "agent/mem/mem.h"
#include "agent/sampling/own_thread.h"
#include "agent/stack/native.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define TURN_NS    100000000  /* a buffer of 64 KB holds a tenth of a second of 20 000 events/s */
#define SCAN_NS    1000000000 /* for threads that announce themselves to nobody; the longest wait */
#define PUBLISH_NS 5000000000 /* a watch asks NMT that often */
#define COUNT_NS   15000000000  /* methods of all classes, when classes have come or gone; */
#define RECOUNT_NS 300000000000 /* anyway: redefinition changes their methods */

/* Between two counts, times what one takes: 0.2 %. And how many classes are named at most: this thread has
 * handlers to serve meanwhile. */
#define COUNT_PART        500
#define NAMED_CLASSES_MAX 100000

/* Between two tries to begin a chunk, unless chunks are longer. */
#define RETRY_MAX_NS 60000000000

struct drain {
    JavaVM *vm;
    struct recording *recording;
    int64_t chunk_ns;
    pthread_t thread;
    pthread_mutex_t lock;
};

/* False: stopped. Lazily made ids and living objects need short turns: nothing asks for those. */
static bool wait_turn(struct drain *drain, int64_t latest_ns)
{
    int64_t turn_ns = clock_now_ns() + TURN_NS;
    if (drain->recording->lazy != NULL || drain->recording->live != NULL || latest_ns < turn_ns)
        latest_ns = turn_ns;
    pthread_mutex_unlock(&drain->lock);
    bool on = wakeup_wait(&drain->recording->sampler.wakeup, turn_ns, latest_ns);
    pthread_mutex_lock(&drain->lock);
    return on;
}

static int64_t earlier(int64_t one_ns, int64_t other_ns)
{
    return one_ns < other_ns ? one_ns : other_ns;
}

/* When the next chunk ends; while none can be begun, when that is tried again: after twice the time
 * each time. */
static int64_t next_end_ns(const struct drain *drain, int *failures)
{
    int64_t longest_ns = drain->chunk_ns > RETRY_MAX_NS ? drain->chunk_ns : RETRY_MAX_NS;
    int64_t wait_ns = drain->chunk_ns;
    *failures = recording_is_interrupted(drain->recording) ? *failures + 1 : 0;
    for (int i = 1; i < *failures && wait_ns < longest_ns; i++)
        wait_ns *= 2;
    return clock_now_ns() + (wait_ns < longest_ns ? wait_ns : longest_ns);
}

/* Sums of all classes, and by family where reading their names does not keep this thread for long. False: something
 * could not be read, and is worth another try. */
static bool count_methods(const struct recording *recording)
{
    struct loaded_methods sums, named;
    struct loaded_families *families = NULL;
    char unused[160];
    if (recording->sampler.engine->walk_here == NULL)
        return false;
    bool good = class_graph_walk(&sums, NULL, unused, sizeof unused), names = false;
    if (good && sums.classes <= NAMED_CLASSES_MAX)
        families = mem_map(COMPONENT_CLASS_DEFINITIONS, sizeof *families);
    if (families != NULL)
        names = class_graph_walk(&named, families, unused, sizeof unused);
    published_methods(names ? &named : good ? &sums : NULL);
    if (families != NULL)
        mem_unmap(COMPONENT_CLASS_DEFINITIONS, families, sizeof *families);
    return names || (good && sums.classes > NAMED_CLASSES_MAX);
}

/* Another number whenever a class is loaded or unloaded; 0: this JVM does not count them where we could read it. */
static uint64_t class_changes(const struct recording *recording)
{
    static const char *const COUNTERS[] = {"java.cls.loadedClasses", "java.cls.sharedLoadedClasses",
                                           "java.cls.unloadedClasses",
                                           "java.cls.sharedUnloadedClasses"};
    uint64_t sum = 0;
    if (recording->sampler.engine->walk_here == NULL) /* its loads are guarded */
        return 0;
    for (size_t i = 0; i < sizeof COUNTERS / sizeof *COUNTERS; i++) {
        uintptr_t counter = jvm_counter_find(COUNTERS[i]);
        if (counter == 0)
            return 0;
        sum += load_u64(counter, 0);
    }
    return sum;
}

static void work(struct drain *drain, JNIEnv *env)
{
    int64_t chunk_end_ns = clock_now_ns() + drain->chunk_ns,
            next_scan_ns = clock_now_ns() + SCAN_NS;
    int64_t next_publish_ns = clock_now_ns(), next_count_ns = next_publish_ns,
            end_ns = drain->recording->end_ns;
    int64_t recount_ns = next_count_ns;
    uint64_t counted_changes = 0;
    int failures = 0;
    pthread_mutex_lock(&drain->lock);
    while (wait_turn(
        drain, earlier(earlier(next_scan_ns, chunk_end_ns), end_ns != 0 ? end_ns : INT64_MAX))) {
        recording_turn(drain->recording);
        threads_pause(drain->recording->threads, recording_is_interrupted(drain->recording));
        recording_meet(drain->recording, env);
        if (drain->recording->live != NULL)
            live_objects_turn(drain->recording->live, env);
        if (clock_now_ns() >= next_scan_ns) {
            threads_scan(drain->recording->threads);
            unwind_tables_release();
            /* What the chunk holds is given back, and the step reported. */
            if (breaker_apply_turn(drain->recording))
                chunk_end_ns = clock_now_ns();
            next_scan_ns = clock_now_ns() + SCAN_NS;
        }
        if (end_ns != 0 && clock_now_ns() >= end_ns && drain->recording->stop_later())
            end_ns = 0; /* stopping waits for this very thread: another one does it */
        if (clock_now_ns() >= next_publish_ns) {
            published_figures(drain->recording->ids);
            next_publish_ns = clock_now_ns() + PUBLISH_NS;
        }
        if (clock_now_ns() >= next_count_ns) {
            int64_t began_ns = clock_now_ns(), took_ns;
            uint64_t changes = class_changes(drain->recording);
            if (changes == 0 || changes != counted_changes || began_ns >= recount_ns) {
                counted_changes = count_methods(drain->recording) ? changes : 0;
                recount_ns = began_ns + RECOUNT_NS;
            }
            took_ns = clock_now_ns() - began_ns;
            next_count_ns =
                began_ns + (took_ns * COUNT_PART > COUNT_NS ? took_ns * COUNT_PART : COUNT_NS);
        }
        if (clock_now_ns() >= chunk_end_ns) {
            recording_end_chunk(drain->recording, env, false);
            chunk_end_ns = next_end_ns(drain, &failures);
            threads_pause(drain->recording->threads, recording_is_interrupted(drain->recording));
        }
    }
    pthread_mutex_unlock(&drain->lock);
}

static void *run(void *argument)
{
    struct drain *drain = argument;
    char name[] = "nmtagent";
    JavaVMAttachArgs attach = {.version = JNI_VERSION_1_6, .name = name};
    JNIEnv *env;
    prctl(PR_SET_NAME, name);
    if ((*drain->vm)->AttachCurrentThreadAsDaemon(drain->vm, (void **)&env, &attach) != JNI_OK)
        return NULL; /* the JVM is ending: the buffers are emptied by stop */
    work(drain, env);
    (*drain->vm)->DetachCurrentThread(drain->vm);
    return NULL;
}

struct drain *drain_start(JavaVM *vm, struct recording *recording, int64_t chunk_ns, char *error,
                          size_t error_size)
{
    struct drain *drain = mem_alloc(COMPONENT_CONTROL, sizeof *drain);
    if (drain == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    drain->vm = vm;
    drain->recording = recording;
    drain->chunk_ns = chunk_ns;
    pthread_mutex_init(&drain->lock, NULL);
    int failed = own_thread_start(&drain->thread, run, drain);
    if (failed != 0) {
        snprintf(error, error_size, "no thread: %s", strerror(failed));
        mem_free(drain);
        return NULL;
    }
    return drain;
}

void drain_lock(struct drain *drain)
{
    pthread_mutex_lock(&drain->lock);
}

void drain_unlock(struct drain *drain)
{
    pthread_mutex_unlock(&drain->lock);
}

void drain_stop(struct drain *drain)
{
    wakeup_stop(&drain->recording->sampler.wakeup);
    pthread_join(drain->thread, NULL);
    pthread_mutex_destroy(&drain->lock);
    mem_free(drain);
}
