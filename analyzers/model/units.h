/*
 * units: numbers as people read them: the one printer, for findings and for pages.
 *
 * 1 KB = 1024 bytes and 1 MB = 1024 KB, as the JVM itself prints and takes them (-Xmx64m).
 * Texts come back by value: printf("%s", units_bytes(n).text). No locale. Any thread.
 */
#pragma once

#include <stdint.h>

struct units_text {
    char text[48];
};

struct units_text units_bytes(int64_t bytes); /* "512 B" "5.2 KB" "12.3 MB" "1.5 GB" */
struct units_text
units_short_bytes(int64_t bytes);              /* for narrow columns: "512B" "5.2K" "12M" "1.5G" */
struct units_text units_growth(int64_t bytes); /* signed: "+1.2 MB" "-3.0 KB" "0 B" */
struct units_text units_rate(double per_s);    /* "20.1/s" "0.02/s" */
struct units_text units_count(int64_t count);  /* "1 234 567" */
/* "250 ms" "12.3 s" "41 s" "2 min 05 s" "2 h 05 min" "3 d 4 h" */
struct units_text units_duration(int64_t ms);
struct units_text units_microseconds(int64_t us); /* "85 us" "4.2 ms" "1.3 s" */
struct units_text units_clock(int64_t ms);        /* since the start: "0:01:23" */

/* A figure whose key carries its unit: ("growth_bytes", n) -> "12.3 MB"; no known unit: a count. */
struct units_text units_figure(const char *key, int64_t number);
struct units_text units_real_figure(const char *key, double number); /* one or two decimals */
