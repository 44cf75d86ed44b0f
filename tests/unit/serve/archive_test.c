#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/record/recording.h"
#include "nmtwatch/serve/archive.h"
#include "tests/unit/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct archive_bounds BOUNDS = {
    .rotate_bytes = 65536, .rotate_ms = 3600000, .keep_bytes = 1 << 20, .keep_ms = 86400000};

static int count_files(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void put_file(const char *name, size_t bytes, int64_t age_s)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[1]);
    times[1].tv_sec -= age_s;
    times[0] = times[1];
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000;
}

static struct archive *open_archive(const struct archive_bounds *bounds)
{
    char error[300];
    struct archive *archive = archive_open(folder, bounds, error, sizeof error);
    assert_non_null(archive);
    return archive;
}

static struct archive_file *open_file(struct archive *archive, int64_t wall_ms)
{
    char error[300];
    struct recording_header header = {.target = {.pid = 4711}};
    thresholds_default(&header.thresholds);
    struct archive_file *file =
        archive_file_create(archive, "orders/a b", &header, wall_ms, error, sizeof error);
    assert_non_null(file);
    return file;
}

static void test_the_oldest_go_first(void **state)
{
    (void)state;
    struct archive_bounds bounds = BOUNDS;
    bounds.keep_bytes = 250000;
    struct archive *archive = open_archive(&bounds);
    put_file("a-1.nmt.gz", 100000, 300);
    put_file("b-1.nmt.gz", 100000, 200);
    put_file("c-1.nmt.gz", 100000, 100);
    put_file("somebody-elses.txt", 900000, 90000);
    archive_tidy(archive, now_ms());
    struct archive_counts counts = archive_counts(archive);
    assert_int_equal(counts.removed, 1);
    assert_int_equal(counts.bytes, 200000);
    assert_int_equal(count_files(), 3);
    char path[128];
    snprintf(path, sizeof path, "%s/a-1.nmt.gz", folder);
    assert_int_equal(access(path, F_OK), -1);
    archive_close(archive);
}

static void test_age_is_a_bound_too(void **state)
{
    (void)state;
    struct archive *archive = open_archive(&BOUNDS);
    put_file("old.nmt.gz", 10, 86400 + 60);
    put_file("new.nmt.gz", 10, 60);
    archive_tidy(archive, now_ms());
    assert_int_equal(archive_counts(archive).files, 1);
    archive_close(archive);
}

static void test_what_is_being_written_stays(void **state)
{
    (void)state;
    struct archive_bounds bounds = BOUNDS;
    bounds.keep_bytes = 1;
    bounds.keep_ms = -1000000;
    struct archive *archive = open_archive(&bounds);
    struct archive_file *file = open_file(archive, now_ms());
    put_file("old.nmt.gz", 10, 60);
    archive_tidy(archive, now_ms());
    assert_int_equal(count_files(), 1);
    archive_file_close(file);
    archive_tidy(archive, now_ms());
    assert_int_equal(count_files(), 0);
    archive_close(archive);
}

static void test_a_full_file_is_followed_by_another(void **state)
{
    (void)state;
    struct archive *archive = open_archive(&BOUNDS);
    int64_t begun_ms = now_ms();
    struct archive_file *file = open_file(archive, begun_ms);
    char first[ARCHIVE_NAME_MAX], path[256], error[300];
    struct event event = {.kind = EVENT_NOTE, .ms = 5};
    snprintf(event.text, sizeof event.text, "one");
    snprintf(first, sizeof first, "%s", archive_file_name(file));
    assert_non_null(strstr(first, "orders_a_b-"));
    archive_file_event(file, &event);
    archive_file_turn(file, begun_ms + 1000);
    assert_string_equal(archive_file_name(file), first);
    archive_file_turn(file, begun_ms + BOUNDS.rotate_ms);
    assert_string_not_equal(archive_file_name(file), first);
    event.ms = 6;
    archive_file_event(file, &event);
    archive_file_turn(file, begun_ms + 2 * BOUNDS.rotate_ms);
    archive_file_close(file);
    assert_int_equal(count_files(), 3);
    snprintf(path, sizeof path, "%s/%s", folder, first);
    struct recording *recording = recording_open(path, error, sizeof error);
    assert_non_null(recording);
    assert_true(recording_next(recording, &event));
    assert_int_equal(event.ms, 5);
    assert_false(recording_next(recording, &event));
    assert_null(recording_damage(recording));
    recording_close(recording);
    archive_close(archive);
}

static void test_two_turns_within_a_second(void **state)
{
    (void)state;
    struct archive *archive = open_archive(&BOUNDS);
    struct archive_file *a = open_file(archive, now_ms());
    struct archive_file *b = open_file(archive, now_ms());
    assert_string_not_equal(archive_file_name(a), archive_file_name(b));
    archive_file_close(a);
    archive_file_close(b);
    archive_close(archive);
}

static void test_names_are_safe(void **state)
{
    (void)state;
    char out[16];
    archive_safe_name("../../etc/passwd", out, sizeof out);
    assert_null(strchr(out, '/'));
    assert_true(out[0] != '.');
    archive_safe_name("a#2", out, sizeof out);
    assert_string_equal(out, "a#2");
    archive_safe_name("\xc3\xa4\n", out, sizeof out);
    assert_string_equal(out, "___");
}

static void test_results(void **state)
{
    (void)state;
    char error[300], name[ARCHIVE_NAME_MAX], second[ARCHIVE_NAME_MAX], path[300];
    struct archive_bounds bounds = BOUNDS;
    bounds.keep_files = 3;
    struct archive *archive = archive_open_results(folder, &bounds, error, sizeof error);
    assert_non_null(archive);
    put_file("old.html", 10, 300);
    put_file("older.json", 10, 400);
    put_file("recording.nmt.gz", 10, 9000000);
    assert_true(archive_put(archive, "a/../b", 7, "leaks.html", now_ms(), "text", 4, name, error,
                            sizeof error));
    assert_non_null(strstr(name, "a_.._b-"));
    assert_true(archive_put(archive, "a/../b", 7, "leaks.html", now_ms(), "text", 4, second, error,
                            sizeof error));
    assert_string_not_equal(name, second);
    archive_tidy(archive, now_ms());
    assert_int_equal(archive_counts(archive).removed, 1); /* older.json */
    assert_int_equal(archive_counts(archive).files, 3);
    assert_int_equal(count_files(), 4);
    snprintf(path, sizeof path, "%s/older.json", folder);
    assert_int_equal(access(path, F_OK), -1);
    archive_close(archive);
}

static void test_a_folder_that_is_none(void **state)
{
    char error[300] = "";
    (void)state;
    assert_null(archive_open("/proc/nothing/here", &BOUNDS, error, sizeof error));
    assert_non_null(strstr(error, "/proc/nothing/here"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_the_oldest_go_first),
        WITH_FOLDER(test_age_is_a_bound_too),
        WITH_FOLDER(test_what_is_being_written_stays),
        WITH_FOLDER(test_a_full_file_is_followed_by_another),
        WITH_FOLDER(test_two_turns_within_a_second),
        WITH_FOLDER(test_results),
        cmocka_unit_test(test_names_are_safe),
        cmocka_unit_test(test_a_folder_that_is_none),
    };
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
