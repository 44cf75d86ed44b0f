#include "nmtwatch/jvm/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DELETED " (deleted)"

static int open_inside(int root_fd, const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned long long)flags, .resolve = RESOLVE_IN_ROOT};
    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
}

int rooted_open(const char *root, const char *path, int flags)
{
    flags |= O_CLOEXEC;
    if (root[0] == '\0')
        return open(path, flags);
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return -1;
    int fd = open_inside(root_fd, path, flags);
    int error = errno;
    if (fd < 0 && (error == ENOSYS || error == EPERM) && strchr(path + 1, '/') == NULL) {
        fd = openat(root_fd, path + 1, flags | O_NOFOLLOW);
        error = errno;
    }
    close(root_fd);
    errno = error;
    return fd;
}

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
    int fd = rooted_open(root, path, O_PATH | O_DIRECTORY);
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
