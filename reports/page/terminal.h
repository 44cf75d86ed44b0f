/* terminal: what all texts for a terminal are made of: colours, wrapped sentences, labelled
 * figures, a finding, a table. Every text is escaped here.
 *
 * Colours only when the caller asks for them (it knows isatty and NO_COLOR). Nothing is flushed.
 * One thread per stream. */
#pragma once

#include "analyzers/judge/finding.h"

#include <stdio.h>

/* A figure of a finding as people read it, the same in every report: the label is a row of
 * evidence.def, the value has the unit that the key carries. Not escaped. */
struct evidence_text {
    char label[40], value[EVENT_NAME_MAX];
};
struct evidence_text evidence_text(const struct evidence *evidence);
/* NULL: the key has no row. */
const char *evidence_label(const char *key);

struct terminal {
    FILE *out;
    bool colour;
    int width; /* columns to wrap to; < 40 or unknown: 80 */
};

enum terminal_colour {
    TERMINAL_PLAIN,
    TERMINAL_BOLD,
    TERMINAL_DIM,
    TERMINAL_RED,
    TERMINAL_YELLOW,
    TERMINAL_GREEN,
};

/* The sequence that switches to it; "" without colours. PLAIN ends every other. */
const char *terminal_paint(const struct terminal *terminal, enum terminal_colour colour);
enum terminal_colour terminal_severity_colour(enum severity severity);
int terminal_width(const struct terminal *terminal);

/* Words wrapped to the width, every line indented. */
void terminal_wrapped(const struct terminal *terminal, int indent, const char *text);
/* The same behind something that was printed already and takes that many columns; further lines are
 * indented. */
void terminal_continued(const struct terminal *terminal, int indent, int column, const char *text);
/* "  label:    text", the text from the same column on for labels shorter than width. */
void terminal_labelled(const struct terminal *terminal, int indent, const char *label, int width,
                       const char *text);

/* "CRITICAL class-explosion family", without a newline; word in its colour in front. */
void terminal_finding_name(const struct terminal *terminal, const char *word,
                           enum terminal_colour colour, const struct finding *finding);
/* Below it: evidence with units, what to do, the runbook. */
void terminal_finding_details(const struct terminal *terminal, const struct finding *finding);
/* "it lasted:   40 s" among such details. */
void terminal_finding_figure(const struct terminal *terminal, const char *label, const char *text);

/* The one table: each column as wide as its widest cell or head, numbers to the right. */
struct terminal_column {
    const char *head;
    bool number;
    int width;                   /* at least; a table that is drawn row by row has it fixed */
    enum terminal_colour colour; /* of its cells */
};
struct terminal_table {
    int indent;
    int gap; /* spaces between columns */
    int column_count;
    const struct terminal_column *columns;
    bool headless;
    bool cut; /* the last column ends where the terminal does, when that leaves room for a word */
    int row_count;
    const char *const *cells; /* row by row */
    /* Called behind each row, for what stands below it; NULL. */
    void (*below)(const struct terminal *terminal, const void *context, int row);
    const void *context;
};
/* False when out of memory. */
bool terminal_table(const struct terminal *terminal, const struct terminal_table *table);
