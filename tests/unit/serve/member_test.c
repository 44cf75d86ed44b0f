/* Classes by family of a JVM under serve: what load logs and lists add up to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/serve/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct alerts NO_ALERTS;

static void names(struct member *member, enum census_method method, int load_log,
                  const char *family, int64_t loads)
{
    struct family_row row = {.loads = loads, .unloads = loads / 2};
    snprintf(row.family, sizeof row.family, "%s", family);
    struct event event = {.kind = EVENT_NAMES};
    event.names =
        (struct names_event){.method = method, .load_log = load_log, .row_count = 1, .rows = &row};
    member_event(member, &event, &NO_ALERTS);
}

static int64_t loads_of(const struct member *member, const char *family)
{
    struct family_view views[FAMILY_COUNT + 1];
    int count = member_families(member, 0, views, FAMILY_COUNT + 1);
    for (int i = 0; i < count; i++) {
        if (views[i].family == (int)family_index(family_by_id(family)))
            return views[i].loads;
    }
    return 0;
}

/* Loader statistics come while a load log is open: what the load log had counted before was counted again. */
static void a_list_in_between_adds_nothing_to_a_log(void **state)
{
    (void)state;
    struct member member = {0};
    names(&member, CENSUS_LOAD_LOG, 1, "cglib", 100);
    names(&member, CENSUS_LOADER_TYPES, 0, "janino", 7);
    names(&member, CENSUS_LOAD_LOG, 1, "cglib", 150);
    names(&member, CENSUS_LOAD_LOG, 2, "cglib", 30);
    assert_int_equal(loads_of(&member, "cglib"), 180);
    assert_int_equal(loads_of(&member, "janino"), 0);
    free(member.families);
}

static void lists_count_what_is_more(void **state)
{
    (void)state;
    struct member member = {0};
    names(&member, CENSUS_CLASSES, 0, "cglib", 100);
    names(&member, CENSUS_CLASSES, 0, "cglib", 120);
    names(&member, CENSUS_CLASSES, 0, "cglib", 90);
    names(&member, CENSUS_CLASSES, 0, "cglib", 95);
    assert_int_equal(loads_of(&member, "cglib"), 25);
    free(member.families);
}

/* After a reload of the configuration the load logs are numbered from 1 again: they counted from what
 * load log 1 had before. */
static void a_watch_anew_goes_on_counting(void **state)
{
    (void)state;
    struct member before = {0}, member = {0};
    names(&before, CENSUS_LOAD_LOG, 1, "cglib", 100);
    member_continue(&member, &before);
    names(&member, CENSUS_LOAD_LOG, 1, "cglib", 40);
    names(&member, CENSUS_LOAD_LOG, 1, "cglib", 60);
    assert_int_equal(loads_of(&member, "cglib"), 160);
    free(member.families);
}

/* Eight families and the rest; names that are one in a label are one row. */
static void methods_by_family_are_bounded(void **state)
{
    (void)state;
    struct member member = {0};
    struct method_family rows[12] = {{.family = ""}};
    struct event event = {.kind = EVENT_METHODS};
    for (int i = 0; i < 12; i++) {
        char name[120];
        memset(name, 'a' + (i < 2 ? 0 : i), sizeof name);
        name[110 + (i < 2 ? i : 0)] = '\0'; /* the first two differ behind the label's end */
        snprintf(rows[i].family, sizeof rows[i].family, "%s", name);
        rows[i].methods = 100 - i;
    }
    event.methods = (struct methods_event){.methods = 5000, .row_count = 12, .rows = rows};
    member_event(&member, &event, &NO_ALERTS);
    assert_int_equal(member.methods.count, TOP_VIEWS);
    assert_int_equal(member.methods.rows[0].number, 199);
    assert_int_equal(member.methods.rows[7].number, 92);
    assert_int_equal(member.methods.others, 5000 - 199 - (98 + 97 + 96 + 95 + 94 + 93 + 92));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_by_family_are_bounded),
        cmocka_unit_test(a_list_in_between_adds_nothing_to_a_log),
        cmocka_unit_test(lists_count_what_is_more),
        cmocka_unit_test(a_watch_anew_goes_on_counting),
    };
    return cmocka_run_group_tests_name("member", tests, NULL, NULL);
}
