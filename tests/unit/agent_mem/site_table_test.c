#include "agent/mem/arena.h"
#include "agent/mem/mem.h"
#include "agent/mem/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX 100

static int detail(void **state)
{
    (void)state;
    mem_set_level(MEM_DETAIL);
    return 0;
}

/* Two places in the code; the optimizer must not make them one. */
static __attribute__((noinline)) void *here(size_t size)
{
    void *block = mem_alloc(COMPONENT_METHOD_MAP, size);
    __asm__ volatile("" ::: "memory");
    return block;
}

static __attribute__((noinline)) void *there(size_t size)
{
    char *block = mem_copy_text(COMPONENT_LINE_TABLES, "some text or other", size - 1);
    __asm__ volatile("" ::: "memory");
    return block;
}

static const struct mem_site *find(const struct mem_site *site, int count, enum component component)
{
    const struct mem_site *found = NULL;
    for (int i = 0; i < count; i++) {
        if (site[i].component != component)
            continue;
        assert_null(found);
        found = &site[i];
    }
    return found;
}

static void sites_are_distinct(void **state)
{
    (void)state;
    struct mem_site site[MAX];
    void *block[20];
    for (int i = 0; i < 20; i++)
        block[i] = i % 2 == 0 ? here(100) : there(10);
    int count = mem_sites(site, MAX);
    const struct mem_site *more = find(site, count, COMPONENT_METHOD_MAP);
    const struct mem_site *less = find(site, count, COMPONENT_LINE_TABLES);
    assert_non_null(more);
    assert_non_null(less);
    assert_true(more < less); /* most bytes first */
    assert_int_equal(more->bytes, 1000);
    assert_int_equal(more->blocks, 10);
    assert_int_equal(less->bytes, 100);
    uintptr_t caller = (uintptr_t)more->frame[0];
    assert_in_range(caller - (uintptr_t)here, 1, 200);
    assert_int_equal(mem_sites(site, 1), 1);
    for (int i = 0; i < 20; i++)
        mem_free(block[i]);
    count = mem_sites(site, MAX);
    assert_null(find(site, count, COMPONENT_METHOD_MAP));
}

static __attribute__((noinline)) struct arena *an_arena(void)
{
    static struct mem_budget budget = {.bound_bytes = 1 << 20};
    struct arena *arena = arena_create(COMPONENT_CALL_TRACE_STORAGE, &budget);
    __asm__ volatile("" ::: "memory");
    return arena;
}

/* Whether the function in mem.h keeps a frame or not, a site begins with its caller. */
static void a_site_begins_with_the_caller(void **state)
{
    (void)state;
    struct mem_site site[MAX];
    void *block[3] = {here(100), there(10), mem_resize(COMPONENT_CONTROL, NULL, 100)};
    mem_free(mem_resize(COMPONENT_CONTROL, block[2], 200));
    block[2] = mem_alloc_raw(COMPONENT_CONTROL, 100000);
    int count = mem_sites(site, MAX), found = 0;
    for (int i = 0; i < count; i++) {
        uintptr_t first = (uintptr_t)site[i].frame[0], second = (uintptr_t)site[i].frame[1];
        uintptr_t function = site[i].component == COMPONENT_METHOD_MAP    ? (uintptr_t)here
                             : site[i].component == COMPONENT_LINE_TABLES ? (uintptr_t)there
                             : site[i].component == COMPONENT_CONTROL
                                 ? (uintptr_t)a_site_begins_with_the_caller
                                 : 0;
        if (function == 0)
            continue;
        assert_in_range(first - function, 1, 2000);
        assert_true(first != second);
        found++;
    }
    assert_int_equal(found, 3);
    for (int i = 0; i < 3; i++)
        mem_free(block[i]);
}

/* Inside the agent's code a site reaches further than the function that called us. */
static void callers_are_walked(void **state)
{
    (void)state;
    struct mem_site site[MAX];
    struct arena *arena = an_arena();
    int count = mem_sites(site, MAX), found = 0;
    for (int i = 0; i < count; i++) {
        if (site[i].component != COMPONENT_CALL_TRACE_STORAGE)
            continue;
        /* The block of the arena itself, or its first chunk by way of a static function. */
        uintptr_t second = (uintptr_t)site[i].frame[1], third = (uintptr_t)site[i].frame[2];
        found += second - (uintptr_t)an_arena < 100 || third - (uintptr_t)an_arena < 100;
    }
    assert_int_equal(found, 2);
    arena_destroy(arena);
}

static void growth_since_a_baseline_by_site(void **state)
{
    (void)state;
    struct mem_site site[MAX];
    void *old = here(500), *new, *map;
    mem_baseline();
    assert_int_equal(mem_diff_sites(site, MAX), 0);
    new = there(7);
    map = mem_map(COMPONENT_THREADS, 8192);
    int count = mem_diff_sites(site, MAX);
    assert_int_equal(count, 2);
    assert_int_equal(site[0].component, COMPONENT_THREADS);
    assert_int_equal(site[0].bytes, 8192);
    assert_int_equal(site[1].component, COMPONENT_LINE_TABLES);
    assert_int_equal(site[1].bytes, 7);
    mem_unmap(COMPONENT_THREADS, map, 8192);
    mem_free(new);
    mem_free(old);
    assert_int_equal(mem_diff_sites(site, MAX), 0);
}

static void a_resized_block_moves_to_its_new_site(void **state)
{
    (void)state;
    struct mem_site site[MAX];
    void *block = here(500);
    block = mem_resize(COMPONENT_JFR_WRITER, block, 800);
    int count = mem_sites(site, MAX);
    assert_null(find(site, count, COMPONENT_METHOD_MAP));
    assert_int_equal(find(site, count, COMPONENT_JFR_WRITER)->bytes, 800);
    mem_free(block);
}

static void blocks_of_a_lower_level_have_no_site(void **state)
{
    (void)state;
    struct mem_site site[MAX];
    mem_set_level(MEM_SUMMARY);
    void *block = here(500);
    mem_set_level(MEM_DETAIL);
    assert_null(find(site, mem_sites(site, MAX), COMPONENT_METHOD_MAP));
    mem_free(block);
    assert_null(find(site, mem_sites(site, MAX), COMPONENT_METHOD_MAP));
}

/* More places than rows: what finds none is counted without an address, and nothing is lost. Last,
 * since a row is never given up. */
static void a_full_table_still_counts(void **state)
{
    (void)state;
    int64_t overflowed = 0;
    struct mem_site site[MAX];
    for (uintptr_t i = 1; i <= 2 * SITES; i++) {
        void *frame[2] = {NULL};
        void *called_from = (void *)i; /* is in no library */
        uint32_t row = site_of(COMPONENT_CONTROL, called_from, frame);
        assert_true(row < SITES);
        assert_int_equal(site_of(COMPONENT_CONTROL, called_from, frame), row);
        site_count(row, 10, 1);
        overflowed += row == 0;
    }
    assert_in_range(overflowed, SITES, 2 * SITES);
    assert_true(mem_sites(site, MAX) == MAX);
    assert_int_equal(site[0].component, COMPONENT_COUNT);
    assert_null(site[0].frame[0]);
    assert_int_equal(site[0].bytes, overflowed * 10);
    assert_int_equal(site[1].bytes, 10);
    site_count(SITE_NONE, 1, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, detail)
    const struct CMUnitTest tests[] = {
        TEST(sites_are_distinct),
        TEST(a_site_begins_with_the_caller),
        TEST(callers_are_walked),
        TEST(growth_since_a_baseline_by_site),
        TEST(a_resized_block_moves_to_its_new_site),
        TEST(blocks_of_a_lower_level_have_no_site),
        TEST(a_full_table_still_counts),
    };
    return cmocka_run_group_tests_name("agent/mem/site_table", tests, NULL, NULL);
}
