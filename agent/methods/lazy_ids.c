#include "agent/methods/jmethod_ids.h"

#include "floor/base/fold_hash.h"

#include "agent/mem/mem.h"

#include <string.h>

#define HANDSHAKE_JDK  17 /* before, a stack may be a safepoint: one in ten turns */
#define OLD_TURNS      10
#define STACKS_A_TURN  4  /* a handshake each: microseconds of that thread */
#define THREADS_LOOKED 64 /* of which most are waiting: a state is a field to read */
#define DEPTH          256
#define KNOWN_BITS     18
#define KNOWN          (1u << KNOWN_BITS) /* 2 MB that are touched as ids come */
#define KNOWN_MOST     (KNOWN / 4 * 3)

struct lazy_ids {
    jvmtiEnv *jvmti;
    struct jmethod_ids *ids;
    int64_t unnamed_frames;
    int stacks_a_turn;
    unsigned turns;
    uint32_t next_thread;
    uint32_t known_count;
    uint64_t *known; /* open addressing; 0: free */
    jvmtiFrameInfo frames[DEPTH];
};

struct lazy_ids *lazy_ids_create(jvmtiEnv *jvmti, struct jmethod_ids *ids)
{
    struct lazy_ids *lazy = mem_alloc(COMPONENT_JMETHOD_IDS, sizeof *lazy);
    if (lazy == NULL)
        return NULL;
    lazy->jvmti = jvmti;
    lazy->ids = ids;
    lazy->stacks_a_turn = jmethod_ids_jdk_major(ids) >= HANDSHAKE_JDK ? STACKS_A_TURN : 1;
    lazy->known = mem_map(COMPONENT_JMETHOD_IDS, KNOWN * sizeof *lazy->known);
    if (lazy->known == NULL) {
        mem_free(lazy);
        return NULL;
    }
    return lazy;
}

void lazy_ids_destroy(struct lazy_ids *lazy)
{
    mem_unmap(COMPONENT_JMETHOD_IDS, lazy->known, KNOWN * sizeof *lazy->known);
    mem_free(lazy);
}

/* Where the id is, or would be. The table is never full. */
static uint64_t *place_of(struct lazy_ids *lazy, jmethodID id)
{
    uint64_t value = (uint64_t)(uintptr_t)id;
    uint32_t at = (uint32_t)(fold_word(value) % KNOWN);
    while (lazy->known[at] != 0 && lazy->known[at] != value)
        at = (at + 1) % KNOWN;
    return &lazy->known[at];
}

static void remember(struct lazy_ids *lazy, jmethodID id)
{
    uint64_t *place = place_of(lazy, id);
    if (*place != 0 || lazy->known_count >= KNOWN_MOST)
        return;
    *place = (uint64_t)(uintptr_t)id;
    lazy->known_count++;
}

static void meet_class(struct lazy_ids *lazy, JNIEnv *env, jclass class)
{
    jint number = 0;
    jmethodID *methods = NULL;
    if ((*lazy->jvmti)->GetClassMethods(lazy->jvmti, class, &number, &methods) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < number; i++)
        remember(lazy, methods[i]);
    jmethodID any = number > 0 ? methods[0] : NULL;
    (*lazy->jvmti)->Deallocate(lazy->jvmti, (unsigned char *)methods);
    jmethod_ids_charge(lazy->ids, env, class, any, number);
}

static void meet(struct lazy_ids *lazy, JNIEnv *env, jmethodID id)
{
    jclass class = NULL;
    if (id == NULL || *place_of(lazy, id) != 0 || lazy->known_count >= KNOWN_MOST)
        return;
    if ((*lazy->jvmti)->GetMethodDeclaringClass(lazy->jvmti, id, &class) == JVMTI_ERROR_NONE) {
        meet_class(lazy, env, class);
        (*env)->DeleteLocalRef(env, class);
    }
    remember(lazy, id); /* a class that is not prepared, or gone: not asked again and again */
}

static bool is_running(struct lazy_ids *lazy, jthread thread)
{
    jint state = 0;
    return (*lazy->jvmti)->GetThreadState(lazy->jvmti, thread, &state) == JVMTI_ERROR_NONE &&
           (state & JVMTI_THREAD_STATE_RUNNABLE) != 0;
}

static void look_at_threads(struct lazy_ids *lazy, JNIEnv *env, const jthread *threads, jint number)
{
    int stacks = 0;
    for (jint i = 0; i < number && i < THREADS_LOOKED && stacks < lazy->stacks_a_turn; i++) {
        jthread thread = threads[lazy->next_thread++ % (uint32_t)number];
        jint depth = 0;
        if (!is_running(lazy, thread))
            continue;
        stacks++;
        if ((*lazy->jvmti)->GetStackTrace(lazy->jvmti, thread, 0, DEPTH, lazy->frames, &depth) !=
            JVMTI_ERROR_NONE)
            continue;
        for (jint frame = 0; frame < depth; frame++)
            meet(lazy, env, lazy->frames[frame].method);
    }
}

void lazy_ids_turn(struct lazy_ids *lazy, JNIEnv *env, int64_t unnamed_frames)
{
    jint number = 0;
    jthread *threads = NULL;
    if (lazy->stacks_a_turn == 1 && lazy->turns++ % OLD_TURNS != 0)
        return;
    bool idle = unnamed_frames == lazy->unnamed_frames;
    lazy->unnamed_frames = unnamed_frames;
    if (idle || env == NULL || jmethod_ids_policy(lazy->ids) != IDS_LAZY)
        return;
    if ((*env)->PushLocalFrame(env, 16) != JNI_OK) {
        (*env)->ExceptionClear(env);
        return;
    }
    if ((*lazy->jvmti)->GetAllThreads(lazy->jvmti, &number, &threads) == JVMTI_ERROR_NONE) {
        if (number > 0)
            look_at_threads(lazy, env, threads, number);
        (*lazy->jvmti)->Deallocate(lazy->jvmti, (unsigned char *)threads);
    }
    (*env)->PopLocalFrame(env, NULL);
}
