/* rooted, as_target: links inside of a root never lead out of it, nor to what the target may not
 * see; only regular files are opened. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/rooted.h"
#include "nmtwatch/jvm/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static const struct target *target(void)
{
    static struct target in;
    in = (struct target){.uid = geteuid(), .gid = getegid()};
    snprintf(in.root, sizeof in.root, "%s", root);
    return &in;
}

static int opened(const char *path)
{
    errno = 0;
    int fd = rooted_read(target(), path, ROOTED_LINKS, 100, NULL);
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
    int fd = rooted_folder("", "/", O_RDONLY);
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

/* --- what is in the way --- */

static int read_error(unsigned how, const char *path)
{
    errno = 0;
    int fd = rooted_read(target(), path, how, 100, NULL);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

static void only_regular_files_of_a_bounded_size(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(under("/fifo"), 0644), 0);
    assert_int_equal(read_error(ROOTED_LINKS, "/fifo"), EPERM);
    unlink(under("/fifo"));
    assert_int_equal(read_error(ROOTED_LINKS, "/data"), EPERM);
    assert_int_equal(read_error(ROOTED_NO_LINK, "/round"), ELOOP);
    assert_int_equal(truncate(under("/data/inside"), 101), 0);
    assert_int_equal(read_error(ROOTED_LINKS, "/data/inside"), EFBIG);
    assert_int_equal(truncate(under("/data/inside"), 100), 0);
    assert_int_equal(read_error(ROOTED_OWN | ROOTED_NO_LINK, "/data/inside"), 0);
    char second[128];
    snprintf(second, sizeof second, "%s", under("/data/second"));
    assert_int_equal(link(under("/data/inside"), second), 0);
    assert_int_equal(read_error(ROOTED_SINGLE, "/data/inside"), EPERM);
    unlink(second);

    /* They count as regular ones, and do something when they are read. */
    const struct target here = {.uid = geteuid(), .gid = getegid()};
    assert_int_equal(rooted_read(&here, "/proc/self/status", ROOTED_LINKS, 1 << 20, NULL), -1);
    assert_int_equal(rooted_read(&here, "/sys/kernel/uevent_seqnum", ROOTED_LINKS, 1 << 20, NULL),
                     -1);
    if (geteuid() == 0) {
        assert_int_equal(rooted_read(&here, "/dev/kmsg", ROOTED_LINKS, 1 << 20, NULL), -1);
        assert_int_equal(rooted_read(&here, "/dev/tty", ROOTED_LINKS, 1 << 20, NULL), -1);
    }
}

#define OTHER 12345

static bool as_other(struct as_target *self)
{
    if (geteuid() == 0 && as_target_begin(self, OTHER, OTHER))
        return true;
    print_message("not root: not tried\n");
    return false;
}

/* A link to what only root may read shows nothing, though root follows it. */
static void a_link_shows_no_more_than_the_target_may_see(void **state)
{
    (void)state;
    struct as_target self;
    if (!as_other(&self))
        return;
    as_target_end(&self);
    struct target other = *target();
    other.uid = other.gid = OTHER;
    assert_int_equal(chmod(root, 0755), 0);
    int fd = rooted_read(&other, "/tmp/inside", ROOTED_LINKS, 100, NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(chmod(under("/data/inside"), 0600), 0);
    errno = 0;
    assert_int_equal(rooted_read(&other, "/tmp/inside", ROOTED_LINKS, 100, NULL), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(chmod(under("/data/inside"), 0644), 0);
    assert_int_equal(chmod(under("/data"), 0700), 0); /* nor a file in a closed folder */
    assert_int_equal(rooted_read(&other, "/tmp/inside", ROOTED_LINKS, 100, NULL), -1);
    assert_int_equal(chmod(under("/data"), 0755), 0);
}

static void ids_come_and_go(void **state)
{
    (void)state;
    struct as_target self;
    struct stat status;
    char name[64];
    if (!as_other(&self))
        return;
    assert_int_equal(geteuid(), 0);
    assert_int_equal(open("/etc/shadow", O_RDONLY | O_CLOEXEC), -1);
    snprintf(name, sizeof name, "%s.theirs", root);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, 0, 0), -1); /* no capability is left that would do it */
    as_target_end(&self);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_uid, OTHER);
    assert_int_equal(status.st_gid, OTHER);
    assert_int_equal(fchown(fd, 0, 0), 0);
    close(fd);
    unlink(name);
    fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    as_target_end(&self); /* once more does no harm */
}

static void without_the_right_nothing_changes(void **state)
{
    (void)state;
    struct as_target self;
    if (!as_other(&self))
        return;
    as_target_end(&self);
    pid_t child = fork();
    if (child == 0) {
        bool good = as_target_for_good(OTHER, OTHER) && getuid() == OTHER && getegid() == OTHER &&
                    getgroups(0, NULL) == 0 && setuid(0) != 0;
        good = good && as_target_begin(&self, OTHER, OTHER);
        as_target_end(&self);
        errno = 0;
        good = good && !as_target_begin(&self, OTHER + 1, OTHER) && errno == EPERM;
        as_target_end(&self);
        _exit(good && geteuid() == OTHER ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

static void only_the_new_folder(void **state)
{
    (void)state;
    int in = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = rooted_new_folder(in, "data");
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rooted_new_folder(in, "tmp"), -1); /* a link */
    assert_int_equal(rooted_new_folder(in, ".."), -1);
    close(in);
    in = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(rooted_new_folder(in, "proc"), -1); /* a mount */
    assert_int_equal(errno, EXDEV);
    close(in);
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
        cmocka_unit_test(only_regular_files_of_a_bounded_size),
        cmocka_unit_test(a_link_shows_no_more_than_the_target_may_see),
        cmocka_unit_test(ids_come_and_go),
        cmocka_unit_test(without_the_right_nothing_changes),
        cmocka_unit_test(only_the_new_folder),
        cmocka_unit_test(a_chroots_names_lose_the_way_to_it),
    };
    return cmocka_run_group_tests_name("rooted", tests, make_root, remove_root);
}
