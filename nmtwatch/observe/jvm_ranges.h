/*
 * jvm_ranges: which addresses a JVM keeps for what, by its own structures, read from outside.
 *
 *   Java Heap   CollectedHeap::_reserved
 *   Code        CodeCache::_low_bound, _high_bound
 *   GC          CardTable::_byte_map
 *   Class, Metaspace
 *               MetaspaceContext -> VirtualSpaceList -> VirtualSpaceNode ... (JDK 16 and later; a libjvm
 *               with a symbol table)
 *   Thread      stacks of Java's threads
 *
 * What a JVM does not export (other tables of collectors, stacks of threads that are not Java's, all of JDK
 * 11's Metaspace) has no range. Ranges are reserved memory: much of it may be untouched.
 *
 * One process at a time, that of stacks_open; one thread; blocking.
 */
#ifndef NMTWATCH_OBSERVE_JVM_RANGES_H
#define NMTWATCH_OBSERVE_JVM_RANGES_H

#include "analyzers/native/rss_account.h"

#define JVM_RANGES_MAX 8192

/* Sorted; their number. */
int jvm_ranges_read(struct rss_range out[JVM_RANGES_MAX]);
/* The one that holds an address; NULL: none does. */
const struct rss_range *jvm_range_of(const struct rss_range *ranges, int count, uint64_t address);

#endif
