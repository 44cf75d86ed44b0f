/*
 * sample_nmt: parsed replies of a JVM -> values of a sample. Any thread.
 */
#ifndef ANALYZERS_MODEL_SAMPLE_NMT_H
#define ANALYZERS_MODEL_SAMPLE_NMT_H

#include "analyzers/model/sample.h"
#include "analyzers/parse/metaspace.h"
#include "analyzers/parse/nmt_summary.h"

/* Totals and categories. Unknown categories go to `extra`; returns how many found no room there. */
int sample_add_nmt(struct sample *sample, const struct nmt_summary *summary);
void sample_add_metaspace(struct sample *sample, const struct metaspace *metaspace);

#endif
