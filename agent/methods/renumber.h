/*
 * renumber: which texts of a dictionary are still needed, and their numbers in a fresh one.
 *
 *   renumber_begin -> renumber_need ... -> renumber_fill -> renumber_of ... -> renumber_end
 *
 * Component METHOD_MAP, for the time of it. Drain thread.
 */
#ifndef AGENT_METHODS_RENUMBER_H
#define AGENT_METHODS_RENUMBER_H

#include "agent/dict/dictionary.h"

struct renumbering {
    uint32_t *fresh; /* by old number */
    uint32_t last;   /* the highest old number */
};

/* False: no memory; renumber_end is fine all the same. */
bool renumber_begin(struct renumbering *renumbering, const struct dictionary *old);
void renumber_need(struct renumbering *renumbering, uint32_t id); /* 0 is nothing */
/* Puts what is needed. False: one of them was refused. */
bool renumber_fill(struct renumbering *renumbering, const struct dictionary *old,
                   struct dictionary *fresh);
uint32_t renumber_of(const struct renumbering *renumbering, uint32_t id);
void renumber_end(struct renumbering *renumbering);

#endif
