#include "nmtwatch/process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
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

char *small_file_read(int folder_fd, const char *name, size_t most, size_t *length)
{
    struct stat status;
    char *text = NULL;
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        (size_t)status.st_size <= most && (text = malloc((size_t)status.st_size)) != NULL &&
        read(fd, text, (size_t)status.st_size) != status.st_size) {
        free(text);
        text = NULL;
    }
    close(fd);
    *length = text != NULL ? (size_t)status.st_size : 0;
    return text;
}

int private_folder_open(int folder_fd, const char *path, char *error, size_t error_size)
{
    struct stat status;
    bool made = mkdirat(folder_fd, path, 0700) == 0 || errno == EEXIST;
    int fd = made ? openat(folder_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    int reason = errno;
    if (fd < 0 && made && fstatat(folder_fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode))
        snprintf(error, error_size, "%.300s: it is a link: a folder is needed", path);
    else if (fd < 0 || fstat(fd, &status) != 0)
        snprintf(error, error_size, "%.300s: %s", path, strerror(reason));
    else if (status.st_uid != geteuid())
        snprintf(error, error_size, "%.300s: it belongs to user %u, not to this one (%u)", path,
                 (unsigned)status.st_uid, (unsigned)geteuid());
    else if ((status.st_mode & 022) != 0)
        snprintf(error, error_size, "%.300s: others may write into it (chmod go-w)", path);
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
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

/* Nothing but the name goes when another file takes it. */
static bool may_replace(int folder_fd, const char *name)
{
    struct stat status;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1;
}

int unnamed_create(int folder_fd, const char *name, mode_t mode)
{
    char *copy = strdup(name);
    int fd =
        copy == NULL ? -1 : openat(folder_fd, dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    free(copy);
    return fd;
}

static void unnamed_path(int fd, char *path, size_t size)
{
    snprintf(path, size, "/proc/self/fd/%d", fd);
}

bool unnamed_link(int fd, int folder_fd, const char *name)
{
    char path[32];
    unnamed_path(fd, path, sizeof path);
    return linkat(AT_FDCWD, path, folder_fd, name, AT_SYMLINK_FOLLOW) == 0;
}

/* -1 with errno 0: it has to be made in place. */
static int create_unnamed(int folder_fd, const char *name, mode_t mode)
{
    char path[32];
    if (!may_replace(folder_fd, name)) {
        errno = 0;
        return -1;
    }
    int fd = unnamed_create(folder_fd, name, mode);
    if (fd < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EMFILE || errno == ENOMEM))
        return -1;
    unnamed_path(fd, path, sizeof path);
    if (fd >= 0 && access(path, F_OK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = 0;
    return -1;
}

static int create_in_place(int folder_fd, const char *name, int flags, mode_t mode)
{
    struct stat status;
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, mode);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return fd;
    /* The mode before the content; of another user's file it stays. */
    bool narrow = mode == 0600 && status.st_uid == geteuid();
    if ((!narrow || fchmod(fd, 0600) == 0) && ftruncate(fd, 0) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int create_private(const char *path)
{
    return create_in_place(AT_FDCWD, path, 0, 0600);
}

int result_create(int folder_fd, const char *name, int flags, mode_t mode)
{
    int fd = create_unnamed(folder_fd, name, mode);
    return fd >= 0 || errno != 0 ? fd : create_in_place(folder_fd, name, flags, mode);
}

/* Where a name cannot be given (a mounted file), the content goes to the file that has it. */
static bool copy_in_place(int fd, int folder_fd, const char *name)
{
    int into = create_in_place(folder_fd, name, O_NOFOLLOW, 0600);
    bool good = into >= 0 && lseek(fd, 0, SEEK_SET) == 0 && copy_all(fd, into);
    if (into >= 0)
        close(into);
    return good;
}

static bool give_name(int fd, int folder_fd, const char *name)
{
    struct stat status;
    char beside[4096];
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 0)
        return true;
    if (unnamed_link(fd, folder_fd, name))
        return true;
    if (errno != EEXIST)
        return false;
    if ((size_t)snprintf(beside, sizeof beside, "%s.%d", name, (int)getpid()) >= sizeof beside ||
        !unnamed_link(fd, folder_fd, beside))
        return copy_in_place(fd, folder_fd, name);
    if (renameat(folder_fd, beside, folder_fd, name) == 0)
        return true;
    unlinkat(folder_fd, beside, 0);
    return copy_in_place(fd, folder_fd, name);
}

static void remove_result(int fd, int folder_fd, const char *name)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 0)
        unlinkat(folder_fd, name, 0);
}

bool result_end(int fd, int folder_fd, const char *name, bool good)
{
    int error = errno;
    if (fd < 0)
        return false;
    if (good) {
        good = give_name(fd, folder_fd, name);
        error = errno;
    }
    if (!good)
        remove_result(fd, folder_fd, name);
    if (close(fd) != 0 && good) {
        error = errno;
        unlinkat(folder_fd, name, 0);
        good = false;
    }
    errno = good || error != 0 ? error : EIO;
    return good;
}

FILE *result_open(const char *path, int flags)
{
    int fd = result_create(AT_FDCWD, path, flags, 0600);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    int error = out != NULL ? 0 : errno;
    if (out == NULL && fd >= 0)
        close(fd);
    errno = error;
    return out;
}

bool result_close(FILE *out, const char *path, bool good)
{
    if (out == NULL)
        return false;
    good = fflush(out) == 0 && good;
    int error = errno, fd = fcntl(fileno(out), F_DUPFD_CLOEXEC, 0);
    good = fclose(out) == 0 && good && fd >= 0;
    errno = error;
    return result_end(fd, AT_FDCWD, path, good);
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
