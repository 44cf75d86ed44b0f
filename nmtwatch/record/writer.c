/*
 * The gzip container by hand, around raw deflate, because a trailer is needed after every line:
 *
 *   header  10 bytes   1f 8b 08 00  00 00 00 00  00 03
 *   body               deflate blocks; each line ends at a byte boundary (Z_SYNC_FLUSH)
 *   trailer 10 bytes   03 00 (an empty last block), CRC-32, length (RFC 1952), little endian
 *
 *   ... line n-1 | line n | trailer        file whole up to here
 *                         ^ end_bytes: line n+1 is written from here, over the trailer
 */
#include "nmtwatch/record/writer.h"

#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MEMBER_LINES  256
#define TRAILER_BYTES 10

/* deflateInit2 takes 2^(WINDOW_BITS + 2) + 2^(MEM_LEVEL + 9) bytes: 64 KB. The window of 8 KB holds
 * the last two or three ticks, which is what a tick resembles. */
#define WINDOW_BITS 13
#define MEM_LEVEL   6

struct recorder {
    int fd;
    bool stream; /* stdout: what is written stays written, so trailers only where a member ends */
    int64_t pid;
    z_stream deflate;
    bool member_open;
    int member_lines;
    uint32_t crc;
    uint32_t length;
    off_t end_bytes; /* where the next line goes */
    int64_t lines;
    struct json_out line;
    char error[320];
    char name[160]; /* the path, fit for a sentence */
    unsigned char chunk[16384];
};

static bool stop(struct recorder *recorder, const char *what, int error)
{
    snprintf(recorder->error, sizeof recorder->error,
             "recording to %s stopped after %lld lines: %s: %s", recorder->name,
             (long long)recorder->lines, what, strerror(error));
    return false;
}

/* All of it, at *at, which moves on. */
static bool write_all(struct recorder *recorder, const void *data, size_t size, off_t *at)
{
    const char *from = data;

    while (size > 0) {
        ssize_t n = recorder->stream ? write(recorder->fd, from, size)
                                     : pwrite(recorder->fd, from, size, *at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
        *at += n;
    }
    return true;
}

static void trailer(const struct recorder *recorder, unsigned char out[TRAILER_BYTES])
{
    out[0] = 3;
    out[1] = 0;
    for (int i = 0; i < 4; i++) {
        out[2 + i] = (unsigned char)(recorder->crc >> (8 * i));
        out[6 + i] = (unsigned char)(recorder->length >> (8 * i));
    }
}

/* The file as it was after its last whole line. The trailer takes room that was taken before, so
 * this works on a full disk. */
static void put_back(struct recorder *recorder)
{
    unsigned char end[TRAILER_BYTES];
    off_t at = recorder->end_bytes;

    if (recorder->stream)
        return;
    if (recorder->member_open) {
        trailer(recorder, end);
        if (!write_all(recorder, end, sizeof end, &at))
            at = recorder->end_bytes;
    }
    if (ftruncate(recorder->fd, at) != 0) {
        /* Then the file has a damaged tail, which the reader passes over with a warning. */
    }
}

/* Deflates the line and writes it; *at moves behind it. */
static bool write_deflated(struct recorder *recorder, const char *text, size_t length, off_t *at)
{
    z_stream *stream = &recorder->deflate;

    stream->next_in = (unsigned char *)text;
    stream->avail_in = (unsigned)length;
    do {
        stream->next_out = recorder->chunk;
        stream->avail_out = sizeof recorder->chunk;
        deflate(stream, Z_SYNC_FLUSH);
        if (!write_all(recorder, recorder->chunk, sizeof recorder->chunk - stream->avail_out, at))
            return false;
    } while (stream->avail_out == 0);
    return true;
}

static bool end_member(struct recorder *recorder)
{
    unsigned char end[TRAILER_BYTES];

    if (!recorder->member_open)
        return true;
    trailer(recorder, end);
    /* In a file it stands there already; this only moves on. */
    if (!write_all(recorder, end, sizeof end, &recorder->end_bytes))
        return false;
    recorder->member_open = false;
    return true;
}

static bool begin_member(struct recorder *recorder, off_t *at)
{
    static const unsigned char HEADER[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

    deflateReset(&recorder->deflate);
    recorder->member_lines = 0;
    recorder->crc = 0;
    recorder->length = 0;
    return write_all(recorder, HEADER, sizeof HEADER, at);
}

static bool write_line(struct recorder *recorder, const char *text)
{
    size_t length = recorder->line.length;
    uint32_t crc_before, length_before;
    unsigned char end[TRAILER_BYTES];
    off_t at, behind;

    if (recorder->error[0])
        return false;
    if (text == NULL)
        return stop(recorder, "line", ENOMEM);
    if (recorder->member_lines == MEMBER_LINES && !end_member(recorder))
        goto failed;
    at = recorder->end_bytes;
    if (!recorder->member_open && !begin_member(recorder, &at))
        goto failed;
    if (!write_deflated(recorder, text, length, &at))
        goto failed;

    behind = at;
    crc_before = recorder->crc;
    length_before = recorder->length;
    recorder->crc = (uint32_t)crc32(recorder->crc, (const unsigned char *)text, (unsigned)length);
    recorder->length += (uint32_t)length;
    trailer(recorder, end);
    if (!recorder->stream && !write_all(recorder, end, sizeof end, &behind)) {
        recorder->crc = crc_before;
        recorder->length = length_before;
        goto failed;
    }
    recorder->end_bytes = at;
    recorder->member_open = true;
    recorder->member_lines++;
    recorder->lines++;
    return true;

failed:
    stop(recorder, "write", errno);
    put_back(recorder);
    return false;
}

/* A line of text between two gzip members would be damage. */
static int take_stdout(char *reason, size_t reason_size)
{
    int fd = -1;

    if (fflush(stdout) == 0)
        fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        return fd;
    snprintf(reason, reason_size, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Only a regular file is written by name: pwrite needs one, and opening a FIFO would wait. */
static int open_file(const char *path, bool force, char *reason, size_t reason_size)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat about;
    int fd = open(path, flags | (force ? 0 : O_EXCL), 0600);

    if (fd < 0) {
        snprintf(reason, reason_size, "%s",
                 errno == EEXIST  ? "it exists already (overwrite it with --force)"
                 : errno == ELOOP ? "it is a symbolic link"
                                  : strerror(errno));
        return -1;
    }
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        snprintf(reason, reason_size, "it is not a regular file (use '-' for a pipe)");
        close(fd);
        return -1;
    }
    if (about.st_size > 0 && ftruncate(fd, 0) != 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

struct recorder *recorder_create(const char *path, bool force,
                                 const struct recording_header *header, char *error,
                                 size_t error_size)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    char reason[128];

    if (recorder == NULL || deflateInit2(&recorder->deflate, 6, Z_DEFLATED, -WINDOW_BITS, MEM_LEVEL,
                                         Z_DEFAULT_STRATEGY) != Z_OK) {
        free(recorder);
        snprintf(error, error_size, "cannot record: out of memory");
        return NULL;
    }
    recorder->stream = strcmp(path, "-") == 0;
    escape(ESCAPE_TERMINAL, recorder->stream ? "stdout" : path, recorder->name,
           sizeof recorder->name);
    recorder->pid = header->target.pid;
    recorder->fd = recorder->stream ? take_stdout(reason, sizeof reason)
                                    : open_file(path, force, reason, sizeof reason);
    if (recorder->fd < 0) {
        snprintf(error, error_size, "cannot record to %s: %s", recorder->name, reason);
        recorder_destroy(recorder);
        return NULL;
    }
    if (!write_line(recorder, event_json_header(&recorder->line, header))) {
        snprintf(error, error_size, "%s", recorder->error);
        if (!recorder->stream && !force)
            unlink(path); /* it is ours, and empty */
        recorder_destroy(recorder);
        return NULL;
    }
    return recorder;
}

bool recorder_event(struct recorder *recorder, const struct event *event)
{
    if (recorder->error[0])
        return false;
    return write_line(recorder, event_json_event(&recorder->line, recorder->pid, event, NULL));
}

bool recorder_alert(struct recorder *recorder, const struct alert *alert)
{
    if (recorder->error[0])
        return false;
    return write_line(recorder, event_json_alert(&recorder->line, recorder->pid, alert));
}

bool recorder_end(struct recorder *recorder, int64_t ms, const struct watch_cost *cost)
{
    if (recorder->error[0])
        return false;
    return write_line(recorder, event_json_end(&recorder->line, ms, cost));
}

const char *recorder_error(const struct recorder *recorder)
{
    return recorder->error[0] ? recorder->error : NULL;
}

int64_t recorder_lines(const struct recorder *recorder)
{
    return recorder->lines;
}

void recorder_destroy(struct recorder *recorder)
{
    if (recorder == NULL)
        return;
    if (recorder->fd >= 0 && recorder->error[0] == '\0')
        end_member(recorder); /* in a stream; a failure has nobody left to hear of it */
    if (recorder->fd >= 0)
        close(recorder->fd);
    deflateEnd(&recorder->deflate);
    json_out_free(&recorder->line);
    free(recorder);
}
