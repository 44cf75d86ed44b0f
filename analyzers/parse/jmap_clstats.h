/*
 * jmap_clstats: `jmap -clstats` of JDK 8, one class loader after the other.
 *
 *   class_loader    classes bytes   parent_loader   alive?  type
 *   <bootstrap>     615     1081331   null          live    <internal>
 *   0x00000000f0008 12      20481   0x00000000f0000 dead    sun/misc/Launcher$AppClassLoader@0x0...
 *   total = 26      1234    1101812     N/A         alive=1, dead=25        N/A
 *
 * From 9 on jmap prints what VM.classloader_stats prints. The columns are separated by tabs. A row
 * has its bytes in chunk_bytes: metadata of its classes, as far as used. In front of the heading
 * the serviceability agent talks about itself. Allocates nothing, spans point into the text. Any
 * thread.
 *
 *   jmap_clstats_begin -> jmap_clstats_next ... -> lines.result
 */
#ifndef ANALYZERS_PARSE_JMAP_CLSTATS_H
#define ANALYZERS_PARSE_JMAP_CLSTATS_H

#include "analyzers/parse/classloader_stats.h"

struct jmap_clstats {
    struct line_cursor lines;
    bool started;
};

void jmap_clstats_begin(struct jmap_clstats *stats, struct span text);
/* False at the end, behind the total; PARSE_MALFORMED without the heading, PARSE_INCOMPLETE without
 * the total. */
bool jmap_clstats_next(struct jmap_clstats *stats, struct loader_stats_row *row);

#endif
