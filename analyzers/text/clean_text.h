/*
 * clean_text: a pasted text -> the text as the JVM printed it, as far as it
 * can be found.
 *
 * A stage of its own before recognition (parse/text_kind): it takes away what stands around a text,
 * in tickets, chats and logs: encoding, quotes, comment leaders, indentation, bullets, Markdown,
 * HTML, colours, timestamps and prefixes of loggers and containers, JSON around log lines, doubled
 * blank lines, remarks behind a row, thousands separators. A prefix of lines is removed only when
 * most lines of the text, or of a run of lines, have it; then the rest is looked at again, until
 * nothing changes (a quote in a JSON log of a container). Nothing is added, no number is changed but
 * for its separators. A line that is not certain stays as it is.
 *
 *   clean_text_make -> text, removed, clean_text_line ... -> clean_text_free
 *
 * A line of JSON may hold several lines; they have its number. A text in which nothing was to be
 * done is borrowed: it has to outlive the clean one. Memory: up to three times the text and 40
 * bytes a line. No state. Any thread.
 */
#pragma once

#include "floor/base/span.h"

#define CLEAN_TEXT_MAX ((size_t)64 << 20)

enum removed {
#define REMOVED(id, words) REMOVED_##id,
#include "analyzers/text/removed.def"
    REMOVED_COUNT,
};

struct clean_text {
    struct span text;               /* each line ends with '\n', but for the last perhaps */
    int64_t removed[REMOVED_COUNT]; /* lines of which it was taken; 0: it was not there */
    int64_t line_count;             /* of the clean text */
    const int64_t *line;            /* number of each in the text as it was; NULL: the same */
    const size_t *line_at;          /* where each begins in the clean text; NULL with line */
    void *memory;                   /* internal */
};

/* False: out of memory. */
bool clean_text_make(struct clean_text *clean, struct span raw);
/* By its first bytes. */
bool clean_text_is_utf16(struct span raw);
/* The number (from 1) that the line around `at`, inside of clean->text, has in the text as it was. */
int64_t clean_text_line(const struct clean_text *clean, const char *at);
void clean_text_free(struct clean_text *clean);

/* "a timestamp in front of each line; colours of a terminal": at most size bytes; empty: nothing */
void clean_text_words(const struct clean_text *clean, char *words, size_t size);
