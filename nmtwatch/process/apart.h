/* apart: a piece of work in a child, which this process can give up.
 *
 * For work that reads a stranger's files or memory and may stand still in there: the child does it, this process
 * passes signals on and waits, until the limit, and for APART_END_MS after a request to end, two seconds where the
 * child does not even take the request; then the child is left behind (left_behind.h). Setup context, one thread,
 * before signals_catch. */
#pragma once

#include <stdint.h>

#define APART_END_MS 15000 /* longer than a verb takes to switch off what it has switched on */

/* Returns what work returned (0 to 255), or -1: the child was left behind. limit_ms 0: none. A child that a signal
 * ended ends this process in the same way. */
int apart_run(int (*work)(void *context), void *context, int64_t limit_ms);
