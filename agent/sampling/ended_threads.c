#include "agent/sampling/ended_threads.h"

#include "agent/mem/mem.h"

void ended_threads_add(struct ended_threads *ended, int tid, char *name, int64_t java_id)
{
    struct ended_thread *row = &ended->row[ended->count++ % ENDED_MAX];
    mem_free(row->name);
    *row = (struct ended_thread){.tid = tid, .java_id = java_id, .name = name};
}

const struct ended_thread *ended_threads_find(const struct ended_threads *ended, int tid)
{
    for (uint32_t back = 1; back <= ENDED_MAX; back++) {
        const struct ended_thread *row = &ended->row[(ended->count - back) % ENDED_MAX];
        if (row->tid == tid)
            return row->name != NULL ? row : NULL;
    }
    return NULL;
}

void ended_threads_clear(struct ended_threads *ended)
{
    for (int i = 0; i < ENDED_MAX; i++) {
        mem_free(ended->row[i].name);
        ended->row[i] = (struct ended_thread){.tid = 0};
    }
    ended->count = 0;
}
