#include "nmtwatch/profile/exchange.h"

#include "nmtwatch/jvm/rooted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool give_to_target(const struct exchange *exchange, int fd)
{
    return geteuid() != 0 || fchown(fd, exchange->uid, exchange->gid) == 0;
}

static void close_both(struct exchange *exchange)
{
    if (exchange->folder_fd >= 0)
        close(exchange->folder_fd);
    if (exchange->tmp_fd >= 0)
        close(exchange->tmp_fd);
    exchange->folder_fd = exchange->tmp_fd = -1;
}

bool exchange_open(struct exchange *exchange, const struct target *target)
{
    uint64_t random;
    *exchange =
        (struct exchange){.tmp_fd = -1, .folder_fd = -1, .uid = target->uid, .gid = target->gid};
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(exchange->name, sizeof exchange->name, "nmtwatch-%016llx", (unsigned long long)random);
    /* The dynamic linker knows the agent again by its name, and the kernel's has no links in it. */
    snprintf(exchange->theirs, sizeof exchange->theirs, "%s/%s", target->tmp + strlen(target->root),
             exchange->name);
    exchange->tmp_fd = rooted_open(target->root, "/tmp", O_PATH | O_DIRECTORY);
    if (exchange->tmp_fd < 0 || mkdirat(exchange->tmp_fd, exchange->name, 0700) != 0) {
        int error = errno;
        close_both(exchange);
        errno = error;
        return false;
    }
    struct stat status = {0};
    exchange->folder_fd =
        openat(exchange->tmp_fd, exchange->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (exchange->folder_fd >= 0 && fstat(exchange->folder_fd, &status) == 0 &&
        status.st_uid == geteuid() && give_to_target(exchange, exchange->folder_fd))
        return true;
    int error = exchange->folder_fd >= 0 && status.st_uid != geteuid() ? EPERM : errno;
    exchange_close(exchange);
    errno = error;
    return false;
}

int exchange_file(const struct exchange *exchange, const char *name, mode_t mode)
{
    int fd =
        openat(exchange->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (fchmod(fd, mode) == 0 && give_to_target(exchange, fd))
        return fd;
    int error = errno;
    close(fd);
    unlinkat(exchange->folder_fd, name, 0);
    errno = error;
    return -1;
}

int exchange_read(const struct exchange *exchange, const char *name)
{
    struct stat status;
    int fd = openat(exchange->folder_fd, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
        status.st_uid == exchange->uid)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

bool exchange_remove(const struct exchange *exchange, const char *name)
{
    return unlinkat(exchange->folder_fd, name, 0) == 0;
}

/* The agent's files too: the recording and the chunk being written. */
static void remove_contents(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(folder_fd, entry->d_name, 0);
    closedir(folder);
}

void exchange_close(struct exchange *exchange)
{
    if (exchange->folder_fd >= 0)
        remove_contents(exchange->folder_fd);
    if (exchange->tmp_fd >= 0)
        unlinkat(exchange->tmp_fd, exchange->name, AT_REMOVEDIR);
    close_both(exchange);
}
