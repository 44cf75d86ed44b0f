/*
 * rss: who makes a process grow: its mappings before and after (smaps), and the stacks that touched
 * their pages meanwhile (page faults).
 *
 *   rss_open -> rss_touch for each fault ... -> rss_close
 *
 * Growth is that of smaps' Anonymous, mapping by mapping, so that the rows add up to it. What a mapping grew
 * by is divided among the stacks that touched it, in proportion to their faults. A page counts for whom touched
 * it last, and only if it is still there (pagemap); a huge page counts with all its pages; faults
 * that found no room in the ring are added to the next that did. The remaining error changes shares within one
 * mapping, but no sum. Memory without an observed fault is a row of its own.
 *
 * A row is NMT's category where the JVM's structures name the address (jvm_ranges.h). Else it is what the form of the
 * mapping says (malloc arenas, libraries, files) and who touched it: libjvm, Java code (direct buffers), a
 * thread its own stack, or another library, whose memory is outside of NMT.
 *
 * One process at a time; one thread.
 */
#ifndef NMTWATCH_OBSERVE_RSS_H
#define NMTWATCH_OBSERVE_RSS_H

#include "nmtwatch/observe/stacks.h"
#include "reports/profile/observe_report.h"

#include <stdbool.h>
#include <stddef.h>

struct rss_watch;

/* Reads the mappings as they are. NULL with a sentence. stacks_open has been called. */
struct rss_watch *rss_open(const struct target *target, char *error, size_t error_size);
/* frames: innermost first; names stay until stacks_close. */
void rss_touch(struct rss_watch *watch, const struct perf_sample *sample,
               const struct stack_frame *frames, int depth);
/* Reads the mappings again: rows of growth, and the tree of it in bytes, outermost the row. Frees the
 * watch. False with a sentence: the process has gone. */
bool rss_close(struct rss_watch *watch, const struct target *target, struct observe_report *report,
               char *error, size_t error_size);

#endif
