#include "agent/mem/mem.h"

#include "agent/mem/account.h"
#include "floor/base/fold_hash.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* In front of the user's data. */
struct header {
    uint32_t site;
    uint8_t component;
    uint8_t unused; /* 0 */
    uint16_t canary;
    uint64_t size;
};
_Static_assert(sizeof(struct header) == 16, "user data stays aligned as malloc aligned it");
_Static_assert(offsetof(struct header, size) == 8, "as drawn in mem.h");
_Static_assert(_Alignof(max_align_t) == 16, "malloc aligns by 16");
_Static_assert(COMPONENT_COUNT <= UINT8_MAX, "a component fits its byte");

#define BACK_CANARY      0xA6E5
#define BACK_CANARY_SIZE sizeof(uint16_t)
#define AROUND_BYTES     (sizeof(struct header) + BACK_CANARY_SIZE)

/* No single block of the agent is larger; more is a bug of the caller, not a wish. */
#define SIZE_MAX_BYTES ((size_t)1 << 40)

static _Atomic int the_level = MEM_SUMMARY;

enum mem_level mem_get_level(void)
{
    return (enum mem_level)atomic_load_explicit(&the_level, memory_order_relaxed);
}

void mem_set_level(enum mem_level level)
{
    /* The table is a map of the account like others, without a site of its own. */
    if (level == MEM_DETAIL && !sites_are_open())
        sites_open(maps_new(COMPONENT_ACCOUNTING, SITES_BYTES, SITE_NONE));
    atomic_store_explicit(&the_level, level, memory_order_relaxed);
}

/* What glibc takes from the heap for a block: 8 bytes of its own, whole 16s. Its least, 32, is what
 * the smallest block of ours needs. Blocks that glibc maps (128 KB and more) take up to a page
 * more: what is so large is better a mem_map. */
static inline int64_t heap_bytes(uint64_t size)
{
    return (int64_t)((size + AROUND_BYTES + 8 + 15) & ~UINT64_C(15));
}

/* Not aligned. A member, not memcpy: that is a call with FORTIFY and guards the stack. */
struct back {
    uint16_t canary;
} __attribute__((packed));

static inline struct back *back_of(const struct header *header, uint64_t size)
{
    return (struct back *)((char *)(header + 1) + size);
}

static uint16_t front_canary(const struct header *header)
{
    uint64_t rest =
        (uint64_t)header->unused << 40 | (uint64_t)header->component << 32 | header->site;
    return (uint16_t)(fold_word(fold_word(header->size) ^ rest) >> 48);
}

static void fill_header(struct header *header, enum component component, uint32_t site, size_t size)
{
    *header = (struct header){.site = site, .component = (uint8_t)component, .size = size};
    header->canary = front_canary(header);
    back_of(header, size)->canary = BACK_CANARY;
}

static uint32_t count_site(enum component component, size_t size, void *called_from,
                           void *const *frame)
{
    if (mem_get_level() != MEM_DETAIL)
        return SITE_NONE;
    uint32_t site = site_of(component, called_from, frame);
    site_count(site, (int64_t)size, 1);
    return site;
}

/* The canary in front is looked at first: size can be trusted then. */
static bool is_whole(const struct header *header)
{
    bool whole = header->canary == front_canary(header) && header->component < COMPONENT_COUNT &&
                 back_of(header, header->size)->canary == BACK_CANARY;
    if (!whole)
        atomic_fetch_add_explicit(&account.damaged, 1, memory_order_relaxed);
    return whole;
}

int64_t mem_damaged(void)
{
    return atomic_load_explicit(&account.damaged, memory_order_relaxed);
}

/* called_from, frame: as in site_of. */
static void *allocate(enum component component, size_t size, bool zeroed, void *called_from,
                      void *const *frame)
{
    if (size > SIZE_MAX_BYTES)
        return NULL;
    struct header *header = zeroed ? calloc(1, size + AROUND_BYTES) : malloc(size + AROUND_BYTES);
    if (header == NULL)
        return NULL;
    account_count_more(component, (int64_t)size, heap_bytes(size), 0);
    fill_header(header, component, count_site(component, size, called_from, frame), size);
    return header + 1;
}

#define ALLOCATE(component, size, zeroed)                                                          \
    allocate(component, size, zeroed, __builtin_return_address(0), __builtin_frame_address(0))

void *mem_alloc(enum component component, size_t size)
{
    return ALLOCATE(component, size, true);
}

void *mem_alloc_raw(enum component component, size_t size)
{
    return ALLOCATE(component, size, false);
}

char *mem_copy_text(enum component component, const char *text, size_t length)
{
    char *copy = length >= SIZE_MAX_BYTES ? NULL : ALLOCATE(component, length + 1, false);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void *mem_resize(enum component component, void *block, size_t size)
{
    if (block == NULL)
        return ALLOCATE(component, size, true);
    struct header *header = (struct header *)block - 1;
    if (!is_whole(header))
        return NULL;
    struct header old = *header;
    struct header *moved = size > SIZE_MAX_BYTES ? NULL : realloc(header, size + AROUND_BYTES);
    if (moved == NULL)
        return NULL;
    if (size > old.size)
        memset((char *)(moved + 1) + old.size, 0, size - old.size);
    site_count(old.site, -(int64_t)old.size, -1);
    account_count_less(old.component, (int64_t)old.size, heap_bytes(old.size), 0);
    account_count_more(component, (int64_t)size, heap_bytes(size), 0);
    uint32_t site =
        count_site(component, size, __builtin_return_address(0), __builtin_frame_address(0));
    fill_header(moved, component, site, size);
    return moved + 1;
}

bool mem_grow(const struct mem_array *kind, void *array, size_t *capacity, size_t wanted)
{
    void *block;
    size_t more = *capacity > 0 ? *capacity : kind->first;
    if (wanted <= *capacity)
        return true;
    while (more < wanted && more <= SIZE_MAX_BYTES)
        more *= 2;
    if (more > SIZE_MAX_BYTES / kind->element_bytes || (kind->most > 0 && more > kind->most))
        return false;
    memcpy(&block, array, sizeof block);
    block = mem_resize(kind->component, block, more * kind->element_bytes);
    if (block == NULL)
        return false;
    memcpy(array, &block, sizeof block);
    *capacity = more;
    return true;
}

#ifdef NMTAGENT_INJECT_LEAK
/* Only for scripts/test/soak-test.sh, to see that it finds a leak. */
static bool is_forgotten(enum component component)
{
    static _Atomic unsigned freed;
    return component == COMPONENT_METHOD_MAP &&
           atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed) % 2 == 0;
}
#else
static inline bool is_forgotten(enum component component)
{
    (void)component;
    return false;
}
#endif

void mem_free(void *block)
{
    struct header *header = (struct header *)block - 1;
    if (block == NULL || !is_whole(header) || is_forgotten(header->component))
        return;
    int64_t size = (int64_t)header->size;
    site_count(header->site, -size, -1);
    account_count_less(header->component, size, heap_bytes(header->size), 0);
    free(header);
}
