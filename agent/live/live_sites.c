#include "agent/live/live_sites.h"

#include "floor/base/fold_hash.h"
#include "agent/mem/mem.h"

#include <stdio.h>
#include <string.h>

#define BUCKETS 1024

struct live_sites {
    int count;
    uint16_t free; /* a free place, chained by next; 0: only those never used are left */
    uint16_t used; /* places ever used */
    uint16_t bucket[BUCKETS];
    struct live_site site[LIVE_SITES_MAX];
};
_Static_assert(LIVE_SITES_MAX <= UINT16_MAX, "the number of a site");

struct live_sites *live_sites_create(void)
{
    struct live_sites *sites = mem_map(COMPONENT_LIVE_OBJECTS, sizeof *sites);
    if (sites == NULL)
        return NULL;
    sites->site[0].class_name = mem_copy_text(COMPONENT_LIVE_OBJECTS, "[other]", 7);
    sites->site[0].holders = 1; /* we ourselves */
    sites->used = 1;
    sites->count = 1;
    return sites;
}

static void clear(struct live_site *site)
{
    mem_free(site->class_name);
    mem_free(site->frames);
    *site = (struct live_site){0};
}

void live_sites_destroy(struct live_sites *sites)
{
    if (sites == NULL)
        return;
    for (uint16_t i = 0; i < sites->used; i++)
        clear(&sites->site[i]);
    mem_unmap(COMPONENT_LIVE_OBJECTS, sites, sizeof *sites);
}

static bool is_same(const struct live_site *site, const struct live_site *wanted)
{
    return site->hash == wanted->hash && site->depth == wanted->depth &&
           site->truncated == wanted->truncated &&
           strcmp(site->class_name, wanted->class_name) == 0 &&
           (wanted->depth == 0 || memcmp(site->frames, wanted->frames,
                                         (size_t)wanted->depth * sizeof *site->frames) == 0);
}

static uint16_t free_place(struct live_sites *sites)
{
    uint16_t place = sites->free;
    if (place != 0)
        sites->free = sites->site[place].next;
    else if (sites->used < LIVE_SITES_MAX)
        place = sites->used++;
    return place;
}

static void give_place(struct live_sites *sites, uint16_t place)
{
    sites->site[place].next = sites->free;
    sites->free = place;
}

/* 0: no room or memory. */
static uint16_t add(struct live_sites *sites, const struct live_site *wanted)
{
    uint16_t place = free_place(sites);
    if (place == 0)
        return 0;
    struct live_site *site = &sites->site[place];
    size_t bytes = (size_t)wanted->depth * sizeof *wanted->frames;
    *site = *wanted;
    site->class_name =
        mem_copy_text(COMPONENT_LIVE_OBJECTS, wanted->class_name, strlen(wanted->class_name));
    site->frames = bytes > 0 ? mem_alloc(COMPONENT_LIVE_OBJECTS, bytes) : NULL;
    if (site->class_name == NULL || (bytes > 0 && site->frames == NULL)) {
        clear(site);
        give_place(sites, place);
        return 0;
    }
    if (bytes > 0)
        memcpy(site->frames, wanted->frames, bytes);
    uint16_t *bucket = &sites->bucket[site->hash % BUCKETS];
    site->next = *bucket;
    *bucket = place;
    sites->count++;
    return place;
}

static uint16_t find_or_add(struct live_sites *sites, struct live_site *wanted)
{
    wanted->hash = fold_hash(wanted->class_name, strlen(wanted->class_name), 0);
    if (wanted->depth > 0)
        wanted->hash =
            fold_hash(wanted->frames, (size_t)wanted->depth * sizeof *wanted->frames, wanted->hash);
    uint16_t place = sites->bucket[wanted->hash % BUCKETS];
    while (place != 0 && !is_same(&sites->site[place], wanted))
        place = sites->site[place].next;
    return place != 0 ? place : add(sites, wanted);
}

uint16_t live_sites_hold(struct live_sites *sites, const char *class_name,
                         const struct frame *frames, int depth, bool truncated)
{
    char name[LIVE_CLASS_MAX];
    snprintf(name, sizeof name, "%s", class_name);
    struct live_site wanted = {
        .class_name = name,
        .frames = (struct frame *)frames,
        .depth = depth < LIVE_DEPTH_MAX ? depth : LIVE_DEPTH_MAX,
        .truncated = truncated || depth > LIVE_DEPTH_MAX,
    };
    uint16_t place = find_or_add(sites, &wanted);
    if (place == 0 && wanted.depth > 0) {
        wanted.frames = NULL;
        wanted.depth = 0;
        wanted.truncated = false;
        place = find_or_add(sites, &wanted);
    }
    sites->site[place].holders++;
    return place;
}

void live_sites_release(struct live_sites *sites, uint16_t number)
{
    struct live_site *site = &sites->site[number];
    if (--site->holders > 0)
        return;
    uint16_t *link = &sites->bucket[site->hash % BUCKETS];
    while (*link != number)
        link = &sites->site[*link].next;
    *link = site->next;
    clear(site);
    give_place(sites, number);
    sites->count--;
}

struct live_site *live_sites_at(struct live_sites *sites, uint16_t number)
{
    return number < sites->used && sites->site[number].holders > 0 ? &sites->site[number] : NULL;
}

int live_sites_count(const struct live_sites *sites)
{
    return sites->count;
}
