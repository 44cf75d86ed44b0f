/*
 * heap_census: histograms of one JVM's heap in, the classes that hold most and that have grown most
 * out.
 *
 * The problem: a histogram has a row for each class, thousands of them, and a class that a generator
 * made has a few objects and a name that never comes again. So classes of one generator share a row
 * (their stem, with the family that a census of names gives it), classes of one name in several
 * loaders share one as well, and each row is compared with the first histogram. Of all rows the
 * HISTOGRAM_TOP with most bytes and the HISTOGRAM_TOP with most growth remain.
 *
 *   heap_census_create -> heap_census_add ... -> heap_census_destroy
 *
 * Memory: 24 bytes for each row of the first histogram, at most 65 536 of them, and 95 KB; while a
 * histogram is read 600 bytes more for each of its rows. One thread.
 */
#pragma once

#include "analyzers/model/event.h"
#include "floor/base/span.h"

struct heap_census;

/* NULL when out of memory. */
struct heap_census *heap_census_create(void);
/* text: a whole reply of GC.class_histogram. ms: of the event it becomes. False when it is none,
 * ends too early, or memory is out: nothing has changed. The event's rows are valid until the next
 * call. */
bool heap_census_add(struct heap_census *census, struct span text, int64_t ms,
                     struct histogram_event *event);
/* The same of a saved text, of which the end may be missing (`| head -100`): sums are of the rows that are there,
 * and a class that the first does not have has grown by what it has more than the last row of that. */
bool heap_census_add_saved(struct heap_census *census, struct span text,
                           struct histogram_event *event);
void heap_census_destroy(struct heap_census *census);

/* Indices of the rows that have grown, most bytes of growth first; returns how many. */
int histogram_growing(const struct histogram_event *event, int *indices, int max);

/* Whether objects of this class may be what a GC of this JDK (0: unknown) fills gaps with: int arrays, at the end of a
 * buffer that it promoted to and of a humongous object's region. They grow with what is promoted, by less than it.
 * From JDK 19 on fillers have classes of their own, which are no rows. */
bool heap_class_may_be_filler(int jdk_major, const char *name);
