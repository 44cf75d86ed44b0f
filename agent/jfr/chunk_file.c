#include "agent/jfr/chunk_file.h"

#include "agent/mem/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES   32768
#define PATH_BYTES     1100
#define ROOM_MIN_BYTES 65536

struct chunk_file {
    char path[PATH_BYTES], chunk_path[PATH_BYTES + 8], old_path[PATH_BYTES + 8];
    int64_t max_bytes;
    int fd;    /* of FILE.chunk; -1: none */
    bool ours; /* FILE holds chunks of this recording, and is this one: */
    dev_t device;
    ino_t inode;
    int64_t size;      /* as it was left: a number of an inode may be given again */
    int64_t published; /* chunks */
    int64_t position;  /* bytes of the chunk, buffered ones included */
    size_t buffered;
    bool failed;
    char error[PATH_BYTES + 200];
    uint8_t buffer[BUFFER_BYTES];
};

/* --- errors ----------------------------------------------------------------------------------- */

static void drop_chunk(struct chunk_file *file)
{
    if (file->fd < 0)
        return;
    unlink(file->chunk_path);
    close(file->fd);
    file->fd = -1;
}

__attribute__((format(printf, 2, 3))) static bool fail(struct chunk_file *file, const char *format,
                                                       ...)
{
    if (!file->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(file->error, sizeof file->error, format, arguments);
        va_end(arguments);
    }
    file->failed = true;
    drop_chunk(file);
    return false;
}

/* errno says why nothing more can be written. */
static bool fail_writing(struct chunk_file *file)
{
    return fail(file, "recording to %s is interrupted: %s; %" PRId64 " complete chunks are kept",
                file->path, strerror(errno), file->published);
}

static bool fail_renaming(struct chunk_file *file, const char *from, const char *to)
{
    return fail(file, "%s cannot be renamed to %s: %s; %" PRId64 " complete chunks are kept", from,
                to, strerror(errno), file->published);
}

/* --- the chunk -------------------------------------------------------------------------------- */

/* Opens FILE.chunk, also one that a killed process left behind. */
static bool open_chunk(struct chunk_file *file)
{
    struct stat info;
    int fd = open(file->chunk_path,
                  O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return fail(file, "%s: %s", file->chunk_path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return fail(file, "%s: not a regular file", file->chunk_path);
    }
    /* Its name can be predicted: in /tmp somebody may have made it before, to read along. */
    if (info.st_uid != geteuid()) {
        close(fd);
        return fail(file, "%s: belongs to another user", file->chunk_path);
    }
    /* A hard link to a file of this user's: it would be emptied. */
    if (info.st_nlink > 1) {
        close(fd);
        return fail(file, "%s: it has another name (a hard link)", file->chunk_path);
    }
    /* A file system that cannot lock is no reason not to record. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return fail(file, "%s: another process is recording to this file", file->path);
    }
    file->fd = fd;
    return true;
}

struct chunk_file *chunk_file_open(const char *path, int64_t max_bytes, char *error,
                                   size_t error_size)
{
    struct stat info;
    struct chunk_file *file = mem_alloc(COMPONENT_JFR_WRITER, sizeof *file);
    if (file == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    file->fd = -1;
    file->max_bytes = max_bytes;
    if (strlen(path) >= sizeof file->path) {
        fail(file, "the name of the recording is longer than %d bytes", PATH_BYTES - 1);
    } else {
        snprintf(file->path, sizeof file->path, "%s", path);
        snprintf(file->chunk_path, sizeof file->chunk_path, "%s.chunk", path);
        snprintf(file->old_path, sizeof file->old_path, "%s.1", path);
        bool there = lstat(path, &info) == 0;
        if (there && !S_ISREG(info.st_mode))
            fail(file, "%s: not a regular file", path);
        else if (there && info.st_uid != geteuid())
            fail(file, "%s: belongs to another user", path);
        else
            open_chunk(file);
    }
    if (file->failed) {
        snprintf(error, error_size, "%s", file->error);
        mem_free(file);
        return NULL;
    }
    return file;
}

/* By lseek and write: pwrite is no call that a JVM makes by itself, so a system call filter may end the process for
 * it. */
static bool write_all(int fd, const uint8_t *bytes, size_t length, int64_t position)
{
    if (lseek(fd, position, SEEK_SET) < 0)
        return false;
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (written == 0)
                errno = ENOSPC;
            return false;
        }
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* For a chunk like the one that was lost, which may have to be copied: what is buffered would fail
 * only later. An unknown amount is taken for room. */
static bool has_room(struct chunk_file *file)
{
    int64_t wanted = 2 * file->position > ROOM_MIN_BYTES ? 2 * file->position : ROOM_MIN_BYTES;
    memset(file->buffer, 0, BUFFER_BYTES);
    for (int64_t at = 0; at < wanted; at += BUFFER_BYTES)
        if (!write_all(file->fd, file->buffer, BUFFER_BYTES, at))
            return errno != ENOSPC && errno != EDQUOT;
    return true;
}

bool chunk_file_begin(struct chunk_file *file)
{
    bool again = file->failed;
    file->failed = false;
    if (file->fd < 0 && !open_chunk(file))
        return false;
    if (again && !has_room(file))
        return fail_writing(file);
    file->position = 0;
    file->buffered = 0;
    return ftruncate(file->fd, 0) == 0 || fail_writing(file);
}

static bool flush(struct chunk_file *file)
{
    size_t length = file->buffered;
    file->buffered = 0;
    return write_all(file->fd, file->buffer, length, file->position - (int64_t)length) ||
           fail_writing(file);
}

bool chunk_file_write(struct chunk_file *file, const void *bytes, size_t length)
{
    if (file->failed || file->fd < 0)
        return false;
    if (length > BUFFER_BYTES - file->buffered && !flush(file))
        return false;
    if (length > BUFFER_BYTES) {
        if (!write_all(file->fd, bytes, length, file->position))
            return fail_writing(file);
    } else if (length > 0) {
        memcpy(file->buffer + file->buffered, bytes, length);
        file->buffered += length;
    }
    file->position += (int64_t)length;
    return true;
}

bool chunk_file_flush(struct chunk_file *file)
{
    return !file->failed && file->fd >= 0 && flush(file);
}

int64_t chunk_file_position(const struct chunk_file *file)
{
    return file->position;
}

bool chunk_file_patch(struct chunk_file *file, int64_t position, const void *bytes, size_t length)
{
    if (file->failed || file->fd < 0 || !flush(file))
        return false;
    return write_all(file->fd, bytes, length, position) || fail_writing(file);
}

/* --- publishing ------------------------------------------------------------------------------- */

/* From the chunk to the end of FILE. The buffer is empty and serves the copy. */
static bool copy_chunk(struct chunk_file *file, int to, int64_t end)
{
    for (int64_t done = 0; done < file->position;) {
        ssize_t got = pread(file->fd, file->buffer, BUFFER_BYTES, done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            if (got == 0)
                errno = EIO; /* somebody cut FILE.chunk */
            return false;
        }
        if (!write_all(to, file->buffer, (size_t)got, end + done))
            return false;
        done += got;
    }
    return true;
}

/* FILE as this recording has left it: somebody may have put another one in its place. */
static bool is_ours(const struct chunk_file *file, const struct stat *info)
{
    return file->ours && info->st_dev == file->device && info->st_ino == file->inode &&
           info->st_size == file->size;
}

static bool append_chunk(struct chunk_file *file)
{
    struct stat info;
    int to = open(file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (to < 0 || fstat(to, &info) != 0 || !is_ours(file, &info)) {
        if (to >= 0)
            errno = ESTALE;
        fail_writing(file);
        if (to >= 0)
            close(to);
        return false;
    }
    bool good = copy_chunk(file, to, info.st_size);
    int reason = errno;
    if (!good && ftruncate(to, info.st_size) != 0) {
        /* The tail is torn; the sentence below is about the same disk. */
    }
    if (close(to) != 0 && good) {
        good = false;
        reason = errno;
    }
    errno = reason;
    if (good)
        file->size = info.st_size + file->position;
    return good || fail_writing(file);
}

/* Renames FILE.chunk to FILE. */
static bool rename_chunk(struct chunk_file *file)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return fail_writing(file);
    if (rename(file->chunk_path, file->path) != 0)
        return fail_renaming(file, file->chunk_path, file->path);
    int fd = file->fd;
    file->fd = -1;
    file->ours = true;
    file->device = info.st_dev;
    file->inode = info.st_ino;
    file->size = info.st_size;
    return close(fd) == 0 || fail_writing(file);
}

bool chunk_file_publish(struct chunk_file *file)
{
    struct stat info;
    if (file->failed || file->fd < 0 || !flush(file))
        return false;
    bool exists = lstat(file->path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode))
        return fail(file, "recording is interrupted: %s is not a regular file any more",
                    file->path);
    if (exists && info.st_uid != geteuid())
        return fail(file, "recording is interrupted: %s belongs to another user by now",
                    file->path);
    bool full = file->max_bytes > 0 && exists && info.st_size > file->max_bytes - file->position;
    if (exists && (!is_ours(file, &info) || full)) {
        if (rename(file->path, file->old_path) != 0)
            return fail_renaming(file, file->path, file->old_path);
        exists = false;
    }
    bool good = exists ? append_chunk(file) : rename_chunk(file);
    file->published += good;
    return good;
}

const char *chunk_file_error(const struct chunk_file *file)
{
    return file->failed ? file->error : NULL;
}

const char *chunk_file_last_error(const struct chunk_file *file)
{
    return file->error[0] != '\0' ? file->error : NULL;
}

void chunk_file_close(struct chunk_file *file)
{
    if (file == NULL)
        return;
    drop_chunk(file);
    mem_free(file);
}
