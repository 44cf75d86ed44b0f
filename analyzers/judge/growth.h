/*
 * growth: which series of a JVM must not keep growing, and the words of the finding when one does; the rules are in
 * growth.def.
 *
 * Every verb's words about growth are made here: growth_finding, from a slope with its interval, over a span.
 *
 * Pure; any thread.
 */
#pragma once

#include "analyzers/judge/finding.h"
#include "analyzers/trend/verdict.h"

enum growth_rule {
#define GROWTH(id, finding, threshold, ask_ms, words, alert, expression) GROWTH_##id,
#include "analyzers/judge/growth.def"
    GROWTH_RULES,
};

struct growth_row {
    enum finding_kind kind;
    enum threshold threshold; /* THRESHOLD_COUNT: it has rules of its own */
    int64_t ask_ms;
    const char *words;
};
const struct growth_row *growth_row(enum growth_rule rule);
/* Threads are counted; all else is bytes. */
static inline bool growth_is_count(enum growth_rule rule)
{
    return rule == GROWTH_THREADS;
}

/* The rule's value in a sample; false: the sample does not say. */
bool growth_value(enum growth_rule rule, const struct sample *sample, int jdk_major,
                  int64_t *value);

/* A series that was looked at for minutes: its pace, with its interval, and whether it continues. Begins as {0}. */
#define GROWTH_POINTS 64
struct growth_points {
    int count;
    int64_t first_ms;
    double x[GROWTH_POINTS], y[GROWTH_POINTS]; /* hours, value */
};
void growth_points_add(struct growth_points *points, int64_t ms, int64_t value);

/* What is known of a series that grows. */
struct growth {
    enum growth_rule rule;
    const char *words;             /* NULL: the rule's */
    struct verdict_interval per_h; /* its pace */
    int64_t span_ms;               /* over which it grew */
    int64_t grown;                 /* by so much */
    int64_t now;                   /* to this */
    const struct sample *sample;   /* for its limit; NULL: no limit is known */
    const char *state;             /* in words: "growing at a constant rate" */
};
/* Severity, title, advice, evidence of the rule's finding. */
void growth_finding(const struct growth *growth, struct texts *texts, struct finding *finding);

/* The pace over the points. False: there are too few, or the series does not grow. */
bool growth_points_ask(const struct growth_points *points, struct growth *growth);
/* Whether the second half grew by a good part of what the first did. */
bool growth_points_go_on(const struct growth_points *points);
