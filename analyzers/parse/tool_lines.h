/*
 * tool_lines: what other programs say of a JVM's memory in single lines: YARN, Netty, Elasticsearch, a shell; the files
 * of a control group, printed; the MBean of direct buffers. A sentence is a row of tool_lines.def.
 *
 *   ... Container killed by YARN for exceeding memory limits. 8.2 GB of 8 GB physical memory used. ...
 *   $ cat memory.usage_in_bytes
 *   501346304
 *   java.nio:name=direct,type=BufferPool ... MemoryUsed = 11811291139
 *
 * Plain data. Any thread.
 */
#pragma once

#include "floor/base/span.h"

enum tool_line {
#define TOOL_LINE(id, mark, figures, finding, severity, cause, what) TOOL_LINE_##id,
#include "analyzers/parse/tool_lines.def"
    TOOL_LINE_COUNT,
};

struct tool_lines {
    int64_t lines[TOOL_LINE_COUNT];
    int64_t used_bytes[TOOL_LINE_COUNT], limit_bytes[TOOL_LINE_COUNT]; /* of the last; -1 */
    int64_t cgroup_bytes, cgroup_limit_bytes;                          /* of its files; -1 */
    int64_t direct_bytes;                                              /* of the MBean; -1 */
    char words[200];                                                   /* the last sentence */
};

/* A sentence, the name of such a file or MBean. */
bool tool_line_is(struct span line);
void tool_lines_read(struct tool_lines *lines, struct span text);
