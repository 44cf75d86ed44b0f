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
#ifndef ANALYZERS_PARSE_LINE_CURSOR_H
#define ANALYZERS_PARSE_LINE_CURSOR_H

#include "analyzers/parse/span.h"

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

#endif
