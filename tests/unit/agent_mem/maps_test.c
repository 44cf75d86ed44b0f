#include "agent/mem/account.h"
#include "agent/mem/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct component_usage usage_of(enum component component)
{
    struct mem_snapshot now;
    mem_snapshot(&now);
    return now.component[component];
}

static void untouched_is_not_resident(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           size = 5000 * page; /* more than is asked at once */
    char *block = mem_map(COMPONENT_CALL_TRACE_STORAGE, size - 1);
    struct component_usage usage = usage_of(COMPONENT_CALL_TRACE_STORAGE);
    assert_int_equal((uintptr_t)block % page, 0);
    assert_int_equal(usage.requested_bytes, size - 1);
    assert_int_equal(usage.reserved_bytes, size);
    assert_int_equal(usage.resident_bytes, 0);
    assert_int_equal(usage.allocations, 1);
    block[0] = block[10 * page] = block[4999 * page] = 1;
    assert_int_equal(usage_of(COMPONENT_CALL_TRACE_STORAGE).resident_bytes, 3 * page);
    mem_unmap(COMPONENT_CALL_TRACE_STORAGE, block, size - 1);
    usage = usage_of(COMPONENT_CALL_TRACE_STORAGE);
    assert_int_equal(usage.requested_bytes, 0);
    assert_int_equal(usage.reserved_bytes, 0);
    assert_int_equal(usage.resident_bytes, 0);
    assert_int_equal(usage.frees, 1);
    assert_int_equal(usage.peak_bytes, size);
    mem_unmap(COMPONENT_CALL_TRACE_STORAGE, NULL, 1);
}

struct found {
    const void *address;
    size_t size;
    int64_t resident_bytes;
    int maps;
};

static void find(void *context, enum component component, const void *address, size_t size,
                 int64_t resident_bytes)
{
    struct found *found = context;
    if (component != COMPONENT_RECORDING_BUFFERS)
        return;
    found->address = address;
    found->size = size;
    found->resident_bytes = resident_bytes;
    found->maps++;
}

static void maps_can_be_listed(void **state)
{
    (void)state;
    struct found found = {0};
    char *block = mem_map(COMPONENT_RECORDING_BUFFERS, 1179648);
    block[0] = 1;
    mem_maps_each(find, &found);
    assert_int_equal(found.maps, 1);
    assert_ptr_equal(found.address, block);
    assert_int_equal(found.size, 1179648);
    assert_int_equal(found.resident_bytes, sysconf(_SC_PAGESIZE));
    mem_unmap(COMPONENT_RECORDING_BUFFERS, block, 1179648);
    memset(&found, 0, sizeof found);
    mem_maps_each(find, &found);
    assert_int_equal(found.maps, 0);
}

/* Beyond the list a map counts as resident whole; nothing is forgotten when it goes. */
static void more_maps_than_the_list_takes(void **state)
{
    (void)state;
    static void *block[MAPS_LISTED + 100];
    int count = MAPS_LISTED + 100;
    int64_t page = sysconf(_SC_PAGESIZE);
    for (int i = 0; i < count; i++)
        assert_non_null(block[i] = mem_map(COMPONENT_THREADS, 1));
    struct component_usage usage = usage_of(COMPONENT_THREADS);
    assert_int_equal(usage.reserved_bytes, count * page);
    assert_int_equal(usage.resident_bytes, 100 * page);
    for (int i = 0; i < count; i++)
        mem_unmap(COMPONENT_THREADS, block[i], 1);
    usage = usage_of(COMPONENT_THREADS);
    assert_int_equal(usage.reserved_bytes, 0);
    assert_int_equal(usage.resident_bytes, 0);
}

static void the_table_of_sites_is_counted(void **state)
{
    (void)state;
    assert_int_equal(usage_of(COMPONENT_ACCOUNTING).reserved_bytes, 0);
    mem_set_level(MEM_DETAIL);
    struct component_usage usage = usage_of(COMPONENT_ACCOUNTING);
    assert_int_equal(usage.requested_bytes, SITES_BYTES);
    assert_true(usage.resident_bytes <= usage.reserved_bytes);
    mem_free(mem_alloc(COMPONENT_CONTROL, 1));
    assert_true(usage_of(COMPONENT_ACCOUNTING).resident_bytes > 0);
    mem_set_level(MEM_SUMMARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched_is_not_resident),
        cmocka_unit_test(maps_can_be_listed),
        cmocka_unit_test(more_maps_than_the_list_takes),
        cmocka_unit_test(the_table_of_sites_is_counted),
    };
    return cmocka_run_group_tests_name("agent/mem/maps", tests, NULL, NULL);
}
