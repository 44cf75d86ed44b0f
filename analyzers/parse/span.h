/*
 * span: a piece of somebody else's text, and the cursor every parser moves over it.
 *
 * All parsers under analyzers/parse are leaves: they take (pointer, length), never allocate, never
 * read past the end, never need a terminating NUL, and fill structs whose spans point back into the
 * input. The input therefore has to outlive what was parsed from it.
 *
 * Three answers, never a fourth:
 *   PARSE_OK          the text was understood; *at is the number of bytes consumed
 *   PARSE_MALFORMED   the text cannot be what it claims to be; *at is the offending byte
 *   PARSE_INCOMPLETE  the text ends too early (a truncated reply, a half-written line)
 * Unknown lines and unknown categories are not malformed: they are counted and skipped.
 *
 * Calling context: any thread. No errno, no locale.
 */
#ifndef ANALYZERS_PARSE_SPAN_H
#define ANALYZERS_PARSE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const char *ptr;
    size_t len;
};

enum parse_result {
    PARSE_OK = 0,
    PARSE_MALFORMED,
    PARSE_INCOMPLETE,
};

#define SPAN_LITERAL(s) ((struct span){(s), sizeof(s) - 1})
#define SPAN_INIT(s)                                                                               \
    {                                                                                              \
        (s), sizeof(s) - 1                                                                         \
    } /* in the initialiser of a static table */

static inline struct span span_of(const char *ptr, size_t len)
{
    return (struct span){ptr, len};
}

/* NUL-terminated text as a span; NULL becomes an empty span. */
struct span span_from_cstr(const char *text);

bool span_equals(struct span a, struct span b);
bool span_starts_with(struct span text, struct span prefix);
bool span_ends_with(struct span text, struct span suffix);
/* Index of the first occurrence of needle, or -1. */
ptrdiff_t span_find(struct span text, struct span needle);
/* Without spaces, tabs and CR at either end. */
struct span span_trim(struct span text);

/* Takes the next line (without its '\n' and a '\r' before it) off the front of *rest.
 * Returns false when nothing is left. *terminated tells whether a '\n' ended it. */
bool span_next_line(struct span *rest, struct span *line, bool *terminated);

/* Takes a decimal number, optionally signed (+ or -), off the front; false (and *text untouched)
 * when there is none or it does not fit into int64_t. */
bool span_take_i64(struct span *text, int64_t *value);
/* The same for a number without any sign. */
bool span_take_unsigned(struct span *text, int64_t *value);
/* Takes 1 to 16 hexadecimal digits, without "0x", off the front; false and untouched when there are
 * none or more. */
bool span_take_hex(struct span *text, uint64_t *value);
/* Takes the literal off the front; false and untouched when it is not there. */
bool span_take(struct span *text, struct span literal);

/* Copies into a C string of size bytes, cut at a UTF-8 boundary when too long; always terminated.
 */
void span_copy(struct span text, char *out, size_t size);

#endif
