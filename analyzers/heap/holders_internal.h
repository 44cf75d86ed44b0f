/* holders_internal: what the files of holders share. */
#pragma once

#include "analyzers/heap/heap_internal.h"
#include "analyzers/heap/holders.h"

/* What the field of this name refers to, and the field of that, `>` between them; NO_OBJECT. */
uint32_t holders_follow(const struct heap *heap, uint32_t node, const char *path);
/* The reference field that a row is at; NULL: of an array. */
const struct heap_ref_field *holders_field_at(const struct heap *heap, const struct heap_row *row);
/* The text of a String that was asked for; NULL. */
const char *holders_text_of(const struct holders *holders, uint32_t node);

static inline const char *holders_name(const struct held_loader *own)
{
    return own->name != NULL ? own->name : "";
}

static inline uint64_t holders_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* copies: which loaders are of one application. Sorts them by group and makes the groups. */
bool copies_group(struct holders *holders);

/* holder_paths: the paths of all loaders of a group whose chains are new. turn: as in holder_path.
 * Then the cuts and causes of these paths. */
bool holder_paths_find(struct holders *holders, uint32_t group, uint32_t turn);
/* Cuts the paths of this turn that hold suspect copies; false: there are none, or out of memory. */
bool holder_paths_cut(struct holders *holders);
/* Cutting the one path of a loader frees the loader as well. False: out of memory. */
bool holder_paths_keep(struct holders *holders);
void holder_paths_free(struct holders *holders);
