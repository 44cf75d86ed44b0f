/*
 * rss: who makes a process grow: its mappings before and after (smaps), and the stacks that touched
 * their pages meanwhile (page faults).
 *
 *   rss_open -> rss_touch for each fault ... -> rss_close
 *
 * Growth is that of smaps' Anonymous, mapping by mapping, so that the rows add up to it. What a mapping grew
 * by is divided among the stacks that touched it, in proportion to their faults: faults that were lost, huge
 * pages and pages that were given back again falsify shares within one mapping and no sum. What
 * nobody was seen to touch is a row of its own.
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
void rss_touch(struct rss_watch *watch, uint64_t address, uint64_t faults,
               const struct stack_frame *frames, int depth);
/* Reads the mappings again: rows of growth, and the tree of it in bytes, outermost the row. Frees the
 * watch. False with a sentence: the process has gone. */
bool rss_close(struct rss_watch *watch, const struct target *target, struct observe_report *report,
               char *error, size_t error_size);

#endif
