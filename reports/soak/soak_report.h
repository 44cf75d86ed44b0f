/*
 * soak_report: the outcome of a soak as a page (reports/page/page.h), as one JSON line
 * (docs/schema/soak.json), and for build servers as JUnit XML and TAP version 13. One thread.
 *
 * JUnit is the dialect of Ant that Jenkins, GitLab and others read: one suite for each JVM, one
 * case for each series that counts and each kind of finding. What fails is <failure>, what cannot
 * be told <error> where it decides and <skipped> where it does not: a build server must not take
 * "cannot tell" for "passed". Characters that XML 1.0 does not have become U+FFFD.
 */
#ifndef REPORTS_SOAK_REPORT_H
#define REPORTS_SOAK_REPORT_H

#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "reports/soak/soak_words.h"

#include <stdio.h>

/* Begins the page and fills it; to be freed by the caller. */
void soak_page(const struct soak_summary *summary, struct page *page);

/* Resets out; NULL when out of memory. */
const char *soak_json(struct json_out *out, const struct soak_summary *summary);
/* {"value":..,"low":..,"high":..} or null. */
void soak_json_estimate(struct json_out *out, const char *key, struct estimate estimate);

/* False when out failed. */
bool junit_write(const struct soak_summary *summary, FILE *out);
bool tap_write(const struct soak_summary *summary, FILE *out);

#endif
