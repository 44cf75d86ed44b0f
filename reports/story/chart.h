/*
 * chart: a story as gnuplot scripts, one for each picture worth looking at.
 *
 * A script carries its data inline and names no file: whoever runs gnuplot feeds the script to its
 * standard input and gets the picture from its standard output. Nothing here runs anything.
 *
 * A picture without data is not drawn at all (gnuplot gives up on empty series): ask
 * chart_drawable first. Values that are missing are gaps, not zeros. Names of categories and of the
 * JVM are quoted. One thread.
 */
#ifndef REPORTS_CHART_H
#define REPORTS_CHART_H

#include "reports/story/story.h"

#include <stdio.h>

enum chart_kind {
    CHART_CLASSES,      /* live classes; loads and unloads per second */
    CHART_GROWTH,       /* by NMT category, since the baseline */
    CHART_CLASS_MEMORY, /* Class + Metaspace against live classes */
    CHART_INTERNAL,     /* growth of Internal against its thresholds */
    CHART_MEMORY,       /* committed by NMT category, without the Java heap */
    CHART_HEAP,         /* bytes of the classes whose objects grew most, from histograms */
    CHART_PROCESS,      /* RSS, NMT's total, the Java heap */
    CHART_KIND_COUNT,
};

enum chart_format { CHART_PNG, CHART_SVG };

const char *chart_name(enum chart_kind kind);    /* "classes": the stem of a file name */
const char *chart_title(enum chart_kind kind);   /* a few words */
const char *chart_caption(enum chart_kind kind); /* how to read it, one sentence */

bool chart_drawable(const struct story *story, enum chart_kind kind);
/* False when memory ran out or out could not be written; what was written is then of no use. */
bool chart_script(const struct story *story, enum chart_kind kind, enum chart_format format,
                  FILE *out);

#endif
