#include "analyzers/parse/hsperfdata.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

/* An image with two counters: header, "a.number" (J), "b.text" (B, 8 bytes). */
struct image {
    unsigned char header[32];
    unsigned char number[48]; /* header 20, name at 20, data at 40 */
    unsigned char text[40];   /* header 20, name at 20, data at 28 */
};
_Static_assert(sizeof(struct image) == 120, "no padding");

static void put_i32(unsigned char *at, int32_t value, bool swapped)
{
    uint32_t raw = swapped ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
    memcpy(at, &raw, sizeof raw);
}

static void put_entry(unsigned char *at, int32_t length, const char *name, int32_t vector_length,
                      char type, int32_t data_offset, bool swapped)
{
    put_i32(at, length, swapped);
    put_i32(at + 4, 20, swapped);
    put_i32(at + 8, vector_length, swapped);
    at[12] = (unsigned char)type;
    at[14] = 4;
    at[15] = 2;
    put_i32(at + 16, data_offset, swapped);
    memcpy(at + 20, name, strlen(name) + 1);
}

static struct image make_image(bool swapped)
{
    struct image image;
    memset(&image, 0, sizeof image);
    memcpy(image.header, "\xca\xfe\xc0\xc0", 4);
    image.header[4] = swapped ? 0 : 1; /* the tests run on little-endian machines */
    image.header[5] = 2;
    image.header[7] = 1;
    put_i32(image.header + 24, 32, swapped);
    put_i32(image.header + 28, 2, swapped);
    put_entry(image.number, sizeof image.number, "a.number", 0, 'J', 40, swapped);
    uint64_t number = swapped ? __builtin_bswap64(4711) : 4711;
    memcpy(image.number + 40, &number, sizeof number);
    put_entry(image.text, sizeof image.text, "b.text", 12, 'B', 28, swapped);
    memcpy(image.text + 28, "hello", 6);
    return image;
}

static void counters_are_found_by_name(void **state)
{
    (void)state;
    for (int swapped = 0; swapped <= 1; swapped++) {
        struct image image = make_image(swapped);
        struct hsperfdata view;
        struct hsperfdata_entry entry;
        int64_t number = 0;
        struct span text;
        assert_int_equal(hsperfdata_open(&view, &image, sizeof image), PARSE_OK);
        assert_true(hsperfdata_find(&view, SPAN_LITERAL("a.number"), &entry));
        assert_true(hsperfdata_number(&view, &entry, &number));
        assert_int_equal(number, 4711);
        assert_false(hsperfdata_string(&view, &entry, &text));
        assert_int_equal(entry.units, 4);
        assert_int_equal(entry.variability, 2);
        assert_true(hsperfdata_find(&view, SPAN_LITERAL("b.text"), &entry));
        assert_true(hsperfdata_string(&view, &entry, &text));
        assert_true(span_equals(text, SPAN_LITERAL("hello")));
        assert_false(hsperfdata_number(&view, &entry, &number));
        assert_false(hsperfdata_find(&view, SPAN_LITERAL("c.absent"), &entry));
    }
}

static void a_found_counter_is_read_from_a_fresh_image(void **state)
{
    (void)state;
    struct image image = make_image(false);
    struct hsperfdata view;
    struct hsperfdata_entry entry;
    int64_t number = 0;
    assert_int_equal(hsperfdata_open(&view, &image, sizeof image), PARSE_OK);
    assert_true(hsperfdata_find(&view, SPAN_LITERAL("a.number"), &entry));
    image.number[40]++;
    assert_true(hsperfdata_number(&view, &entry, &number));
    assert_int_equal(number, 4712);
    /* and never beyond one that became shorter */
    assert_int_equal(hsperfdata_open(&view, &image, 60), PARSE_OK);
    assert_false(hsperfdata_number(&view, &entry, &number));
}

static void files_that_are_not_ready_or_not_ours(void **state)
{
    (void)state;
    struct hsperfdata view;
    struct image image = make_image(false);
    for (size_t len = 0; len < sizeof image.header; len++)
        assert_int_equal(hsperfdata_open(&view, &image, len), PARSE_INCOMPLETE);
    image.header[7] = 0;
    assert_int_equal(hsperfdata_open(&view, &image, sizeof image), PARSE_INCOMPLETE);
    static const struct {
        size_t at;
        unsigned char value;
    } damages[] = {{0, 'x'}, {4, 2}, {5, 1}, {24, 8}, {26, 0x7f}, {27, 0x80}, {31, 0xff}};
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        image = make_image(false);
        ((unsigned char *)&image)[damages[i].at] = damages[i].value;
        assert_int_equal(hsperfdata_open(&view, &image, sizeof image), PARSE_MALFORMED);
    }
}

/* Walks all entries of a heap copy of exactly len bytes; returns how many there were. */
static int walk(const struct image *image, size_t len, enum parse_result *result)
{
    unsigned char *exact = malloc(len);
    memcpy(exact, image, len);
    struct hsperfdata view;
    struct hsperfdata_cursor cursor;
    struct hsperfdata_entry entry;
    int entries = 0;
    assert_int_equal(hsperfdata_open(&view, exact, len), PARSE_OK);
    hsperfdata_begin(&view, &cursor);
    while (hsperfdata_next(&view, &cursor, &entry))
        entries++;
    *result = cursor.result;
    free(exact);
    return entries;
}

static void hostile_entries_end_the_walk(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t offset; /* in the first entry */
        int32_t value;
    } damages[] = {
        {"length zero", 0, 0},
        {"length negative", 0, -48},
        {"length beyond the end", 0, 89},
        {"length huge", 0, INT32_MAX},
        {"name before the entry", 4, -1},
        {"name in the header", 4, 0},
        {"name beyond", 4, 48},
        {"vector negative", 8, -1},
        {"vector too long", 8, 2},
        {"vector huge", 8, INT32_MAX},
        {"data before", 16, -8},
        {"data beyond", 16, 41},
        {"data far beyond", 16, INT32_MAX},
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct image image = make_image(false);
        enum parse_result result;
        put_i32(image.number + damages[i].offset, damages[i].value, false);
        int entries = walk(&image, sizeof image, &result);
        if (entries != 0 || result != PARSE_MALFORMED)
            fail_msg("%s: %d entries, result %d", damages[i].what, entries, result);
    }
    struct image image = make_image(false);
    enum parse_result result;
    memset(image.text + 20, 'x', sizeof image.text - 20); /* a name without its end */
    assert_int_equal(walk(&image, sizeof image, &result), 1);
    assert_int_equal(result, PARSE_MALFORMED);
    image = make_image(false);
    put_i32(image.header + 28, INT32_MAX, false); /* more entries than there are */
    assert_int_equal(walk(&image, sizeof image, &result), 2);
    assert_int_equal(result, PARSE_MALFORMED);
}

static void every_prefix_is_safe(void **state)
{
    (void)state;
    struct image image = make_image(false);
    enum parse_result result;
    for (size_t len = sizeof image.header; len < sizeof image; len++) {
        assert_in_range(walk(&image, len, &result), 0, 1);
        assert_int_equal(result, PARSE_MALFORMED);
    }
    assert_int_equal(walk(&image, sizeof image, &result), 2);
    assert_int_equal(result, PARSE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_found_by_name),
        cmocka_unit_test(a_found_counter_is_read_from_a_fresh_image),
        cmocka_unit_test(files_that_are_not_ready_or_not_ours),
        cmocka_unit_test(hostile_entries_end_the_walk),
        cmocka_unit_test(every_prefix_is_safe),
    };
    return cmocka_run_group_tests_name("parse/hsperfdata", tests, NULL, NULL);
}
