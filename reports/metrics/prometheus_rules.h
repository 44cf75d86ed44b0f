/* prometheus_rules: the thresholds as Prometheus alerting rules, for those who already scrape their
 * JVMs. The table is prometheus_rules.def; the texts are those of findings.def.
 *
 * Rules know no episodes and no names of classes: they approximate what the judge decides. As an
 * alert of the judge, one resolves when its threshold was not reached for clear_after_s
 * (keep_firing_for, which needs Prometheus 2.42). Any thread.
 */
#pragma once

#include "analyzers/judge/finding.h"
#include "reports/json/json_out.h"

#include <stdio.h>

struct prometheus_rule {
    enum finding_kind finding;
    const char *alert;
    const char *lasts;      /* "for", a template */
    const char *expression; /* a template: $(key) stands for a threshold */
};

/* By index; NULL past the end. */
const struct prometheus_rule *prometheus_rule_at(size_t index);
/* Fills a template. False when it names no threshold or does not fit. */
bool prometheus_rule_fill(const char *template, const struct thresholds *thresholds, char *out,
                          size_t size);

/* A rule file in YAML. runbooks: address in front of class-explosion.md and the like, "":
 * FINDING_RUNBOOKS. False when out failed. */
bool prometheus_rules_yaml(const struct thresholds *thresholds, const char *runbooks, FILE *out);
/* The same as JSON (which is YAML too); NULL when memory ran out. */
const char *prometheus_rules_json(struct json_out *out, const struct thresholds *thresholds,
                                  const char *runbooks);
