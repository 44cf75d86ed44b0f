#include "nmtwatch/triage/saved.h"

#include "analyzers/classlog/classlog.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/messages.h"
#include "analyzers/text/clean_text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEPTH_MAX     16
#define BLOCK_BYTES   ((size_t)1 << 18)
#define FRONT_CHECKED ((size_t)1 << 20) /* of an endless input: a text has no zero bytes in it */

static bool add_file(struct saved *saved, const char *path, const struct stat *status)
{
    if (saved->count == SAVED_FILES_MAX) {
        saved->dropped++;
        return true;
    }
    char *own = strdup(path);
    if (own == NULL || !array_room(&saved->files, &saved->capacity, (size_t)saved->count + 1,
                                   sizeof *saved->files)) {
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
            print_error("nmtwatch: %s: %s; passed over\n", paths[i], strerror(errno));
            saved->passed_over++;
            continue;
        }
        bool ok = S_ISDIR(status.st_mode) ? add_folder(saved, paths[i], 0)
                                          : add_file(saved, paths[i], &status);
        if (!ok)
            return text_error(error, error_size, "out of memory");
    }
    if (saved->count > 0)
        qsort(saved->files, (size_t)saved->count, sizeof saved->files[0], as_taken);
    return true;
}

/* --- unpack ---------------------------------------------------------------------------------- */

#define LZMA_MEMORY_MAX   ((uint64_t)256 << 20)
#define LZMA_BUF_ERROR    10
#define LZMA_CONCATENATED 8
#define BZ_OUTBUFF_FULL   (-8)
#define EXPECTED_RATIO    8

enum outcome { UNPACKED, NO_ROOM, DAMAGED };

typedef int lzma_fn(uint64_t *memory, uint32_t flags, const void *allocator, const uint8_t *in,
                    size_t *in_at, size_t in_size, uint8_t *out, size_t *out_at, size_t out_size);
typedef size_t zstd_fn(void *out, size_t room, const void *in, size_t size);
typedef unsigned zstd_code_fn(size_t code);
typedef int bzip2_fn(char *out, unsigned *out_size, char *in, unsigned in_size, int small,
                     int verbosity);

static enum outcome from_xz(void *function, void *second, struct span in, char *out, size_t *size)
{
    uint64_t memory = LZMA_MEMORY_MAX;
    size_t in_at = 0, out_at = 0;
    (void)second;
    int code = ((lzma_fn *)function)(&memory, LZMA_CONCATENATED, NULL, (const uint8_t *)in.ptr,
                                     &in_at, in.len, (uint8_t *)out, &out_at, *size);
    if (code == 0)
        *size = out_at;
    return code == 0 ? UNPACKED : code == LZMA_BUF_ERROR && out_at == *size ? NO_ROOM : DAMAGED;
}

static enum outcome from_zstd(void *function, void *second, struct span in, char *out, size_t *size)
{
    size_t got = ((zstd_fn *)function)(out, *size, in.ptr, in.len);
    if (((zstd_code_fn *)second)(got) == 0) {
        *size = got;
        return UNPACKED;
    }
    return got == (size_t)-70 ? NO_ROOM : DAMAGED; /* ZSTD_error_dstSize_tooSmall */
}

static enum outcome from_bzip2(void *function, void *second, struct span in, char *out,
                               size_t *size)
{
    unsigned got = (unsigned)*size;
    (void)second;
    int code = ((bzip2_fn *)function)(out, &got, (char *)(uintptr_t)in.ptr, (unsigned)in.len, 0, 0);
    if (code == 0)
        *size = got;
    return code == 0 ? UNPACKED : code == BZ_OUTBUFF_FULL ? NO_ROOM : DAMAGED;
}

static const struct packer {
    struct span magic;
    const char *name, *library, *package, *function, *second;
    enum outcome (*from)(void *function, void *second, struct span in, char *out, size_t *size);
} PACKERS[] = {
    {SPAN_INIT("\xfd"
               "7zXZ"),
     "xz", "liblzma.so.5", "liblzma5", "lzma_stream_buffer_decode", NULL, from_xz},
    {SPAN_INIT("\x28\xb5\x2f\xfd"), "zstd", "libzstd.so.1", "libzstd1", "ZSTD_decompress",
     "ZSTD_isError", from_zstd},
    {SPAN_INIT("BZh"), "bzip2", "libbz2.so.1.0", "libbz2-1.0", "BZ2_bzBuffToBuffDecompress", NULL,
     from_bzip2},
};

static bool grow(const struct packer *packer, void *function, void *second, struct span *text,
                 size_t max_bytes, char *error, size_t error_size)
{
    for (size_t room = text->len * EXPECTED_RATIO + 65536;; room *= 4) {
        room = room < max_bytes ? room : max_bytes;
        char *out = malloc(room);
        size_t size = room;
        enum outcome outcome =
            out == NULL ? DAMAGED : packer->from(function, second, *text, out, &size);
        if (outcome == UNPACKED) {
            free((void *)(uintptr_t)text->ptr);
            *text = span_of(out, size);
            return true;
        }
        bool last = out == NULL || outcome == DAMAGED || room == max_bytes;
        free(out);
        if (!last)
            continue;
        return text_error(error, error_size, "%s",
                          out == NULL          ? "out of memory"
                          : outcome == DAMAGED ? "the packed data are damaged"
                                               : "larger than is read");
    }
}

bool unpack(struct span *text, size_t max_bytes, char *error, size_t error_size)
{
    for (size_t i = 0; i < sizeof PACKERS / sizeof *PACKERS; i++) {
        const struct packer *packer = &PACKERS[i];
        if (!span_starts_with(*text, packer->magic))
            continue;
        void *library = dlopen(packer->library, RTLD_NOW | RTLD_LOCAL); /* for the process's life */
        void *function = library == NULL ? NULL : dlsym(library, packer->function);
        void *second =
            library == NULL || packer->second == NULL ? NULL : dlsym(library, packer->second);
        if (function == NULL || (packer->second != NULL && second == NULL))
            return text_error(error, error_size,
                              "packed by %s, and %s cannot be loaded (package %s)", packer->name,
                              packer->library, packer->package);
        return grow(packer, function, second, text, max_bytes, error, error_size);
    }
    return true;
}

/* --- read ------------------------------------------------------------------------------------- */

/* An endless input that begins so holds no text. */
static bool is_no_text(struct span front)
{
    bool packed = false;
    for (size_t i = 0; i < sizeof PACKERS / sizeof *PACKERS; i++)
        packed = packed || span_starts_with(front, PACKERS[i].magic);
    return !packed && !clean_text_is_utf16(front) && memchr(front.ptr, '\0', front.len) != NULL;
}

/* To the first byte that was ever written: a log that its rotation cut to nothing continues where it was, behind a
 * hole of any size. False: there is none. */
static bool skip_hole(int fd)
{
    return lseek(fd, 0, SEEK_DATA) >= 0 || errno != ENXIO;
}

/* --- a log that is not read as a whole ------------------------------------------------------------------- */

#define KIND_BYTES ((size_t)1 << 18)
#define ENDS_BYTES (INT64_C(1) << 20)

/* Whether it is one, by its front; the first part decides. */
static bool log_begin(struct saved_log *log, struct span front)
{
    const struct classlog_options options = {0};
    struct clean_text clean;
    struct text_parts parts;
    struct text_part part = {.kind = TEXT_UNRECOGNISED};
    front.len = front.len < KIND_BYTES ? front.len : KIND_BYTES;
    if (front.len == 0 || memchr(front.ptr, '\0', front.len) != NULL || /* packed, UTF-16, a dump */
        !clean_text_make(&clean, front))
        return false;
    text_parts_begin(&parts, clean.text);
    if (!text_parts_next(&parts, &part))
        part.kind = TEXT_UNRECOGNISED;
    clean_text_free(&clean);
    log->is_log =
        part.kind == TEXT_CLASS_LOG || part.kind == TEXT_CONSOLE || part.kind == TEXT_UNRECOGNISED;
    if (part.kind == TEXT_CLASS_LOG)
        log->classes = classlog_create(&options);
    oom_lines_begin(&log->lines);
    return log->is_log;
}

/* Bytes of the complete lines of a block, which were read. size: of the file; -1: not known. */
static size_t log_feed_block(struct saved_log *log, struct span text, int64_t size)
{
    const char *end = text.len > 0 ? memrchr(text.ptr, '\n', text.len) : NULL;
    size_t used = end == NULL ? 0 : (size_t)(end - text.ptr) + 1;
    if (log->classes != NULL)
        used = classlog_feed(log->classes, text.ptr, text.len);
    log->bytes += (int64_t)used;
    /* An application that writes into its class log says so when it starts and when it ends. */
    if (log->classes == NULL || log->bytes <= ENDS_BYTES || size - log->bytes < ENDS_BYTES)
        oom_lines_feed(&log->lines, span_of(text.ptr, used));
    return used;
}

/* From what is in the buffer to the end, in constant memory: the buffer is not enlarged. */
static int log_read(struct saved_log *log, gzFile file, char *bytes, size_t have, size_t room,
                    int64_t size)
{
    int got = 0;
    do {
        size_t used = log_feed_block(log, span_of(bytes, have), size);
        if (used == 0 && have > room / 2) /* one line without end */
            used = have;
        have -= used;
        memmove(bytes, bytes + used, have);
        got = gzread(file, bytes + have, (unsigned)(room - have - CLASSLOG_PADDING));
        have += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    log_feed_block(log, span_of(bytes, have), size);
    return got;
}

bool saved_log_take(struct saved_log *log, const char *path, struct facts_reader *reader, bool *any)
{
    bool ok = facts_reader_feed_log(reader, path, &log->lines, log->classes, any);
    classlog_destroy(log->classes);
    return ok;
}

bool saved_read(const char *path, struct span *text, struct saved_log *log, const char **cut,
                char *error, size_t error_size)
{
    struct stat status;
    *text = span_of(NULL, 0);
    if (log != NULL)
        *log = (struct saved_log){.is_log = false};
    *cut = NULL;
    int fd =
        strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool endless = fd >= 0 && input_is_endless(fd), empty = fd >= 0 && !endless && !skip_hole(fd);
    int64_t size = fd >= 0 && !endless && fstat(fd, &status) == 0 ? (int64_t)status.st_size : -1;
    gzFile file = fd >= 0 ? gzdopen(fd, "rb") : NULL;
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s", path, errno != 0 ? strerror(errno) : "out of memory");
        if (fd >= 0)
            close(fd);
        return false;
    }
    gzbuffer(file, 1 << 18);
    size_t capacity = BLOCK_BYTES, length = 0;
    char *bytes = malloc(capacity);
    int got = 0;
    while (bytes != NULL && !empty &&
           (got = gzread(file, bytes + length, (unsigned)(capacity - length))) > 0) {
        length += (size_t)got;
        if (length < capacity)
            continue;
        bool large = log != NULL && (capacity == LARGE_LOG_BYTES ||
                                     (capacity == BLOCK_BYTES && size > (int64_t)LARGE_LOG_BYTES));
        if ((int64_t)capacity >= SAVED_TEXT_MAX)
            *cut = "longer than is read: its front counts";
        else if (endless && capacity == FRONT_CHECKED && is_no_text(span_of(bytes, length)))
            *cut = "no text, and without an end: its first MiB was read";
        if (*cut != NULL)
            break;
        if (large && log_begin(log, span_of(bytes, length))) {
            got = log_read(log, file, bytes, length, capacity, size);
            length = 0;
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
    bool is_log = log != NULL && log->is_log, any = length > 0 || is_log;
    bool ok = bytes != NULL && (got >= 0 || any);
    if (bytes == NULL)
        snprintf(error, error_size, "%s: out of memory", path);
    else if (!ok)
        snprintf(error, error_size, "%s: %s", path, code == Z_ERRNO ? strerror(errno) : words);
    /* A gzip member without its end, too. */
    if (*cut == NULL && any && (got < 0 || code == Z_BUF_ERROR))
        *cut = "damaged: its front counts";
    gzclose(file);
    if (!ok || is_log) {
        free(bytes);
        return ok;
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
