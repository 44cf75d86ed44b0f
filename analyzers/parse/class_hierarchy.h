/*
 * class_hierarchy: the classes that `VM.class_hierarchy` prints (JDK 9 and later), one per _next.
 *
 *   class_hierarchy_begin -> class_hierarchy_next ... -> lines.result
 *
 *   |  |--jdk.internal.reflect.GeneratedMethodAccessor1/0x00007f1c (invokes: Sample::hi ()V)
 *      ^depth 2        ^name                             ^loader      ^invokes (JDK 11 to 21)
 *
 * The name of a hidden class contains a slash itself. Lines "implements X/null (declared intf)"
 * of the -i option repeat interfaces that have a line of their own and are passed over.
 *
 * The tree has no end mark: a text cut between two lines cannot be told from a smaller tree; one
 * cut inside a line is PARSE_INCOMPLETE. Allocates nothing; spans point into the text. Any thread.
 */
#ifndef ANALYZERS_PARSE_CLASS_HIERARCHY_H
#define ANALYZERS_PARSE_CLASS_HIERARCHY_H

#include "analyzers/parse/line_cursor.h"

struct class_hierarchy_row {
    struct span name;
    int depth;               /* 0: java.lang.Object */
    uint64_t loader_address; /* of its ClassLoaderData; 0: boot loader, printed as null */
    bool is_interface;
    struct span invokes; /* what a generated reflection accessor calls; empty for others */
};

struct class_hierarchy {
    struct line_cursor lines;
    int64_t rows;
};

void class_hierarchy_begin(struct class_hierarchy *hierarchy, struct span text);
bool class_hierarchy_next(struct class_hierarchy *hierarchy, struct class_hierarchy_row *row);

#endif
