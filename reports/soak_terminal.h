/*
 * soak_terminal: the verdict of a soak as people read it: a table of the series, the findings, one
 * sentence, what to do, where the report is. Everything from the target is escaped. One thread per
 * stream.
 */
#ifndef REPORTS_SOAK_TERMINAL_H
#define REPORTS_SOAK_TERMINAL_H

#include "reports/soak_words.h"
#include "reports/terminal.h"

void soak_terminal(const struct terminal *terminal, const struct soak_summary *summary);

#endif
