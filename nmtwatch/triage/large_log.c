#include "nmtwatch/triage/large_log.h"

#include "analyzers/text/clean_text.h"
#include "nmtwatch/classlog/log_feed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRONT_BYTES ((size_t)1 << 18)
#define ENDS_BYTES  (INT64_C(1) << 20)

/* What the front of a file is; the first part decides. False: it cannot be read. */
static bool kind_of(const char *path, enum text_kind *kind)
{
    struct clean_text clean;
    struct text_parts parts;
    struct text_part part = {.kind = TEXT_UNRECOGNISED};
    char *front = malloc(FRONT_BYTES);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 && front != NULL ? pread(fd, front, FRONT_BYTES, 0) : -1;
    bool ok = got > 0 && memchr(front, '\0', (size_t)got) == NULL && /* packed, UTF-16, a dump */
              clean_text_make(&clean, span_of(front, (size_t)got));
    if (ok) {
        text_parts_begin(&parts, clean.text);
        if (!text_parts_next(&parts, &part))
            part.kind = TEXT_UNRECOGNISED;
        clean_text_free(&clean);
    }
    if (fd >= 0)
        close(fd);
    free(front);
    *kind = part.kind;
    return ok;
}

bool large_log_is(const char *path)
{
    struct stat status;
    enum text_kind kind;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_size > LARGE_LOG_BYTES && kind_of(path, &kind) &&
           (kind == TEXT_CLASS_LOG || kind == TEXT_CONSOLE || kind == TEXT_UNRECOGNISED);
}

/* Complete lines of a block. */
static size_t lines_of(struct span text)
{
    const char *end = text.len > 0 ? memrchr(text.ptr, '\n', text.len) : NULL;
    return end == NULL ? 0 : (size_t)(end - text.ptr) + 1;
}

bool large_log_read(const char *path, struct dossier_reader *reader, bool *any, char *error,
                    size_t error_size)
{
    enum text_kind kind;
    struct oom_lines lines;
    struct log_feed feed;
    struct span text;
    enum feed_state state = FEED_FAILED;
    struct classlog *log = NULL;
    const struct classlog_options options = {0};
    *any = false;
    bool class_log = kind_of(path, &kind) && kind == TEXT_CLASS_LOG;
    oom_lines_begin(&lines);
    if (class_log)
        log = classlog_create(&options);
    if (class_log && log == NULL) {
        snprintf(error, error_size, "%s: out of memory", path);
        return false;
    }
    if (!log_feed_open(&feed, path)) {
        snprintf(error, error_size, "%s", feed.error);
        log_feed_close(&feed);
        classlog_destroy(log);
        return false;
    }
    while ((state = log_feed_next(&feed, &text)) == FEED_MORE) {
        size_t used = lines_of(text);
        if (class_log)
            used = classlog_feed(log, text.ptr, text.len);
        /* An application that writes into its class log says so when it starts and when it ends. */
        if (!class_log || feed.bytes <= ENDS_BYTES || feed.size - feed.bytes < ENDS_BYTES)
            oom_lines_feed(&lines, span_of(text.ptr, used));
        log_feed_used(&feed, used);
    }
    oom_lines_feed(&lines, text);
    if (class_log)
        log_feed_finish(&feed, log);
    bool ok = dossier_reader_feed_log(reader, path, &lines, log, any) && state == FEED_END;
    if (!ok)
        snprintf(error, error_size, "%s", state == FEED_END ? "out of memory" : feed.error);
    log_feed_close(&feed);
    classlog_destroy(log);
    return ok;
}
