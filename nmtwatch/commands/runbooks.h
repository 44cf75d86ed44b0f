/*
 * runbooks: the pages of docs/runbooks, compiled into the program, so that they are there where only
 * the binary was copied.
 *
 * Texts are Markdown in UTF-8 and live as long as the program. Pure; any thread.
 */
#ifndef NMTWATCH_COMMANDS_RUNBOOKS_H
#define NMTWATCH_COMMANDS_RUNBOOKS_H

#include "analyzers/parse/span.h"

#include <stddef.h>

struct runbook {
    const char *name;        /* "class-explosion" */
    const char *begin, *end; /* the whole page */
};

/* In the order of runbooks.def; NULL behind the last one. */
const struct runbook *runbook_at(size_t index);
struct span runbook_text(const struct runbook *runbook);
/* NULL: no page of this name. */
const struct runbook *runbook_find(const char *name);
/* The page's heading without "# " and "Runbook: ". */
struct span runbook_title(const struct runbook *runbook);
/* The section "## HEADING" up to the next one, heading included; empty: the page has none. */
struct span runbook_section(const struct runbook *runbook, const char *heading);

#endif
