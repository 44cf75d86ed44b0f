/*
 * text_kind: what people have saved, recognised by its content, never by its name.
 *
 * A file may hold one reply of jcmd or several behind each other (`jcmd 1 A; jcmd 1 B` >> file), a
 * class-load log with the program's own output in between, an hs_err file with an NMT section in
 * the middle. The text is cut into parts; each part begins with a line that is the heading of a
 * kind.
 *
 *   text_parts_begin -> text_parts_next ... -> lines in unclaimed
 *
 * A part's text begins with its heading (or the "<pid>:" line before it) and ends before the next
 * part. Lines before the first heading are part of nothing and counted. Spans point into the text,
 * nothing is allocated. Any thread.
 */
#pragma once

#include "analyzers/parse/jcmd_reply.h"
#include "floor/base/span.h"

enum text_kind {
#define TEXT_KIND(id, key, what) TEXT_##id,
#include "analyzers/parse/text_kinds.def"
    TEXT_KIND_COUNT,
};

struct text_part {
    enum text_kind kind;
    struct span text;
    int64_t pid;        /* of the "<pid>:" line in front; -1: none */
    struct span reply;  /* TEXT_REFUSAL: the JVM's words */
    struct span onward; /* from here to the end of all: an error file goes on behind its tables */
};

struct text_parts {
    struct span rest;
    int64_t unclaimed_lines; /* not blank, and part of nothing */
    struct span first_unclaimed;
};

/* The kind that a line of a ticket begins, apart from a JVM's own replies; TEXT_UNRECOGNISED: none.
 * `in`: the part it would interrupt. */
enum text_kind ticket_text_heading(struct span line, enum text_kind in);

void text_parts_begin(struct text_parts *parts, struct span text);
/* False when nothing is left. A text without any heading gives no part at all. */
bool text_parts_next(struct text_parts *parts, struct text_part *part);

const char *text_kind_key(enum text_kind kind);

/* The JDK a text names ("JDK 17.0.21", "JRE (25.0.5+..."): the major number, or 0. */
int text_jdk_major(enum text_kind kind, struct span text);
/* The JDK a text betrays by its form: the release with long-term support that prints so (8, 11, 17,
 * 21, 25; 26 stands for later ones, too), or 0 when several do. */
int text_jdk_form(enum text_kind kind, struct span text);

/* What a text is that none of the readers knows, and what to give instead. The words are static. */
struct looks_like {
    const char *what; /* "a thread dump" */
    const char *how;  /* "it has no memory figures; ..." */
};

/* text: the file, or its first bytes, as it is. */
struct looks_like looks_like(struct span text);
