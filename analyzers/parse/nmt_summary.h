/*
 * nmt_summary: the text of `VM.native_memory summary` and `summary.diff` as numbers.
 *
 * Understood are the forms of JDK 8 to 27, every scale, the statistics a JVM prints at its exit
 * (-XX:+PrintNMTStatistics) and the section inside VM.info and hs_err files: the section is looked
 * for, whatever stands before it. Output is always bytes; `scale_bytes` says how coarse they are.
 *
 * The table has no end mark, but every category's block ends with a blank line: a text cut inside a
 * block is PARSE_INCOMPLETE. A text cut exactly between two blocks looks like a shorter
 * table: nmt_summary_check_total checks it. `consumed` is where the text of another command begins.
 *
 * A value that was not printed is missing, not zero; a delta that was not printed is zero, because
 * a JVM leaves zero deltas out. Unknown categories keep their name, lines inside a
 * block that are not understood are counted.
 *
 * Ownership: plain data of about 26 KiB; names point into the text. Any thread.
 */
#pragma once

#include "analyzers/parse/nmt_row.h"

#define NMT_SUMMARY_ROWS_MAX 48 /* JDK 27 prints 27 */

struct nmt_summary {
    bool is_diff;        /* at least one delta was printed (a diff without any change shows none) */
    int64_t scale_bytes; /* 1, 1024, 1048576 or 1073741824: what the values are multiples of */
    struct nmt_row total;
    int row_count;
    struct nmt_row rows[NMT_SUMMARY_ROWS_MAX]; /* as printed */
    int rows_dropped;                          /* categories beyond the array */
    int unknown_lines;
    struct span first_unknown;
};

/* text: the whole reply. On PARSE_OK and PARSE_INCOMPLETE *summary holds what was read so far.
 * consumed (never NULL): bytes that belong to the summary, or the offending byte. */
enum parse_result nmt_summary_parse(struct nmt_summary *summary, struct span text,
                                    size_t *consumed);

/*
 * The same of a pasted text: any piece of a table, with or without heading and total,
 * its lines at any column, blank lines lost, words between and behind the rows. Lines that are no
 * rows are skipped; a row that cannot be read is counted.
 */
struct nmt_reading {
    int rows; /* that begin a category, read or not */
    int rows_read;
    bool has_total;
    struct span first_unread; /* a row, or a line below one, that was not understood */
};
/* False: neither a total nor a row was read. */
bool nmt_summary_read(struct nmt_summary *summary, struct span text, struct nmt_reading *reading);
/* "Total: reserved=..." and "-  Class (reserved=...", whether the rest can be read or not. */
bool nmt_is_total(struct span line);
bool nmt_is_category(struct span line);

/*
 * Does the sum of the categories equal the total?
 *
 * JDK 25 takes both from one snapshot: in bytes (scale=B) they agreed in 300 of 300 polls of a JVM
 * that allocated in four threads. JDK 17 counts on while it adds up: 12 of 300 polls were off, by
 * at most 1.4 KB (a quiet JVM: never); 8 and 21 are treated alike. In KB, MB and GB every printed
 * number is rounded on its own and categories that round to zero are left out: half a unit for
 * each. A larger gap means that the text lost or doubled a category.
 */
#define NMT_RACE_BYTES (64 << 10) /* allowance where total and categories are not one snapshot */

struct nmt_total_check {
    bool holds;
    bool one_snapshot;          /* known by the peak in the total's malloc line, absent in a diff */
    int64_t reserved_gap_bytes; /* total minus sum */
    int64_t committed_gap_bytes;
    int64_t tolerance_bytes;
};
struct nmt_total_check nmt_summary_check_total(const struct nmt_summary *summary);
