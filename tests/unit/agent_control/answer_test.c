/* answer: its format, and the files that are not written to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/control/answer.h"
#include "agent/mem/mem.h"
#include "tests/unit/skip.h"
#include "tests/unit/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[96], other[96], error[400];

static int make_folder(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/answer", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char *content(const char *name)
{
    static char text[200000];
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int64_t control_bytes(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_CONTROL].requested_bytes;
}

static void done(void **state)
{
    (void)state;
    struct answer answer;
    put_file(path, "");
    assert_true(answer_begin(&answer));
    fprintf(answer.out, "{\"running\":%s}\n", "true");
    assert_true(answer_send(&answer, path, error, sizeof error));
    answer_end(&answer);
    assert_string_equal(content(path), "nmtagent 1 done 17\n{\"running\":true}\n");
    unlink(path);
}

static void refused(void **state)
{
    (void)state;
    struct answer answer;
    put_file(path, "");
    assert_true(answer_begin(&answer));
    fputs("half of an object {", answer.out);
    answer_refuse(&answer, "not %s", "running");
    assert_true(answer_send(&answer, path, error, sizeof error));
    answer_end(&answer);
    assert_string_equal(content(path), "nmtagent 1 refused 11\nnot running");
    unlink(path);
}

static void long_ones_are_whole_and_leave_nothing(void **state)
{
    (void)state;
    struct answer answer;
    int64_t before = control_bytes();
    put_file(path, "");
    assert_true(answer_begin(&answer));
    for (int i = 0; i < 10000; i++)
        fprintf(answer.out, "%07d\n", i);
    assert_true(control_bytes() > before);
    assert_true(answer_send(&answer, path, error, sizeof error));
    answer_end(&answer);
    assert_int_equal(control_bytes(), before);
    const char *text = content(path);
    assert_int_equal(strncmp(text, "nmtagent 1 done 80000\n0000000\n", 30), 0);
    assert_string_equal(text + strlen(text) - 8, "0009999\n");
    unlink(path);
}

static void refuses_the_file(const char *name)
{
    struct answer answer;
    assert_true(answer_begin(&answer));
    fputs("{}", answer.out);
    assert_false(answer_send(&answer, name, error, sizeof error));
    assert_non_null(strstr(error, "answer="));
    answer_end(&answer);
}

static void other_files_are_not_touched(void **state)
{
    (void)state;
    refuses_the_file(path); /* absent: it is not created */
    assert_int_not_equal(access(path, F_OK), 0);

    put_file(path, "precious");
    refuses_the_file(path);
    assert_string_equal(content(path), "precious");
    unlink(path);

    put_file(other, "");
    assert_int_equal(symlink(other, path), 0);
    refuses_the_file(path);
    unlink(path);

    assert_int_equal(link(other, path), 0);
    refuses_the_file(path);
    assert_string_equal(content(other), "");
    unlink(path);
    unlink(other);

    assert_int_equal(mkfifo(path, 0600), 0); /* nobody reads it: must not hang */
    refuses_the_file(path);
    unlink(path);
    refuses_the_file(folder);
    refuses_the_file("/dev/null");
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    struct answer answer;
    if (access("/dev/full", W_OK) != 0)
        skip_because("refused: no /dev/full here");
    assert_true(answer_begin(&answer));
    assert_false(answer_send(&answer, "/dev/full", error, sizeof error)); /* no regular file */
    answer_end(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(done),
        cmocka_unit_test(refused),
        cmocka_unit_test(long_ones_are_whole_and_leave_nothing),
        cmocka_unit_test(other_files_are_not_touched),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests_name("answer", tests, make_folder, folder_remove);
}
