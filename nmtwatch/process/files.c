#include "nmtwatch/process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

bool copy_all(int from, int into)
{
    char bytes[65536];
    for (;;) {
        ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        if (!write_all(into, bytes, (size_t)got))
            return false;
    }
}

bool input_is_endless(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (!S_ISREG(status.st_mode) || status.st_size == 0);
}

int create_private(const char *path)
{
    struct stat status;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return fd;
    /* The mode before the content; of somebody else's file it stays. */
    if ((status.st_uid != geteuid() || fchmod(fd, 0600) == 0) && ftruncate(fd, 0) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

FILE *result_open(const char *path)
{
    int fd = create_private(path);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    int error = out != NULL ? 0 : errno;
    if (out == NULL && fd >= 0)
        close(fd);
    errno = error;
    return out;
}

bool result_close(FILE *out, const char *path, bool good)
{
    struct stat status;
    if (out == NULL)
        return false;
    good = fflush(out) == 0 && good;
    int error = errno;
    bool regular = fstat(fileno(out), &status) == 0 && S_ISREG(status.st_mode);
    errno = error;
    if (fclose(out) == 0 && good)
        return true;
    error = errno;
    if (regular)
        unlink(path);
    errno = error != 0 ? error : EIO;
    return false;
}

bool pid_path_is_pattern(const char *pattern)
{
    return strstr(pattern, "%p") != NULL;
}

bool pid_path(const char *pattern, pid_t pid, char *out, size_t size)
{
    size_t used = 0;
    const char *at = pattern;
    for (; *at != '\0' && used + 1 < size; at++) {
        if (at[0] == '%' && at[1] == 'p') {
            used += (size_t)snprintf(out + used, size - used, "%d", (int)pid);
            at++;
        } else {
            out[used++] = *at;
        }
    }
    if (*at != '\0' || used >= size)
        return false;
    out[used] = '\0';
    return true;
}

void raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        /* It stays as it is. */
    }
}
