#include "nmtwatch/serve/archive.h"

#include "reports/text/units.h"
#include "nmtwatch/process/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".nmt.gz"

static const char *const recording_suffixes[] = {SUFFIX, NULL};
static const char *const result_suffixes[] = {".html", ".json", NULL};

struct archive {
    const char *const *suffixes; /* of files that are ours */
    int folder_fd;
    char folder[256];
    struct archive_bounds bounds;
    struct archive_file *files; /* those being written */
    struct archive_counts counts;
};

struct archive_file {
    struct archive *archive;
    struct archive_file *next;
    char label[64], name[ARCHIVE_NAME_MAX];
    struct recording_header header;
    struct recorder *recorder; /* NULL: failed, tried again at the next turn */
    int64_t begun_ms;          /* since the epoch */
    int64_t tried_ms;
};

#define TRY_AGAIN_MS 60000 /* after a full disk */

static void keep_error(struct archive *archive, const char *sentence)
{
    archive->counts.errors++;
    snprintf(archive->counts.last_error, sizeof archive->counts.last_error, "%.*s",
             (int)sizeof archive->counts.last_error - 1, sentence);
}

void archive_safe_name(const char *label, char *out, size_t size)
{
    size_t length = 0;
    for (; *label != '\0' && length + 1 < size; label++) {
        unsigned char c = (unsigned char)*label;
        bool plain = isalnum(c) || strchr("._-#", c) != NULL;
        bool hidden = length == 0 && c == '.';
        out[length++] = plain && !hidden ? (char)c : '_';
    }
    out[length] = '\0';
}

static struct archive *open_folder(const char *key, const char *const *suffixes, const char *folder,
                                   const struct archive_bounds *bounds, char *error,
                                   size_t error_size)
{
    struct archive *archive = calloc(1, sizeof *archive);
    if (archive == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    archive->suffixes = suffixes;
    archive->bounds = *bounds;
    snprintf(archive->folder, sizeof archive->folder, "%s", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        archive->folder_fd = -1;
    else
        archive->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (archive->folder_fd < 0 ||
        faccessat(archive->folder_fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        snprintf(error, error_size, "%s: %s: %s", key, folder, strerror(errno));
        archive_close(archive);
        return NULL;
    }
    return archive;
}

struct archive *archive_open(const char *folder, const struct archive_bounds *bounds, char *error,
                             size_t error_size)
{
    return open_folder("recordings", recording_suffixes, folder, bounds, error, error_size);
}

struct archive *archive_open_results(const char *folder, const struct archive_bounds *bounds,
                                     char *error, size_t error_size)
{
    return open_folder("observations", result_suffixes, folder, bounds, error, error_size);
}

void archive_set_bounds(struct archive *archive, const struct archive_bounds *bounds)
{
    archive->bounds = *bounds;
}

struct archive_counts archive_counts(const struct archive *archive)
{
    return archive->counts;
}

void archive_close(struct archive *archive)
{
    if (archive != NULL && archive->folder_fd >= 0)
        close(archive->folder_fd);
    free(archive);
}

/* --- one file --------------------------------------------------------------------------------- */

/* A name that does not exist yet: two turns within a second get a number. label: a safe one. */
static void new_name(const struct archive *archive, const char *label, int64_t pid,
                     const char *ending, int64_t wall_ms, char out[ARCHIVE_NAME_MAX])
{
    struct units_text when = units_utc(wall_ms, "%Y%m%dT%H%M%SZ");
    for (int number = 0; number < 100; number++) {
        char more[8] = "";
        if (number > 0)
            snprintf(more, sizeof more, ".%02d", number);
        snprintf(out, ARCHIVE_NAME_MAX, "%.63s-%s%s-%lld%s", label, when.text, more, (long long)pid,
                 ending);
        if (faccessat(archive->folder_fd, out, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            break;
    }
}

static bool begin(struct archive_file *file, int64_t wall_ms, char *error, size_t error_size)
{
    struct archive *archive = file->archive;
    char path[sizeof archive->folder + ARCHIVE_NAME_MAX];
    file->tried_ms = wall_ms;
    new_name(archive, file->label, file->header.target.pid, SUFFIX, wall_ms, file->name);
    snprintf(path, sizeof path, "%s/%s", archive->folder, file->name);
    file->recorder = recorder_create(path, false, &file->header, error, error_size);
    if (file->recorder == NULL)
        file->name[0] = '\0';
    file->begun_ms = wall_ms;
    return file->recorder != NULL;
}

struct archive_file *archive_file_create(struct archive *archive, const char *label,
                                         const struct recording_header *header, int64_t wall_ms,
                                         char *error, size_t error_size)
{
    struct archive_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        snprintf(error, error_size, "cannot record: out of memory");
        return NULL;
    }
    file->archive = archive;
    file->header = *header;
    archive_safe_name(label, file->label, sizeof file->label);
    if (!begin(file, wall_ms, error, error_size)) {
        keep_error(archive, error);
        free(file);
        return NULL;
    }
    file->next = archive->files;
    archive->files = file;
    return file;
}

/* A recorder that has failed says so once; it is closed, and tried again later. */
static void check(struct archive_file *file)
{
    if (file->recorder == NULL || recorder_error(file->recorder) == NULL)
        return;
    keep_error(file->archive, recorder_error(file->recorder));
    recorder_destroy(file->recorder);
    file->recorder = NULL;
    file->name[0] = '\0';
}

void archive_file_event(struct archive_file *file, const struct event *event)
{
    if (file->recorder == NULL)
        return;
    recorder_event(file->recorder, event);
    check(file);
}

void archive_file_alert(struct archive_file *file, const struct alert *alert)
{
    if (file->recorder == NULL)
        return;
    recorder_alert(file->recorder, alert);
    check(file);
}

static bool is_full(const struct archive_file *file, int64_t wall_ms)
{
    struct stat status;
    if (wall_ms - file->begun_ms >= file->archive->bounds.rotate_ms)
        return true;
    return fstatat(file->archive->folder_fd, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_size >= file->archive->bounds.rotate_bytes;
}

void archive_file_turn(struct archive_file *file, int64_t wall_ms)
{
    char error[512];
    if (file->recorder != NULL ? !is_full(file, wall_ms) : wall_ms - file->tried_ms < TRY_AGAIN_MS)
        return;
    recorder_destroy(file->recorder);
    if (!begin(file, wall_ms, error, sizeof error))
        keep_error(file->archive, error);
}

const char *archive_file_name(const struct archive_file *file)
{
    return file->name;
}

void archive_file_close(struct archive_file *file)
{
    if (file == NULL)
        return;
    struct archive_file **at = &file->archive->files;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    recorder_destroy(file->recorder);
    free(file);
}

/* --- results ---------------------------------------------------------------------------------- */

bool archive_put(struct archive *archive, const char *label, int64_t pid, const char *ending,
                 int64_t wall_ms, const char *bytes, size_t length, char out[ARCHIVE_NAME_MAX],
                 char *error, size_t error_size)
{
    char safe[64], end[48];
    archive_safe_name(label, safe, sizeof safe);
    snprintf(end, sizeof end, "-%s", ending);
    new_name(archive, safe, pid, end, wall_ms, out);
    int fd =
        openat(archive->folder_fd, out, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_all(fd, bytes, length);
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (good)
        return true;
    snprintf(error, error_size, "observations: %s/%s: %s", archive->folder, out, strerror(errno));
    keep_error(archive, error);
    if (fd >= 0)
        unlinkat(archive->folder_fd, out, 0);
    out[0] = '\0';
    return false;
}

/* --- bounds ----------------------------------------------------------------------------------- */

struct old_file {
    char name[ARCHIVE_NAME_MAX];
    int64_t bytes, changed_ms;
};

static bool is_ours(const struct archive *archive, const char *name)
{
    size_t length = strlen(name);
    for (const char *const *suffix = archive->suffixes; *suffix != NULL; suffix++)
        if (length > strlen(*suffix) && length < ARCHIVE_NAME_MAX &&
            strcmp(name + length - strlen(*suffix), *suffix) == 0)
            return true;
    return false;
}

static bool is_being_written(const struct archive *archive, const char *name)
{
    for (const struct archive_file *file = archive->files; file != NULL; file = file->next)
        if (strcmp(file->name, name) == 0)
            return true;
    return false;
}

static int oldest_first(const void *a, const void *b)
{
    const struct old_file *left = a, *right = b;
    int order = (left->changed_ms > right->changed_ms) - (left->changed_ms < right->changed_ms);
    return order != 0 ? order : strcmp(left->name, right->name);
}

/* The finished files; the bytes of all. */
static int list(struct archive *archive, struct old_file **files, int64_t *bytes, int64_t *count)
{
    int found = 0;
    size_t capacity = 0;
    int fd = openat(archive->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    *files = NULL;
    *bytes = *count = 0;
    if (folder == NULL) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat status;
        if (!is_ours(archive, entry->d_name) ||
            fstatat(archive->folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        *bytes += status.st_size;
        ++*count;
        if (is_being_written(archive, entry->d_name))
            continue;
        if (!array_room(files, &capacity, (size_t)found + 1, sizeof **files))
            break;
        struct old_file *file = &(*files)[found++];
        snprintf(file->name, sizeof file->name, "%s", entry->d_name);
        file->bytes = status.st_size;
        file->changed_ms = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    }
    closedir(folder);
    return found;
}

void archive_tidy(struct archive *archive, int64_t wall_ms)
{
    struct old_file *files;
    int64_t bytes, count;
    int found = list(archive, &files, &bytes, &count);
    if (found > 1)
        qsort(files, (size_t)found, sizeof *files, oldest_first);
    for (int i = 0; i < found; i++) {
        bool too_old = wall_ms - files[i].changed_ms > archive->bounds.keep_ms;
        bool too_many = archive->bounds.keep_files > 0 && count > archive->bounds.keep_files;
        if (!too_old && !too_many && bytes <= archive->bounds.keep_bytes)
            break;
        if (unlinkat(archive->folder_fd, files[i].name, 0) != 0)
            continue;
        bytes -= files[i].bytes;
        count--;
        archive->counts.removed++;
    }
    free(files);
    archive->counts.bytes = bytes;
    archive->counts.files = count;
}
