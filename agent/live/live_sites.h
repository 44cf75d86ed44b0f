/*
 * live_sites: where live objects come from: a class and a stack, each pair once.
 *
 *   live_sites_create -> _hold, _release ... -> _at -> _destroy
 *
 * A site lives as long as an object holds it. Site 0, "[other]", is always there and takes what
 * finds no room. Stacks are cut at LIVE_DEPTH_MAX frames from the top, marked as such.
 *
 * Not thread-safe: the owner locks.
 */
#pragma once

#include "floor/hotspot/frame.h"

#include <stdbool.h>
#include <stdint.h>

#define LIVE_SITES_MAX 1024
#define LIVE_DEPTH_MAX 128
#define LIVE_CLASS_MAX 256 /* of a class's name, with NUL */

struct live_site {
    char *class_name;
    struct frame *frames; /* NULL: none */
    int32_t depth;
    bool truncated;
    int32_t holders; /* 0: the place is free */
    uint32_t trace;  /* in the present chunk; the owner's */
    /* Of those that have survived a collection; the owner's, counted at the end of a chunk. */
    int64_t objects, own_bytes;
    double bytes; /* what they stand for */
    int64_t most_survived, least_survived, oldest_ms;
    uint64_t hash;
    uint16_t next; /* in its bucket */
};

struct live_sites;

struct live_sites *live_sites_create(void);
/* The number of the site, held once more; without memory or room that of the class alone, or 0. */
uint16_t live_sites_hold(struct live_sites *sites, const char *class_name,
                         const struct frame *frames, int depth, bool truncated);
void live_sites_release(struct live_sites *sites, uint16_t number);
/* Numbers are below LIVE_SITES_MAX. NULL: nothing refers to it. */
struct live_site *live_sites_at(struct live_sites *sites, uint16_t number);
int live_sites_count(const struct live_sites *sites);
void live_sites_destroy(struct live_sites *sites);
