/* units: numbers as people write them (as they read them: analyzers/model/units.h).
 *
 * Parsers are strict: the whole text must be a number with a known unit that fits; else false and one
 * sentence without a newline in error. 1 KB = 1024 bytes. No locale. Any thread. */
#pragma once

#include "analyzers/model/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "64M" "500MB" "2g" "1048576" (K, M, G, T; powers of 1024). */
bool units_parse_bytes(const char *text, int64_t *bytes, char *error, size_t error_size);
/* "500ms" "1s" "1.5s" "10m" "10min" "2h" "1d"; a bare number is refused, except 0. */
bool units_parse_duration(const char *text, int64_t *ms, char *error, size_t error_size);
/* "200ms/10min": so much pause in so long; the pause not longer than the span, and 0 for
 * none at all. */
bool units_parse_budget(const char *text, int64_t *pause_ms, int64_t *span_ms, char *error,
                        size_t error_size);
/* A moment since the epoch by strftime, in UTC; the epoch where there is no such year. */
#define UNITS_ISO "%Y-%m-%dT%H:%M:%S"
struct units_text units_utc(int64_t unix_ms, const char *format);
