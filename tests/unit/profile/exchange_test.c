/* exchange: a private folder, files that are what they were, and nothing left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/profile/agent_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct target target;
static char root[32], path[320];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/nmtwatch-exchange.XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    target = (struct target){.uid = geteuid(), .gid = getegid()};
    snprintf(target.root, sizeof target.root, "%s", root);
    snprintf(target.tmp, sizeof target.tmp, "%s/tmp", root);
    return mkdir(target.tmp, 0777);
}

static int remove_root(void **state)
{
    (void)state;
    rmdir(target.tmp);
    return rmdir(root); /* fails when something was left */
}

static const char *inside(const struct exchange *exchange, const char *name)
{
    snprintf(path, sizeof path, "%s/%s/%s", target.tmp, exchange->name, name);
    return path;
}

static void the_folder_is_private(void **state)
{
    (void)state;
    struct exchange exchange;
    struct stat status;
    assert_true(exchange_open(&exchange, &target));
    assert_int_equal(stat(inside(&exchange, "."), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(status.st_uid, target.uid);
    assert_int_equal(strncmp(exchange.theirs, "/tmp/nmtwatch-", 14), 0);
    assert_string_equal(exchange.theirs + 5, exchange.name);
    exchange_close(&exchange);
    assert_int_not_equal(access(path, F_OK), 0);
    exchange_close(&exchange); /* once more does no harm */
}

static void two_do_not_meet(void **state)
{
    (void)state;
    struct exchange one, two;
    assert_true(exchange_open(&one, &target));
    assert_true(exchange_open(&two, &target));
    assert_string_not_equal(one.name, two.name);
    exchange_close(&one);
    exchange_close(&two);
}

static void files(void **state)
{
    (void)state;
    struct exchange exchange;
    char text[8] = "";
    assert_true(exchange_open(&exchange, &target));
    int fd = exchange_file(&exchange, "answer", 0600);
    assert_true(fd >= 0);
    assert_int_equal(exchange_file(&exchange, "answer", 0600), -1); /* never one that is there */
    assert_int_equal(errno, EEXIST);

    /* The target writes by name, we read by descriptor. */
    int theirs = open(inside(&exchange, "answer"), O_WRONLY);
    assert_int_equal(write(theirs, "hello", 5), 5);
    close(theirs);
    assert_int_equal(pread(fd, text, sizeof text, 0), 5);
    assert_string_equal(text, "hello");
    close(fd);
    assert_true(exchange_remove(&exchange, "answer"));
    assert_false(exchange_remove(&exchange, "answer"));
    exchange_close(&exchange);
}

static void what_the_target_left_is_distrusted(void **state)
{
    (void)state;
    struct exchange exchange;
    assert_true(exchange_open(&exchange, &target));
    assert_int_equal(exchange_read(&exchange, "recording"), -1);

    close(open(inside(&exchange, "recording"), O_WRONLY | O_CREAT, 0600));
    int fd = exchange_read(&exchange, "recording");
    assert_true(fd >= 0);
    close(fd);

    assert_int_equal(symlink("/etc/passwd", inside(&exchange, "link")), 0);
    assert_int_equal(exchange_read(&exchange, "link"), -1);
    char other[320];
    snprintf(other, sizeof other, "%s", inside(&exchange, "second"));
    assert_int_equal(link(inside(&exchange, "recording"), other), 0);
    assert_int_equal(exchange_read(&exchange, "recording"), -1);
    assert_int_equal(mkfifo(inside(&exchange, "pipe"), 0600), 0);
    assert_int_equal(exchange_read(&exchange, "pipe"), -1); /* and does not wait for a writer */

    /* Only names of ours are removed: what is not one stays, and so does its folder. */
    close(open(inside(&exchange, "recording.jfr.chunk"), O_WRONLY | O_CREAT, 0600));
    exchange_close(&exchange);
    assert_int_equal(access(inside(&exchange, "recording.jfr.chunk"), F_OK), -1);
    static const char *const theirs[] = {"recording", "second", "link", "pipe"};
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
        assert_int_equal(unlink(inside(&exchange, theirs[i])), 0);
    assert_int_equal(rmdir(inside(&exchange, "")), 0);
}

#define OTHER 12345

/* What is made belongs to the target from the first moment on, and where its user may not write
 * nothing is made. */
static void everything_with_the_targets_rights(void **state)
{
    (void)state;
    struct exchange exchange;
    struct stat status;
    if (geteuid() != 0) {
        print_message("not root: not tried\n");
        return;
    }
    struct target other = target;
    other.uid = other.gid = OTHER;
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(target.tmp, 0755), 0);
    assert_false(exchange_open(&exchange, &other));
    assert_int_equal(errno, EACCES);
    assert_int_equal(chmod(target.tmp, 01777), 0);
    assert_true(exchange_open(&exchange, &other));
    assert_int_equal(stat(inside(&exchange, "."), &status), 0);
    assert_int_equal(status.st_uid, OTHER);
    int fd = exchange_file(&exchange, "answer", 0700);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_uid, OTHER);
    assert_int_equal(status.st_gid, OTHER);
    assert_int_equal(status.st_mode & 07777, 0700);
    close(fd);
    assert_int_equal(chown(inside(&exchange, "answer"), 0, 0), 0);
    assert_int_equal(exchange_read(&exchange, "answer"), -1); /* not the target's */
    assert_int_equal(chown(inside(&exchange, "."), 0, 0), 0);
    assert_false(exchange_remove(&exchange, "answer")); /* nor is the folder */
    assert_int_equal(chown(inside(&exchange, "."), OTHER, OTHER), 0);
    assert_true(exchange_remove(&exchange, "answer"));
    exchange_close(&exchange);
}

/* As a container may have it: to its own /data, which here is somebody else's. */
static void a_link_for_tmp_is_followed_inside(void **state)
{
    (void)state;
    struct exchange exchange;
    char link[64], data[64];
    snprintf(link, sizeof link, "%s/tmp", root);
    snprintf(data, sizeof data, "%s/data", root);
    rmdir(link);
    assert_int_equal(symlink("/data", link), 0);
    assert_false(exchange_open(&exchange, &target)); /* to nowhere */
    assert_int_equal(errno, ENOENT);
    exchange_close(&exchange);

    assert_int_equal(mkdir(data, 0777), 0);
    struct target there = target;
    snprintf(there.tmp, sizeof there.tmp, "%s", data); /* as target_open resolves it */
    assert_true(exchange_open(&exchange, &there));
    assert_int_equal(strncmp(exchange.theirs, "/data/nmtwatch-", 15), 0);
    char folder[320];
    snprintf(folder, sizeof folder, "%s%s", root, exchange.theirs);
    assert_int_equal(access(folder, F_OK), 0);
    exchange_close(&exchange);
    assert_int_equal(rmdir(data), 0);
    unlink(link);
    assert_int_equal(mkdir(link, 0777), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_is_private),
        cmocka_unit_test(two_do_not_meet),
        cmocka_unit_test(files),
        cmocka_unit_test(what_the_target_left_is_distrusted),
        cmocka_unit_test(everything_with_the_targets_rights),
        cmocka_unit_test(a_link_for_tmp_is_followed_inside),
    };
    return cmocka_run_group_tests_name("exchange", tests, make_root, remove_root);
}
