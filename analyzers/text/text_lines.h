/* text_lines: a text as lines while it is being cleaned. Internal to analyzers/text. */
#pragma once

#include "analyzers/text/clean_text.h"

struct text_line {
    struct span text; /* without its end */
    int64_t number;
    int32_t peel; /* bytes that a prefix would take; internal to prefixes */
    bool gone;    /* no longer a line */
};

/* Memory that goes with the clean text: blocks in a list. */
struct text_block {
    struct text_block *next;
    size_t used, size;
    char bytes[];
};

struct text_lines {
    struct text_line *lines;
    size_t count, room;
    struct text_block *blocks;
    int64_t removed[REMOVED_COUNT];
    bool failed; /* out of memory */
};

/* NULL when out of memory, which is kept in failed. */
char *text_lines_room(struct text_lines *lines, size_t size);
void text_lines_add(struct text_lines *lines, struct span text, int64_t number);
void text_lines_free(struct text_lines *lines);

/* One look at what stands in front of the lines; true when something was taken. */
bool prefixes_take(struct text_lines *lines);
/* One look at what is inside of lines: colours, entities, blanks; and json_take. True: something changed. */
bool wraps_take(struct text_lines *lines);

/* One look for values of JSON that hold texts, each in a line or over several. True: texts took their place. */
bool json_take(struct text_lines *lines);
/* The text begins with such a value. */
bool json_holds_texts(struct span text);

/* The byte there; behind the end '\0'. */
static inline char at(struct span text, size_t i)
{
    return i < text.len ? text.ptr[i] : '\0';
}
/* What begins there; behind the end nothing. */
static inline struct span from(struct span text, size_t i)
{
    return i < text.len ? span_skip(text, i) : span_of(text.ptr, 0);
}
