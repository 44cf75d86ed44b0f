/* profile_output: formats by suffix, and files that cannot be written. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/process/files.h"
#include "nmtwatch/profile/one_shot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32], path[64], error[300];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/nmtwatch-output.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/out.jfr", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void suffixes(void **state)
{
    (void)state;
    enum profile_format format;
    static const struct {
        const char *name;
        enum profile_format format;
    } good[] = {{"a.jfr", PROFILE_JFR},
                {"/x/cpu.html", PROFILE_HTML},
                {"a.b.txt", PROFILE_COLLAPSED},
                {"top.json", PROFILE_TOP}};
    static const char *const bad[] = {"", "a", ".jfr", "a.JFR", "a.jfr.gz", "a.", "jfr", "html"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(profile_output_format(good[i].name, &format));
        assert_int_equal(format, good[i].format);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(profile_output_format(bad[i], &format));
}

static void possible_leaves_nothing(void **state)
{
    (void)state;
    assert_true(profile_output_possible(path, error, sizeof error));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(profile_output_possible("/nonexistent/x.jfr", error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/x.jfr: No such file"));
}

static void the_recording_is_copied(void **state)
{
    (void)state;
    char bytes[100000], back[sizeof bytes];
    FILE *recording = tmpfile();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 31);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, recording), sizeof bytes);
    fflush(recording);
    assert_true(profile_output_write(fileno(recording), PROFILE_JFR, false, path, "t", error,
                                     sizeof error));
    fclose(recording);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, back, sizeof back), sizeof back);
    close(fd);
    assert_memory_equal(bytes, back, sizeof bytes);
}

/* From a small recording of the agent. */
static void the_recording_is_summed_up(void **state)
{
    (void)state;
    static const struct {
        enum profile_format format;
        const char *part;
    } cases[] = {{PROFILE_HTML, "<title>org.example.Main (pid 1)</title>"},
                 {PROFILE_COLLAPSED, "work;malloc [libc.so.6] 3\n"},
                 {PROFILE_TOP, "\"cpu\":{\"samples\":10,"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[65536] = "";
        int recording = open("tests/fuzz/seeds/jfr_read/one_chunk.jfr", O_RDONLY);
        assert_true(recording >= 0);
        if (!profile_output_write(recording, cases[i].format, false, path,
                                  "org.example.Main (pid 1)", error, sizeof error))
            fail_msg("%s", error);
        close(recording);
        FILE *written = fopen(path, "r");
        assert_true(fread(text, 1, sizeof text - 1, written) > 0);
        fclose(written);
        assert_non_null(strstr(text, cases[i].part));
        unlink(path);
    }
}

static void what_is_no_recording_leaves_no_file(void **state)
{
    (void)state;
    FILE *recording = tmpfile();
    assert_false(profile_output_write(fileno(recording), PROFILE_HTML, false, path, "t", error,
                                      sizeof error));
    assert_string_equal(error, "the recording: the file is empty");
    assert_int_not_equal(access(path, F_OK), 0);
    fclose(recording);
}

static void failures_leave_no_half_file(void **state)
{
    (void)state;
    int folder_fd = open(folder, O_RDONLY | O_DIRECTORY); /* cannot be read as a file */
    assert_false(
        profile_output_write(folder_fd, PROFILE_JFR, false, path, "t", error, sizeof error));
    assert_int_not_equal(access(path, F_OK), 0);
    close(folder_fd);
}

/* Only a regular file is removed when writing fails: not a device, nor the link to it. */
static void a_device_stays(void **state)
{
    (void)state;
    struct stat status;
    char link_path[80];
    FILE *recording = tmpfile();
    assert_int_equal(fputs("x", recording), 1);
    fflush(recording);
    snprintf(link_path, sizeof link_path, "%s/full", folder);
    assert_int_equal(symlink("/dev/full", link_path), 0);
    assert_false(profile_output_write(fileno(recording), PROFILE_JFR, false, link_path, "t", error,
                                      sizeof error));
    fclose(recording);
    assert_non_null(strstr(error, "No space left on device"));
    assert_int_equal(lstat(link_path, &status), 0);
    unlink(link_path);
}

static void a_result_is_whole_or_gone(void **state)
{
    (void)state;
    struct stat status;
    FILE *out = result_open(path, 0);
    assert_non_null(out);
    assert_int_equal(fstat(fileno(out), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    fputs("half", out);
    assert_false(result_close(out, path, false)); /* its writer said so, and nobody knows why */
    assert_int_equal(errno, EIO);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_null(result_open("/nonexistent/x", 0));
    assert_int_equal(errno, ENOENT);
    assert_false(result_close(NULL, path, false));
    assert_int_equal(errno, ENOENT);
    out = result_open(path, 0);
    fputs("whole", out);
    assert_true(result_close(out, path, true));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suffixes),
        cmocka_unit_test(possible_leaves_nothing),
        cmocka_unit_test(the_recording_is_copied),
        cmocka_unit_test(the_recording_is_summed_up),
        cmocka_unit_test(what_is_no_recording_leaves_no_file),
        cmocka_unit_test(failures_leave_no_half_file),
        cmocka_unit_test(a_device_stays),
        cmocka_unit_test(a_result_is_whole_or_gone),
    };
    return cmocka_run_group_tests_name("profile_output", tests, make_folder, remove_folder);
}
