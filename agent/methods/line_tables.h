/*
 * line_tables: the line number table of a method, small: four bytes an entry where JVMTI's take
 * sixteen (bytecode indexes and lines are 16-bit numbers in a class file).
 *
 * What JVMTI returned is copied and may be given back at once. Component LINE_TABLES. Drain thread.
 */
#ifndef AGENT_METHODS_LINE_TABLES_H
#define AGENT_METHODS_LINE_TABLES_H

#include <jvmti.h>
#include <stddef.h>
#include <stdint.h>

struct line_table;

/* Entries in any order. NULL: there are none, or no memory. */
struct line_table *line_table_create(const jvmtiLineNumberEntry *entries, jint count);
/* The same from the table HotSpot keeps behind a method's bytecodes: a byte holds a step of each
 * (five bits bytecode, three bits line); 255 is followed by two signed numbers of up to five bytes;
 * 0 ends it. lowest: what HotSpot adds to each byte of a number so that none is zero (0 up to JDK
 * 19, 1 since). What comes after damage is left out. */
struct line_table *line_table_decode(const uint8_t *bytes, size_t size, unsigned lowest);
/* The line of a bytecode index; 0: before the first entry. */
int line_table_line(const struct line_table *table, int32_t bci);
void line_table_destroy(struct line_table *table);

#endif
