/* messages: what the program says to people beside its results: errors, warnings, the log of a daemon.
 *
 * The one place where such a text becomes harmless: whatever a JVM, a file or a server has put into
 * it, one call is one line, with control characters (C0, DEL, C1), overrides of the direction of
 * writing, separators of lines, invisible characters and broken UTF-8 made visible (reports/text/
 * escape.h). A line end closes the text; one inside of it is made visible like the rest.
 *
 * Nothing else in nmtwatch/ writes to standard error but progress on a terminal, which holds no
 * text of others. Any thread; not a signal handler. */
#pragma once

#include <stdarg.h>

/* Exit codes, all in docs/exit-codes.md; those of what a JVM refuses are failure_exit_code's. */
#define EXIT_WARNING  1
#define EXIT_CRITICAL 2
#define EXIT_UNKNOWN  3
#define EXIT_USAGE    64 /* sysexits' EX_USAGE */
#define EXIT_IO       74 /* sysexits' EX_IOERR: disk full, unreadable file */

/* On standard error. */
__attribute__((format(printf, 1, 2))) void print_error(const char *format, ...);
/* The same; returns the exit code. */
__attribute__((format(printf, 2, 3))) int print_failure(int code, const char *format, ...);
__attribute__((format(printf, 1, 0))) void vprint_error(const char *format, va_list arguments);
/* On standard output, at once: the log of `serve`. */
__attribute__((format(printf, 1, 2))) void print_log(const char *format, ...);
/* What stands in front of a line for the journal of systemd, where fd is its stream ($JOURNAL_STREAM): "<4>" of
 * syslog's LOG_WARNING; else "". */
const char *print_priority(int fd, int priority);
