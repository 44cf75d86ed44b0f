#include "floor/wire/leftovers.h"

#include "floor/wire/wire_formats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_published_name(const char *name)
{
    int pid, length = 0;
    char again[32];
    if (sscanf(name, PUBLISHED_NAME "%n", &pid, &length) != 1 || name[length] != '\0' || pid <= 0)
        return false;
    snprintf(again, sizeof again, PUBLISHED_NAME, pid);
    return strcmp(again, name) == 0;
}

static bool is_chunk_name(const char *name)
{
    size_t length = strlen(name);
    return length > strlen(".chunk") && strcmp(name + length - strlen(".chunk"), ".chunk") == 0;
}

int leftovers_each(int folder_fd, leftovers_visit_fn *visit, void *context)
{
    int files = 0, removed = 0;
    /* A description of its own: where the caller's is read, or is a place only (O_PATH). */
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    const struct dirent *entry;
    for (int i = 0; i < LEFTOVERS_NAMES_MAX && files < LEFTOVERS_FILES_MAX &&
                    (entry = readdir(folder)) != NULL;
         i++) {
        if (!is_published_name(entry->d_name) && !is_chunk_name(entry->d_name))
            continue;
        files++;
        removed += visit(context, folder_fd, entry->d_name);
    }
    closedir(folder);
    return removed;
}

static bool is_ours(int fd, const char *name, const struct stat *status)
{
    struct published published;
    char mark[sizeof CHUNK_UNFINISHED - 1];
    if (is_chunk_name(name))
        return pread(fd, mark, sizeof mark, 0) == (ssize_t)sizeof mark &&
               memcmp(mark, CHUNK_UNFINISHED, sizeof mark) == 0;
    return status->st_size == (off_t)sizeof published &&
           pread(fd, &published, sizeof published, 0) == (ssize_t)sizeof published &&
           memcmp(published.magic, PUBLISHED_MAGIC, sizeof published.magic) == 0 &&
           published.checksum == published_checksum(&published);
}

bool leftover_is_dead(int fd, int folder_fd, const char *name)
{
    struct stat status, named;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
           flock(fd, LOCK_EX | LOCK_NB) == 0 && is_ours(fd, name, &status) &&
           fstatat(folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == status.st_dev && named.st_ino == status.st_ino;
}

/* unlinkat is no call that a JVM makes by itself (chunk_file.c). */
static bool unlink_in(int folder_fd, const char *name)
{
    char path[32 + sizeof((struct dirent *)NULL)->d_name];
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder_fd, name);
    return unlink(path) == 0;
}

static bool remove_own(void *context, int folder_fd, const char *name)
{
    struct stat status;
    (void)context;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid())
        return false;
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool good = fd >= 0 && leftover_is_dead(fd, folder_fd, name) && unlink_in(folder_fd, name);
    if (fd >= 0)
        close(fd);
    return good;
}

int leftovers_remove_own(const char *folder)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int removed = fd >= 0 ? leftovers_each(fd, remove_own, NULL) : 0;
    if (fd >= 0)
        close(fd);
    return removed;
}
