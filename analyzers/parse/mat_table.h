/*
 * mat_table: rows of a table of Eclipse MAT that was pasted as text: its histogram, its list of class
 * loaders, and the sentences of its leak report.
 *
 *   Class Name             |   Objects | Shallow Heap |   Retained Heap
 *   char[]                 |   123,456 |   12,345,678 | >= 12,345,678
 *   "Class Name","Objects","Shallow Heap"                         (exported as CSV)
 *   [a.B$C](mat://object/0x1) [First 10 of 12 objects](...) 12 345     (copied from its HTML)
 *   12 instances of "a.B", loaded by "c.L @ 0x1" occupy 401,627,128 (41.22%) bytes.
 *
 *   mat_table_begin -> mat_table_next ... -> lines.unknown_lines
 *
 * Allocates nothing; spans point into the text. Any thread.
 */
#ifndef ANALYZERS_PARSE_MAT_TABLE_H
#define ANALYZERS_PARSE_MAT_TABLE_H

#include "analyzers/parse/jcmd_reply.h"

struct mat_row {
    struct span name;  /* of the class, without an address */
    bool is_loader;    /* a class loader: instances is the number of classes it defined */
    int64_t instances; /* -1: not said */
    int64_t bytes;     /* shallow, of a leak report retained; -1: not said */
};

struct mat_table {
    struct line_cursor lines;
    bool of_loaders; /* by the heading */
    bool is_csv;
    struct span name; /* of a row whose figures stand in the next line */
};

/* Begins such a table, or is such a sentence. */
bool mat_table_is_heading(struct span line);
void mat_table_begin(struct mat_table *table, struct span text);
bool mat_table_next(struct mat_table *table, struct mat_row *row);

#endif
