/* rows: what the list of `top` shows, made anew from the members of the fleet for each refresh: a row
 * for a JVM, and in the tree one for each container in front of its JVMs.
 *
 *   rows_make -> rows_find, rows_cell, rows_layout ... -> rows_free
 *
 * Texts are what the JVMs say of themselves: the screen escapes them. Reads members, changes nothing.
 * One thread. */
#pragma once

#include "nmtwatch/serve/member.h"

enum top_column {
#define TOP_COLUMN(id, key, head, width, number, kept, help) TOP_##id,
#include "nmtwatch/top/columns.def"
#undef TOP_COLUMN
    TOP_COLUMNS
};

struct top_column_row {
    const char *key, *head;
    int width;
    bool number;
    int kept;
    const char *help;
};
const struct top_column_row *top_column_row(enum top_column column);
/* TOP_COLUMNS when there is none. */
enum top_column top_column_from_key(const char *key, size_t length);
/* "pid,main,rss": a bit for each. False with one sentence. */
bool top_columns_parse(const char *text, unsigned *columns, char *error, size_t size);
#define TOP_ALL ((1u << TOP_COLUMNS) - 1)
/* The choice of this user: `columns` of a file nmtwatch/top.ini in $XDG_STATE_HOME, else ~/.local/state; both
 * absolute. It is read when it is a small regular file of this user that no other user may write, and written
 * as a new file in a folder of this user. False: there is none, or it could not be written; for the second
 * errno says why. */
bool top_columns_load(unsigned *columns);
bool top_columns_save(unsigned columns);

struct top_row {
    const struct member *member; /* NULL: a container, with the sums of its JVMs */
    int64_t pid;
    bool recorded;
    double value[TOP_COLUMNS]; /* of numbers; NAN: not known */
    double heap_committed_bytes;
    char main[EVENT_NAME_MAX], unit[96], jdk[16], group[96], verdict[24], finding[160];
    int grave; /* severity of what is up + 1, 0: nothing */
    int jvms;  /* of a container */
};

struct top_order {
    enum top_column sort;
    bool reversed, tree;
    const char *filter; /* "": all */
};

struct top_rows {
    int count;
    size_t capacity;
    struct top_row *row;
    int jvms, alerts,
        placed; /* in all, filtered out or not; placed: with a unit, pod or container */
    double rss_bytes, nmt_bytes; /* of those JVMs */
};

/* Members are the owners of what is watched. False when out of memory; rows is then empty. rows may
 * have been filled before. */
bool rows_make(struct top_rows *rows, const struct watching *watching,
               const struct top_order *order);
/* Where the JVM is; -1: not shown. */
int rows_find(const struct top_rows *rows, int64_t pid);
void rows_free(struct top_rows *rows);

/* The text of a cell, UTF-8. width: of its column. sort: whose shape TREND shows. */
void rows_cell(const struct top_row *row, enum top_column column, enum top_column sort, int width,
               bool utf8, char *out, size_t size);
/* Widths of the columns on a terminal of this width, 0: not shown. A space stands between two. The sort column
 * stays. */
void rows_layout(unsigned columns, enum top_column sort, int width, int widths[static TOP_COLUMNS]);

/* The newest points of a series as a line of at most `width` characters, lowest to highest. */
void top_spark(const struct sparkline *spark, enum spark_series series, int width, bool utf8,
               char *out, size_t size);
/* "17.0.15" of "17.0.15+6-Debian". */
void top_jdk(const char *jdk, char *out, size_t size);
/* The last part of a control group's path, an id cut to 12 digits. */
void top_container(const char *cgroup, char *out, size_t size);
/* The container of a JVM by its control group, "" when it is in none. */
void top_group(const struct member *member, char *out, size_t size);
