/*
 * verdict_internal: the inside of a verdict, shared by verdict.c (what is fed, the sentence) and
 * verdict_ask.c (how it decides). No other file includes it.
 */
#pragma once

#include "analyzers/trend/history.h"
#include "analyzers/trend/verdict.h"
#include "analyzers/trend/drawdown.h"

#define FEW_POINTS_MIN 8
#define FEW_POINTS_MAX 40 /* beyond that windows are long enough */

/* The points of a sparse series since its life began, as they came. */
struct few_points {
    int count;                /* FEW_POINTS_MAX + 1: no longer few */
    double x[FEW_POINTS_MAX]; /* hours since life_from_ms; ascends strictly */
    double y[FEW_POINTS_MAX]; /* from origin */
};

struct verdict_series {
    struct verdict_options options;
    struct history history;
    struct drawdown drawdown;
    struct despike despike;
    struct few_points few; /* empty unless options.sparse */
    bool begun;
    int points;            /* values in all, over all lives */
    int64_t clock_mend_ms; /* added to what comes in, after steps backwards */
    int64_t usual_gap_ms;  /* last distance between two samples */
    int64_t last_ms;       /* mended */
    int64_t origin;        /* first value of this life */
    int64_t level;         /* newest value */
    int64_t least_step;   /* smallest difference between two values in a row: the quantum; 0 none */
    int64_t regressor;    /* newest, or VERDICT_MISSING */
    int64_t life_from_ms; /* start, or the last restart */
    int restarts;
    bool fell_back; /* one of them was found from the values alone */
};

/* Looks like a restart that no counter shows; too new to be believed. */
bool verdict_has_fallen(const struct verdict_series *series);
/* One sentence for people. */
void verdict_write_sentence(const struct verdict_options *options, struct verdict *verdict);
