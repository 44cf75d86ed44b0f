/*
 * jfr_metadata: what a chunk says about its own types: the table jfr_types.def as a metadata event.
 *
 *   metadata event:  size, type 0, start, duration, metadata id, strings, one tree of elements
 *   element:         name, attributes (key, value)*, children*           names and texts are
 * numbers of the strings root -> metadata -> class* -> field*, annotation*
 *        -> region
 *
 * Readers take the types of the chunk before when the metadata id is the same: it is a hash of the
 * content. Drain thread only.
 */
#ifndef AGENT_JFR_JFR_METADATA_H
#define AGENT_JFR_JFR_METADATA_H

#include "agent/jfr/jfr_bytes.h"

/* Appends the whole event. salt: of the chunk (jfr_types.h). tags: names as they were declared;
 * they become fields whose names are identifiers, unlike each other, with the given name as the
 * label. */
void jfr_metadata_append(struct jfr_bytes *bytes, uint32_t salt, int64_t ticks,
                         const char *const *tags, int tag_count);

#endif
