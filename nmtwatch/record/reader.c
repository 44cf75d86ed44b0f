#include "nmtwatch/record/reader.h"

#include "reports/text/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    recording_alert_fn *on_alert;
    void *on_alert_context;
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
    if (needed > recording->line_capacity) {
        size_t capacity = needed * 2 < 4096 ? 4096 : needed * 2;
        char *line = realloc(recording->line, capacity);
        if (line == NULL) {
            damaged(recording, "out of memory for the line");
            return false;
        }
        recording->line = line;
        recording->line_capacity = capacity;
    }
    memcpy(recording->line + recording->line_length, text, length);
    recording->line_length = needed;
    return true;
}

/* The next line without its '\n'. Text that was inflated before damage was met is still read. */
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
        if (newline)
            length = (size_t)(newline - from);
        if (!append(recording, from, length))
            return false;
        recording->text_at += length + (newline != NULL);
        if (newline)
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
    if (!detect_source(recording)) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        return false;
    }
    if (recording->input_length == 0) {
        snprintf(reason, reason_size, "it is empty");
        return false;
    }
    /* 15 + 16: any window, and a gzip wrapper with its checksum. */
    if (recording->source == SOURCE_GZIP && inflateInit2(&recording->inflate, 15 + 16) != Z_OK) {
        snprintf(reason, reason_size, "out of memory");
        return false;
    }
    if (next_parsed(recording) != EVENT_LINE_HEADER) {
        snprintf(reason, reason_size, "it is not a recording of nmtwatch (its first line: %s)",
                 recording->reason[0] ? recording->reason : "no header");
        return false;
    }
    recording->header = recording->parsed.header;
    if (recording->header.schema > EVENT_JSON_SCHEMA || recording->header.schema < 1) {
        snprintf(reason, reason_size,
                 "it has schema %lld, and this version of nmtwatch reads schema %d",
                 (long long)recording->header.schema, EVENT_JSON_SCHEMA);
        return false;
    }
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
            if (recording->on_alert != NULL)
                recording->on_alert(recording->on_alert_context, &recording->parsed.alert);
            break;
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

void recording_on_alert(struct recording *recording, recording_alert_fn *on_alert, void *context)
{
    recording->on_alert = on_alert;
    recording->on_alert_context = context;
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
