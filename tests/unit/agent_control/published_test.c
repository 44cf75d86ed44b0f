/* published: the file is made, kept up to date and removed; what others own stays. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/control/published.h"
#include "floor/wire/wire_formats.h"
#include "agent/mem/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64], other[80];

static struct published content(void)
{
    struct published published = {0};
    struct stat status;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(&published, 1, sizeof published, file), sizeof published);
    assert_int_equal(fgetc(file), EOF);
    assert_int_equal(fstat(fileno(file), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    fclose(file);
    assert_memory_equal(published.magic, PUBLISHED_MAGIC, sizeof published.magic);
    assert_int_equal(published.checksum, published_checksum(&published));
    return published;
}

/* By another way: the kernel's own list of the fields has the name in front of it. */
static int64_t start_time_ticks(void)
{
    unsigned long long ticks = 0;
    FILE *stat = fopen("/proc/self/stat", "re");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat,
                            "%*d (odd ) name) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
                            "%*d %*d %*d %*d %*d %*d %llu",
                            &ticks),
                     1);
    fclose(stat);
    return (int64_t)ticks;
}

static void it_comes_follows_and_goes(void **state)
{
    (void)state;
    prctl(PR_SET_NAME, "odd ) name");
    published_figures(NULL); /* before it begins: nothing */
    assert_int_equal(access(path, F_OK), -1);
    published_begin();
    struct published first = content();
    assert_int_equal(first.start_time_ticks, start_time_ticks());
    assert_int_equal(first.jmethod_id_bytes, 0);

    void *block = mem_alloc(COMPONENT_CONTROL, 100000);
    struct mem_snapshot snapshot;
    published_figures(NULL);
    mem_snapshot(&snapshot);
    struct published second = content();
    assert_in_range(second.reserved_bytes - first.reserved_bytes, 100000, 104096);
    assert_int_equal(second.reserved_bytes, snapshot.total.reserved_bytes);
    assert_int_equal(second.resident_bytes, snapshot.total.resident_bytes);
    mem_free(block);
    published_figures(NULL);
    assert_int_equal(content().reserved_bytes, first.reserved_bytes);

    assert_int_equal(content().breaker_state, BREAKER_NORMAL);
    assert_string_equal(content().breaker_reason, "");
    published_breaker(BREAKER_SHEDDING, "too much");
    published_figures(NULL); /* keeps it */
    assert_int_equal(content().breaker_state, BREAKER_SHEDDING);
    assert_string_equal(content().breaker_reason, "too much");
    published_breaker(BREAKER_NORMAL, "");
    assert_string_equal(content().breaker_reason, "");

    published_end();
    assert_int_equal(access(path, F_OK), -1);
    published_end();
    published_breaker(BREAKER_WARNED, "nobody listens");
    published_figures(NULL);
    assert_int_equal(access(path, F_OK), -1);
}

static void what_a_killed_jvm_left_is_replaced_and_links_are_not_followed(void **state)
{
    (void)state;
    FILE *file = fopen(other, "we");
    assert_non_null(file);
    fputs("somebody's", file);
    fclose(file);
    assert_int_equal(symlink(other, path), 0);
    published_begin();
    content();
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(stat(other, &status), 0);
    assert_int_equal(status.st_size, strlen("somebody's"));

    /* Replaced by somebody of the same name: not ours to remove. */
    assert_int_equal(rename(other, path), 0);
    published_end();
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
}

static void without_a_place_nothing_happens(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0); /* unlink and open fail on it */
    published_begin();
    published_figures(NULL);
    published_end();
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_follows_and_goes),
        cmocka_unit_test(what_a_killed_jvm_left_is_replaced_and_links_are_not_followed),
        cmocka_unit_test(without_a_place_nothing_happens),
    };
    snprintf(path, sizeof path, PUBLISHED_PATH, (int)getpid());
    snprintf(other, sizeof other, "%s.other", path);
    return cmocka_run_group_tests_name("control/published", tests, NULL, NULL);
}
