#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/serve/saved_state.h"
#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct texts texts; /* of all findings here */

static struct saved_target *example(int64_t pid)
{
    struct saved_target *target = calloc(1, sizeof *target);
    assert_non_null(target);
    target->pid = pid;
    target->start_time_ticks = 99;
    snprintf(target->label, sizeof target->label, "orders#2");
    target->wall_start_ms = 1795240775148;
    target->pause_us = 1234;
    target->judge.warm = true;
    target->judge.baseline_ms = 11000;
    snprintf(target->judge.warmup_reason, sizeof target->judge.warmup_reason, "quiet");
    target->judge.have_internal_baseline = true;
    target->judge.internal_baseline_bytes = 2097152;
    target->judge.worst_ever = SEVERITY_CRITICAL;
    target->judge.loaders_have_baseline = true;
    target->judge.loader_count = 1;
    snprintf(target->judge.loaders[0].type, EVENT_NAME_MAX, "a.B\n\x01\"");
    target->judge.loaders[0].baseline = 3;
    target->judge.episode_count = 1;
    snprintf(target->judge.episodes[0].subject, EVENT_FAMILY_MAX, "groovy-shell");
    target->judge.episodes[0].raised_ms = -5;
    target->judge.episodes[0].finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_add_int(&target->judge.episodes[0].finding, "loads", 55);
    target->pending_count = 1;
    target->pending[0].state = ALERT_CLEARED;
    target->pending[0].ms = 17;
    target->pending[0].started_ms = 3;
    target->pending[0].finding = finding_begin(&texts, FINDING_CLASS_CHURN);
    return target;
}

static void assert_same(const struct saved_target *a, const struct saved_target *b)
{
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->start_time_ticks, b->start_time_ticks);
    assert_string_equal(a->label, b->label);
    assert_int_equal(a->wall_start_ms, b->wall_start_ms);
    assert_int_equal(a->pause_us, b->pause_us);
    assert_int_equal(a->judge.warm, b->judge.warm);
    assert_int_equal(a->judge.baseline_ms, b->judge.baseline_ms);
    assert_int_equal(a->judge.have_internal_baseline, b->judge.have_internal_baseline);
    assert_int_equal(a->judge.internal_baseline_bytes, b->judge.internal_baseline_bytes);
    assert_false(b->judge.have_class_metaspace_baseline);
    assert_int_equal(a->judge.worst_ever, b->judge.worst_ever);
    assert_int_equal(a->judge.loader_count, b->judge.loader_count);
    assert_string_equal(a->judge.loaders[0].type, b->judge.loaders[0].type);
    assert_int_equal(a->judge.episode_count, b->judge.episode_count);
    assert_string_equal(a->judge.episodes[0].subject, b->judge.episodes[0].subject);
    assert_int_equal(a->judge.episodes[0].raised_ms, b->judge.episodes[0].raised_ms);
    assert_int_equal(a->judge.episodes[0].finding.kind, b->judge.episodes[0].finding.kind);
    assert_int_equal(finding_evidence(&b->judge.episodes[0].finding, "loads")->number, 55);
    assert_int_equal(a->pending_count, b->pending_count);
    assert_int_equal(a->pending[0].state, b->pending[0].state);
    assert_int_equal(a->pending[0].started_ms, b->pending[0].started_ms);
    assert_int_equal(a->pending[0].finding.kind, b->pending[0].finding.kind);
}

static void test_json_comes_back(void **state)
{
    char error[200] = "";
    struct json_out out = {0};
    struct saved_target *target = example(4711), *back = calloc(1, sizeof *back);
    (void)state;
    const char *text = saved_json_write(&out, "boot-1", target);
    assert_non_null(text);
    assert_true(saved_json_read(text, out.length, "boot-1", back, error, sizeof error));
    assert_same(target, back);
    assert_false(saved_json_read(text, out.length, "boot-2", back, error, sizeof error));
    assert_non_null(strstr(error, "boot"));
    json_out_free(&out);
    free(target);
    saved_target_free(back);
}

/* Whatever a damaged file says, it is refused or read, and never more. */
static void test_damage_is_survived(void **state)
{
    char error[200];
    struct json_out out = {0};
    struct saved_target *target = example(4711), *back = calloc(1, sizeof *back);
    (void)state;
    saved_json_write(&out, "boot-1", target);
    char *copy = malloc(out.length);
    for (size_t length = 0; length + 1 < out.length; length += 7)
        assert_false(saved_json_read(out.text, length, "boot-1", back, error, sizeof error));
    for (size_t bit = 0; bit < out.length * 8; bit += 3) {
        memcpy(copy, out.text, out.length);
        copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
        saved_json_read(copy, out.length, "boot-1", back, error, sizeof error);
        assert_in_range(back->judge.episode_count, 0, JUDGE_MEMORY_EPISODES);
        assert_in_range(back->pending_count, 0, SAVED_PENDING_MAX);
    }
    free(copy);
    json_out_free(&out);
    free(target);
    saved_target_free(back);
}

static struct saved_state *open_state(void)
{
    char error[300];
    struct saved_state *state = saved_state_open(folder, error, sizeof error);
    assert_non_null(state);
    return state;
}

static void test_a_restart_finds_its_targets(void **state)
{
    (void)state;
    struct saved_target *one = example(1001), *two = example(1002);
    struct saved_state *first = open_state();
    assert_true(saved_state_write(first, one));
    assert_true(saved_state_write(first, two));
    assert_true(saved_state_write(first, one)); /* again: it replaces */
    saved_state_close(first);

    struct saved_state *second = open_state();
    assert_true(saved_state_waits_for(second, "orders#2"));
    struct target target = {.pid = 1001, .start_time_ticks = 98};
    assert_null(saved_state_recall(second, &target)); /* the pid was given again */
    target.start_time_ticks = 99;
    struct saved_target *back = saved_state_recall(second, &target);
    assert_non_null(back);
    assert_same(one, back);
    saved_target_free(back);
    assert_null(saved_state_recall(second, &target)); /* once */
    struct saved_target *lost = saved_state_take_lost(second);
    assert_int_equal(lost->pid, 1002);
    saved_target_free(lost);
    assert_null(saved_state_take_lost(second));
    assert_false(saved_state_waits_for(second, "orders#2"));
    saved_state_close(second);

    struct saved_state *third = open_state(); /* the lost one was removed */
    lost = saved_state_take_lost(third);
    assert_int_equal(lost->pid, 1001);
    saved_target_free(lost);
    saved_state_close(third);
    saved_target_free(one);
    saved_target_free(two);
}

static void test_one_that_lives_is_not_lost(void **state)
{
    (void)state;
    struct saved_target *living = example(getpid());
    struct proc_stat stat;
    assert_true(proc_stat_read(getpid(), &stat));
    living->start_time_ticks = (int64_t)stat.start_time_ticks;
    struct saved_state *first = open_state();
    assert_true(saved_state_write(first, living));
    saved_state_close(first);
    struct saved_state *second = open_state();
    assert_null(saved_state_take_lost(second));
    assert_true(saved_state_waits_for(second, living->label));
    saved_state_forget(second, living->pid, living->start_time_ticks);
    saved_state_close(second);
    saved_target_free(living);
}

static void test_rubbish_in_the_folder_is_removed(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/5-5.json", folder);
    FILE *file = fopen(path, "w");
    fputs("{\"schema\":1", file);
    fclose(file);
    struct saved_state *opened = open_state();
    assert_null(saved_state_take_lost(opened));
    assert_int_equal(access(path, F_OK), -1);
    saved_state_close(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_comes_back),
        cmocka_unit_test(test_damage_is_survived),
        cmocka_unit_test_setup_teardown(test_a_restart_finds_its_targets, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_one_that_lives_is_not_lost, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_rubbish_in_the_folder_is_removed, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests_name("saved_state", tests, NULL, NULL);
}
