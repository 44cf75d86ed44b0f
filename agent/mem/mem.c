#include "agent/mem/mem.h"

#include "agent/mem/account.h"
#include "agent/mem/site_table.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct header {
    uint32_t site;
    uint8_t component;
    uint8_t level;
    uint16_t canary; /* of the other fields: damage to any of them shows */
    uint64_t size;
};
_Static_assert(sizeof(struct header) == 16, "user data stays aligned as malloc aligned it");
_Static_assert(offsetof(struct header, component) == 4 && offsetof(struct header, level) == 5 &&
                   offsetof(struct header, canary) == 6 && offsetof(struct header, size) == 8,
               "as drawn in mem.h");
_Static_assert(_Alignof(max_align_t) == 16, "malloc aligns by 16");
_Static_assert(COMPONENT_COUNT <= UINT8_MAX, "a component fits its byte");

#define BACK_CANARY      0xA6E5
#define BACK_CANARY_SIZE sizeof(uint16_t)
#define AROUND_BYTES     (sizeof(struct header) + BACK_CANARY_SIZE)

/* No single block of the agent is larger; more is a bug of the caller, not a wish. */
#define SIZE_MAX_BYTES ((size_t)1 << 40)

/* Above, calloc: it gets fresh pages from the kernel and need not touch them. Below, malloc and
 * memset: glibc's calloc does not use the per-thread cache. */
#define CALLOC_FROM_BYTES 65536

static _Atomic int the_level = MEM_SUMMARY;

void mem_set_level(enum mem_level level)
{
    atomic_store_explicit(&the_level, level, memory_order_relaxed);
}

enum mem_level mem_get_level(void)
{
    return (enum mem_level)atomic_load_explicit(&the_level, memory_order_relaxed);
}

static uint16_t front_canary(const struct header *header)
{
    uint64_t rest = header->site ^ (uint64_t)header->component << 32 ^
                    (uint64_t)header->level << 40 ^ UINT64_C(0x6e6d746167656e74);
    return (uint16_t)(((rest ^ header->size) * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
}

/* What glibc takes from the heap for a block: 8 bytes of its own, whole 16s, 32 at least. */
static int64_t heap_bytes(uint64_t size)
{
    uint64_t bytes = (size + AROUND_BYTES + 8 + 15) & ~UINT64_C(15);
    return (int64_t)(bytes < 32 ? 32 : bytes);
}

static void fill_header(struct header *header, enum component component, size_t size,
                        void *const *frame_pointer)
{
    const uint16_t back = BACK_CANARY;
    enum mem_level level = mem_get_level();
    header->site = SITE_NONE;
    header->component = (uint8_t)component;
    header->level = (uint8_t)level;
    header->size = size;
    if (__builtin_expect(level == MEM_DETAIL, 0)) {
        header->site = site_of(component, frame_pointer);
        site_count(header->site, (int64_t)size, 1);
    }
    header->canary = front_canary(header);
    memcpy((char *)(header + 1) + size, &back, sizeof back);
}

static bool is_whole(const struct header *header)
{
    uint16_t back;
    if (header->canary != front_canary(header) || header->component >= COMPONENT_COUNT)
        return false;
    memcpy(&back, (const char *)(header + 1) + header->size, sizeof back);
    return back == BACK_CANARY;
}

static void count_damage(void)
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

static inline __attribute__((always_inline)) void *allocate(enum component component, size_t size,
                                                            void *const *frame_pointer)
{
    if (size > SIZE_MAX_BYTES)
        return NULL;
    struct header *header;
    if (size >= CALLOC_FROM_BYTES) {
        header = calloc(1, size + AROUND_BYTES);
    } else {
        header = malloc(size + AROUND_BYTES);
        if (header != NULL)
            memset(header + 1, 0, size);
    }
    if (header == NULL)
        return NULL;
    struct change change = {.component = component,
                            .requested_bytes = (int64_t)size,
                            .reserved_bytes = heap_bytes(size),
                            .allocations = 1};
    if (!account_count(&change)) {
        free(header);
        return NULL;
    }
    fill_header(header, component, size, frame_pointer);
    return header + 1;
}

void *mem_alloc(enum component component, size_t size)
{
    return allocate(component, size, __builtin_frame_address(0));
}

char *mem_copy_text(enum component component, const char *text, size_t length)
{
    char *copy = length >= SIZE_MAX_BYTES
                     ? NULL
                     : allocate(component, length + 1, __builtin_frame_address(0));
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void *mem_resize(enum component component, void *block, size_t size)
{
    if (block == NULL)
        return allocate(component, size, __builtin_frame_address(0));
    struct header *header = (struct header *)block - 1;
    if (!is_whole(header)) {
        count_damage();
        return NULL;
    }
    struct header old = *header;
    if (size > SIZE_MAX_BYTES || (header = realloc(header, size + AROUND_BYTES)) == NULL)
        return NULL;
    if (size > old.size)
        memset((char *)(header + 1) + old.size, 0, size - old.size);
    site_count(old.site, -(int64_t)old.size, -1);
    /* The account exists since the block was made, so these count. */
    account_count(&(struct change){.component = (enum component)old.component,
                                   .requested_bytes = -(int64_t)old.size,
                                   .reserved_bytes = -heap_bytes(old.size),
                                   .frees = 1});
    account_count(&(struct change){.component = component,
                                   .requested_bytes = (int64_t)size,
                                   .reserved_bytes = heap_bytes(size),
                                   .allocations = 1});
    fill_header(header, component, size, __builtin_frame_address(0));
    return header + 1;
}

void mem_free(void *block)
{
    if (block == NULL)
        return;
    struct header *header = (struct header *)block - 1;
    if (__builtin_expect(!is_whole(header), 0)) {
        count_damage();
        return;
    }
    if (header->site != SITE_NONE)
        site_count(header->site, -(int64_t)header->size, -1);
    struct change change = {.component = (enum component)header->component,
                            .requested_bytes = -(int64_t)header->size,
                            .reserved_bytes = -heap_bytes(header->size),
                            .frees = 1};
    account_count(&change);
    header->canary = (uint16_t)~header->canary;
    free(header);
}
