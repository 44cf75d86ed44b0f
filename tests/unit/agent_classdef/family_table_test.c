#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/classdef/family_table.h"
#include "agent/mem/mem.h"

#include <stdio.h>
#include <string.h>

static const struct family_row *row_of(struct family_table *table, const char *family)
{
    for (uint32_t i = 0; i < family_table_count(table); i++) {
        if (strcmp(family_table_at(table, i)->name, family) == 0)
            return family_table_at(table, i);
    }
    return NULL;
}

static void load(struct family_table *table, const char *family, int times)
{
    for (int i = 0; i < times; i++)
        family_table_loaded(table, family, strlen(family), 100);
}

static void counts_by_family(void **state)
{
    struct family_table *table = family_table_create();
    (void)state;
    load(table, "a.*", 3);
    load(table, "Gen#", 5);
    family_table_loaded(table, "a.*", 3, -1); /* its size is not known */
    family_table_unloaded(table, "Gen#", 4);
    family_table_unloaded(table, "never.*", 7);
    family_table_loaded(table, NULL, 0, -1);
    assert_int_equal(row_of(table, "a.*")->loaded, 4);
    assert_int_equal(row_of(table, "a.*")->sized, 3);
    assert_int_equal(row_of(table, "a.*")->bytes, 300);
    assert_int_equal(row_of(table, "Gen#")->unloaded, 1);
    assert_int_equal(row_of(table, "[other]")->unloaded, 1);
    assert_int_equal(row_of(table, "[other]")->loaded, 1);
    assert_null(row_of(table, "never.*"));
    family_table_destroy(table);
}

static void says_what_grew_most(void **state)
{
    struct family_table *table = family_table_create();
    int64_t loaded, net;
    (void)state;
    assert_null(family_table_grown(table, &loaded, &net));
    load(table, "steady", 100);
    load(table, "grows", 40);
    for (int i = 0; i < 90; i++)
        family_table_unloaded(table, "steady", 6);
    assert_string_equal(family_table_grown(table, &loaded, &net)->name, "grows");
    assert_int_equal(loaded, 40);
    assert_int_equal(net, 40);
    /* Since the last call, nothing but this. */
    load(table, "steady", 10);
    assert_string_equal(family_table_grown(table, &loaded, &net)->name, "steady");
    assert_int_equal(loaded, 10);
    assert_int_equal(net, 10);
    assert_null(family_table_grown(table, &loaded, &net));
    family_table_destroy(table);
}

/* 200 000 names that have nothing in common: memory stays, no class is left out, and a family that
 * comes after them gets a row at the next chunk. */
static void stays_in_its_bounds(void **state)
{
    struct family_table *table = family_table_create();
    struct mem_snapshot before, after;
    char name[32];
    int64_t loaded, unloaded, bytes;
    (void)state;
    mem_snapshot(&before);
    load(table, "old.*", 5000);
    for (int i = 0; i < 200000; i++) {
        size_t length = (size_t)snprintf(name, sizeof name, "distinct.%d.*", i);
        family_table_loaded(table, name, length, 10);
        if (i % 3 == 0)
            family_table_unloaded(table, name, length);
        if (i % 10000 == 9999)
            family_table_fold(table);
    }
    mem_snapshot(&after);
    assert_int_equal(after.total.reserved_bytes, before.total.reserved_bytes);
    assert_true(family_table_count(table) <= FAMILIES_MAX);
    family_table_sum(table, &loaded, &unloaded, &bytes);
    assert_int_equal(loaded, 205000);
    assert_int_equal(unloaded, 66667);
    assert_int_equal(bytes, 5000 * 100 + 200000 * 10);
    family_table_fold(table);
    family_table_fold(table); /* a chunk in which they were quiet */
    load(table, "new.*", 2);
    assert_int_equal(row_of(table, "new.*")->loaded, 2);
    assert_int_equal(row_of(table, "old.*")->loaded, 5000);
    assert_true(family_table_count(table) <= FAMILIES_MAX / 2 + 1);
    /* Every row can still be found. */
    for (uint32_t i = 1; i < family_table_count(table); i++) {
        struct family_row *row = family_table_at(table, i);
        assert_ptr_equal(family_table_loaded(table, row->name, row->length, -1), row);
    }
    family_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_family),
        cmocka_unit_test(says_what_grew_most),
        cmocka_unit_test(stays_in_its_bounds),
    };
    return cmocka_run_group_tests_name("family_table", tests, NULL, NULL);
}
