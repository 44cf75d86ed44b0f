/*
 * budget_text: "internal=5MB/h,metaspace=+20MB,rss=2GB,classes=100/h" -> budgets.
 *
 *   KEY=AMOUNT/s|min|h|d     slope          KEY=AMOUNT    height, never to be passed
 *   KEY=AMOUNT/iteration     of --per       KEY=+AMOUNT   growth since the baseline
 *
 * Keys: analyzers/soak/soak_series.def, and NMT's categories in lower case with dashes. Strict: a
 * typo must not be a limit that silently does not exist. Setup context.
 */
#ifndef NMTWATCH_SOAK_BUDGET_TEXT_H
#define NMTWATCH_SOAK_BUDGET_TEXT_H

#include "analyzers/soak/budget.h"

#include <stddef.h>

/* Adds to what budgets already holds. False with one sentence in error. */
bool budget_text_parse(const char *text, struct budgets *budgets, char *error, size_t error_size);

#endif
