/*
 * jcmd_reply: what a diagnostic command answered, before anybody parses a table out of it.
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
#ifndef ANALYZERS_PARSE_JCMD_REPLY_H
#define ANALYZERS_PARSE_JCMD_REPLY_H

#include "analyzers/parse/span.h"

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
    struct span message; /* the line that told, trimmed; empty for JCMD_OK and JCMD_EMPTY */
    struct span rest;    /* JCMD_OK: the output, without the "<pid>:" line; else what follows */
};

struct jcmd_reply jcmd_reply_classify(struct span text);

/* "nmt-off", for messages and tests; "?" outside the enum. */
const char *jcmd_reply_kind_name(enum jcmd_reply_kind kind);

/* The text after a leading "<pid>:" line, or the same text when there is none. */
struct span jcmd_reply_skip_pid(struct span text);

#endif
