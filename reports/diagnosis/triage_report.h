/*
 * triage_report: what a triage found, as a page (page.h) and as JSON. The same sections in each:
 * findings with their fixes, whose memory it is (call sites, RSS against NMT), an agent's bill,
 * families, class loaders, what the looking cost, and whether a profiler is appropriate.
 *
 * One thread. Ownership: nothing is kept.
 */
#ifndef REPORTS_TRIAGE_REPORT_H
#define REPORTS_TRIAGE_REPORT_H

#include "analyzers/triage/triage.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"

/* One step of the looking: what it cost the JVM. */
struct triage_step {
    const char *name;
    int64_t pause_us; /* measured upper bound; 0: it stops nobody; -1: not run */
    int64_t took_us;
    char note[160]; /* why not, what it left behind */
};

struct triage_report {
    const struct dossier *dossier;
    const struct triage *triage;
    int step_count; /* 0: offline */
    const struct triage_step *steps;
};

/* Many error files: how many of each cause. */
#define TRIAGE_OVERVIEW_MAX 32
struct triage_overview {
    int files;
    int count;
    struct {
        char cause[64]; /* "page-file", "crash-SIGSEGV" */
        int files;
    } row[TRIAGE_OVERVIEW_MAX];
};
/* Counts the dossier when it has an error file that says how it ended. */
void triage_overview_add(struct triage_overview *overview, const struct dossier *dossier);
/* Most files first, for a page without a title. Only of two files and more. */
void triage_overview_page(const struct triage_overview *overview, struct page *page);
void triage_overview_json(const struct triage_overview *overview, struct json_out *out);

/* 0 OK, 1 WARNING, 2 CRITICAL: the worst finding. */
int triage_status(const struct triage *triage);
/* Begins the page and fills it; to be freed by the caller. */
void triage_report_page(const struct triage_report *report, struct page *page);
/* Members of an open object, but for "findings". */
void triage_report_json(const struct triage_report *report, struct json_out *out);

#endif
