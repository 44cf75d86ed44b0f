/* soak_report: the outcome of a soak as a page (reports/page/page.h), as one JSON line
 * (docs/schema/soak.json), and for build servers as JUnit XML and TAP version 13. One thread.
 *
 * JUnit is the dialect of Ant that Jenkins, GitLab and others read: one suite for each JVM, one
 * case for each series that counts and each kind of finding. A failing series is <failure>; one
 * without a verdict is <error> where it decides and <skipped> where it does not: a build server
 * must not take "cannot tell" for "passed". Characters that XML 1.0 does not have become U+FFFD.
 */
#pragma once

#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "analyzers/soak/trial.h"

#include <stdio.h>

/* soak_words: the outcome of a soak in words, the same for terminal, JSON, JUnit and TAP.
 *
 * Texts are not escaped: what the target named may stand in them. Any thread. */

#define SOAK_TEXT_MAX 1024

/* All of a soak: its JVMs, the command, where the report is. Borrowed pointers. */
struct soak_summary {
    enum soak_answer answer;
    int count;
    const struct soak_result *const *results;
    const char *const *recordings; /* one for each result; "" or NULL: none */
    int chief;                     /* whose answer it is; -1: no JVM was judged */
    const char *reason;  /* why it is undecided whatever the JVMs say; "" when it is not */
    const char *death;   /* how the command ended; "" when there is none */
    const char *report;  /* the folder, NULL: none */
    const char *against; /* the reference, NULL: none */
    int64_t wall_start_ms, duration_ms;
    bool failed_command; /* the command ended by itself, and not with 0 */
};

struct soak_text {
    char text[SOAK_TEXT_MAX];
};

/* "[-0.1, +2.3] MB/h" */
struct soak_text soak_interval_text(enum soak_unit unit, struct estimate estimate);
struct soak_text soak_amount_text(enum soak_unit unit, double amount); /* "12.3 MB" "4 711" */
struct soak_text soak_growth_text(enum soak_unit unit, double growth); /* "+1.2 MB" */

/* Begins the page and fills it; to be freed by the caller. */
void soak_page(const struct soak_summary *summary, struct page *page);

/* Resets out; NULL when out of memory. */
const char *soak_json(struct json_out *out, const struct soak_summary *summary);

/* False when out failed. */
bool junit_write(const struct soak_summary *summary, FILE *out);
bool tap_write(const struct soak_summary *summary, FILE *out);
