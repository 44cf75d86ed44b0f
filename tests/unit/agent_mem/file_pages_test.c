/* Pages of files in the account: what is mapped counts, what lies in the page cache does not. */
#include "agent/mem/file_pages.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES 1200 /* more than is asked at once */

static size_t page;
static char *file_map;

static int map_file(void **state)
{
    char path[] = "/tmp/nmtwatch-file-pages.XXXXXX";
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = mkstemp(path);
    unlink(path);
    char *content = calloc(PAGES, page);
    bool written = write(fd, content, PAGES * page) == (ssize_t)(PAGES * page);
    free(content);
    file_map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    return written && file_map != MAP_FAILED ? 0 : -1;
}

static int unmap_file(void **state)
{
    (void)state;
    return munmap(file_map, PAGES * page);
}

static struct component_usage usage_of(enum component component)
{
    struct mem_snapshot now;
    struct component_usage sum = {0};
    mem_snapshot(&now);
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        sum.reserved_bytes += now.component[i].reserved_bytes;
        sum.resident_bytes += now.component[i].resident_bytes;
    }
    assert_int_equal(sum.reserved_bytes, now.total.reserved_bytes);
    assert_int_equal(sum.resident_bytes, now.total.resident_bytes);
    return now.component[component];
}

static void cached_is_not_mapped(void **state)
{
    (void)state;
    struct file_pages pages;
    assert_true(file_pages_look(file_map, PAGES * page, &pages));
    assert_int_equal(pages.resident_bytes, 0); /* though all of it is in the page cache */
    volatile char *touched = file_map;
    (void)touched[1100 * page];
    assert_true(file_pages_look(file_map, PAGES * page, &pages));
    assert_in_range(pages.resident_bytes, page, 64 * page); /* with what the kernel mapped around */
    assert_true(pages.only_file);
    madvise(file_map, PAGES * page, MADV_DONTNEED);
    assert_true(file_pages_look(file_map, PAGES * page, &pages));
    assert_int_equal(pages.resident_bytes, 0);
}

static void written_is_not_the_files(void **state)
{
    (void)state;
    struct file_pages pages;
    file_map[7 * page] = 1;
    assert_true(file_pages_look(file_map, PAGES * page, &pages));
    assert_true(pages.resident_bytes >= (int64_t)page);
    assert_false(pages.only_file);
}

static void a_listed_range_counts_until_it_is_forgotten(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        file_map[100 * i * page] = 1;
    struct file_pages pages;
    assert_true(file_pages_look(file_map, 300 * page, &pages));
    assert_true(mem_file_add(COMPONENT_UNWIND_TABLES, file_map, 300 * page));
    struct component_usage usage = usage_of(COMPONENT_UNWIND_TABLES);
    assert_int_equal(usage.resident_bytes, pages.resident_bytes);
    assert_int_equal(usage.reserved_bytes, pages.resident_bytes);
    assert_int_equal(usage.requested_bytes, pages.resident_bytes);
    assert_int_equal(usage.allocations, 1);
    mem_file_forget(file_map);
    usage = usage_of(COMPONENT_UNWIND_TABLES);
    assert_int_equal(usage.resident_bytes, 0);
    assert_int_equal(usage.reserved_bytes, 0);
    assert_int_equal(usage.peak_bytes, pages.resident_bytes);
    assert_int_equal(usage.frees, 1);
    mem_file_forget(file_map); /* of what is not listed: nothing */
    assert_int_equal(usage_of(COMPONENT_UNWIND_TABLES).frees, 1);
}

static void a_full_list_says_so(void **state)
{
    (void)state;
    size_t listed = 0;
    while (listed < PAGES && mem_file_add(COMPONENT_UNWIND_TABLES, file_map + listed * page, page))
        listed++;
    assert_in_range(listed, 20, PAGES - 1);
    for (size_t i = 0; i < listed; i++)
        mem_file_forget(file_map + i * page);
    assert_int_equal(usage_of(COMPONENT_UNWIND_TABLES).reserved_bytes, 0);
}

/* The library of another one counts, what was there before does not. */
static void a_new_library_counts(void **state)
{
    (void)state;
    struct libraries before;
    libraries_look(&before);
    libraries_count_new(&before);
    assert_int_equal(usage_of(COMPONENT_AGENT_CODE).allocations, 0);
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library); /* zlib1g is part of every Debian */
    libraries_count_new(&before);
    struct component_usage usage = usage_of(COMPONENT_AGENT_CODE);
    assert_in_range(usage.resident_bytes, 4 * page, 400000);
    assert_true(usage.allocations >= 2);
    libraries_count_own(); /* this program */
    assert_true(usage_of(COMPONENT_AGENT_CODE).resident_bytes > usage.resident_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cached_is_not_mapped, map_file, unmap_file),
        cmocka_unit_test_setup_teardown(written_is_not_the_files, map_file, unmap_file),
        cmocka_unit_test_setup_teardown(a_listed_range_counts_until_it_is_forgotten, map_file,
                                        unmap_file),
        cmocka_unit_test_setup_teardown(a_full_list_says_so, map_file, unmap_file),
        cmocka_unit_test(a_new_library_counts),
    };
    return cmocka_run_group_tests_name("agent_mem/file_pages", tests, NULL, NULL);
}
