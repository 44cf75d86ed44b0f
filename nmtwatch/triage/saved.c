#include "nmtwatch/triage/saved.h"

#include "nmtwatch/process/tell.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEPTH_MAX 16

static bool add_file(struct saved *saved, const char *path, const struct stat *status)
{
    if (saved->count == SAVED_FILES_MAX) {
        saved->dropped++;
        return true;
    }
    struct saved_file *files =
        realloc(saved->files, (size_t)(saved->count + 1) * sizeof *saved->files);
    char *own = strdup(path);
    if (files != NULL)
        saved->files = files;
    if (files == NULL || own == NULL) {
        free(own);
        return false;
    }
    saved->files[saved->count++] = (struct saved_file){
        .path = own,
        .changed_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec,
    };
    return true;
}

static bool add_folder(struct saved *saved, const char *path, int depth)
{
    DIR *folder = depth < DEPTH_MAX ? opendir(path) : NULL;
    struct dirent *entry;
    bool ok = true;
    while (folder != NULL && ok && (entry = readdir(folder)) != NULL) {
        char inner[4096];
        struct stat status;
        if (entry->d_name[0] == '.' ||
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner ||
            lstat(inner, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            ok = add_folder(saved, inner, depth + 1);
        else if (S_ISREG(status.st_mode))
            ok = add_file(saved, inner, &status);
    }
    if (folder != NULL)
        closedir(folder);
    return ok;
}

static int as_taken(const void *a, const void *b)
{
    const struct saved_file *x = a, *y = b;
    if (x->changed_ns != y->changed_ns)
        return x->changed_ns < y->changed_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

bool saved_collect(struct saved *saved, char *const *paths, int count, char *error,
                   size_t error_size)
{
    memset(saved, 0, sizeof *saved);
    for (int i = 0; i < count; i++) {
        struct stat status;
        bool input = strcmp(paths[i], "-") == 0;
        if (input ? fstat(STDIN_FILENO, &status) != 0 : stat(paths[i], &status) != 0) {
            tell_error("nmtwatch: %s: %s; passed over\n", paths[i], strerror(errno));
            saved->passed_over++;
            continue;
        }
        bool ok = S_ISDIR(status.st_mode) ? add_folder(saved, paths[i], 0)
                                          : add_file(saved, paths[i], &status);
        if (!ok) {
            snprintf(error, error_size, "out of memory");
            return false;
        }
    }
    if (saved->count > 0)
        qsort(saved->files, (size_t)saved->count, sizeof saved->files[0], as_taken);
    return true;
}

bool saved_read(const char *path, struct span *text, bool *cut, char *error, size_t error_size)
{
    *text = span_of(NULL, 0);
    *cut = false;
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s", path, errno != 0 ? strerror(errno) : "out of memory");
        return false;
    }
    gzbuffer(file, 1 << 18);
    size_t capacity = 1 << 16, length = 0;
    char *bytes = malloc(capacity);
    int got = 0;
    while (bytes != NULL &&
           (got = gzread(file, bytes + length, (unsigned)(capacity - length))) > 0) {
        length += (size_t)got;
        if (length < capacity)
            continue;
        if ((int64_t)capacity >= SAVED_TEXT_MAX) {
            *cut = true;
            break;
        }
        char *more = realloc(bytes, capacity * 2);
        if (more == NULL) {
            free(bytes);
            bytes = NULL;
            break;
        }
        bytes = more;
        capacity *= 2;
    }
    int code = Z_OK;
    const char *words = gzerror(file, &code);
    if (bytes == NULL)
        snprintf(error, error_size, "%s: out of memory", path);
    else if (got < 0 && length == 0)
        snprintf(error, error_size, "%s: %s", path, code == Z_ERRNO ? strerror(errno) : words);
    bool ok = bytes != NULL && (got >= 0 || length > 0);
    /* Damaged, or a gzip member without its end: what is in front of it counts. */
    *cut = *cut || (length > 0 && (got < 0 || code == Z_BUF_ERROR));
    gzclose(file);
    if (!ok) {
        free(bytes);
        return false;
    }
    *text = span_of(bytes, length);
    return true;
}

size_t saved_front(const char *path, char *front, size_t size)
{
    struct stat status;
    if (strcmp(path, "-") == 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return 0; /* a pipe, too */
    gzFile file = gzopen(path, "rb");
    int got = file == NULL ? 0 : gzread(file, front, (unsigned)size);
    if (file != NULL)
        gzclose(file);
    return got > 0 ? (size_t)got : 0;
}

void saved_free(struct saved *saved)
{
    for (int i = 0; i < saved->count; i++)
        free(saved->files[i].path);
    free(saved->files);
    memset(saved, 0, sizeof *saved);
}
