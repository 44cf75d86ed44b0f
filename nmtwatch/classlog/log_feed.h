/* log_feed: a class-load log, from a file, a gzipped file or a pipe, into analyzers/classlog.
 *
 * Plain files are read in blocks that stay in the cache of the processor; nothing of the text is
 * kept. Following continues at the end: what is appended is read, a file that was rotated (another
 * inode, or shorter than before) is read from its start.
 *
 *   log_feed_open -> log_feed_more until it says FEED_END -> log_feed_close
 *
 * Setup context, one thread. */
#pragma once

#include "analyzers/classlog/classlog.h"

#include <sys/types.h>

struct log_feed {
    const char *path; /* "-": stdin */
    int fd;
    void *gz; /* gzFile; NULL: plain */
    char *block;
    size_t have;   /* bytes of an incomplete line at its front */
    int64_t bytes; /* read so far, as stored */
    int64_t size;  /* of the file; -1: not known */
    bool endless;  /* a pipe or a device */
    ino_t inode;
    char error[320];
};

/* False with a sentence in error. */
bool log_feed_open(struct log_feed *feed, const char *path);

enum feed_state { FEED_MORE, FEED_END, FEED_FAILED };
/* The next block, CLASSLOG_PADDING bytes behind it are readable; then log_feed_used says how many of
 * its bytes were complete lines. States as below; at FEED_END what is left is a line without end. */
enum feed_state log_feed_next(struct log_feed *feed, struct span *text);
/* False: no line ends in a whole block; it is dropped. */
bool log_feed_used(struct log_feed *feed, size_t used);
/* Feeds the next block to a class log. FEED_END: nothing more now; FEED_FAILED: see error (what was read counts),
 * also for an endless input without class loads at its front. */
enum feed_state log_feed_more(struct log_feed *feed, struct classlog *log);
/* After FEED_END of a followed file: true when it was rotated; reading starts anew. */
bool log_feed_rotated(struct log_feed *feed, struct classlog *log);
/* The last line, which lacks its end. */
void log_feed_finish(struct log_feed *feed, struct classlog *log);
void log_feed_close(struct log_feed *feed);
