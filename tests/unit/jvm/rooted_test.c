/* rooted: links inside of a root never lead out of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[48];

static const char *under(const char *path)
{
    static char text[128];
    snprintf(text, sizeof text, "%s%s", root, path);
    return text;
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/nmtwatch-rooted.XXXXXX");
    return mkdtemp(root) == NULL || mkdir(under("/data"), 0755) != 0 ||
                   close(open(under("/data/inside"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) != 0 ||
                   symlink("/data", under("/tmp")) != 0 || symlink("/etc", under("/out")) != 0 ||
                   symlink("../../../../../../../../../../etc", under("/up")) != 0 ||
                   symlink("round", under("/round")) != 0
               ? -1
               : 0;
}

static int remove_root(void **state)
{
    (void)state;
    static const char *const links[] = {"/tmp", "/out", "/up", "/round", "/data/inside"};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        unlink(under(links[i]));
    rmdir(under("/data"));
    return rmdir(root);
}

static int opened(const char *path)
{
    errno = 0;
    int fd = rooted_open(root, path, O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

static void links_stay_inside(void **state)
{
    (void)state;
    assert_int_equal(opened("/data/inside"), 0);
    assert_int_equal(opened("/tmp/inside"), 0);      /* /tmp -> /data, of the root */
    assert_int_equal(opened("/out/passwd"), ENOENT); /* not the /etc of here */
    assert_int_equal(opened("/up/passwd"), ENOENT);
    assert_int_equal(opened("/../../../../etc/passwd"), ENOENT);
    assert_int_equal(opened("/round"), ELOOP);
    assert_int_equal(opened("/nothing"), ENOENT);
}

static void our_own_root_is_no_detour(void **state)
{
    (void)state;
    int fd = rooted_open("", "/", O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    assert_string_equal(rooted_inner("", "/usr/lib/libjvm.so"), "/usr/lib/libjvm.so");
}

static void real_names(void **state)
{
    (void)state;
    char real[64], small[4];
    assert_true(rooted_real("", "/usr/../usr", real, sizeof real));
    assert_string_equal(real, "/usr");
    assert_false(rooted_real("", "/etc/passwd", real, sizeof real));
    assert_int_equal(errno, ENOTDIR);
    assert_false(rooted_real("", "/usr", small, sizeof small));
    assert_int_equal(errno, ENAMETOOLONG);
    assert_false(rooted_real(root, "/nothing", real, sizeof real));
    assert_int_equal(errno, ENOENT);
}

/* As the kernel shows it of a process that was chrooted: the way to its root in front. */
static void a_chroots_names_lose_the_way_to_it(void **state)
{
    (void)state;
    char link[96], text[160];
    snprintf(link, sizeof link, "%s.link", root);
    assert_int_equal(symlink(root, link), 0);
    snprintf(text, sizeof text, "%s/opt/jdk/libjvm.so", root);
    assert_string_equal(rooted_inner(link, text), "/opt/jdk/libjvm.so");
    snprintf(text, sizeof text, "%sx/opt", root);
    assert_string_equal(rooted_inner(link, text), text); /* a longer name is another folder */
    assert_true(rooted_real(link, "/tmp", text, sizeof text));
    assert_string_equal(text, "/data");
    unlink(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_stay_inside),
        cmocka_unit_test(our_own_root_is_no_detour),
        cmocka_unit_test(real_names),
        cmocka_unit_test(a_chroots_names_lose_the_way_to_it),
    };
    return cmocka_run_group_tests_name("rooted", tests, make_root, remove_root);
}
