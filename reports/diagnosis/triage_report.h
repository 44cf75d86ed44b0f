/* triage_report: what a triage found, as a page (page.h) and as JSON. The same sections in each:
 * findings with their fixes, whose memory it is (call sites, RSS against NMT), an agent's bill,
 * families, class loaders, what the looking cost, and whether a profiler is appropriate.
 *
 * One thread. Ownership: nothing is kept. */
#pragma once

#include "analyzers/triage/triage.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"
#include "analyzers/plan/plan.h"
#include "analyzers/heap/holders_baseline.h"

/* One step of the looking: what it cost the JVM. */
struct triage_step {
    const char *name;
    int64_t pause_us; /* measured upper bound; 0: it stops no thread; -1: not run */
    int64_t took_us;
    char note[160]; /* why not, what it left behind */
};

struct triage_report {
    const struct jvm_facts *facts;
    const struct triage *triage;
    int step_count; /* 0: offline */
    const struct triage_step *steps;
    bool brief; /* of a JVM in health the findings and the account only: one screen */
};

/* Many error files: how many of each cause. */
#define TRIAGE_OVERVIEW_MAX 32
struct triage_overview {
    int files, count;
    struct {
        char cause[64]; /* "page-file", "crash-SIGSEGV" */
        int files;
    } row[TRIAGE_OVERVIEW_MAX];
};
/* Counts the facts when it has an error file that says how it ended. */
void triage_overview_add(struct triage_overview *overview, const struct jvm_facts *facts);
/* Most files first, for a page without a title. Only of two files and more. */
void triage_overview_page(const struct triage_overview *overview, struct page *page);
void triage_overview_json(const struct triage_overview *overview, struct json_out *out);

/* 0 OK, 1 WARNING, 2 CRITICAL: the worst finding. */
int triage_status(const struct triage *triage);
/* Begins the page and fills it; to be freed by the caller. */
void triage_report_page(const struct triage_report *report, struct page *page);
/* Members of an open object, except "findings". */
void triage_report_json(const struct triage_report *report, struct json_out *out);

/* plan_report: a capacity plan as a page (page.h: terminal, Markdown) and as JSON.
 *
 * One thread. Ownership: nothing is kept. */
/* Begins the page and fills it; to be freed by the caller. source: what was measured, "pid 4711";
 * NULL: nothing. */
void plan_page(const struct plan *plan, const char *source, struct page *page);
/* The whole object. */
void plan_json(const struct plan *plan, const char *source, struct json_out *out);

/* holders_report: what holds the class loaders of a heap, as a page (page.h) and as JSON.
 *
 * One thread. Ownership: nothing is kept. */
struct holders_report {
    const char *name; /* the dump's file, or the JVM */
    const struct heap *heap;
    const struct holders *holders;
    int64_t dump_bytes, took_ms;
    const struct holders_baseline *baseline; /* an earlier dump; NULL: none */
    const char *baseline_name;
};

/* 0 nothing is held that should have been unloaded, 1 WARNING: a suspect group. */
int holders_status(const struct holders *holders);
/* Finding of a suspect group. */
void holders_finding(const struct holders *holders, const struct holder_group *group,
                     struct texts *texts, struct finding *finding);
void holders_report_page(const struct holders_report *report, struct page *page);
/* The findings of all suspect groups, at most `most`. */
int holders_findings(const struct holders *holders, struct texts *texts, struct finding *findings,
                     int most);
/* A whole object. */
void holders_report_json(const struct holders_report *report, struct json_out *out);
