/*
 * line_head: how the lines of a class-load log begin, up to the class's name.
 *
 *   [0.108s][info][class,load  ] Script1 source: ...
 *   <---------- head ----------->
 *
 * All that varies in a head is digits: times, ids. So a head that class_log.h has understood once
 * is recognised by comparing bytes, and a line with a known head is of the same kind, its name
 * begins at the same offset and so does its time: the head alone decides, as long as the name that
 * follows has no '['.
 *
 *   line_heads_learn (a line class_log.h has understood) -> line_heads_read
 *
 * A zeroed struct knows none. Calling context: one thread.
 */
#ifndef ANALYZERS_CLASSLOG_LINE_HEAD_H
#define ANALYZERS_CLASSLOG_LINE_HEAD_H

#include "analyzers/parse/class_log.h"

#define LINE_HEADS      8
#define LINE_HEAD_BYTES 128 /* longer heads are not learnt */

struct line_head {
    enum class_log_kind kind;
    enum class_log_form form;
    size_t len;
    size_t clock_at, clock_len; /* of the decoration with the time; 0: none */
    int64_t unit_per_ms;
    bool uptime;                           /* or a time of day: */
    bool iso;                              /* ISO 8601, or a number */
    uint64_t text[LINE_HEAD_BYTES / 8];    /* digits as '0' */
    uint64_t digit[LINE_HEAD_BYTES / 8];   /* 0xff in each byte where any digit may stand */
    uint64_t literal[LINE_HEAD_BYTES / 8]; /* 0xff where the byte must be the same */
};

struct line_heads {
    int count;
    int next; /* to be replaced */
    int last; /* matched last: most probably the next line's too */
    struct line_head head[LINE_HEADS];
    char clock[32]; /* the time of the last line, as text and as what it means */
    size_t clock_len;
    int64_t clock_ms;
};

/* line: kind load or unload, as class_log_parse read it from text. A head that is empty, too long
 * or has a time of another form is not learnt. */
void line_heads_learn(struct line_heads *heads, struct span text,
                      const struct class_log_line *line);

/* The line as class_log_parse would read it; false when its head is unknown or what follows is not
 * what the head promises: then class_log_parse decides. Eight bytes after the text are readable. */
bool line_heads_read(struct line_heads *heads, struct span text, struct class_log_line *line);

#endif
