/*
 * line_tables: the line number table of a method, small: four bytes an entry where JVMTI's take
 * sixteen (bytecode indexes and lines are 16-bit numbers in a class file).
 *
 * What JVMTI returned is copied and may be given back at once. Component LINE_TABLES. Drain thread.
 */
#ifndef AGENT_METHODS_LINE_TABLES_H
#define AGENT_METHODS_LINE_TABLES_H

#include <jvmti.h>
#include <stdint.h>

struct line_table;

/* Entries in any order. NULL: there are none, or no memory. */
struct line_table *line_table_create(const jvmtiLineNumberEntry *entries, jint count);
/* The line of a bytecode index; 0: before the first entry. */
int line_table_line(const struct line_table *table, int32_t bci);
void line_table_destroy(struct line_table *table);

#endif
