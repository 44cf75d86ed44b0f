#include "agent/mem/mem.h"
#include "agent/sampling/sigprof.h"
#include "agent/sampling/threads_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- asking the JVM --------------------------------------------------------------------------- */

/* A thread whose name is wanted. By env: what the JVM's list of threads leads to. */
struct wish {
    uintptr_t env;
    int tid;
};

struct wishes {
    struct threads *threads;
    struct wish *at;
    size_t count;
};

static int by_env(const void *a, const void *b)
{
    const struct wish *first = a, *second = b;
    return (first->env > second->env) - (first->env < second->env);
}

/* Threads that are not the JVM's have the kernel's name, and may change it as well. One that has
 * left the JVM keeps its last name: its JNIEnv may already be that of a thread that started later.
 */
static void note(struct wishes *wishes, struct thread_entry *entry)
{
    void *env = atomic_load_explicit(&entry->env, memory_order_relaxed);
    struct thread_signals signals;
    if (entry->left_jvm)
        return;
    if (env != NULL)
        wishes->at[wishes->count++] = (struct wish){(uintptr_t)env, entry_tid(entry)};
    else if (entry->name == NULL && sigprof_thread_signals(entry_tid(entry), &signals))
        memcpy(entry->comm, signals.comm, sizeof entry->comm);
}

static void set_name(struct threads *threads, const struct wish *wish, const char *name,
                     int64_t java_id)
{
    struct thread_entry *entry = registry_find(&threads->registry, wish->tid);
    if (entry == NULL || entry->left_jvm ||
        (uintptr_t)atomic_load_explicit(&entry->env, memory_order_relaxed) != wish->env)
        return;
    entry->java_id = java_id;
    if (entry->name != NULL && strcmp(entry->name, name) == 0)
        return;
    char *copy = mem_copy_text(COMPONENT_THREADS, name, strlen(name));
    if (copy != NULL) {
        mem_free(entry->name);
        entry->name = copy;
    }
}

static void grant(void *context, JNIEnv *jni, jthread thread, const void *env)
{
    struct wishes *wishes = context;
    struct threads *threads = wishes->threads;
    const struct wish key = {.env = (uintptr_t)env};
    const struct wish *wish = bsearch(&key, wishes->at, wishes->count, sizeof *wishes->at, by_env);
    char name[THREAD_NAME_BYTES];
    int64_t java_id;
    if (wish == NULL || !thread_names_of(&threads->names, jni, thread, name, &java_id))
        return;
    pthread_mutex_lock(&threads->lock);
    set_name(threads, wish, name, java_id);
    pthread_mutex_unlock(&threads->lock);
}

void threads_learn_names(struct threads *threads, const int *tids, size_t count)
{
    struct wishes wishes = {.threads = threads};
    if (count == 0)
        return;
    wishes.at = mem_alloc(COMPONENT_THREADS, count * sizeof *wishes.at);
    if (wishes.at == NULL)
        return; /* they keep the names they had */
    pthread_mutex_lock(&threads->lock);
    for (size_t i = 0; i < count; i++) {
        struct thread_entry *entry = registry_find(&threads->registry, tids[i]);
        if (entry != NULL)
            note(&wishes, entry);
    }
    pthread_mutex_unlock(&threads->lock);
    qsort(wishes.at, wishes.count, sizeof *wishes.at, by_env);
    if (wishes.count > 0)
        thread_names_each(&threads->names, grant, &wishes);
    mem_free(wishes.at);
}

/* --- names ------------------------------------------------------------------------------------ */

bool threads_describe(struct threads *threads, int tid, char *name, size_t size, int64_t *java_id)
{
    pthread_mutex_lock(&threads->lock);
    const struct thread_entry *entry = registry_find(&threads->registry, tid);
    const struct ended_thread *ended = ended_threads_find(&threads->ended, tid);
    if (entry != NULL) {
        snprintf(name, size, "%s", entry->name != NULL ? entry->name : entry->comm);
        *java_id = entry->java_id;
    } else if (ended != NULL) {
        snprintf(name, size, "%s", ended->name);
        *java_id = ended->java_id;
    }
    pthread_mutex_unlock(&threads->lock);
    return entry != NULL || ended != NULL;
}

size_t threads_sampled(struct threads *threads, int **tids)
{
    struct thread_entry *entry;
    size_t count = 0;
    pthread_mutex_lock(&threads->lock);
    size_t room = (size_t)threads->registry.threads + (size_t)threads->ended.count;
    int *at = room > 0 ? mem_alloc(COMPONENT_THREADS, room * sizeof *at) : NULL;
    if (at != NULL) {
        for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++) {
            if (entry_tid(entry) != 0 &&
                atomic_load_explicit(&entry->sampled, memory_order_relaxed))
                at[count++] = entry_tid(entry);
        }
        for (int32_t i = 0; i < threads->ended.count; i++)
            at[count++] = threads->ended.row[i].tid;
    }
    pthread_mutex_unlock(&threads->lock);
    *tids = at;
    return count;
}

void threads_chunk_written(struct threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    ended_threads_turn(&threads->ended);
    pthread_mutex_unlock(&threads->lock);
}
