#include "agent/alloc/alloc_threads.h"

#include "floor/base/fold_hash.h"
#include "agent/mem/mem.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define CHAINS      1024
#define FIRST_PLACE 64

struct alloc_threads {
    struct alloc_thread *place;
    size_t places;
    int32_t used;  /* of the places, ever */
    uint32_t free; /* a number + 1; 0: none */
    int64_t refused;
    uint32_t chain[CHAINS]; /* likewise */
};

static uint32_t *chain_of(struct alloc_threads *threads, const void *env)
{
    return &threads->chain[fold_word((uintptr_t)env) % CHAINS];
}

struct alloc_threads *alloc_threads_create(void)
{
    return mem_alloc(COMPONENT_ALLOC_PROFILE, sizeof(struct alloc_threads));
}

int32_t alloc_threads_find(const struct alloc_threads *threads, const void *env)
{
    uint32_t at = *chain_of((struct alloc_threads *)(uintptr_t)threads, env);
    while (at != 0 && threads->place[at - 1].env != env)
        at = threads->place[at - 1].next;
    return (int32_t)at - 1;
}

static bool make_room(struct alloc_threads *threads)
{
    static const struct mem_array PLACES = {COMPONENT_ALLOC_PROFILE, sizeof *threads->place,
                                            FIRST_PLACE, ALLOC_THREADS_MAX};
    return mem_grow(&PLACES, &threads->place, &threads->places, (size_t)threads->used + 1);
}

int32_t alloc_threads_add(struct alloc_threads *threads, const void *env, int64_t java_id,
                          int64_t bytes)
{
    int32_t number = alloc_threads_find(threads, env);
    if (number >= 0)
        return number;
    if (threads->free != 0) {
        number = (int32_t)threads->free - 1;
        threads->free = threads->place[number].next;
    } else if (make_room(threads)) {
        number = threads->used++;
    } else {
        threads->refused++;
        return -1;
    }
    uint32_t *chain = chain_of(threads, env);
    threads->place[number] = (struct alloc_thread){.env = env,
                                                   .java_id = java_id,
                                                   .first_bytes = bytes,
                                                   .counted_bytes = bytes,
                                                   .latest_bytes = bytes,
                                                   .next = *chain};
    *chain = (uint32_t)number + 1;
    return number;
}

struct alloc_thread *alloc_threads_at(struct alloc_threads *threads, int32_t number)
{
    return &threads->place[number];
}

int32_t alloc_threads_count(const struct alloc_threads *threads)
{
    return threads->used;
}

void alloc_threads_read(struct alloc_thread *thread, int64_t bytes)
{
    if (bytes > thread->latest_bytes)
        thread->latest_bytes = bytes;
}

void alloc_threads_ended(struct alloc_threads *threads, int32_t number, int64_t bytes)
{
    struct alloc_thread *thread = &threads->place[number];
    uint32_t *at = chain_of(threads, thread->env);
    if (thread->ended)
        return;
    while (*at != (uint32_t)number + 1)
        at = &threads->place[*at - 1].next;
    *at = thread->next;
    thread->ended = true;
    alloc_threads_read(thread, bytes);
}

int64_t alloc_threads_take(struct alloc_threads *threads, int32_t number)
{
    struct alloc_thread *thread = &threads->place[number];
    if (thread->env == NULL)
        return 0;
    int64_t bytes = thread->latest_bytes - thread->counted_bytes;
    thread->counted_bytes = thread->latest_bytes;
    if (thread->ended) {
        thread->env = NULL;
        thread->next = threads->free;
        threads->free = (uint32_t)number + 1;
    }
    return bytes;
}

int64_t alloc_threads_refused(const struct alloc_threads *threads)
{
    return threads->refused;
}

void alloc_threads_destroy(struct alloc_threads *threads)
{
    if (threads == NULL)
        return;
    mem_free(threads->place);
    mem_free(threads);
}

typedef jint get_version_fn(JNIEnv *env);
typedef jlong one_thread_fn(JNIEnv *env, jlong java_id);

static one_thread_fn *one_thread;

enum { SLOT_GET_VERSION = 2 }; /* behind two reserved ones, in every version */

static const struct {
    jint version;
    int slot;
} versions[] = {{0x20050000, 10}, {0x20040000, 10}, {0x20030000, 9}};

bool exact_bytes_setup(JNIEnv *env)
{
    union { /* ISO C knows no way from void * to a function */
        void *symbol;
        void **(*call)(jint version);
    } management = {.symbol = dlsym(RTLD_DEFAULT, "JVM_GetManagement")};
    if (one_thread != NULL)
        return true;
    if (management.symbol == NULL) {
        void *jvm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
        if (jvm != NULL)
            management.symbol = dlsym(jvm, "JVM_GetManagement");
    }
    for (size_t i = 0; management.symbol != NULL && i < sizeof versions / sizeof *versions; i++) {
        void **table = management.call(versions[i].version);
        if (table == NULL)
            continue;
        union {
            void *symbol;
            get_version_fn *get_version;
            one_thread_fn *one_thread;
        } function = {.symbol = table[SLOT_GET_VERSION]};
        if (function.symbol == NULL || function.get_version(env) != versions[i].version)
            continue;
        function.symbol = table[versions[i].slot];
        if (function.symbol == NULL)
            continue;
        /* This thread makes no object in between. The one that serves attach may never have. */
        jlong once = function.one_thread(env, 0), again = function.one_thread(env, 0);
        if (once >= 0 && again == once && function.one_thread(env, INT64_MAX) == -1)
            one_thread = function.one_thread;
        break;
    }
    return one_thread != NULL;
}

int64_t exact_bytes_own(JNIEnv *env)
{
    return one_thread != NULL ? one_thread(env, 0) : -1;
}

int64_t exact_bytes_of(JNIEnv *env, int64_t java_id)
{
    return one_thread != NULL && java_id > 0 ? one_thread(env, java_id) : -1;
}
