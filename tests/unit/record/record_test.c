/* What the writer writes is what the reader reads, and what damage does to it. */
#include "nmtwatch/record/recording.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static struct texts texts; /* of all findings here */

#define TICKS 600 /* three members of 256 lines, the last one not full */

static char folder[64];
static char path[128], other[128];
static char error[512];

static struct recording_header make_header(void)
{
    struct recording_header header = {
        .wall_start_ms = 1754556000123,
        .warmup_s = -1,
        .target = {4711, 1, 1234, 5000, 17, "17.0.19", "org.example.Main", "summary"},
    };

    thresholds_default(&header.thresholds);
    return header;
}

static struct event make_tick(int i)
{
    struct event event = {.kind = EVENT_SAMPLE, .ms = 1000 * i};

    for (int field = 0; field < SAMPLE_FIELD_COUNT; field++)
        sample_set(&event.sample, (enum sample_field)field, (int64_t)field * 1000000 + i * 37);
    for (int c = 0; c < NMT_CATEGORY_COUNT; c++)
        sample_set_nmt(&event.sample, (enum nmt_category)c,
                       (struct nmt_amount){1 << 20, (1 << 19) + i * 41});
    return event;
}

static struct recorder *start(void)
{
    struct recording_header header = make_header();
    struct recorder *recorder = recorder_create(path, true, &header, error, sizeof error);

    assert_non_null(recorder);
    return recorder;
}

static void record_ticks(int ticks)
{
    struct recorder *recorder = start();

    for (int i = 0; i < ticks; i++) {
        struct event event = make_tick(i);
        assert_true(recorder_event(recorder, &event));
    }
    recorder_destroy(recorder);
}

/* Reads path, checks each tick and returns how many there were. */
static int read_ticks(const char *from, char *damage, size_t size)
{
    struct recording *recording = recording_open(from, error, sizeof error);
    struct event event;
    int ticks = 0;

    damage[0] = '\0';
    if (recording == NULL)
        return -1;
    while (recording_next(recording, &event)) {
        struct event expected = make_tick(ticks++);
        assert_memory_equal(&event.sample, &expected.sample, sizeof expected.sample);
        assert_int_equal(event.ms, expected.ms);
    }
    assert_false(recording_next(recording, &event)); /* an end stays an end */
    if (recording_damage(recording))
        snprintf(damage, size, "%s", recording_damage(recording));
    recording_close(recording);
    return ticks;
}

static unsigned char *load(const char *from, size_t *size)
{
    static unsigned char bytes[4 << 20];
    FILE *file = fopen(from, "rb");

    assert_non_null(file);
    *size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return bytes;
}

static void store(const char *to, const void *bytes, size_t size)
{
    FILE *file = fopen(to, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* True when gzip itself finds the file whole. */
static bool whole_for_gzip(const char *file)
{
    char command[256];

    snprintf(command, sizeof command, "gzip -t < '%s' 2>/dev/null", file);
    return system(command) == 0;
}

static void test_everything_comes_back(void **state)
{
    struct family_row row = {.family = "groovy-shell", .loads = 20};
    struct event names = {.kind = EVENT_NAMES, .ms = 3, .names = {.row_count = 1, .rows = &row}};
    struct event tick = make_tick(0), event;
    struct alert alert = {.ms = 4};
    struct watch_cost cost = {.cpu_ms = 17};
    struct recorder *recorder = start();
    (void)state;

    alert.finding = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    assert_true(recorder_event(recorder, &tick));
    assert_true(recorder_event(recorder, &names));
    assert_true(recorder_alert(recorder, &alert));
    assert_true(recorder_end(recorder, 5, &cost));
    assert_null(recorder_error(recorder));
    recorder_destroy(recorder);

    struct recording *recording = recording_open(path, error, sizeof error);
    assert_non_null(recording);
    assert_int_equal(recording_header(recording)->target.jdk_major, 17);
    assert_true(recording_next(recording, &event));
    assert_int_equal(event.kind, EVENT_SAMPLE);
    assert_true(recording_next(recording, &event));
    assert_int_equal(event.kind, EVENT_NAMES);
    assert_string_equal(event.names.rows[0].family, "groovy-shell");
    assert_null(recording_cost(recording));
    assert_false(recording_next(recording, &event));
    assert_int_equal(recording_cost(recording)->cpu_ms, 17);
    assert_null(recording_damage(recording));
    assert_int_equal(recording_unknown_lines(recording), 0);
    recording_close(recording);
}

static void test_members_end_and_begin_without_a_seam(void **state)
{
    char damage[512];
    (void)state;

    /* One line more or less around the end of a member (the header is a line as well). */
    static const int COUNTS[] = {0, 254, 255, 256, 511, 512, TICKS};
    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++) {
        record_ticks(COUNTS[i]);
        assert_int_equal(read_ticks(path, damage, sizeof damage), COUNTS[i]);
        assert_string_equal(damage, "");
        assert_true(whole_for_gzip(path));
    }
}

static void test_the_file_is_whole_after_every_line(void **state)
{
    struct recorder *recorder = start();
    char damage[512];
    (void)state;

    for (int i = 0; i < 300; i++) {
        struct event event = make_tick(i);
        assert_true(recorder_event(recorder, &event));
        if (i % 50 != 0 && i != 254 && i != 255)
            continue;
        assert_int_equal(read_ticks(path, damage, sizeof damage), i + 1);
        assert_string_equal(damage, "");
        assert_true(whole_for_gzip(path));
    }
    recorder_destroy(recorder);
}

static void test_kill_loses_nothing_that_was_written(void **state)
{
    char damage[512];
    int told[2];
    (void)state;

    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        struct recorder *recorder = start();
        for (int i = 0;; i++) {
            struct event event = make_tick(i);
            recorder_event(recorder, &event);
            if (write(told[1], &i, sizeof i) != sizeof i)
                _exit(1);
        }
    }
    close(told[1]);
    int last = 0;
    while (last < 400)
        assert_int_equal(read(told[0], &last, sizeof last), sizeof last);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(told[0], &last, sizeof last) == sizeof last)
        ;
    close(told[0]);
    assert_true(read_ticks(path, damage, sizeof damage) >= last + 1);
}

/* The next line is written over the trailer that the reader has seen: what follows is no damage. */
static void test_a_recording_is_read_while_it_grows(void **state)
{
    struct recorder *recorder = start();
    struct event tick = make_tick(0), event;
    (void)state;

    assert_true(recorder_event(recorder, &tick));
    struct recording *recording = recording_open(path, error, sizeof error);
    assert_non_null(recording);
    for (int i = 1; i < 20; i++) {
        tick = make_tick(i);
        assert_true(recorder_event(recorder, &tick));
    }
    assert_true(recording_next(recording, &event));
    assert_false(recording_next(recording, &event));
    assert_null(recording_damage(recording));
    recording_close(recording);
    recorder_destroy(recorder);
}

static void test_existing_files_and_links_are_left_alone(void **state)
{
    struct recording_header header = make_header();
    (void)state;

    store(path, "precious", 8);
    assert_null(recorder_create(path, false, &header, error, sizeof error));
    assert_non_null(strstr(error, path));
    assert_non_null(strstr(error, "exists already"));
    size_t size;
    load(path, &size);
    assert_int_equal(size, 8);

    unlink(other);
    assert_int_equal(symlink(path, other), 0);
    assert_null(recorder_create(other, false, &header, error, sizeof error));
    assert_null(recorder_create(other, true, &header, error, sizeof error));
    assert_non_null(strstr(error, "symbolic link"));
    unlink(other);

    assert_int_equal(mkfifo(other, 0600), 0);
    assert_null(recorder_create(other, true, &header, error, sizeof error));
    unlink(other);
    assert_null(recorder_create(folder, true, &header, error, sizeof error));
    assert_null(recorder_create("/nonexistent/x", false, &header, error, sizeof error));
    assert_non_null(strstr(error, "No such file"));

    record_ticks(1); /* with force */
    struct stat about;
    unlink(path);
    record_ticks(1);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

/* A file size limit fails like a full disk: a short write, then an error. */
static void test_a_full_disk_leaves_whole_lines(void **state)
{
    char damage[512];
    struct rlimit before, limit;
    (void)state;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (unsigned bytes = 1200; bytes < 1700; bytes += 7) {
        struct recorder *recorder = start();
        limit = before;
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
        int written = 0;
        for (; written < 1000; written++) {
            struct event event = make_tick(written);
            if (!recorder_event(recorder, &event))
                break;
        }
        setrlimit(RLIMIT_FSIZE, &before);
        assert_in_range(written, 1, 999);
        assert_non_null(recorder_error(recorder));
        assert_non_null(strstr(recorder_error(recorder), "stopped after"));
        struct event event = make_tick(0);
        assert_false(recorder_event(recorder, &event)); /* stopped is stopped */
        recorder_destroy(recorder);
        assert_int_equal(read_ticks(path, damage, sizeof damage), written);
        assert_string_equal(damage, "");
        assert_true(whole_for_gzip(path));
    }
}

static void test_a_disk_full_from_the_start(void **state)
{
    struct recording_header header = make_header();
    struct rlimit before, limit;
    (void)state;

    signal(SIGXFSZ, SIG_IGN);
    unlink(path);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_null(recorder_create(path, false, &header, error, sizeof error));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_non_null(strstr(error, "stopped after 0 lines"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_stdout_is_a_stream_of_members(void **state)
{
    struct recording_header header = make_header();
    char damage[512];
    (void)state;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDOUT_FILENO);
        struct recorder *recorder = recorder_create("-", false, &header, error, sizeof error);
        for (int i = 0; i < 300 && recorder; i++) {
            struct event event = make_tick(i);
            recorder_event(recorder, &event);
        }
        recorder_destroy(recorder);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read_ticks(path, damage, sizeof damage), 300);
    assert_string_equal(damage, "");
    assert_true(whole_for_gzip(path));
}

/* --- damage ----------------------------------------------------------------------------------- */

static void test_every_truncation_is_read_up_to_there(void **state)
{
    char damage[512];
    size_t size;
    int before = -1;
    (void)state;

    record_ticks(TICKS);
    unsigned char *bytes = load(path, &size);
    for (size_t cut = 0; cut < size; cut += cut < 1200 ? 1 : 2437) {
        store(other, bytes, cut);
        int ticks = read_ticks(other, damage, sizeof damage);
        assert_true(ticks >= before);
        assert_true(ticks <= TICKS);
        if (ticks >= 0 && damage[0] != '\0') {
            assert_non_null(strstr(damage, other));
            assert_non_null(strstr(damage, "byte"));
        }
        if (ticks < 0)
            assert_non_null(strstr(error, other));
        before = ticks;
    }
    assert_in_range(before, TICKS - 20, TICKS);
}

/* Either the events are what they were (a field of a gzip header that means nothing), or it is
 * told. */
static void test_a_flipped_bit_is_never_silent(void **state)
{
    struct event event;
    size_t size;
    int told = 0;
    (void)state;

    record_ticks(300);
    unsigned char *bytes = load(path, &size);
    for (size_t at = 0; at < size; at += 307) {
        bool same = true;
        int ticks = 0;
        bytes[at] ^= 0x10;
        store(other, bytes, size);
        bytes[at] ^= 0x10;
        struct recording *recording = recording_open(other, error, sizeof error);
        if (recording == NULL)
            continue;
        while (recording_next(recording, &event)) {
            struct event expected = make_tick(ticks++);
            same = same && memcmp(&event.sample, &expected.sample, sizeof event.sample) == 0;
        }
        told += recording_damage(recording) != NULL;
        assert_true(recording_damage(recording) != NULL || (same && ticks == 300));
        recording_close(recording);
    }
    assert_true(told > 100);
}

static void test_rubbish_behind_the_end_is_named(void **state)
{
    char damage[512];
    size_t size;
    (void)state;

    record_ticks(3);
    unsigned char *bytes = load(path, &size);
    memcpy(bytes + size, "rubbish rubbish", 15);
    store(other, bytes, size + 15);
    assert_int_equal(read_ticks(other, damage, sizeof damage), 3);
    assert_non_null(strstr(damage, "line 5"));

    memcpy(bytes + size, bytes, size); /* two recordings in one file */
    store(other, bytes, 2 * size);
    assert_int_equal(read_ticks(other, damage, sizeof damage), 3);
    assert_non_null(strstr(damage, "another recording"));
}

static void make_plain(char *text, size_t size, const char *tail, size_t tail_length)
{
    struct recording_header header = make_header();
    struct json_out out = {0};
    size_t length = 0;

    length += (size_t)snprintf(text, size, "%s", event_json_header(&out, &header));
    for (int i = 0; i < 2; i++) {
        struct event event = make_tick(i);
        length += (size_t)snprintf(text + length, size - length, "%s",
                                   event_json_event(&out, 1, &event, NULL));
    }
    memcpy(text + length, tail, tail_length);
    store(other, text, length + tail_length);
    json_out_free(&out);
}

static void test_plain_lines_are_read_as_well(void **state)
{
    static char text[65536];
    char damage[512];
    static const struct {
        const char *tail;
        size_t length;
        const char *damage;
    } CASES[] = {
        {"", 0, ""},
        {"\n\n", 2, ""},
        {"{\"type\":\"note\"", 14, "line 4"},
        {"no json\n", 8, "line 4"},
        {"{\"type\":\"tick\",\"ms\":\"x\"}\n", 25, "\"ms\" is not an integer"},
        {"\0\0\0\0\n", 5, "NUL"},
        {"{\"type\":\"of tomorrow\"}", 22, ""},
    };
    (void)state;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        make_plain(text, sizeof text, CASES[i].tail, CASES[i].length);
        assert_int_equal(read_ticks(other, damage, sizeof damage), 2);
        if (CASES[i].damage[0] == '\0')
            assert_string_equal(damage, "");
        else
            assert_non_null(strstr(damage, CASES[i].damage));
    }
    /* The byte that is named is where the line begins. */
    make_plain(text, sizeof text, "oops\n", 5);
    read_ticks(other, damage, sizeof damage);
    char expected[40];
    snprintf(expected, sizeof expected, "byte %td", strstr(text, "oops\n") - text);
    assert_non_null(strstr(damage, expected));
}

static void test_a_line_without_end_is_damage(void **state)
{
    char damage[512];
    size_t size;
    (void)state;

    /* 64 MB of one letter in a gzip file of 64 KB: a reader without a bound would swallow it. */
    record_ticks(2);
    unsigned char *bytes = load(path, &size);
    store(other, bytes, size);
    gzFile bomb = gzopen(other, "ab");
    char block[65536];
    memset(block, 'a', sizeof block);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(gzwrite(bomb, block, sizeof block), sizeof block);
    gzclose(bomb);
    assert_int_equal(read_ticks(other, damage, sizeof damage), 2);
    assert_non_null(strstr(damage, "longer than 4 MiB"));
}

static void test_what_is_no_recording(void **state)
{
    static const struct {
        const char *text, *named;
    } CASES[] = {
        {"", "empty"},
        {"hello\n", "not a recording"},
        {"{}\n", "not a recording"},
        {"{\"type\":\"tick\",\"ms\":1}\n", "not a recording"},
        {"\x1f\x8b", "not a recording"},
        {"{\"type\":\"header\",\"schema\":2}\n", "schema 2"},
        {"{\"type\":\"header\",\"schema\":1}\n", "\"nmtwatch\" is missing"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        store(other, CASES[i].text, strlen(CASES[i].text));
        assert_null(recording_open(other, error, sizeof error));
        assert_non_null(strstr(error, CASES[i].named));
        assert_null(strchr(error, '\n'));
    }
    assert_null(recording_open(folder, error, sizeof error));
    assert_null(recording_open("/nonexistent", error, sizeof error));
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/nmtwatch-record-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/a.nmt.gz", folder);
    snprintf(other, sizeof other, "%s/b.nmt.gz", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_comes_back),
        cmocka_unit_test(test_members_end_and_begin_without_a_seam),
        cmocka_unit_test(test_the_file_is_whole_after_every_line),
        cmocka_unit_test(test_kill_loses_nothing_that_was_written),
        cmocka_unit_test(test_a_recording_is_read_while_it_grows),
        cmocka_unit_test(test_existing_files_and_links_are_left_alone),
        cmocka_unit_test(test_a_full_disk_leaves_whole_lines),
        cmocka_unit_test(test_a_disk_full_from_the_start),
        cmocka_unit_test(test_stdout_is_a_stream_of_members),
        cmocka_unit_test(test_every_truncation_is_read_up_to_there),
        cmocka_unit_test(test_a_flipped_bit_is_never_silent),
        cmocka_unit_test(test_rubbish_behind_the_end_is_named),
        cmocka_unit_test(test_plain_lines_are_read_as_well),
        cmocka_unit_test(test_a_line_without_end_is_damage),
        cmocka_unit_test(test_what_is_no_recording),
    };
    return cmocka_run_group_tests_name("record", tests, make_folder, remove_folder);
}
