#include "agent/sampling/ended_threads.h"

#include "agent/mem/mem.h"

#include <string.h>

#define FIRST_ROWS 256

static bool make_room(struct ended_threads *ended)
{
    if (ended->count < ended->capacity)
        return true;
    int32_t capacity = ended->capacity > 0 ? ended->capacity * 2 : FIRST_ROWS;
    if (capacity > ENDED_MAX)
        return false;
    struct ended_thread *more =
        mem_resize(COMPONENT_THREADS, ended->row, (size_t)capacity * sizeof *more);
    if (more == NULL)
        return false;
    ended->row = more;
    ended->capacity = capacity;
    return true;
}

static void link_row(struct ended_threads *ended, int32_t index)
{
    struct ended_thread *row = &ended->row[index];
    int32_t *chain = &ended->chain[(unsigned)row->tid % ENDED_CHAINS];
    row->next = *chain;
    *chain = index + 1;
}

void ended_threads_add(struct ended_threads *ended, int tid, char *name, int64_t java_id)
{
    if (name == NULL || !make_room(ended)) {
        ended->refused++;
        mem_free(name);
        return;
    }
    ended->row[ended->count] = (struct ended_thread){.tid = tid, .java_id = java_id, .name = name};
    link_row(ended, ended->count++);
}

const struct ended_thread *ended_threads_find(const struct ended_threads *ended, int tid)
{
    for (int32_t at = ended->chain[(unsigned)tid % ENDED_CHAINS]; at != 0;
         at = ended->row[at - 1].next) {
        if (ended->row[at - 1].tid == tid)
            return &ended->row[at - 1];
    }
    return NULL;
}

void ended_threads_turn(struct ended_threads *ended)
{
    int32_t old = ended->last_turn;
    for (int32_t i = 0; i < old; i++)
        mem_free(ended->row[i].name);
    ended->count -= old;
    ended->last_turn = ended->count;
    if (old == 0)
        return;
    memmove(ended->row, ended->row + old, (size_t)ended->count * sizeof *ended->row);
    memset(ended->chain, 0, sizeof ended->chain);
    for (int32_t i = 0; i < ended->count; i++)
        link_row(ended, i);
}

void ended_threads_clear(struct ended_threads *ended)
{
    for (int32_t i = 0; i < ended->count; i++)
        mem_free(ended->row[i].name);
    mem_free(ended->row);
    memset(ended, 0, sizeof *ended);
}
