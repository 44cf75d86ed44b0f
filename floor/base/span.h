/*
 * span: a piece of a text, not owned, and the cursor every parser moves over it.
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
#pragma once

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

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool span_equals(struct span a, struct span b);
bool span_starts_with(struct span text, struct span prefix);
bool span_ends_with(struct span text, struct span suffix);
/* Index of the first occurrence of needle, or -1. */
ptrdiff_t span_find(struct span text, struct span needle);
static inline bool span_contains(struct span text, struct span needle)
{
    return span_find(text, needle) >= 0;
}
/* The first row of a table whose mark, its first member, fits the text as span_equals, span_starts_with and
 * span_contains mean it: its index, or -1. */
static inline int span_row(struct span text, bool (*fits)(struct span text, struct span mark),
                           const void *table, size_t rows, size_t row_bytes)
{
    for (size_t i = 0; i < rows; i++) {
        if (fits(text, *(const struct span *)((const char *)table + i * row_bytes)))
            return (int)i;
    }
    return -1;
}
/* Whether one of "a|b|c" fits the text. */
bool span_fits_one(struct span text, const char *marks,
                   bool (*fits)(struct span text, struct span mark));
/* The whole text is like the pattern, in which `*` is any text. */
bool span_is_like(struct span text, struct span pattern);
#define SPAN_TABLE(table) (table), sizeof(table) / sizeof *(table), sizeof *(table)
/* Without spaces, tabs and CR at either end. */
struct span span_trim(struct span text);
/* Without its first `bytes` bytes, of which there are so many. */
static inline struct span span_skip(struct span text, size_t bytes)
{
    return span_of(text.ptr + bytes, text.len - bytes);
}
/* What follows the first occurrence of the mark; its ptr is NULL when there is none. */
struct span span_behind(struct span text, struct span mark);
/* Up to the first of these characters, or all. */
struct span span_until(struct span text, const char *ends);

/* Takes the next line (without its '\n' and a '\r' before it) off the front of *rest.
 * Returns false when nothing is left. *terminated says whether a '\n' ended it. */
bool span_next_line(struct span *rest, struct span *line, bool *terminated);
/* The same where an end that is missing does not matter. */
bool span_take_line(struct span *rest, struct span *line);

/* Takes blanks and tabs and the word behind them off the front; false when there is none. */
bool span_take_word(struct span *text, struct span *word);

/* The words of a line, the first SPAN_WORDS_MAX of them. */
#define SPAN_WORDS_MAX 32
struct span_words {
    int count;
    struct span word[SPAN_WORDS_MAX];
};
void span_split(struct span line, struct span_words *words);
/* Index of a word that equals the name, or -1: columns are found by their heading. */
int span_words_find(const struct span_words *words, struct span name);

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

/* Copies into a C string of size bytes, cut at a UTF-8 boundary when too long; always terminated */
void span_copy(struct span text, char *out, size_t size);

/* The same with each run of digits as one '#': "pool-3-thread-12" -> "pool-#-thread-#". */
void span_copy_stem(struct span text, char *out, size_t size);
/* The major number in front of a Java version: "17.0.21", "1.8.0_504", "8.0_504", "25"; 0: none. */
int java_major(struct span text);

/* Writes the UTF-8 of a code, a lone surrogate included; how many bytes that is: 1 to 4. */
size_t utf8_put(char *out, uint32_t code);

/* A sum of untrusted numbers saturates at the end of the range. */
static inline int64_t saturated_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a > 0 ? INT64_MAX : INT64_MIN;
}

/* Of two numbers without side effects. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* For qsort: by a, ascending. */
static inline int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Sizes as a JVM's command line writes them ("-Xmx4g", "-XX:MaxMetaspaceSize=512m").
 * Takes "5g", "512M", "1048576" off the front, in bytes; false and untouched when there is no
 * number or it does not fit. A blank before the unit, a "B" or "iB" behind it and a decimal part
 * ("1.907GiB", "6,0g") are taken, too. */
bool java_size_take(struct span *text, int64_t *bytes);
/* The same, false where the text ends in the middle of the number or in front of its unit, as far as
 * one can know: behind its last digit. */
bool whole_size_take(struct span *text, int64_t *bytes);
/* What stands behind the first occurrence of the mark; false and untouched when nothing of the kind does: a number,
 * a size, a whole size. */
bool number_behind(struct span text, struct span mark, int64_t *number);
bool size_behind(struct span text, struct span mark, int64_t *bytes);
bool whole_size_behind(struct span text, struct span mark, int64_t *bytes);
/* The size behind `flag` ("-Xmx", "-XX:MaxMetaspaceSize="), which begins the text or stands behind
 * a blank or a quote; of several the last, as for the JVM. */
bool java_flag_size(struct span text, struct span flag, int64_t *bytes);
