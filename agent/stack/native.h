/*
 * native: native frames above Java, in a signal handler.
 *
 * Compiled code is walked by rules of our own, which are small and remembered (frame_rule.h). A
 * stack with a frame that has no such rule, one in some hundreds, is walked by libunwind: through
 * its remote interface, so that every read of memory is checked and the search for unwind tables
 * takes no lock (native_unwind.h says why). What libunwind locks itself, its cache and its pool, it
 * locks with all signals blocked and for no longer than a copy; memory it takes from a static pool.
 * A sample every 10 ms finds the processor's caches cold: 2 us a frame by libunwind, 1 by rules.
 *
 * Under a system call filter only rules are used: libunwind makes calls that the filter may end the JVM for. A stack
 * with a frame that has no rule has its innermost frame alone, then.
 *
 * Optional at run time: without libunwind-x86_64.so.8 or -aarch64 (package libunwind8) or glibc 2.35 there are
 * no native frames, and status says so.
 */
#pragma once

#include "floor/hotspot/frame.h"

#include <stdbool.h>
#include <stddef.h>

/* Setup context. False with a sentence: no native frames. */
bool native_setup(char *error, size_t error_size);
/* For native_find_java without native frames: needs glibc 2.35, and no libunwind. False: it finds
 * nothing. Setup context. */
bool native_setup_rules(void);
/* Signal context. Frames from the interrupted pc outwards until the code cache (Java) is reached,
 * the stack ends, or max. */
int native_walk(void *ucontext, struct frame *out, int max);
/* The Java code that called what the interrupted pc is in, and what sp and bp will be when the call
 * returns; or what another signal handler, in which the pc is, has interrupted. False: the frames between do not lead there. Signal context. */
struct native_caller {
    uintptr_t pc, sp, bp;
    const void
        *interrupted; /* ucontext: it did not call, a signal handler interrupted it; else NULL */
};
bool native_find_java(void *ucontext, struct native_caller *caller);
/* True when pc lies in code the JVM generated: where native_walk stops. */
void native_set_code_cache(uintptr_t low, uintptr_t high);

/*
 * Gives back the pages of other libraries' unwind tables.
 *
 * A walk searches .eh_frame_hdr of the library it is in and reads .eh_frame; the kernel maps
 * sixteen pages of a file where one was touched. After a minute of javac that was 1.5 MB of libjvm,
 * more than all the agent allocates, of tables which nothing else reads in an idle JVM. The pages
 * are the file's and stay in the page cache: given back, they return at the price of a minor fault
 * (some twenty a second on a busy JVM, of a microsecond each).
 *
 * Most frames are walked without them (frame_rule.h). Rules of libraries that were unloaded since
 * the last call are forgotten here.
 *
 * What is between two calls of unwind_tables_release is in the account (`unwind_tables`). A page is given
 * back only when the kernel says that it is the file's and unmodified.
 *
 * Drain thread, or setup when that is not running.
 */
void unwind_tables_release(void);
