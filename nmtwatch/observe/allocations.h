/* allocations: how much a JVM has allocated, exactly, and what its samples say of which class.
 *
 *   allocations_open -> allocations_begin -> allocations_object|_tlab ... -> allocations_end -> _close
 *
 * The total is that of java.lang.management: each thread's counter, what it has used of its TLAB, and
 * the JVM's sum of threads that ended. Samples only divide it. Those of HotSpot's sampler are weighed as the agent
 * does (floor/base/weights.h), all threads together; those of AllocTracer stand for the size of the TLAB, or
 * of the object outside of one, and have no standard error: they are not drawn by chance.
 *
 * One process at a time; one thread; remote.h and stacks.h are open. */
#pragma once

#include "floor/base/normalize.h"
#include "nmtwatch/observe/perf_events.h"
#include "reports/profile/observe_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocations;

/* every_bytes: the interval of HotSpot's sampler; 0: TLABs. NULL with a sentence: objects or threads of this
 * JVM cannot be read. */
struct allocations *allocations_open(int64_t every_bytes, char *error, size_t error_size);
/* Earlier allocations do not count. first_interval: by which the JVM has drawn the gap up to the
 * first sample of each thread that is there now; 0: TLABs. */
void allocations_begin(struct allocations *allocations, int64_t first_interval);

/* What a sample says, before it is calibrated. */
struct allocation {
    char name[CLASS_NAME_MAX]; /* as in source code */
    int64_t bytes, fixed;      /* call_tree_add_part */
};
/* An object that HotSpot's sampler has taken: sample->object. */
void allocations_object(struct allocations *allocations, const struct perf_sample *sample,
                        struct allocation *out);
/* What the first object in it is of, and its size. */
void allocations_tlab(struct allocations *allocations, uintptr_t klass, uint64_t bytes,
                      struct allocation *out);
/* Calibrates the report's tree, and fills its total and classes. */
void allocations_end(struct allocations *allocations, struct observe_report *report);
void allocations_close(struct allocations *allocations);
