/* observe: what a JVM does, seen from outside: nothing is loaded into it, and nothing is written (but to
 * switch on that sampler).
 *
 *   cpu          where CPU time is spent: the kernel's clock event, user stacks
 *   classes      each class definition, by the USDT probes hotspot:class__loaded and class__unloaded
 *   jmethodids   each jmethodID that is made, by a uprobe on Method::make_jmethod_id
 *   rss          what anonymous memory grows by, and who touches it (rss.h)
 *   methods      how many classes, methods and jmethodIDs there are: loaded_methods.c, not here
 *   alloc        what is allocated, divided by what fills TLABs and what is allocated outside of them, by
 *                uprobes on AllocTracer; or by HotSpot's own sampler, which is switched on from outside
 *
 * Stacks are walked here (stacks.h). A count is the kernel's own and is exact; stacks that were lost or not
 * walked are counted by reason. */
#pragma once

#include "nmtwatch/jvm/target.h"
#include "reports/profile/observe_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum observe_mode {
    OBSERVE_CPU,
    OBSERVE_CLASSES,
    OBSERVE_JMETHODIDS,
    OBSERVE_ALLOC,
    OBSERVE_RSS,
    OBSERVE_METHODS, /* loaded_methods_read; the others are observe_run's */
    OBSERVE_MODES
};
/* "cpu"; false: there is no such. */
bool observe_mode_by_name(const char *name, enum observe_mode *mode);
const char *observe_mode_name(enum observe_mode mode);

struct observe_options {
    enum observe_mode mode;
    int64_t duration_ms, interval_ns; /* interval: of cpu */
    int stop_fd;         /* not 0: it ends early when this is readable, or its other end has gone */
    bool activate;       /* of alloc: switch HotSpot's sampler on (heap_sampler.h) */
    int64_t every_bytes; /* its interval */
};

/* Until the time is over, the process is asked to end (signals.h) or the target ends. Fills the report;
 * false with one sentence. observe_report_free in either case. */
bool observe_run(const struct target *target, const struct observe_options *options,
                 struct observe_report *report, char *error, size_t error_size);
