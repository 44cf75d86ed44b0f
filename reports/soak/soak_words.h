/*
 * soak_words: the outcome of a soak in words, the same for terminal, JSON, JUnit and TAP.
 *
 * Texts are not escaped: what the target named may stand in them. Any thread.
 */
#ifndef REPORTS_SOAK_WORDS_H
#define REPORTS_SOAK_WORDS_H

#include "analyzers/soak/trial.h"

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
    int64_t wall_start_ms;
    int64_t duration_ms;
    bool failed_command; /* the command ended by itself, and not with 0 */
};

const char *soak_answer_name(enum soak_answer answer); /* "PASS" "FAIL" "UNDECIDED" */

struct soak_text {
    char text[SOAK_TEXT_MAX];
};

/* "+1.2 MB/h" "-30/h"; "[-0.1, +2.3] MB/h" */
struct soak_text soak_rate_text(enum soak_unit unit, double per_h);
struct soak_text soak_interval_text(enum soak_unit unit, struct estimate estimate);
struct soak_text soak_amount_text(enum soak_unit unit, double amount); /* "12.3 MB" "4 711" */
struct soak_text soak_growth_text(enum soak_unit unit, double growth); /* "+1.2 MB" */

/* Why the line has its answer, one sentence. */
struct soak_text soak_line_text(const struct soak_result *result, const struct soak_line *line);
/* The whole, one sentence that names what grows, and the family with its fix. */
struct soak_text soak_sentence(const struct soak_summary *summary);
/* What to do about it; empty when there is nothing. */
struct soak_text soak_advice(const struct soak_summary *summary);
/* Lines that people want to see: those that count, those that are large or moved. */
bool soak_line_matters(const struct soak_line *line);

#endif
