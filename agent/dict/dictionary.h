/*
 * dictionary: texts -> small numbers, for constant pools.
 *
 * A level of 128 rows x 3 cells (4 KB); a collision goes one level down, where levels are of 8 rows
 * (256 bytes). All of them are made on demand. A text costs some 80 to 95 bytes beside itself.
 * Lookup and insert are lock-free (a cell is claimed by compare-and-swap), so that context values
 * may be registered by application threads while the drain thread reads.
 *
 * Any thread but signal handlers, except dictionary_find, which allocates nothing and is
 * signal-safe.
 */
#ifndef AGENT_DICT_DICTIONARY_H
#define AGENT_DICT_DICTIONARY_H

#include "agent/mem/mem.h"

struct dictionary;

/* limit: texts beyond it are refused (0 is returned) and counted. */
struct dictionary *dictionary_create(enum component component, uint32_t limit);
/* The number of the text, 1..; 0 when the limit is reached or memory is out (counted as refused).
 * Numbers are unique; one is left out when two threads put the same new text at once. */
uint32_t dictionary_put(struct dictionary *dictionary, const char *text, size_t length);
/* 0 when it was never put. */
uint32_t dictionary_find(const struct dictionary *dictionary, const char *text, size_t length);
typedef void dictionary_visit_fn(void *context, uint32_t id, const char *text, size_t length);
void dictionary_each(const struct dictionary *dictionary, dictionary_visit_fn *visit,
                     void *context);
uint32_t dictionary_size(const struct dictionary *dictionary);
int64_t dictionary_refused(const struct dictionary *dictionary);
/* Nobody may be inside. */
void dictionary_clear(struct dictionary *dictionary);
void dictionary_destroy(struct dictionary *dictionary);

#endif
