/*
 * line_head: how the lines of this log begin, in front of the class's name.
 *
 *   [0.108s][info][class,load  ] Script1 source: ...
 *   <---------- head ----------->
 *
 * All that varies in a head is digits: times, ids. So one that class_log.h has understood once is
 * known again by comparing bytes, and a line with a known head is of the same kind, its name begins
 * at the same place and its time is at the same place: for text that class_log.h calls a load or an
 * unload, the head alone decides which, as long as the name after it holds no '['.
 *
 *   line_heads_learn (a line class_log.h has understood) -> the scan compares (scan_lines.h)
 *
 * A zeroed struct knows none. Calling context: one thread.
 */
#ifndef ANALYZERS_CLASSLOG_LINE_HEAD_H
#define ANALYZERS_CLASSLOG_LINE_HEAD_H

#include "analyzers/parse/class_log.h"

#define LINE_HEADS      8
#define LINE_HEAD_BYTES 128

/* What stands behind the head. */
enum line_form {
    LINE_LOAD,        /* NAME source: SOURCE */
    LINE_PLAIN_LOAD,  /* the same, and NAME has no blank */
    LINE_JDK8_LOAD,   /* NAME from SOURCE] */
    LINE_UNLOAD,      /* NAME 0x00007fa330086000 */
    LINE_JDK8_UNLOAD, /* NAME 0x00000001000b3828] */
};

enum line_clock { CLOCK_NONE, CLOCK_UPTIME, CLOCK_WALL };

struct line_head {
    uint8_t len; /* 0: an empty head, which every line has */
    enum line_form form;
    enum line_clock clock;
    uint8_t clock_at; /* offset of its digits */
    uint8_t whole;    /* how many of them before the dot; 0: an ISO 8601 time */
    char unit;        /* 's', 'm' (ms), 'n' (ns) */
    uint64_t literal[LINE_HEAD_BYTES / 64]; /* bits: bytes that must be the same */
    uint64_t digit[LINE_HEAD_BYTES / 64];   /* bits: bytes that must be digits */
    char text[LINE_HEAD_BYTES];
};

struct line_heads {
    int count;
    int next;   /* to be replaced */
    int last;   /* the one met last: most probably the next line's too */
    bool plain; /* an empty head is among the log's: the name begins the line */
    struct line_head head[LINE_HEADS];
};

/* line: kind LOAD or UNLOAD, text: the whole of it. Heads that are longer than LINE_HEAD_BYTES or
 * tell the time in a way of their own are not learnt: such lines are all class_log.h's. */
void line_heads_learn(struct line_heads *heads, struct span text,
                      const struct class_log_line *line);

enum line_form line_form_of(const struct class_log_line *line);

/* 1 to 8 digits, or up to 19, as a number. Eight bytes are readable at text. */
static inline uint64_t line_digits(const char *text, unsigned count)
{
    uint64_t value = 0;
    if (count > 8) {
        for (unsigned i = 0; i < count; i++)
            value = value * 10 + (uint64_t)(text[i] - '0');
        return value;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, text, 8);
    value <<= 64 - 8 * count; /* leading zeros */
    value = (value & UINT64_C(0x0f0f0f0f0f0f0f0f)) * (2561) >> 8;
    value = (value & UINT64_C(0x00ff00ff00ff00ff)) * (6553601) >> 16;
    return (value & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
#else
    for (unsigned i = 0; i < count; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    return value;
#endif
}

#endif
