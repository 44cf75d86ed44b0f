#include "agent/context/context_slab.h"

#include <pthread.h>
#include <string.h>

#define SLAB_RECORDS 64
#define SLAB_BYTES   (SLAB_RECORDS * sizeof(struct context_record))
_Static_assert(SLAB_BYTES == 4096, "one page");

struct slab {
    struct slab *next;
    struct context_record *records;
    uint64_t taken; /* bit per record */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab *slabs;

static struct slab *with_room(void)
{
    struct slab *slab = slabs;
    while (slab != NULL && slab->taken == UINT64_MAX)
        slab = slab->next;
    if (slab != NULL)
        return slab;
    slab = mem_alloc(COMPONENT_CONTROL, sizeof *slab);
    if (slab == NULL)
        return NULL;
    slab->records = mem_map(COMPONENT_THREAD_CONTEXTS, SLAB_BYTES);
    if (slab->records == NULL) {
        mem_free(slab);
        return NULL;
    }
    slab->next = slabs;
    slabs = slab;
    return slab;
}

struct context_record *context_slab_take(void)
{
    struct context_record *record = NULL;
    pthread_mutex_lock(&lock);
    struct slab *slab = with_room();
    if (slab != NULL) {
        int free_bit = __builtin_ctzll(~slab->taken);
        slab->taken |= UINT64_C(1) << free_bit;
        record = &slab->records[free_bit];
        memset(record, 0, sizeof *record); /* of the thread that had it before */
    }
    pthread_mutex_unlock(&lock);
    return record;
}

void context_slab_give_back(struct context_record *record)
{
    pthread_mutex_lock(&lock);
    struct slab **link = &slabs;
    while (*link != NULL &&
           (record < (*link)->records || record >= (*link)->records + SLAB_RECORDS))
        link = &(*link)->next;
    struct slab *slab = *link;
    if (slab != NULL) {
        slab->taken &= ~(UINT64_C(1) << (record - slab->records));
        bool only_one = slabs == slab && slab->next == NULL;
        if (slab->taken == 0 && !only_one) {
            *link = slab->next;
            mem_unmap(COMPONENT_THREAD_CONTEXTS, slab->records, SLAB_BYTES);
            mem_free(slab);
        }
    }
    pthread_mutex_unlock(&lock);
}
