#include "nmtwatch/jvm/rooted.h"

#include "nmtwatch/jvm/as_target.h"
#include "nmtwatch/jvm/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DELETED " (deleted)"

/* A container that renames folders all the time must not keep us from giving up. */
#define TRIES 32

#define STAY_BELOW (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

/* --- finding ---------------------------------------------------------------------------------- */

static int openat2_(int fd, const char *path, int flags, unsigned long long resolve)
{
    struct open_how how = {.flags = (unsigned long long)flags,
                           .resolve = resolve | RESOLVE_NO_MAGICLINKS};
    long got = -1;
    for (int i = 0; i < TRIES && got < 0; i++) {
        got = syscall(SYS_openat2, fd, path, &how, sizeof how);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            break;
    }
    return (int)got;
}

/* A seccomp filter that does not know the call says EPERM, or ENOSYS. */
static bool openat2_is_missing(void)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

/* Name after name, none of them a link. */
static int walk(int root_fd, const char *path, int flags)
{
    char name[NAME_MAX + 1];
    int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    while (at >= 0) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        bool last = path[length + strspn(path + length, "/")] == '\0';
        if (length > NAME_MAX || (length == 2 && memcmp(path, "..", 2) == 0)) {
            close(at);
            errno = length > NAME_MAX ? ENAMETOOLONG : ELOOP;
            return -1;
        }
        memcpy(name, length > 0 ? path : ".", length > 0 ? length : 1);
        name[length > 0 ? length : 1] = '\0';
        int next = openat(at, name, (last ? flags : O_PATH) | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        struct stat status;
        if (next >= 0 && fstat(next, &status) == 0 && S_ISLNK(status.st_mode)) {
            close(next); /* with O_PATH it is the link that is opened */
            next = -1;
            error = ELOOP;
        }
        close(at);
        errno = error;
        if (last || next < 0)
            return next;
        path += length;
        at = next;
    }
    return -1;
}

static int find(int root_fd, const char *path, int flags, unsigned long long resolve)
{
    int fd = openat2_(root_fd, path, flags, resolve);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM) && openat2_is_missing())
        fd = walk(root_fd, path, flags);
    return fd;
}

static int open_root(const char *root)
{
    return open(root[0] != '\0' ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int close_keeping_errno(int fd)
{
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

int rooted_folder(const char *root, const char *path, int flags)
{
    int root_fd = open_root(root);
    if (root_fd < 0)
        return -1;
    flags |= O_DIRECTORY | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK);
    int fd = find(root_fd, path, flags, RESOLVE_IN_ROOT);
    close_keeping_errno(root_fd);
    return fd;
}

const char *rooted_below(const struct target *target, const char *path)
{
    size_t length = strlen(target->root);
    return strncmp(path, target->root, length) == 0 ? path + length : path;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Files that do something, or wait, when they are read, and count as regular ones. */
static bool is_kernels_own(int fd)
{
    static const long types[] = {PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,
                                 TRACEFS_MAGIC,      SECURITYFS_MAGIC,    SELINUX_MAGIC,
                                 CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
                                 PSTOREFS_MAGIC,     EFIVARFS_MAGIC,      BINFMTFS_MAGIC};
    struct statfs status;
    if (fstatfs(fd, &status) != 0)
        return true;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if ((unsigned long)status.f_type == (unsigned long)types[i])
            return true;
    return false;
}

int rooted_reopen(int path_fd, int64_t max_bytes, struct stat *status)
{
    char link[40];
    struct stat own;
    int fd = -1;
    if (status == NULL)
        status = &own;
    if (path_fd < 0 || fstat(path_fd, status) != 0)
        return close_keeping_errno(path_fd);
    if (!S_ISREG(status->st_mode) || is_kernels_own(path_fd)) {
        errno = S_ISLNK(status->st_mode) ? ELOOP : EPERM;
    } else if (status->st_size > max_bytes) {
        errno = EFBIG;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
        fd = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    }
    close_keeping_errno(path_fd);
    return fd;
}

static bool is_as_asked(const struct target *target, unsigned how, bool as_target, int path_fd)
{
    struct stat status;
    if (path_fd < 0 || fstat(path_fd, &status) != 0)
        return false;
    errno = EPERM;
    if (((how & ROOTED_OWN) && status.st_uid != target->uid) ||
        ((how & ROOTED_SINGLE) && status.st_nlink != 1))
        return false;
    errno = EACCES;
    return as_target || (status.st_mode & S_IROTH) != 0 || status.st_uid == target->uid;
}

static int read_below(const struct target *target, int folder_fd, const char *path, unsigned how,
                      unsigned long long resolve, int64_t max_bytes, struct stat *status)
{
    struct as_target self;
    int fd = -1;
    /* Where its ids cannot be had we may be an ordinary user, who can do no more than the kernel
     * lets him; the modes of the file are looked at besides. */
    bool as_target = as_target_begin(&self, target->uid, target->gid);
    if (as_target || errno != ENOMEM) {
        int path_fd = find(folder_fd, path,
                           O_PATH | O_CLOEXEC | (how & ROOTED_NO_LINK ? O_NOFOLLOW : 0), resolve);
        if (is_as_asked(target, how, as_target, path_fd))
            fd = rooted_reopen(path_fd, max_bytes, status);
        else
            close_keeping_errno(path_fd);
    }
    as_target_end(&self);
    return fd;
}

int rooted_read(const struct target *target, const char *path, unsigned how, int64_t max_bytes,
                struct stat *status)
{
    int root_fd = open_root(target->root);
    if (root_fd < 0)
        return -1;
    int fd = read_below(target, root_fd, path, how, RESOLVE_IN_ROOT, max_bytes, status);
    close_keeping_errno(root_fd);
    return fd;
}

int rooted_read_at(const struct target *target, int folder_fd, const char *name, unsigned how,
                   int64_t max_bytes, struct stat *status)
{
    return read_below(target, folder_fd, name, how | ROOTED_NO_LINK, STAY_BELOW, max_bytes, status);
}

int rooted_new_folder(int in_fd, const char *name)
{
    return find(in_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, STAY_BELOW);
}

/* --- names ------------------------------------------------------------------------------------ */

static bool read_link(const char *link, char *out, size_t size)
{
    ssize_t len = readlink(link, out, size - 1);
    out[len > 0 ? len : 0] = '\0';
    if (len == (ssize_t)size - 1)
        errno = ENAMETOOLONG;
    return len > 0 && len < (ssize_t)size - 1;
}

const char *rooted_inner(const char *root, const char *path)
{
    char outer[PATH_MAX];
    if (root[0] == '\0' || !read_link(root, outer, sizeof outer))
        return path;
    size_t len = strcmp(outer, "/") == 0 ? 0 : strlen(outer);
    return strncmp(path, outer, len) == 0 && path[len] == '/' ? path + len : path;
}

bool rooted_real(const char *root, const char *path, char *real, size_t size)
{
    char link[40], shown[PATH_MAX];
    int fd = rooted_folder(root, path, O_PATH);
    if (fd < 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bool good = read_link(link, shown, sizeof shown);
    int error = errno;
    close(fd);
    errno = error;
    if (!good)
        return false;
    const char *inner = rooted_inner(root, shown);
    size_t len = strlen(inner);
    if (len >= size ||
        (len >= strlen(DELETED) && strcmp(inner + len - strlen(DELETED), DELETED) == 0)) {
        errno = len >= size ? ENAMETOOLONG : ENOENT;
        return false;
    }
    memcpy(real, inner, len + 1);
    return true;
}
