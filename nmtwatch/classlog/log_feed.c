#include "nmtwatch/classlog/log_feed.h"

#include "analyzers/model/texts.h"
#include "nmtwatch/process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK_BYTES    (256 << 10) /* fits into the second-level cache */
#define LINE_BYTES_MAX (BLOCK_BYTES / 2)

static bool fail(struct log_feed *feed, const char *words)
{
    return text_error(feed->error, sizeof feed->error, "%.200s: %.100s", feed->path, words);
}

static bool start(struct log_feed *feed)
{
    unsigned char magic[2];
    struct stat status;
    feed->size = -1;
    feed->bytes = 0;
    if (fstat(feed->fd, &status) != 0)
        return fail(feed, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fail(feed, "is a directory");
    feed->inode = status.st_ino;
    feed->endless = input_is_endless(feed->fd);
    if (!S_ISREG(status.st_mode)) {
        feed->gz = gzdopen(dup(feed->fd), "rb"); /* plain text goes through as it is */
        return feed->gz != NULL || fail(feed, "out of memory");
    }
    feed->size = (int64_t)status.st_size;
    if (pread(feed->fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
        feed->gz = gzdopen(dup(feed->fd), "rb");
        if (feed->gz == NULL)
            return fail(feed, "out of memory");
        gzbuffer(feed->gz, BLOCK_BYTES);
    }
    return true;
}

bool log_feed_open(struct log_feed *feed, const char *path)
{
    memset(feed, 0, sizeof *feed);
    feed->path = path;
    feed->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (feed->fd < 0)
        return fail(feed, strerror(errno));
    feed->block = aligned_alloc(4096, BLOCK_BYTES + 4096);
    if (feed->block == NULL)
        return fail(feed, "out of memory");
    memset(feed->block, 0, BLOCK_BYTES + 4096);
    return start(feed);
}

static ssize_t read_block(struct log_feed *feed)
{
    char *into = feed->block + feed->have;
    size_t room = BLOCK_BYTES - feed->have;
    if (feed->gz != NULL) {
        int got = gzread(feed->gz, into, (unsigned)room);
        z_off_t at = gzoffset(feed->gz);
        feed->bytes = at > 0 ? (int64_t)at : feed->bytes + (got > 0 ? got : 0); /* of a pipe */
        return got;
    }
    ssize_t got;
    do {
        got = read(feed->fd, into, room);
    } while (got < 0 && errno == EINTR);
    feed->bytes += got > 0 ? got : 0;
    return got;
}

enum feed_state log_feed_next(struct log_feed *feed, struct span *text)
{
    ssize_t got = read_block(feed);
    *text = span_of(feed->block, feed->have);
    if (got < 0) {
        int code;
        fail(feed, feed->gz != NULL ? gzerror(feed->gz, &code) : strerror(errno));
        return FEED_FAILED;
    }
    if (got == 0) {
        int code = Z_OK;
        if (feed->gz != NULL)
            gzerror(feed->gz, &code);
        if (code != Z_OK) {
            fail(feed, "the compressed data ends too early");
            return FEED_FAILED;
        }
        return FEED_END;
    }
    feed->have += (size_t)got;
    *text = span_of(feed->block, feed->have);
    return FEED_MORE;
}

bool log_feed_used(struct log_feed *feed, size_t used)
{
    bool endless = used == 0 && feed->have > LINE_BYTES_MAX; /* no class has such a name */
    if (endless)
        used = feed->have;
    memmove(feed->block, feed->block + used, feed->have - used);
    feed->have -= used;
    return !endless;
}

enum feed_state log_feed_more(struct log_feed *feed, struct classlog *log)
{
    struct span text;
    enum feed_state state = log_feed_next(feed, &text);
    if (state != FEED_MORE)
        return state;
    size_t used = classlog_feed(log, text.ptr, text.len);
    if (used == 0 && text.len > LINE_BYTES_MAX)
        classlog_feed_last(log, text.ptr, text.len);
    log_feed_used(feed, used);
    const struct classlog_totals *totals = classlog_totals(log);
    if (feed->endless && feed->bytes > (int64_t)ENDLESS_BYTES &&
        totals->loads + totals->unloads == 0) {
        fail(feed, "no class load in its first 64 MiB, and without an end");
        return FEED_FAILED;
    }
    return FEED_MORE;
}

bool log_feed_rotated(struct log_feed *feed, struct classlog *log)
{
    struct stat status;
    if (strcmp(feed->path, "-") == 0 || stat(feed->path, &status) != 0 ||
        (status.st_ino == feed->inode && (int64_t)status.st_size >= feed->bytes))
        return false;
    int fd = open(feed->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    log_feed_finish(feed, log);
    close(feed->fd);
    feed->fd = fd;
    return start(feed);
}

void log_feed_finish(struct log_feed *feed, struct classlog *log)
{
    if (feed->have > 0)
        classlog_feed_last(log, feed->block, feed->have);
    feed->have = 0;
}

void log_feed_close(struct log_feed *feed)
{
    if (feed->gz != NULL)
        gzclose(feed->gz);
    if (feed->fd >= 0)
        close(feed->fd);
    free(feed->block);
}
