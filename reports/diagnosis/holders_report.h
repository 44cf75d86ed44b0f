/*
 * holders_report: who holds the class loaders of a heap, as a page (page.h) and as JSON.
 *
 * One thread. Ownership: nothing is kept.
 */
#ifndef REPORTS_HOLDERS_REPORT_H
#define REPORTS_HOLDERS_REPORT_H

#include "analyzers/heap/holders_baseline.h"
#include "reports/json/json_out.h"
#include "reports/page/page.h"

struct holders_report {
    const char *name; /* the dump's file, or the JVM */
    const struct heap *heap;
    const struct holders *holders;
    int64_t dump_bytes, took_ms;
    const struct holders_baseline *baseline; /* an earlier dump; NULL: none */
    const char *baseline_name;
};

/* 0 nothing is held that should be gone, 1 WARNING: a suspect group. */
int holders_status(const struct holders *holders);
/* Finding of a suspect group. */
void holders_finding(const struct holders *holders, const struct holder_group *group,
                     struct texts *texts, struct finding *finding);
void holders_report_page(const struct holders_report *report, struct page *page);
/* The findings of all suspect groups, at most so many. */
int holders_findings(const struct holders *holders, struct texts *texts, struct finding *findings,
                     int most);
/* A whole object. */
void holders_report_json(const struct holders_report *report, struct json_out *out);

#endif
