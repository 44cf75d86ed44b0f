/*
 * jfr_types: the ids of the types in jfr_types.def, as events, pools and metadata use them.
 *
 * The JDK's readers carry constants over from one chunk to the next: an entry whose type id and
 * number were in the chunk before is taken from there and not read again, even in concatenated
 * files. Our numbers (trace ids, thread ids, dictionaries that are renewed) mean something else in
 * the next chunk. So the six types with such pools change their type id from chunk to chunk, and
 * differ between recordings: jfr_pool_type_id. All other ids are the enumerators. Any context.
 */
#pragma once

#include "floor/jfr/jfr_metadata.h"
#include "agent/mem/mem.h"

#include <stdint.h>

enum jfr_type {
    JFR_CHECKPOINT_EVENT = 1,
    JFR_LAST_BEFORE_TYPES = JFR_TYPE_BEFORE_FIRST,
#define JFR_TABLE "floor/jfr/jfr_types.def"
#include "floor/jfr/jfr_table.def"
    JFR_TYPE_END,
};
_Static_assert(JFR_TYPE_END < 128, "one byte in front of each event, and none below is a pool's");

extern const struct jfr_type_table jfr_agent_types;
/* The type id in a chunk. salt: jfr_chunk_salt of the chunk. */
uint32_t jfr_pool_type_id(uint32_t type, uint32_t salt);
/* recording: any number that other recordings do not have; chunk: 0, 1, 2 ... */
uint32_t jfr_chunk_salt(uint64_t recording, int64_t chunk);

/*
 * Ticks of a recording are nanoseconds since the epoch.
 *
 * Readers translate ticks to time by the header of a chunk; those of newer JDKs use the first
 * chunk's for all. In concatenated recordings of several hosts that is only right when a tick means
 * the same in each. The offset from CLOCK_MONOTONIC is taken once a recording: a clock that is set
 * meanwhile does not make time jump.
 *
 * jfr_clock_ticks: signal context. jfr_clock_set: before handlers run.
 */
void jfr_clock_set(int64_t offset_ns);
int64_t jfr_clock_ticks(int64_t monotonic_ns);
static inline int64_t jfr_now_ticks(void)
{
    return jfr_clock_ticks(clock_now_ns());
}
