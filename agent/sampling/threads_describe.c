#include "agent/sampling/sigprof.h"
#include "agent/sampling/threads_state.h"

#include <stdio.h>
#include <string.h>

static void take_name(void *context, const void *env, char **name, int64_t java_id)
{
    struct threads *threads = context;
    struct thread_entry *entry;
    pthread_mutex_lock(&threads->lock);
    for (int i = 0; (entry = registry_at(&threads->registry, i)) != NULL; i++) {
        if (entry_tid(entry) == 0 || atomic_load_explicit(&entry->env, memory_order_relaxed) != env)
            continue;
        char *old = entry->name;
        entry->name = *name;
        entry->java_id = java_id;
        entry->named_env = (void *)(uintptr_t)env;
        *name = old;
        break;
    }
    pthread_mutex_unlock(&threads->lock);
}

static bool look_up(struct threads *threads, int tid, char *name, size_t size, int64_t *java_id)
{
    const struct thread_entry *entry = registry_find(&threads->registry, tid);
    if (entry != NULL) {
        snprintf(name, size, "%s", entry->name != NULL ? entry->name : entry->comm);
        *java_id = entry->java_id;
        return true;
    }
    const struct ended_thread *ended = ended_threads_find(&threads->ended, tid);
    if (ended == NULL)
        return false;
    snprintf(name, size, "%s", ended->name);
    *java_id = ended->java_id;
    return true;
}

/* Was it met as a Java thread that has not been named, or does the kernel call it otherwise by now?
 */
static bool wants_name(struct threads *threads, int tid)
{
    struct thread_signals signals;
    struct thread_entry *entry = registry_find(&threads->registry, tid);
    if (entry == NULL || !sigprof_thread_signals(tid, &signals))
        return false;
    bool renamed = strcmp(signals.comm, entry->comm) != 0;
    void *env = atomic_load_explicit(&entry->env, memory_order_relaxed);
    bool wants = env != NULL && (renamed || env != entry->named_env);
    memcpy(entry->comm, signals.comm, sizeof entry->comm);
    entry->named_env = env; /* asked once, also when the answer is nothing */
    return wants;
}

bool threads_describe(struct threads *threads, int tid, char *name, size_t size, int64_t *java_id)
{
    pthread_mutex_lock(&threads->lock);
    bool ask = threads->names.jvmti != NULL && wants_name(threads, tid);
    pthread_mutex_unlock(&threads->lock);
    if (ask)
        thread_names_each(&threads->names, take_name, threads);
    pthread_mutex_lock(&threads->lock);
    bool known = look_up(threads, tid, name, size, java_id);
    pthread_mutex_unlock(&threads->lock);
    return known;
}
