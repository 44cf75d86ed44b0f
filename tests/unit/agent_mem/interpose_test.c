/*
 * The account against an outside observer: the module is built here once more, with malloc, mmap
 * and their kin replaced by functions that count what is asked of them. After any mixture of calls
 * the account's total is what was taken from the process, to the byte.
 *
 * (That nobody else in agent/ calls those functions is tests/agent/allocators_test.sh.)
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct observed {
    int64_t blocks, maps;
    int64_t heap_bytes; /* as glibc rounds: 8 bytes of its own, whole 16s */
    int64_t mapped_bytes;
    bool out_of_memory;
};
static struct observed observed;

/* Remembers its size in front: 16 bytes, so that blocks stay aligned. */
struct watched {
    _Alignas(16) size_t size;
};

static void observe_block(size_t size, int sign)
{
    observed.blocks += sign;
    observed.heap_bytes += sign * (int64_t)((size + 8 + 15) / 16 * 16);
}

static void *watch(struct watched *block, size_t size)
{
    if (block == NULL)
        return NULL;
    block->size = size;
    observe_block(size, 1);
    return block + 1;
}

static void *observed_malloc(size_t size)
{
    struct watched *block = observed.out_of_memory ? NULL : malloc(sizeof *block + size);
    if (block != NULL)
        memset(block, 0xa5, sizeof *block + size); /* nobody may rely on zeroes */
    return watch(block, size);
}

static void *observed_calloc(size_t count, size_t size)
{
    return watch(calloc(1, sizeof(struct watched) + count * size), count * size);
}

static void *observed_realloc(void *block, size_t size)
{
    struct watched *old = (struct watched *)block - 1;
    size_t old_size = old->size;
    void *moved = watch(realloc(old, sizeof *old + size), size);
    if (moved != NULL)
        observe_block(old_size, -1);
    return moved;
}

static void observed_free(void *block)
{
    if (block == NULL)
        return;
    observe_block(((struct watched *)block)[-1].size, -1);
    free((struct watched *)block - 1);
}

static void *observed_mmap(void *address, size_t size, int protection, int flags, int fd,
                           off_t offset)
{
    void *map = mmap(address, size, protection, flags, fd, offset);
    if (map != MAP_FAILED) {
        observed.maps++;
        observed.mapped_bytes += (int64_t)size;
    }
    return map;
}

static int observed_munmap(void *map, size_t size)
{
    observed.maps--;
    observed.mapped_bytes -= (int64_t)size;
    return munmap(map, size);
}

#define malloc  observed_malloc
#define calloc  observed_calloc
#define realloc observed_realloc
#define free    observed_free
#define mmap    observed_mmap
#define munmap  observed_munmap
#include "agent/mem/account.c"
#include "agent/mem/arena.c"
#include "agent/mem/arena_put.c"
#include "agent/mem/maps.c"
#include "agent/mem/mem.c"
#include "agent/mem/site_table.c"
#include "agent/mem/snapshot.c"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef mmap
#undef munmap

static void agree(void)
{
    struct mem_snapshot now;
    mem_snapshot(&now);
    assert_int_equal(now.total.reserved_bytes, observed.heap_bytes + observed.mapped_bytes);
    assert_int_equal(now.total.allocations - now.total.frees, observed.blocks + observed.maps);
}

#define THINGS 256

struct thing {
    void *block, *map;
    size_t map_size;
    enum component component;
};

static size_t some_size(void)
{
    return (size_t)random() % (random() % 50 == 0 ? 200000 : 600);
}

static void change(struct thing *thing)
{
    switch (random() % 5) {
    case 0:
        mem_free(thing->block);
        thing->block = mem_alloc(thing->component, some_size());
        break;
    case 1:
        thing->block = mem_resize(thing->component, thing->block, some_size());
        break;
    case 2:
        mem_free(thing->block);
        thing->block = mem_copy_text(thing->component, "a text", (size_t)random() % 7);
        break;
    case 3:
        mem_free(thing->block);
        thing->block = NULL;
        break;
    default:
        mem_unmap(thing->component, thing->map, thing->map_size);
        thing->map_size = 1 + some_size();
        thing->map = random() % 2 ? mem_map(thing->component, thing->map_size) : NULL;
    }
}

static void load(enum mem_level level)
{
    static struct thing thing[THINGS];
    memset(thing, 0, sizeof thing);
    mem_set_level(level);
    srandom(1);
    for (int i = 0; i < THINGS; i++)
        thing[i].component = (enum component)(i % COMPONENT_COUNT);
    struct mem_budget budget = {.bound_bytes = 4 << 20};
    struct arena *arena = arena_create(COMPONENT_CALL_TRACE_STORAGE, &budget);
    for (int i = 0; i < 20000; i++) {
        change(&thing[random() % THINGS]);
        arena_alloc(arena, (size_t)random() % 500);
        arena_refill(arena);
        if (i % 5000 == 4999)
            arena_reset(arena);
        if (i % 100 == 0)
            agree();
    }
    for (int i = 0; i < THINGS; i++) {
        mem_free(thing[i].block);
        mem_unmap(thing[i].component, thing[i].map, thing[i].map_size);
    }
    arena_destroy(arena);
    agree();
    assert_int_equal(observed.blocks, 0);
}

static void the_total_is_what_was_taken(void **state)
{
    (void)state;
    load(MEM_SUMMARY);
    assert_int_equal(observed.maps, 0);
}

static void also_with_call_sites(void **state)
{
    (void)state;
    load(MEM_DETAIL);
    assert_int_equal(observed.maps, 1); /* the table of sites */
    struct mem_site site;
    assert_int_equal(mem_sites(&site, 1), 0);
}

static void what_could_not_be_had_is_not_counted(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 100, 65535, 65536};
    struct mem_snapshot before, after;
    mem_set_level(MEM_SUMMARY);
    mem_free(mem_alloc(COMPONENT_CONTROL, 1));
    mem_snapshot(&before);
    observed.out_of_memory = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_null(mem_alloc_raw(COMPONENT_CONTROL, sizes[i]));
        assert_null(mem_copy_text(COMPONENT_CONTROL, "text", 4));
    }
    observed.out_of_memory = false;
    agree();
    mem_snapshot(&after);
    assert_memory_equal(&after.component[COMPONENT_CONTROL], &before.component[COMPONENT_CONTROL],
                        sizeof after.component[COMPONENT_CONTROL]);
}

static void the_comparison_can_fail(void **state)
{
    (void)state;
    struct mem_snapshot now;
    void *past_the_account = observed_malloc(100);
    mem_snapshot(&now);
    assert_int_not_equal(now.total.reserved_bytes, observed.heap_bytes + observed.mapped_bytes);
    observed_free(past_the_account);
    agree();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_total_is_what_was_taken),
        cmocka_unit_test(also_with_call_sites),
        cmocka_unit_test(what_could_not_be_had_is_not_counted),
        cmocka_unit_test(the_comparison_can_fail),
    };
    return cmocka_run_group_tests_name("agent/mem/interpose", tests, NULL, NULL);
}
