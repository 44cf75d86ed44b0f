/* runbooks: the pages of docs/runbooks, compiled into the program, so that they are there where only
 * the binary was copied; `nmtwatch explain` prints them, pages of HTML hold those of their findings.
 *
 * Texts are Markdown in UTF-8 and live as long as the program. Pure; any thread. */
#pragma once

#include "floor/base/span.h"

#include <stddef.h>
#include <stdio.h>

#define RUNBOOK_FAMILIES "producers" /* the page with a section for each family of classes */

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

/* Where a link of a page leads: writes an address, or "" for none. */
typedef void markdown_link_fn(const void *context, struct span target, char *out, size_t size);
/* Markdown of these pages as HTML: headings, paragraphs, lists, tables, code, `code`, **bold**, *em*,
 * links, backslashes. "# " becomes <hLEVEL>, "## " the next one. Texts are escaped; markup of HTML in
 * them is text. A link without an address is its text. */
void markdown_html(FILE *out, struct span text, int level, markdown_link_fn *link,
                   const void *context);
/* One line of it. */
void markdown_html_line(FILE *out, struct span line, markdown_link_fn *link, const void *context);
