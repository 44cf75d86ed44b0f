/* files: reading, writing and naming the files of this process. Blocks; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* write(2) and read(2) until everything has gone through: interrupted calls are repeated, short ones
 * continued. On false errno says why. */
bool write_all(int fd, const char *data, size_t size);
/* A file for confidential results, empty, mode 0600, also where it was there
 * with another; -1 with errno. Devices and pipes are taken as they are. */
int create_private(const char *path);
/* A file without a name, in the folder where `name` shall be; -1 with errno, also where the file system has none.
 * And the name: false with errno, EEXIST when it is taken. */
int unnamed_create(int folder_fd, const char *name, mode_t mode);
bool unnamed_link(int fd, int folder_fd, const char *name);
/* A file of results is whole under its name, or is not there: it has no name until result_end, and one that had the
 * name before stays until then. Written in place instead: whatever is not a regular file of this user with one name
 * (a device, a pipe, a link, another user's), and all files on file systems without O_TMPFILE. flags: O_NOFOLLOW, or
 * 0. mode: of a new one. -1 with errno. */
int result_create(int folder_fd, const char *name, int flags, mode_t mode);
/* Closes fd, which may be -1. True: good, and all of it is in the file. Otherwise the file is removed, and errno says
 * why; EIO for an unknown error. */
bool result_end(int fd, int folder_fd, const char *name, bool good);
/* The same as a stream, of mode 0600: with errno 0; NULL with errno. */
FILE *result_open(const char *path, int flags);
bool result_close(FILE *out, const char *path, bool good);
/* A folder of confidential files, made when it is not there, for reading: no link, of this user, and nobody else may
 * write into it. folder_fd: what path is relative to, or AT_FDCWD. -1 with a sentence, which begins with path. */
int private_folder_open(int folder_fd, const char *path, char *error, size_t error_size);
/* A regular file of a folder, of 1 to `most` bytes, as the caller's to free; NULL: there is none, or it is
 * none such. Links are not followed. */
char *small_file_read(int folder_fd, const char *name, size_t most, size_t *length);
/* From where the descriptor stands to its end. */
bool copy_all(int from, int into);

/* An input without an end of its own (a pipe, a device, a file of the kernel) in whose first bytes nothing was found
 * that can be used is read no further. */
#define ENDLESS_BYTES ((size_t)64 << 20)
/* Anything but a file with a size. */
bool input_is_endless(int fd);

/* As many descriptors as may be had: a JVM takes four, the usual soft limit of 1024 would end at 250 of
 * them. Where that fails, those beyond it are reported as unwatchable. */
void raise_fd_limit(void);

/* A file's name for each JVM: every "%p" of a pattern becomes the process id. False: too long. */
bool pid_path(const char *pattern, pid_t pid, char *out, size_t size);
/* There is a "%p" in it. */
bool pid_path_is_pattern(const char *pattern);
