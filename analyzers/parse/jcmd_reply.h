/*
 * jcmd_reply: what a diagnostic command answered, before a table is parsed out of it.
 *
 * A JVM reports most refusals as a plain English line with result code 0 ("Native memory tracking
 * is not enabled"), others as a Java exception. Text saved from `jcmd PID ... > file` starts with a
 * "<pid>:" line, the reply over the attach socket does not.
 *
 * Classify looks at the front only: when several commands were asked in one connection, each
 * reply is classified where the one before it ended (`rest`, or a table reader's consumed bytes).
 *
 * Spans point into the text. Any thread.
 */
#pragma once

#include "floor/base/span.h"

enum jcmd_reply_kind {
    JCMD_OK,               /* something else: the output that was asked for */
    JCMD_EMPTY,            /* nothing, or blank lines only */
    JCMD_NMT_OFF,          /* the JVM runs without -XX:NativeMemoryTracking */
    JCMD_NMT_SHUT_DOWN,    /* JDK 8: tracking was on and was shut down */
    JCMD_NO_BASELINE,      /* a diff was asked for before a baseline */
    JCMD_DETAIL_OFF,       /* detail was asked for, the JVM tracks summary only */
    JCMD_BASELINE_TAKEN,   /* "Baseline succeeded" (8, 11), "Baseline taken" (17+) */
    JCMD_BAD_SCALE,        /* JDK 8 takes KB, MB, GB only */
    JCMD_UNKNOWN_COMMAND,  /* this JDK has no such diagnostic command */
    JCMD_UNKNOWN_ARGUMENT, /* it has, but without this option */
    JCMD_EXCEPTION,        /* any other Java exception */
    JCMD_REPLY_KIND_COUNT,
};

struct jcmd_reply {
    enum jcmd_reply_kind kind;
    struct span message; /* the line that says so, trimmed; empty for JCMD_OK and JCMD_EMPTY */
    struct span rest;    /* JCMD_OK: the output, without the "<pid>:" line; else what follows */
};

struct jcmd_reply jcmd_reply_classify(struct span text);

/* The text after a leading "<pid>:" line, or the same text when there is none. */
struct span jcmd_reply_skip_pid(struct span text);

/*
 * line_cursor: walks the lines of a table a JVM printed, and remembers what went wrong where.
 *
 * Replies of several commands asked for in one connection follow each other without a separator,
 * and a reply may be cut at any byte. So a table's reader takes complete lines only, gives back the
 * line that is not its own, and says where it stopped; lines that look like its own but that it
 * does not understand are counted, never fatal.
 *
 * Every table reader (classloader_stats, class_hierarchy, classes, class_histogram) holds one in
 * its `lines` member; after its _next returned false:
 *
 *   lines.result   PARSE_OK: the table ended; PARSE_MALFORMED: not such a table, or a row that
 *                  cannot be; PARSE_INCOMPLETE: the text ended too early
 *   lines.at       bytes consumed; where the next table starts, or the offending line
 *   lines.unknown_lines, lines.first_unknown
 *
 * Any thread.
 */
struct line_cursor {
    struct span text;
    size_t at;
    enum parse_result result;
    int64_t unknown_lines;
    struct span first_unknown;
};

/* Starts at the front of text, after an optional "<pid>:" line. */
void line_cursor_begin(struct line_cursor *lines, struct span text);
/* Takes the next complete line, without its end. At the end of the text: false; if an unterminated
 * line is left there, result becomes PARSE_INCOMPLETE and the line is not consumed. */
bool line_cursor_next(struct line_cursor *lines, struct span *line);
/* Gives back a line that was just taken: the next one starts with it. */
void line_cursor_give_back(struct line_cursor *lines, struct span line);
void line_cursor_count_unknown(struct line_cursor *lines, struct span line);
/* Ends the walk at a line; always false, to be returned by the reader's _next. */
bool line_cursor_stop(struct line_cursor *lines, struct span line, enum parse_result result);
