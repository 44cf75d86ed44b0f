/*
 * maps: the account's list of mapped memory, so that a snapshot can ask the kernel what of it is
 * resident. Up to MAPS_LISTED maps, claimed without a lock; one that finds no room counts as
 * resident whole.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#ifndef AGENT_MEM_MAPS_H
#define AGENT_MEM_MAPS_H

#include "agent/mem/mem.h"

/* mem_map, with the site already known (SITE_NONE: none). */
void *maps_new(enum component component, size_t size, uint32_t site);

/* Resident bytes of the listed maps of each component, and all bytes of those not listed. */
void maps_resident(int64_t resident_bytes[COMPONENT_COUNT]);

#endif
