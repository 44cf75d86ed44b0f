/*
 * escape: untrusted text made safe for its destination.
 *
 * Class names are hostile data: any code that defines a class in the target chooses them. Control
 * characters (C0, DEL, C1), bidirectional overrides, invisible characters and bytes that are not
 * UTF-8 never leave this module as they are; beyond that each destination quotes what it would
 * take for its own syntax.
 *
 * Into fixed buffers, always terminated (size >= 1), never cut inside a character or inside an
 * escape sequence. Any thread; no locale. */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum escape_for {
    ESCAPE_UTF8,     /* valid UTF-8: a bad byte becomes U+FFFD; nothing else is changed */
    ESCAPE_TERMINAL, /* unsafe characters become visible: \x1b, \u202e */
    ESCAPE_HTML,     /* text and quoted attributes: TERMINAL, and & < > " ' as entities */
    ESCAPE_MARKDOWN, /* a table cell: TERMINAL, and the characters that are markup */
    ESCAPE_GNUPLOT,  /* between 'single quotes', where gnuplot substitutes nothing: TERMINAL, '
                        doubled */
    ESCAPE_CSV,      /* between "double quotes": TERMINAL, '"' doubled, and a ' in front of what a
                        spreadsheet would take for a formula (= + - @) */
    ESCAPE_PLUGIN,   /* monitoring-plugin text: TERMINAL, and | becomes / */
    ESCAPE_JSON, /* between "double quotes"; unsafe characters as \u00xx, so it reads back equal */
};

/* The longest a text of n bytes can become, without the NUL. */
#define ESCAPE_GROWTH 6

/* Returns the length of what was written, without the NUL. */
size_t escape(enum escape_for destination, const char *text, char *out, size_t size);
/* The same into a stream, however long it is. */
void escape_put(enum escape_for destination, const char *text, FILE *out);
/* The same as a text of its own, which the caller frees; NULL when out of memory. */
char *escape_copy(enum escape_for destination, const char *text);

/* A text safe for the terminal, on the stack: escape_name(name).text. Long names are cut. */
struct escaped_name {
    char text[512];
};
struct escaped_name escape_name(const char *text);

/* Characters (not bytes) of valid UTF-8: the columns it takes, except wide and combining ones. */
size_t escape_columns(const char *text);
