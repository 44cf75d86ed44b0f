/*
 * alloc_verb: `nmtwatch profile PID alloc` and `nmtwatch profile alloc --all --match RULES`: the
 * options of that, checked, and the JVMs they mean. One thread.
 */
#ifndef NMTWATCH_COMMANDS_ALLOC_VERB_H
#define NMTWATCH_COMMANDS_ALLOC_VERB_H

#include "nmtwatch/profile/alloc_run.h"

struct alloc_arguments {
    const char *interval, *match; /* NULL: not given */
    bool all;
};

/* pid: NULL with all or match. start: as given; what is alloc's own is filled in here. The exit
 * code. */
int alloc_verb(const char *pid, const struct alloc_arguments *arguments,
               struct start_options *start, struct alloc_run *run);

#endif
