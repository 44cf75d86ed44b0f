/* sample_csv: samples and class histograms as CSV, a row for each sample or each class of a histogram. An empty
 * cell is a value that the sample does not have. It writes to the stream only. */
#pragma once

#include "analyzers/model/event.h"

#include <stdio.h>

void csv_sample_head(FILE *out);
void csv_sample_row(FILE *out, int64_t unix_ms, int64_t ms, const struct sample *sample);
void csv_histogram_head(FILE *out);
void csv_histogram_rows(FILE *out, int64_t unix_ms, int64_t ms,
                        const struct histogram_event *histogram);
