/*
 * looks_like: what a text is that none of the readers knows, and what to give instead.
 *
 * The table is looks_like.def. The words are static. Pure; any thread.
 */
#ifndef ANALYZERS_TEXT_LOOKS_LIKE_H
#define ANALYZERS_TEXT_LOOKS_LIKE_H

#include "analyzers/parse/span.h"

struct looks_like {
    const char *what; /* "a thread dump" */
    const char *how;  /* "it has no memory figures; ..." */
};

/* text: the file, or its first bytes, as it is. */
struct looks_like looks_like(struct span text);

#endif
