#include "agent/mem/mem.h"

#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER_BYTES 16
#define BACK_BYTES   2

/* Tests measure what changed since they began: other tests may have left peaks. */
static struct mem_snapshot before;

static int begin(void **state)
{
    (void)state;
    mem_set_level(MEM_SUMMARY);
    mem_snapshot(&before);
    return 0;
}

static struct component_usage grown(enum component component)
{
    struct mem_snapshot now;
    mem_snapshot(&now);
    struct component_usage *usage = &now.component[component];
    const struct component_usage *base = &before.component[component];
    usage->requested_bytes -= base->requested_bytes;
    usage->reserved_bytes -= base->reserved_bytes;
    usage->resident_bytes -= base->resident_bytes;
    usage->allocations -= base->allocations;
    usage->frees -= base->frees;
    return *usage;
}

static int nothing_left(void **state)
{
    (void)state;
    struct mem_snapshot now;
    mem_snapshot(&now);
    return now.total.requested_bytes - before.total.requested_bytes;
}

static void components_are_those_of_the_table(void **state)
{
    (void)state;
#define COMPONENT(id, name, documented, holds)                                                     \
    assert_string_equal(component_name(COMPONENT_##id), name);                                     \
    assert_int_equal(component_documented_bytes(COMPONENT_##id), documented);
#include "agent/mem/components.def"
    assert_string_equal(component_name(COMPONENT_COUNT), "several");
}

static void blocks_are_zero_and_aligned(void **state)
{
    (void)state;
    static const size_t large[] = {4096, 65535, 65536, 65537, 300000};
    for (size_t i = 0; i < 700 + sizeof large / sizeof *large; i++) {
        size_t size = i < 700 ? i : large[i - 700];
        for (int round = 0; round < 2; round++) { /* the second gets what the first left dirty */
            unsigned char *block = mem_alloc(COMPONENT_CONTROL, size);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 16, 0);
            for (size_t at = 0; at < size; at++)
                assert_int_equal(block[at], 0);
            memset(block, 0xff, size);
            mem_free(block);
        }
    }
    assert_int_equal(mem_damaged(), 0);
    assert_int_equal(grown(COMPONENT_CONTROL).requested_bytes, 0);
}

static void raw_blocks_are_blocks(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 4096, 65536, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = mem_alloc_raw(COMPONENT_LINE_TABLES, sizes[i]);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 16, 0);
        memset(block, 0xff, sizes[i]);
        assert_int_equal(grown(COMPONENT_LINE_TABLES).requested_bytes, sizes[i]);
        block = mem_resize(COMPONENT_LINE_TABLES, block, sizes[i] + 100);
        for (size_t at = sizes[i]; at < sizes[i] + 100; at++)
            assert_int_equal(block[at], 0);
        mem_free(block);
    }
    assert_null(mem_alloc_raw(COMPONENT_LINE_TABLES, SIZE_MAX));
    assert_int_equal(mem_damaged(), 0);
    assert_int_equal(grown(COMPONENT_LINE_TABLES).reserved_bytes, 0);
}

static void the_header_is_as_drawn(void **state)
{
    (void)state;
    unsigned char *block = mem_alloc(COMPONENT_METHOD_MAP, 1000);
    uint64_t size;
    memcpy(&size, block - 8, sizeof size);
    assert_int_equal(size, 1000);
    assert_int_equal(block[-12], COMPONENT_METHOD_MAP);
    assert_int_equal(block[-11], 0);
    mem_free(block);
}

static void every_byte_has_a_component(void **state)
{
    (void)state;
    void *first = mem_alloc(COMPONENT_LINE_TABLES, 100);
    void *second = mem_alloc(COMPONENT_LINE_TABLES, 200);
    void *other = mem_alloc(COMPONENT_METHOD_MAP, 50);
    struct component_usage lines = grown(COMPONENT_LINE_TABLES);
    assert_int_equal(lines.requested_bytes, 300);
    assert_int_equal(lines.allocations, 2);
    assert_int_equal(lines.frees, 0);
    assert_int_equal(grown(COMPONENT_METHOD_MAP).requested_bytes, 50);
    mem_free(first);
    lines = grown(COMPONENT_LINE_TABLES);
    assert_int_equal(lines.requested_bytes, 200);
    assert_int_equal(lines.frees, 1);
    mem_free(second);
    mem_free(other);
    mem_free(NULL);
    assert_int_equal(grown(COMPONENT_LINE_TABLES).reserved_bytes, 0);
}

static void the_total_is_the_sum(void **state)
{
    (void)state;
    void *block[COMPONENT_COUNT];
    for (int i = 0; i < COMPONENT_COUNT; i++)
        block[i] = mem_alloc((enum component)i, (size_t)i * 100);
    struct mem_snapshot now;
    mem_snapshot(&now);
    struct component_usage sum = {0};
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        sum.requested_bytes += now.component[i].requested_bytes;
        sum.reserved_bytes += now.component[i].reserved_bytes;
        sum.resident_bytes += now.component[i].resident_bytes;
        sum.peak_bytes += now.component[i].peak_bytes;
        sum.allocations += now.component[i].allocations;
        sum.frees += now.component[i].frees;
        assert_true(now.component[i].peak_bytes >= now.component[i].reserved_bytes);
    }
    assert_memory_equal(&sum, &now.total, sizeof sum);
    assert_true(now.peak_total_bytes >= now.total.reserved_bytes);
    assert_true(now.peak_total_bytes <= now.total.peak_bytes);
    for (int i = 0; i < COMPONENT_COUNT; i++)
        mem_free(block[i]);
}

#ifndef __SANITIZE_ADDRESS__ /* its malloc has other blocks */
/* What we say a block takes against what glibc says: it may give 16 bytes more than it must. */
static void reserved_is_what_the_heap_gave(void **state)
{
    (void)state;
    for (size_t size = 0; size < 3000; size++) {
        mem_snapshot(&before);
        char *block = mem_alloc(COMPONENT_CONTROL, size);
        int64_t heap_bytes = (int64_t)malloc_usable_size(block - HEADER_BYTES) + 8;
        assert_in_range(heap_bytes - grown(COMPONENT_CONTROL).reserved_bytes, 0, 16);
        mem_free(block);
    }
}
#endif

static void damage_behind_is_found_and_left_alone(void **state)
{
    (void)state;
    for (size_t size = 0; size < 40; size++) {
        int64_t damaged = mem_damaged();
        unsigned char *block = mem_alloc(COMPONENT_CONTROL, size);
        for (size_t at = size; at < size + BACK_BYTES; at++) {
            unsigned char was = block[at];
            block[at] = 0; /* the usual overrun: the end of a string */
            mem_free(block);
            assert_null(mem_resize(COMPONENT_CONTROL, block, 10));
            block[at] = was;
        }
        assert_int_equal(mem_damaged() - damaged, 2 * BACK_BYTES);
        assert_int_equal(grown(COMPONENT_CONTROL).requested_bytes, size);
        mem_free(block);
    }
}

/* Also a size that points into nowhere: it must not be followed. */
static void damage_in_front_is_found_and_left_alone(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 100, 65535, 65536, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t damaged = mem_damaged();
        unsigned char *block = mem_alloc(COMPONENT_CONTROL, sizes[i]);
        for (int bit = 0; bit < 8 * HEADER_BYTES; bit++) {
            block[bit / 8 - HEADER_BYTES] ^= (unsigned char)(1 << bit % 8);
            mem_free(block);
            block[bit / 8 - HEADER_BYTES] ^= (unsigned char)(1 << bit % 8);
        }
        unsigned char header[HEADER_BYTES];
        memcpy(header, block - HEADER_BYTES, HEADER_BYTES);
        for (int byte = 0; byte < 256; byte++) { /* memory that is no block */
            memset(block - HEADER_BYTES, byte, HEADER_BYTES);
            mem_free(block);
        }
        memcpy(block - HEADER_BYTES, header, HEADER_BYTES);
        for (int component = 0; component < 256; component++) {
            block[-12] = (unsigned char)component;
            if (component != COMPONENT_CONTROL)
                mem_free(block);
        }
        block[-12] = COMPONENT_CONTROL;
        assert_int_equal(mem_damaged() - damaged, 8 * HEADER_BYTES + 256 + 255);
        mem_free(block);
        assert_int_equal(mem_damaged() - damaged, 8 * HEADER_BYTES + 256 + 255);
    }
}

static void resized_blocks_keep_their_bytes(void **state)
{
    (void)state;
    char *block = mem_resize(COMPONENT_JFR_WRITER, NULL, 3);
    memcpy(block, "abc", 3);
    block = mem_resize(COMPONENT_JFR_WRITER, block, 5000);
    assert_memory_equal(block, "abc", 3);
    for (int at = 3; at < 5000; at++)
        assert_int_equal(block[at], 0);
    assert_int_equal(grown(COMPONENT_JFR_WRITER).requested_bytes, 5000);
    block = mem_resize(COMPONENT_CONTROL, block, 2);
    assert_memory_equal(block, "ab", 2);
    assert_int_equal(grown(COMPONENT_JFR_WRITER).requested_bytes, 0);
    assert_int_equal(grown(COMPONENT_CONTROL).requested_bytes, 2);
    mem_free(block);
}

static void what_there_is_not_is_null(void **state)
{
    (void)state;
    char *block = mem_alloc(COMPONENT_CONTROL, 7);
    assert_null(mem_alloc(COMPONENT_CONTROL, SIZE_MAX));
    assert_null(mem_alloc(COMPONENT_CONTROL, SIZE_MAX - 17));
    assert_null(mem_copy_text(COMPONENT_CONTROL, "x", SIZE_MAX));
    assert_null(mem_resize(COMPONENT_CONTROL, block, SIZE_MAX));
    assert_null(mem_map(COMPONENT_CONTROL, SIZE_MAX));
    assert_null(mem_map(COMPONENT_CONTROL, SIZE_MAX / 2));
    assert_null(mem_map(COMPONENT_CONTROL, 0));
    assert_int_equal(grown(COMPONENT_CONTROL).requested_bytes, 7);
    mem_free(block);
}

static void texts_are_copied_with_an_end(void **state)
{
    (void)state;
    char *text = mem_copy_text(COMPONENT_DICTIONARY_CLASS, "java/lang/Object", 4);
    assert_string_equal(text, "java");
    char *none = mem_copy_text(COMPONENT_DICTIONARY_CLASS, NULL, 0);
    assert_string_equal(none, "");
    assert_int_equal(grown(COMPONENT_DICTIONARY_CLASS).requested_bytes, 6);
    mem_free(text);
    mem_free(none);
}

static void off_still_counts(void **state)
{
    (void)state;
    mem_set_level(MEM_OFF);
    void *block = mem_alloc(COMPONENT_LINE_TABLES, 100000);
    assert_int_equal(grown(COMPONENT_LINE_TABLES).requested_bytes, 100000);
    mem_set_level(MEM_SUMMARY);
    mem_free(block);
    assert_int_equal(grown(COMPONENT_LINE_TABLES).reserved_bytes, 0);
}

static void a_peak_remembers(void **state)
{
    (void)state;
    static void *block[1000];
    for (int i = 0; i < 1000; i++)
        block[i] = mem_alloc(COMPONENT_NATIVE_SYMBOLS, 1000);
    for (int i = 0; i < 1000; i++)
        mem_free(block[i]);
    struct component_usage symbols = grown(COMPONENT_NATIVE_SYMBOLS);
    assert_int_equal(symbols.reserved_bytes, 0);
    assert_in_range(symbols.peak_bytes, 1000 * 1000, 1000 * 1040);
}

static void growth_since_a_baseline(void **state)
{
    (void)state;
    struct mem_snapshot growth;
    void *old = mem_alloc(COMPONENT_METHOD_MAP, 1000);
    mem_baseline();
    void *more = mem_alloc(COMPONENT_METHOD_MAP, 300);
    mem_free(old);
    mem_diff(&growth);
    assert_int_equal(growth.component[COMPONENT_METHOD_MAP].requested_bytes, -700);
    assert_int_equal(growth.component[COMPONENT_METHOD_MAP].allocations, 1);
    assert_int_equal(growth.component[COMPONENT_METHOD_MAP].frees, 1);
    assert_int_equal(growth.total.requested_bytes, -700);
    mem_free(more);
}

static void arrays_double_up_to_their_bound(void **state)
{
    static const struct mem_array WORDS = {COMPONENT_CONTROL, sizeof(uint64_t), 4, 16};
    uint64_t *words = NULL;
    size_t capacity = 0;
    (void)state;
    assert_true(mem_grow(&WORDS, &words, &capacity, 1));
    assert_int_equal(capacity, 4);
    words[3] = 7;
    assert_true(mem_grow(&WORDS, &words, &capacity, 9));
    assert_int_equal(capacity, 16);
    assert_int_equal(words[3], 7);
    assert_int_equal(words[15], 0);
    uint64_t *same = words;
    assert_true(mem_grow(&WORDS, &words, &capacity, 16));
    assert_false(mem_grow(&WORDS, &words, &capacity, 17));
    assert_false(mem_grow(&WORDS, &words, &capacity, SIZE_MAX));
    assert_ptr_equal(words, same);
    assert_int_equal(capacity, 16);
    mem_free(words);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(components_are_those_of_the_table),
        TEST(blocks_are_zero_and_aligned),
        TEST(raw_blocks_are_blocks),
        TEST(the_header_is_as_drawn),
        TEST(every_byte_has_a_component),
        TEST(the_total_is_the_sum),
#ifndef __SANITIZE_ADDRESS__
        TEST(reserved_is_what_the_heap_gave),
#endif
        TEST(damage_behind_is_found_and_left_alone),
        TEST(damage_in_front_is_found_and_left_alone),
        TEST(resized_blocks_keep_their_bytes),
        TEST(what_there_is_not_is_null),
        TEST(texts_are_copied_with_an_end),
        TEST(off_still_counts),
        TEST(a_peak_remembers),
        TEST(growth_since_a_baseline),
        TEST(arrays_double_up_to_their_bound),
    };
    return cmocka_run_group_tests_name("agent/mem/mem", tests, NULL, NULL);
}
