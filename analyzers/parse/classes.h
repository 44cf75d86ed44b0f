/*
 * classes: the classes that `VM.classes` prints (JDK 21 and later), arrays included.
 *
 *   classes_begin -> classes_next ... -> lines.result
 *
 * The list has no end mark: a text cut between two lines cannot be told from a shorter list; one
 * cut inside a line is PARSE_INCOMPLETE. The details that -verbose adds below a class are passed
 * over. Allocates nothing; spans point into the text. Any thread.
 */
#ifndef ANALYZERS_PARSE_CLASSES_H
#define ANALYZERS_PARSE_CLASSES_H

#include "analyzers/parse/line_cursor.h"

struct classes_row {
    struct span name;
    struct span state; /* "fully_initialized", "linked", ...; empty for arrays */
    struct span flags; /* letters: f finalizer, W rewritten, S shared (CDS), ...; may be empty */
    uint64_t address;
    int64_t size_words; /* of the class's metadata record, as printed */
    bool is_array;
};

struct classes {
    struct line_cursor lines;
    bool started;
};

void classes_begin(struct classes *classes, struct span text);
bool classes_next(struct classes *classes, struct classes_row *row);

#endif
