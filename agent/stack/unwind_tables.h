/*
 * unwind_tables: gives back the pages of other libraries' unwind tables.
 *
 * A walk searches .eh_frame_hdr of the library it is in and reads .eh_frame; the kernel maps
 * sixteen pages of a file where one was touched. After a minute of javac that was 1.5 MB of libjvm,
 * more than all the agent allocates, of tables which nobody else reads in a JVM at rest. The pages
 * are the file's and stay in the page cache: given back, they return at the price of a minor fault
 * (some twenty a second on a busy JVM, of a microsecond each).
 *
 * Most frames are walked without them (frame_rule.h). Rules of libraries that were unloaded since
 * the last call are forgotten here.
 *
 * What is between two calls of unwind_tables_release is in the account (`unwind_tables`). A page is
 * given back only when the kernel says that it is the file's and nobody has written to it.
 *
 * Drain thread, or setup when that is not running.
 */
#ifndef AGENT_STACK_UNWIND_TABLES_H
#define AGENT_STACK_UNWIND_TABLES_H

void unwind_tables_release(void);

#endif
