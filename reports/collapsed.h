/*
 * collapsed: stacks as lines, outermost first: "a.Main.main;a.Main.run;malloc [libc.so.6] 12". What
 * other flame graph tools read. A ; in a name becomes a colon, what could move a cursor is escaped.
 * One thread.
 */
#ifndef REPORTS_COLLAPSED_H
#define REPORTS_COLLAPSED_H

#include "reports/call_tree.h"

#include <stdio.h>

/* A finished tree. Samples without a stack are the line "[no stack]". False when out failed, or
 * memory. */
bool collapsed_write(const struct call_tree *tree, FILE *out);

#endif
