/* dossier_texts: one part of a saved text into the dossier of its JVM. Internal to triage. */
#ifndef ANALYZERS_TRIAGE_DOSSIER_TEXTS_H
#define ANALYZERS_TRIAGE_DOSSIER_TEXTS_H

#include "analyzers/classes/census.h"
#include "analyzers/triage/dossier_read.h"

/* One JVM while it is being read. */
struct dossier_jvm {
    int64_t pid; /* -1: of texts that do not say */
    int parts;
    bool jdk_named; /* by words: its form no longer counts */
    struct dossier dossier;
    int64_t scale_bytes; /* of the NMT summaries compared so far; 0: none */
    int64_t uptime_ms;   /* the last one read; -1 */
    int64_t first_uptime_ms;
    struct call_site_totals first_sites;
    bool have_first_sites;
    struct census *stock; /* of the best list of live classes */
    enum text_kind stock_kind;
    struct census *flow;
    struct census *late;      /* the last third of the flow */
    struct rss_range *ranges; /* of the last memory map or heap range */
    int range_count;
    bool exact_ranges;
    struct nmt_summary *summary; /* the last one, for the RSS account */
    bool have_summary;
};

/* Fills input->used, note and unparsed_lines. False: out of memory. */
bool dossier_read_part(struct dossier_jvm *jvm, const struct text_part *part,
                       struct dossier_input *input);

#endif
