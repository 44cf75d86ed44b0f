#include "agent/methods/renumber.h"

#define NEEDED UINT32_MAX

static void see_id(void *context, uint32_t id, const char *text, size_t length)
{
    struct renumbering *renumbering = context;
    (void)text, (void)length;
    if (id > renumbering->last)
        renumbering->last = id;
}

bool renumber_begin(struct renumbering *renumbering, const struct dictionary *old)
{
    renumbering->last = 0;
    dictionary_each(old, see_id, renumbering);
    renumbering->fresh = mem_alloc(COMPONENT_METHOD_MAP,
                                   ((size_t)renumbering->last + 1) * sizeof *renumbering->fresh);
    return renumbering->fresh != NULL;
}

void renumber_need(struct renumbering *renumbering, uint32_t id)
{
    if (id != 0 && id <= renumbering->last)
        renumbering->fresh[id] = NEEDED;
}

struct filling {
    struct renumbering *renumbering;
    struct dictionary *fresh;
    bool refused;
};

static void fill_id(void *context, uint32_t id, const char *text, size_t length)
{
    struct filling *filling = context;
    struct renumbering *renumbering = filling->renumbering;
    if (id > renumbering->last || renumbering->fresh[id] != NEEDED)
        return;
    renumbering->fresh[id] = dictionary_put(filling->fresh, text, length);
    filling->refused = filling->refused || renumbering->fresh[id] == 0;
}

bool renumber_fill(struct renumbering *renumbering, const struct dictionary *old,
                   struct dictionary *fresh)
{
    struct filling filling = {renumbering, fresh, false};
    dictionary_each(old, fill_id, &filling);
    return !filling.refused;
}

uint32_t renumber_of(const struct renumbering *renumbering, uint32_t id)
{
    return id <= renumbering->last ? renumbering->fresh[id] : 0;
}

void renumber_end(struct renumbering *renumbering)
{
    mem_free(renumbering->fresh);
    renumbering->fresh = NULL;
}
