/*
 * tap: the outcome of a soak in the Test Anything Protocol: the verdict, then each series that
 * counts and each finding that fails. What does not decide and cannot be told is skipped; where it
 * decides it is "not ok": a harness must not take "cannot tell" for "passed". One thread per
 * stream.
 */
#ifndef REPORTS_TAP_H
#define REPORTS_TAP_H

#include "reports/soak_words.h"

#include <stdio.h>

/* False when out failed. */
bool tap_write(const struct soak_summary *summary, FILE *out);

#endif
