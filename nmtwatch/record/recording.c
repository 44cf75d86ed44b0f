#include "nmtwatch/record/recording.h"

#include "nmtwatch/process/files.h"

#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* --- replay ----------------------------------------------------------------------------------- */

bool replay_judge_with(struct replay *replay, const struct thresholds *thresholds, int64_t warmup_s)
{
    judge_destroy(replay->judge);
    replay->judge = judge_create(&replay->header->target, thresholds, warmup_s);
    return replay->judge != NULL;
}

bool replay_open(struct replay *replay, const char *path, char *error, size_t error_size)
{
    memset(replay, 0, sizeof *replay);
    replay->recording = recording_open(path, error, error_size);
    if (replay->recording == NULL)
        return false;
    replay->until_ms = INT64_MAX;
    replay->header = recording_header(replay->recording);
    if (replay_judge_with(replay, &replay->header->thresholds, replay->header->warmup_s))
        return true;
    snprintf(error, error_size, "%s: out of memory", path);
    replay_close(replay);
    return false;
}

bool replay_next(struct replay *replay)
{
    if (!recording_next(replay->recording, &replay->event) || replay->event.ms > replay->until_ms)
        return false;
    judge_feed(replay->judge, &replay->event, &replay->alerts);
    return true;
}

void replay_close(struct replay *replay)
{
    judge_destroy(replay->judge);
    recording_close(replay->recording);
    replay->judge = NULL;
    replay->recording = NULL;
}

enum source { SOURCE_PLAIN, SOURCE_GZIP };

struct recording {
    int fd;
    char name[160]; /* the path, fit for a sentence */
    enum source source;

    /* Bytes of the file. */
    unsigned char input[16384];
    size_t input_at, input_length;
    int64_t input_bytes; /* read from the file so far, those still in input included */
    bool input_ended;
    bool behind_end; /* input was read behind the end that the file had when it was read last */
    z_stream inflate;
    bool inside_member;
    int64_t member_line; /* number of the line that the member begins with */

    /* Bytes of text. */
    unsigned char text[16384];
    size_t text_at, text_length;

    char *line;
    size_t line_length, line_capacity;
    int64_t line_number; /* of the line read last, from 1 */
    int64_t line_byte;   /* where it begins, in plain text */
    bool finished;

    struct recording_header header;
    struct watch_cost cost;
    bool have_cost;
    int64_t unknown_lines;
    char reason[256];    /* of the damage; empty when there is none */
    int64_t damage_byte; /* of the file */
    char damage[512];    /* the whole sentence */
    struct event_line parsed;
};

/* No more is taken from the file. The first reason counts; which line it hits is known later, when
 * the text that was good has been read (conclude). */
__attribute__((format(printf, 2, 3))) static void damaged(struct recording *recording,
                                                          const char *format, ...)
{
    va_list arguments;
    recording->finished = true;
    if (recording->reason[0])
        return;
    recording->damage_byte =
        recording->source == SOURCE_PLAIN
            ? recording->line_byte
            : recording->input_bytes - (int64_t)(recording->input_length - recording->input_at);
    va_start(arguments, format);
    vsnprintf(recording->reason, sizeof recording->reason, format, arguments);
    va_end(arguments);
}

/* Nothing more will be read. */
static enum event_line_kind conclude(struct recording *recording)
{
    recording->finished = true;
    recording->text_at = recording->text_length;
    if (recording->reason[0] && recording->damage[0] == '\0')
        snprintf(recording->damage, sizeof recording->damage,
                 "%s is damaged at line %lld (byte %lld of the file) and was read up to there: %s",
                 recording->name, (long long)recording->line_number,
                 (long long)recording->damage_byte, recording->reason);
    return EVENT_LINE_MALFORMED;
}

/* More bytes of the file; false at its end. */
static bool fill_input(struct recording *recording)
{
    ssize_t n;
    if (recording->input_ended)
        return false;
    recording->behind_end = recording->input_length < sizeof recording->input;
    do
        n = read(recording->fd, recording->input, sizeof recording->input);
    while (n < 0 && errno == EINTR);
    recording->input_at = 0;
    recording->input_length = n > 0 ? (size_t)n : 0;
    recording->input_bytes += n > 0 ? n : 0;
    recording->input_ended = n <= 0;
    if (n < 0)
        damaged(recording, "%s", strerror(errno));
    return n > 0;
}

/* A recorder writes its next line over the last trailer. Who had read that trailer finds, behind the end that the file
 * had then, the rest of a line and no member. */
static bool grew_meanwhile(const struct recording *recording)
{
    struct stat status;
    return recording->behind_end && recording->input_at == 0 &&
           memcmp(recording->input, "\x1f\x8b", recording->input_length > 1 ? 2 : 1) != 0 &&
           fstat(recording->fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* More text out of gzip members; false at the end and at damage. */
static bool fill_inflated(struct recording *recording)
{
    z_stream *stream = &recording->inflate;
    while (!recording->finished) {
        if (recording->input_at == recording->input_length && !fill_input(recording)) {
            if (recording->inside_member)
                damaged(recording, "the file ends in the middle of a gzip member");
            return false;
        }
        if (!recording->inside_member && grew_meanwhile(recording))
            return false;
        if (!recording->inside_member) {
            inflateReset(stream);
            recording->inside_member = true;
            recording->member_line = recording->line_number;
        }
        stream->next_in = recording->input + recording->input_at;
        stream->avail_in = (unsigned)(recording->input_length - recording->input_at);
        stream->next_out = recording->text;
        stream->avail_out = sizeof recording->text;

        int result = inflate(stream, Z_NO_FLUSH);
        recording->input_at = recording->input_length - stream->avail_in;
        recording->text_at = 0;
        recording->text_length = sizeof recording->text - stream->avail_out;
        if (result == Z_STREAM_END) {
            recording->inside_member = false;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            damaged(recording, "%s; lines from %lld on are not covered by a good checksum",
                    stream->msg ? stream->msg : "not gzip", (long long)recording->member_line);
        }
        if (recording->text_length > 0)
            return true;
    }
    return false;
}

static bool fill_text(struct recording *recording)
{
    if (recording->source == SOURCE_GZIP)
        return fill_inflated(recording);
    if (recording->input_at == recording->input_length && !fill_input(recording))
        return false;
    recording->text_at = 0;
    recording->text_length = recording->input_length - recording->input_at;
    memcpy(recording->text, recording->input + recording->input_at, recording->text_length);
    recording->input_at = recording->input_length;
    return true;
}

static bool append(struct recording *recording, const unsigned char *text, size_t length)
{
    size_t needed = recording->line_length + length;
    if (length == 0)
        return true;
    if (needed > RECORDING_LINE_MAX) {
        damaged(recording, "the line is longer than %d MiB", RECORDING_LINE_MAX >> 20);
        return false;
    }
    if (!array_room(&recording->line, &recording->line_capacity, needed, 1)) {
        damaged(recording, "out of memory for the line");
        return false;
    }
    memcpy(recording->line + recording->line_length, text, length);
    recording->line_length = needed;
    return true;
}

/* The next line without its '\n'. Text that was inflated before the damage is still read. */
static bool next_line(struct recording *recording)
{
    recording->line_byte += (int64_t)recording->line_length + (recording->line_number > 0);
    recording->line_length = 0;
    recording->line_number++;
    for (;;) {
        if (recording->text_at == recording->text_length) {
            if (recording->finished || !fill_text(recording))
                break;
        }
        unsigned char *from = recording->text + recording->text_at;
        size_t length = recording->text_length - recording->text_at;
        unsigned char *newline = memchr(from, '\n', length);
        if (newline != NULL)
            length = (size_t)(newline - from);
        if (!append(recording, from, length))
            return false;
        recording->text_at += length + (newline != NULL);
        if (newline != NULL)
            return true;
    }
    recording->finished = true;
    /* The last line of plain text may lack its '\n'; one that was cut is no JSON. */
    return recording->reason[0] == '\0' && recording->line_length > 0;
}

/* Reads and understands the next line that is not empty. */
static enum event_line_kind next_parsed(struct recording *recording)
{
    char why[256];
    do {
        if (!next_line(recording))
            return conclude(recording);
    } while (recording->line_length == 0);
    if (memchr(recording->line, '\0', recording->line_length) != NULL) {
        damaged(recording, "the line holds NUL bytes");
        return conclude(recording);
    }
    if (event_json_read(recording->line, recording->line_length, &recording->parsed, why,
                        sizeof why) == EVENT_LINE_MALFORMED) {
        damaged(recording, "%s", why);
        return conclude(recording);
    }
    return recording->parsed.kind;
}

static bool detect_source(struct recording *recording)
{
    /* A pipe may hand over its first bytes one by one. */
    while (recording->input_length < 2) {
        ssize_t n = read(recording->fd, recording->input + recording->input_length,
                         sizeof recording->input - recording->input_length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            break;
        recording->input_length += (size_t)n;
        recording->input_bytes += n;
    }
    if (recording->input_length >= 2 && recording->input[0] == 0x1f && recording->input[1] == 0x8b)
        recording->source = SOURCE_GZIP;
    return true;
}

/* The header, or a sentence without the path. */
static bool read_header(struct recording *recording, char *reason, size_t reason_size)
{
    if (!detect_source(recording))
        return text_error(reason, reason_size, "%s", strerror(errno));
    if (recording->input_length == 0)
        return text_error(reason, reason_size, "it is empty");
    /* 15 + 16: any window, and a gzip wrapper with its checksum. */
    if (recording->source == SOURCE_GZIP && inflateInit2(&recording->inflate, 15 + 16) != Z_OK)
        return text_error(reason, reason_size, "out of memory");
    if (next_parsed(recording) != EVENT_LINE_HEADER)
        return text_error(reason, reason_size,
                          "it is not a recording of nmtwatch (its first line: %s)",
                          recording->reason[0] ? recording->reason : "no header");
    recording->header = recording->parsed.header;
    if (recording->header.schema > EVENT_JSON_SCHEMA || recording->header.schema < 1)
        return text_error(reason, reason_size,
                          "it has schema %lld, and this version of nmtwatch reads schema %d",
                          (long long)recording->header.schema, EVENT_JSON_SCHEMA);
    return true;
}

struct recording *recording_open(const char *path, char *error, size_t error_size)
{
    struct recording *recording = calloc(1, sizeof *recording);
    bool from_stdin = strcmp(path, "-") == 0;
    char reason[400];
    if (recording == NULL) {
        snprintf(error, error_size, "cannot read a recording: out of memory");
        return NULL;
    }
    escape(ESCAPE_TERMINAL, from_stdin ? "stdin" : path, recording->name, sizeof recording->name);
    recording->fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (recording->fd < 0) {
        snprintf(error, error_size, "cannot read %s: %s", recording->name, strerror(errno));
        recording_close(recording);
        return NULL;
    }
    if (!read_header(recording, reason, sizeof reason)) {
        snprintf(error, error_size, "cannot read %s: %s", recording->name, reason);
        recording_close(recording);
        return NULL;
    }
    return recording;
}

const struct recording_header *recording_header(const struct recording *recording)
{
    return &recording->header;
}

bool recording_next(struct recording *recording, struct event *event)
{
    for (;;) {
        switch (next_parsed(recording)) {
        case EVENT_LINE_EVENT:
            *event = recording->parsed.event;
            return true;
        case EVENT_LINE_ALERT:
            break; /* a judge raises them again */
        case EVENT_LINE_END:
            recording->cost = recording->parsed.cost;
            recording->have_cost = true;
            break;
        case EVENT_LINE_UNKNOWN:
            recording->unknown_lines++;
            break;
        case EVENT_LINE_HEADER:
            damaged(recording, "a second header: another recording follows");
            conclude(recording);
            return false;
        case EVENT_LINE_MALFORMED:
            return false;
        }
    }
}

const struct watch_cost *recording_cost(const struct recording *recording)
{
    return recording->have_cost ? &recording->cost : NULL;
}

const char *recording_damage(const struct recording *recording)
{
    return recording->damage[0] ? recording->damage : NULL;
}

int64_t recording_unknown_lines(const struct recording *recording)
{
    return recording->unknown_lines;
}

void recording_close(struct recording *recording)
{
    if (recording == NULL)
        return;
    if (recording->fd > STDIN_FILENO)
        close(recording->fd);
    inflateEnd(&recording->inflate);
    free(recording->line);
    texts_free(&recording->parsed.texts);
    free(recording);
}

/* --- recorder --------------------------------------------------------------------------------- */

/* The gzip container by hand, around raw deflate, because a trailer is needed after every line:
 *
 *   header  10 bytes   1f 8b 08 00  00 00 00 00  00 03
 *   body               deflate blocks; each line ends at a byte boundary (Z_SYNC_FLUSH)
 *   trailer 10 bytes   03 00 (an empty last block), CRC-32, length (RFC 1952), little endian
 *
 *   ... line n-1 | line n | trailer        file whole up to here
 *                         ^ end_bytes: line n+1 is written from here, over the trailer */

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
    uint32_t crc, length;
    off_t end_bytes; /* where the next line goes */
    int64_t lines;
    struct json_out line;
    char error[320];
    char name[160]; /* the path, fit for a sentence */
    size_t filled;  /* bytes of the chunk that are to be written */
    unsigned char chunk[16384];
};

static bool stop(struct recorder *recorder, const char *what, int error)
{
    return text_error(recorder->error, sizeof recorder->error,
                      "recording to %s stopped after %lld lines: %s: %s", recorder->name,
                      (long long)recorder->lines, what, strerror(error));
}

/* All of it, at *at, which moves on. */
static bool write_at(struct recorder *recorder, const void *data, size_t size, off_t *at)
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
        if (!write_at(recorder, end, sizeof end, &at))
            at = recorder->end_bytes;
    }
    if (ftruncate(recorder->fd, at) != 0) {
        /* Then the file has a damaged tail, which the reader passes over with a warning. */
    }
}

/* Deflates the line behind what the chunk has; a full chunk is written, and *at moves behind it. */
static bool deflate_line(struct recorder *recorder, const char *text, size_t length, off_t *at)
{
    z_stream *stream = &recorder->deflate;
    unsigned room;
    stream->next_in = (unsigned char *)text;
    stream->avail_in = (unsigned)length;
    do {
        room = (unsigned)(sizeof recorder->chunk - TRAILER_BYTES - recorder->filled);
        stream->next_out = recorder->chunk + recorder->filled;
        stream->avail_out = room;
        deflate(stream, Z_SYNC_FLUSH);
        recorder->filled += room - stream->avail_out;
        if (stream->avail_out == 0) {
            if (!write_at(recorder, recorder->chunk, recorder->filled, at))
                return false;
            recorder->filled = 0;
        }
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
    if (!write_at(recorder, end, sizeof end, &recorder->end_bytes))
        return false;
    recorder->member_open = false;
    return true;
}

static void begin_member(struct recorder *recorder)
{
    static const unsigned char HEADER[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    deflateReset(&recorder->deflate);
    recorder->member_lines = 0;
    recorder->crc = 0;
    recorder->length = 0;
    memcpy(recorder->chunk, HEADER, sizeof HEADER);
    recorder->filled = sizeof HEADER;
}

/* The line and the trailer behind it go into the file by one write where they fit into the chunk: a
 * process that is killed leaves the file whole. */
static bool write_line(struct recorder *recorder, const char *text)
{
    size_t length = recorder->line.length;
    uint32_t crc_before, length_before;
    size_t trailer_bytes = recorder->stream ? 0 : TRAILER_BYTES;
    off_t at;
    if (recorder->error[0])
        return false;
    if (text == NULL)
        return stop(recorder, "line", ENOMEM);
    if (recorder->member_lines == MEMBER_LINES && !end_member(recorder))
        goto failed;
    at = recorder->end_bytes;
    recorder->filled = 0;
    if (!recorder->member_open)
        begin_member(recorder);
    if (!deflate_line(recorder, text, length, &at))
        goto failed;

    crc_before = recorder->crc;
    length_before = recorder->length;
    recorder->crc = (uint32_t)crc32(recorder->crc, (const unsigned char *)text, (unsigned)length);
    recorder->length += (uint32_t)length;
    trailer(recorder, recorder->chunk + recorder->filled);
    if (!write_at(recorder, recorder->chunk, recorder->filled + trailer_bytes, &at)) {
        recorder->crc = crc_before;
        recorder->length = length_before;
        goto failed;
    }
    recorder->end_bytes = at - (off_t)trailer_bytes;
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

/* The file with its header in it. */
static bool begin_file(struct recorder *recorder, const char *path, bool force,
                       const struct recording_header *header, char *reason, size_t reason_size)
{
    bool done;
    recorder->fd = open_file(path, force, reason, reason_size);
    if (recorder->fd < 0)
        return false;
    done = write_line(recorder, event_json_header(&recorder->line, header));
    if (!done && !force)
        unlink(path); /* it is ours, and empty */
    return done;
}

/* The same, and the name comes last: a process that is killed meanwhile leaves nothing. False: nothing is left, it has
 * to be made by name, which also finds the error to report. */
static bool begin_unnamed(struct recorder *recorder, const char *path,
                          const struct recording_header *header)
{
    recorder->fd = unnamed_create(AT_FDCWD, path, 0600);
    if (recorder->fd >= 0 && write_line(recorder, event_json_header(&recorder->line, header)) &&
        unnamed_link(recorder->fd, AT_FDCWD, path))
        return true;
    if (recorder->fd >= 0)
        close(recorder->fd);
    recorder->fd = -1;
    recorder->member_open = false;
    recorder->end_bytes = 0;
    recorder->lines = 0;
    recorder->error[0] = '\0';
    return false;
}

struct recorder *recorder_create(const char *path, bool force,
                                 const struct recording_header *header, char *error,
                                 size_t error_size)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    char reason[128];
    bool done;
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
    if (recorder->stream) {
        recorder->fd = take_stdout(reason, sizeof reason);
        done =
            recorder->fd >= 0 && write_line(recorder, event_json_header(&recorder->line, header));
    } else {
        done = (!force && begin_unnamed(recorder, path, header)) ||
               begin_file(recorder, path, force, header, reason, sizeof reason);
    }
    if (done)
        return recorder;
    if (recorder->fd < 0)
        snprintf(error, error_size, "cannot record to %s: %s", recorder->name, reason);
    else
        snprintf(error, error_size, "%s", recorder->error);
    recorder_destroy(recorder);
    return NULL;
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

void recorder_destroy(struct recorder *recorder)
{
    if (recorder == NULL)
        return;
    if (recorder->fd >= 0 && recorder->error[0] == '\0')
        end_member(recorder); /* in a stream; a failure can no longer be reported */
    if (recorder->fd >= 0)
        close(recorder->fd);
    deflateEnd(&recorder->deflate);
    json_out_free(&recorder->line);
    free(recorder);
}
