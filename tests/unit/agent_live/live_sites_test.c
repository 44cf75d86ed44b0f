#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/live/live_sites.h"
#include "agent/mem/mem.h"

#include <stdio.h>
#include <string.h>

static void one_site_for_the_same_class_and_stack(void **state)
{
    struct live_sites *sites = live_sites_create();
    const struct frame frames[] = {{.value = 7, .bci = 1}, {.value = 8, .bci = 2}};
    const struct frame others[] = {{.value = 7, .bci = 1}, {.value = 8, .bci = 3}};
    (void)state;
    uint16_t site = live_sites_hold(sites, "a.B", frames, 2, false);
    assert_int_equal(live_sites_hold(sites, "a.B", frames, 2, false), site);
    assert_int_not_equal(live_sites_hold(sites, "a.B", others, 2, false), site);
    assert_int_not_equal(live_sites_hold(sites, "a.C", frames, 2, false), site);
    assert_int_not_equal(live_sites_hold(sites, "a.B", frames, 1, false), site);
    assert_int_not_equal(live_sites_hold(sites, "a.B", NULL, 0, false), site);
    assert_int_equal(live_sites_count(sites), 6); /* with "[other]" */
    assert_string_equal(live_sites_at(sites, site)->class_name, "a.B");
    live_sites_release(sites, site);
    assert_non_null(live_sites_at(sites, site));
    live_sites_release(sites, site);
    assert_null(live_sites_at(sites, site));
    assert_int_equal(live_sites_count(sites), 5);
    assert_int_equal(live_sites_hold(sites, "x", frames, 2, false), site); /* its place again */
    live_sites_destroy(sites);
}

static void deep_stacks_and_long_names_are_cut(void **state)
{
    struct live_sites *sites = live_sites_create();
    static struct frame frames[LIVE_DEPTH_MAX + 1];
    char name[2 * LIVE_CLASS_MAX];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const struct live_site *site =
        live_sites_at(sites, live_sites_hold(sites, name, frames, LIVE_DEPTH_MAX + 1, false));
    assert_int_equal(site->depth, LIVE_DEPTH_MAX);
    assert_true(site->truncated);
    assert_int_equal(strlen(site->class_name), LIVE_CLASS_MAX - 1);
    live_sites_destroy(sites);
}

static void beyond_the_bound_the_stack_goes_first(void **state)
{
    struct live_sites *sites = live_sites_create();
    struct frame frame = {.bci = 1};
    struct mem_snapshot before, after;
    uint16_t number[LIVE_SITES_MAX * 2];
    (void)state;
    mem_snapshot(&before);
    live_sites_hold(sites, "known", NULL, 0, false);
    for (int i = 0; i < LIVE_SITES_MAX * 2; i++) {
        frame.value = (uintptr_t)i;
        number[i] = live_sites_hold(sites, "known", &frame, 1, false);
    }
    assert_int_equal(live_sites_count(sites), LIVE_SITES_MAX);
    const struct live_site *shared = live_sites_at(sites, number[LIVE_SITES_MAX * 2 - 1]);
    assert_string_equal(shared->class_name, "known");
    assert_int_equal(shared->depth, 0);
    assert_int_equal(live_sites_hold(sites, "never seen", &frame, 1, false), 0);
    assert_string_equal(live_sites_at(sites, 0)->class_name, "[other]");
    for (int i = 0; i < LIVE_SITES_MAX * 2; i++)
        live_sites_release(sites, number[i]);
    live_sites_release(sites, 0);
    assert_int_equal(live_sites_count(sites), 2);
    live_sites_release(sites, number[LIVE_SITES_MAX * 2 - 1]);
    mem_snapshot(&after);
    assert_int_equal(after.total.requested_bytes, before.total.requested_bytes);
    live_sites_destroy(sites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_site_for_the_same_class_and_stack),
        cmocka_unit_test(deep_stacks_and_long_names_are_cut),
        cmocka_unit_test(beyond_the_bound_the_stack_goes_first),
    };
    return cmocka_run_group_tests_name("live_sites", tests, NULL, NULL);
}
