/* ended: how a JVM ended, as far as the kernel says it.
 *
 *   ending_open (the JVM is watched) -> ending_look (now and then) -> ending_describe (it has ended) -> ending_close
 *
 * Its exit status is known from Linux 6.15 on, by a pidfd, or while it is a zombie. The kernel's out-of-memory killer
 * counts in the control group (memory.events, memory.oom_control), in the group above it, which stays when a
 * container's goes, and for the host (/proc/vmstat). Event loop, one thread. */
#pragma once

#include "nmtwatch/jvm/target.h"

enum ending_counter { OOM_OF_GROUP, OOM_ABOVE, OOM_OF_HOST, OOM_COUNTERS };

struct ending {
    int process_fd;  /* -1: none */
    char group[768]; /* folder of its memory group; "" not known */
    bool unified;
    int64_t kills[OOM_COUNTERS]; /* -1: not known */
};

void ending_open(struct ending *ending, const struct target *target);
void ending_look(struct ending *ending);
/* One clause: "killed by signal 9 (Killed)", "exit status 1". True: the kernel killed it because memory ran out. */
bool ending_describe(const struct ending *ending, const struct target *target, char *out,
                     size_t size);
void ending_close(struct ending *ending);
