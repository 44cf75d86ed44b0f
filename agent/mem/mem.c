#include "agent/mem/mem.h"

#include "agent/mem/account.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* In front of the user's data. The tag: account.h. */
struct header {
    uint64_t tag;
    uint64_t size;
};
_Static_assert(sizeof(struct header) == 16, "user data stays aligned as malloc aligned it");
_Static_assert(offsetof(struct header, size) == 8, "as drawn in mem.h");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "site comes first, as drawn in mem.h");
_Static_assert(_Alignof(max_align_t) == 16, "malloc aligns by 16");
_Static_assert(COMPONENT_COUNT <= UINT8_MAX, "a component fits its byte");

#define BACK_CANARY      0xA6E5
#define BACK_CANARY_SIZE sizeof(uint16_t)
#define AROUND_BYTES     (sizeof(struct header) + BACK_CANARY_SIZE)

/* No single block of the agent is larger; more is a bug of the caller, not a wish. */
#define SIZE_MAX_BYTES ((size_t)1 << 40)

void mem_set_level(enum mem_level level)
{
    /* The table is a map of the account like others, without a site of its own. */
    if (level == MEM_DETAIL && !sites_are_open())
        sites_open(maps_new(COMPONENT_ACCOUNTING, SITES_BYTES, SITE_NONE));
    account_set_level(level);
}

static inline enum component component_of(uint64_t tag)
{
    return (enum component)(tag >> TAG_COMPONENT_AT & 0xff);
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

/* What of the size is in the tag, in the site's place: a small one is as it stands. */
static inline uint64_t seal_of(uint64_t size)
{
    return (uint32_t)(size ^ size >> 32);
}

static inline uint32_t site_in(const struct header *header)
{
    return (uint32_t)(header->tag ^ seal_of(header->size));
}

/* tag: sealed. */
static inline void fill_header(struct header *header, uint64_t tag, size_t size)
{
    header->tag = tag;
    header->size = size;
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
static inline bool is_whole(const struct header *header)
{
    uint64_t tag = header->tag ^ seal_of(header->size);
    return tag == account_sealed(tag << (64 - TAG_BITS) >> (64 - TAG_BITS)) &&
           component_of(tag) < COMPONENT_COUNT &&
           back_of(header, header->size)->canary == BACK_CANARY;
}

static __attribute__((noinline, cold)) void count_damage(void)
{
    struct account *account = account_get();
    if (account != NULL)
        atomic_fetch_add_explicit(&account->damaged, 1, memory_order_relaxed);
}

int64_t mem_damaged(void)
{
    struct account *account = account_get();
    return account == NULL ? 0 : atomic_load_explicit(&account->damaged, memory_order_relaxed);
}

/* Large blocks, call sites, a thread's first block. called_from: as in site_of. */
static __attribute__((noinline)) void *allocate_rarely(enum component component, size_t size,
                                                       bool zeroed, void *called_from)
{
    bool fresh = zeroed && size >= CALLOC_FROM_BYTES;
    if (size > SIZE_MAX_BYTES)
        return NULL;
    struct header *header = fresh ? calloc(1, size + AROUND_BYTES) : malloc(size + AROUND_BYTES);
    if (header == NULL)
        return NULL;
    if (!account_count(component, 1, (int64_t)size, heap_bytes(size), 0)) {
        free(header);
        return NULL;
    }
    uint32_t site = count_site(component, size, called_from, __builtin_frame_address(0));
    fill_header(header, account_tag(mem_get_level(), component, site) ^ seal_of(size), size);
    return zeroed && !fresh ? memset(header + 1, 0, size) : header + 1;
}

static __attribute__((noinline, cold)) void *take_back(uint64_t sealed, size_t size)
{
    account_count_none(account_own_stripe, component_of(sealed), (int64_t)size, heap_bytes(size));
    return NULL;
}

_Static_assert((uint16_t)SITE_NONE == 0 && CALLOC_FROM_BYTES - 1 <= UINT16_MAX,
               "the size of a small block is xor'ed to zeroes");

/* A small block that is counted already. tag: of its tally, without a call site: so its seal holds the
 * size, too, and is all that is kept across malloc. */
static inline __attribute__((always_inline)) void *make_counted(uint64_t tag, size_t size,
                                                                bool zeroed)
{
    uint64_t sealed = tag ^ size;
    struct header *header = malloc(size + AROUND_BYTES);
    size = (uint16_t)sealed;
    if (__builtin_expect(header == NULL, 0))
        return take_back(sealed, size);
    fill_header(header, sealed, size);
    return zeroed ? memset(header + 1, 0, size) : header + 1;
}

static inline bool is_plain(struct stripe *stripe, uint64_t size)
{
    return account_is_below(size, &stripe->plain_below);
}

static inline uint64_t tag_in(struct stripe *stripe, enum component component)
{
    return atomic_load_explicit(&stripe->tally[component].tag, memory_order_relaxed);
}

static __attribute__((noinline, cold)) void *allocate_at_peak(enum component component, size_t size,
                                                              bool zeroed)
{
    account_look_at_peak(component);
    return make_counted(tag_in(account_own_stripe, component), size, zeroed);
}

/* What nearly every call does, with as few instructions as can be, for that is all it costs: it is
 * counted first, so that little is kept across malloc. called_from: as in site_of. */
static inline __attribute__((always_inline)) void *allocate(enum component component, size_t size,
                                                            bool zeroed)
{
    struct stripe *stripe = account_own_stripe;
    if (__builtin_expect(!is_plain(stripe, size), 0)) {
        __asm__ volatile("" ::: "memory");
        return allocate_rarely(component, size, zeroed, __builtin_return_address(0));
    }
    if (__builtin_expect(account_count_more(stripe, component, (int64_t)size, heap_bytes(size), 0),
                         0))
        return allocate_at_peak(component, size, zeroed);
    return make_counted(tag_in(stripe, component), size, zeroed);
}

/* The two that all others are measured by do without a frame pointer: site_of does without their frame. */
#ifdef __clang__
#define FRAMELESS
#else
#define FRAMELESS __attribute__((optimize("omit-frame-pointer")))
#endif

FRAMELESS void *mem_alloc(enum component component, size_t size)
{
    return allocate(component, size, true);
}

FRAMELESS void *mem_alloc_raw(enum component component, size_t size)
{
    return allocate(component, size, false);
}

char *mem_copy_text(enum component component, const char *text, size_t length)
{
    char *copy = length >= SIZE_MAX_BYTES ? NULL : allocate(component, length + 1, false);
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
        return allocate(component, size, true);
    struct header *header = (struct header *)block - 1;
    if (!is_whole(header)) {
        count_damage();
        return NULL;
    }
    struct header old = *header;
    struct header *moved = size > SIZE_MAX_BYTES ? NULL : realloc(header, size + AROUND_BYTES);
    if (moved == NULL)
        return NULL;
    if (size > old.size)
        memset((char *)(moved + 1) + old.size, 0, size - old.size);
    /* The account exists since the block was made: these count. */
    site_count(site_in(&old), -(int64_t)old.size, -1);
    account_count(component_of(old.tag), -1, (int64_t)old.size, heap_bytes(old.size), 0);
    account_count(component, 1, (int64_t)size, heap_bytes(size), 0);
    uint32_t site =
        count_site(component, size, __builtin_return_address(0), __builtin_frame_address(0));
    fill_header(moved, account_tag(mem_get_level(), component, site) ^ seal_of(size), size);
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

/* Damaged and large blocks, call sites, blocks of another level, a thread's first or last block. */
static __attribute__((noinline)) void free_rarely(struct header *header)
{
    if (!is_whole(header)) {
        count_damage();
        return;
    }
    int64_t size = (int64_t)header->size;
    site_count(site_in(header), -size, -1);
    account_count(component_of(header->tag), -1, size, heap_bytes((uint64_t)size), 0);
    free(header);
}

void mem_free(void *block)
{
    if (block == NULL)
        return;
    struct header *header = (struct header *)block - 1;
    struct stripe *stripe = account_own_stripe;
    uint64_t size = header->size;
    if (__builtin_expect(!is_plain(stripe, size), 0)) {
        free_rarely(header);
        return;
    }
    /* The tally's tag is that of most blocks: one comparison for canary, component, level, site, size. */
    enum component component = component_of(header->tag);
    if (__builtin_expect(!account_is(header->tag ^ size, &stripe->tally[component].tag) ||
                             back_of(header, size)->canary != BACK_CANARY,
                         0)) {
        free_rarely(header);
        return;
    }
    if (is_forgotten(component))
        return;
    account_count_less(stripe, component, (int64_t)size, heap_bytes(size), 0);
    free(header);
}
