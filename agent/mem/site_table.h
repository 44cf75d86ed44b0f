/*
 * site_table: who asked for the memory, at level detail.
 *
 * A site is a component and up to four return addresses. The table is open addressing in one map,
 * made at the first use: SITES rows of 80 bytes. A row is claimed by compare-and-swap of its hash
 * and never given up; the 64-bit hash is the identity, so nobody waits for a row to be filled. Row
 * 0 takes what finds no room: nothing is lost, it only has no address.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#ifndef AGENT_MEM_SITE_TABLE_H
#define AGENT_MEM_SITE_TABLE_H

#include "agent/mem/mem.h"

#define SITES       4096
#define SITE_FRAMES 4
#define SITE_NONE   UINT32_MAX /* the block was made below level detail */

/* frame_pointer: __builtin_frame_address(0) of the function in mem.h that was called. Its callers
 * are walked by frame pointer as long as they lie in this library. */
uint32_t site_of(enum component component, void *const *frame_pointer);
/* Nothing for SITE_NONE. */
void site_count(uint32_t site, int64_t bytes, int64_t blocks);
/* What is now is what mem_diff_sites subtracts. */
void site_baseline(void);

#endif
