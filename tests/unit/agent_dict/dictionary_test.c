#include "agent/dict/dictionary.h"

#include "floor/base/fold_hash.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define UNLIMITED UINT32_MAX

static uint32_t put(struct dictionary *dictionary, const char *text)
{
    return dictionary_put(dictionary, text, strlen(text));
}

static uint32_t find(const struct dictionary *dictionary, const char *text)
{
    return dictionary_find(dictionary, text, strlen(text));
}

static void test_numbers(void **state)
{
    (void)state;
    struct dictionary *dictionary = dictionary_create(COMPONENT_DICTIONARY_CLASS, UNLIMITED);
    assert_int_equal(find(dictionary, "java/lang/String"), 0);
    assert_int_equal(put(dictionary, "java/lang/String"), 1);
    assert_int_equal(put(dictionary, "java/lang/Object"), 2);
    assert_int_equal(put(dictionary, "java/lang/String"), 1);
    assert_int_equal(put(dictionary, ""), 3);
    assert_int_equal(find(dictionary, ""), 3);
    assert_int_equal(find(dictionary, "java/lang/Object"), 2);
    /* The length counts, not a NUL. */
    assert_int_equal(dictionary_put(dictionary, "java/lang/Strings", 16), 1);
    assert_int_equal(dictionary_put(dictionary, "a\0b", 3), 4);
    assert_int_equal(dictionary_put(dictionary, "a\0c", 3), 5);
    assert_int_equal(find(dictionary, "a"), 0);
    assert_int_equal(dictionary_size(dictionary), 5);
    assert_int_equal(dictionary_refused(dictionary), 0);
    dictionary_destroy(dictionary);
}

#define MANY 30000

static void see(void *context, uint32_t id, const char *text, size_t length)
{
    bool *seen = context;
    char expected[32];
    assert_in_range(id, 1, MANY);
    assert_int_equal(length, snprintf(expected, sizeof expected, "a.b.C$$Lambda/%u", id));
    assert_string_equal(text, expected); /* there is a NUL */
    assert_false(seen[id]);
    seen[id] = true;
}

/* Levels upon levels: 384 cells in the first one. */
static void test_many(void **state)
{
    (void)state;
    struct dictionary *dictionary = dictionary_create(COMPONENT_DICTIONARY_LABEL, UNLIMITED);
    char text[32];
    for (int twice = 0; twice < 2; twice++) {
        for (uint32_t i = 1; i <= MANY; i++) {
            snprintf(text, sizeof text, "a.b.C$$Lambda/%u", i);
            assert_int_equal(put(dictionary, text), i);
        }
    }
    for (uint32_t i = 1; i <= MANY; i++) {
        snprintf(text, sizeof text, "a.b.C$$Lambda/%u", i);
        assert_int_equal(find(dictionary, text), i);
    }
    assert_int_equal(find(dictionary, "a.b.C$$Lambda/0"), 0);
    assert_int_equal(dictionary_size(dictionary), MANY);
    bool *seen = calloc(MANY + 1, sizeof *seen);
    dictionary_each(dictionary, see, seen);
    for (uint32_t i = 1; i <= MANY; i++)
        assert_true(seen[i]);
    free(seen);
    dictionary_destroy(dictionary);
}

static void test_limit(void **state)
{
    (void)state;
    struct dictionary *dictionary = dictionary_create(COMPONENT_DICTIONARY_CONTEXT, 2);
    assert_int_equal(put(dictionary, "a"), 1);
    assert_int_equal(put(dictionary, "b"), 2);
    assert_int_equal(put(dictionary, "c"), 0);
    assert_int_equal(put(dictionary, "c"), 0);
    assert_int_equal(put(dictionary, "b"), 2); /* what is there is no new text */
    assert_int_equal(find(dictionary, "c"), 0);
    assert_int_equal(dictionary_size(dictionary), 2);
    assert_int_equal(dictionary_refused(dictionary), 2);
    dictionary_clear(dictionary);
    assert_int_equal(dictionary_size(dictionary), 0);
    assert_int_equal(find(dictionary, "a"), 0);
    assert_int_equal(put(dictionary, "c"), 1);
    assert_int_equal(dictionary_refused(dictionary), 2); /* a count, for the life of it */
    dictionary_destroy(dictionary);
}

static int64_t requested(enum component component)
{
    static struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[component].requested_bytes;
}

static void test_account(void **state)
{
    (void)state;
    const enum component component = COMPONENT_DICTIONARY_PACKAGE;
    int64_t before = requested(component);
    struct dictionary *dictionary = dictionary_create(component, UNLIMITED);
    int64_t empty = requested(component);
    assert_in_range(empty - before, 1, 128); /* no level before there is a text */
    put(dictionary, "java/util");
    assert_in_range(requested(component) - empty, 4096, 4096 + 64);
    dictionary_clear(dictionary);
    assert_int_equal(requested(component), empty);
    dictionary_destroy(dictionary);
    assert_int_equal(requested(component), before);
    dictionary_destroy(NULL);
}

/* Each bit of an input, at any length, is worth half the bits of its hash. */
static void test_hash(void **state)
{
    (void)state;
    uint8_t bytes[40];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37);
    for (size_t length = 1; length <= sizeof bytes; length++) {
        uint64_t hash = fold_hash(bytes, length, 0);
        assert_int_not_equal(hash, fold_hash(bytes, length - 1, 0));
        assert_int_not_equal(hash, fold_hash(bytes, length, 1));
        int64_t low = 0, all = 0, bits = (int64_t)length * 8;
        for (size_t bit = 0; bit < length * 8; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            uint64_t change = hash ^ fold_hash(bytes, length, 0);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_true(change != 0);
            all += __builtin_popcountll(change);
            low += __builtin_popcountll(change & 0xffff);
        }
        assert_in_range(all, bits * 26, bits * 38);
        assert_in_range(low, bits * 5, bits * 11);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_many), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_account), cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests_name("dictionary", tests, NULL, NULL);
}
