/* facts_texts: one part of a saved text into the facts of its JVM. Internal to triage. */
#pragma once

#include "analyzers/classes/census.h"
#include "analyzers/classes/heap_census.h"
#include "analyzers/triage/facts_read.h"

/* One JVM while it is being read. */
struct facts_jvm {
    int64_t pid; /* -1: of texts that do not say */
    int parts;
    bool jdk_named; /* by words: its form no longer counts */
    struct jvm_facts facts;
    int64_t scale_bytes; /* of the NMT summaries compared so far; 0: none */
    int64_t uptime_ms;   /* the last one read; -1 */
    int64_t first_uptime_ms;
    struct call_site_totals first_sites;
    int64_t first_symbol_files_bytes; /* in the first measurement of NMT; 0: it was a summary */
    bool have_first_sites;
    struct census *stock; /* of the best list of live classes */
    enum text_kind stock_kind;
    struct heap_census *heap; /* of all histograms */
    struct census *flow;
    struct census *late;      /* the last third of the flow */
    struct rss_range *ranges; /* of the last memory map or heap range */
    int range_count;
    bool exact_ranges;
    struct nmt_summary *summary; /* the last one, for the RSS account */
    bool have_summary;
};

/* Fills input->used, note and unparsed_lines. False: out of memory. */
bool facts_read_part(struct facts_jvm *jvm, const struct text_part *part,
                     struct facts_input *input);

/* Texts that are not the JVM's own (facts_ticket.c). text: all of the file from there on. */
void facts_read_error_file(struct facts_jvm *jvm, const struct hs_err *file, struct span text);
void facts_read_ticket(struct facts_jvm *jvm, const struct text_part *part,
                       struct facts_input *input);
/* Dead and live loaders of jmap -permstat, -clstats. */
void facts_read_liveness(struct facts_jvm *jvm, struct span text);
/* What was read of a console or a class log in pieces. False: out of memory. */
void facts_take_lines(struct facts_jvm *jvm, const struct oom_lines *lines,
                      struct facts_input *input);
bool facts_read_class_log(struct facts_jvm *jvm, const struct classlog *log,
                          struct facts_input *input);
/* Lines of a console in a text of another kind; most have none. */
void facts_read_lines(struct facts_jvm *jvm, struct span text);
